// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"

	"example.org/desktop-assistant/services/toolrunner/internal/native/engine"
	"example.org/desktop-assistant/services/toolrunner/internal/sandbox"
)

// resolver are the files by which names are looked up, and those of the
// certificates. resolv.conf is often a link into a folder of /run.
var resolver = []string{"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/ssl/certs", "/etc/pki"}

// domain is the port of name servers, for answers that do not fit into UDP.
const domain = 53

// confine confines the whole process with Landlock and seccomp, as far as this
// kernel has them: it may read the workspace and what names are looked up with,
// write nothing, open no sockets but those of TCP and UDP, and connect by TCP
// only to the ports of what is allowed. It cannot be taken back.
func confine(s engine.Settings) Ready {
	rules := []landlock.Rule{landlock.RODirs("/run/systemd/resolve", "/run/resolvconf").IgnoreIfMissing()}
	for _, path := range resolver {
		rules = append(rules, readable(path))
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			rules = append(rules, readable(real))
		}
	}
	if s.Workspace != "" {
		rules = append(rules, landlock.RODirs(s.Workspace).IgnoreIfMissing())
	}
	for _, port := range ports(s) {
		rules = append(rules, landlock.ConnectTCP(port))
	}
	level := sandbox.Detect()
	only := ""
	if level.Seccomp && sandbox.OnlyInternet() == nil {
		only = "; by seccomp no sockets but those of TCP and UDP"
	}
	level.Seccomp = false
	level.Landlock = min(level.Landlock, 9) // which is as much as is asked for
	if level.Landlock == 0 || landlock.V9.BestEffort().Restrict(rules...) != nil {
		return Ready{Confined: "no files: this kernel has no Landlock" + only}
	}
	return Ready{Confined: level.String() + only, Landlock: level.Landlock}
}

// resolverState tells whether the files that names are looked up with are still
// those that a child was allowed to read: one that was replaced is another. What
// lies in the folders of /run is allowed whatever it is.
func resolverState() string {
	state := ""
	for _, path := range resolver[:4] {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || strings.HasPrefix(real, "/run/") {
			state += real + ";"
			continue
		}
		if info, err := os.Stat(real); err == nil {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				state += fmt.Sprintf("%d:%d;", stat.Dev, stat.Ino)
			}
		}
	}
	return state
}

func readable(path string) landlock.Rule {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return landlock.RODirs(path).IgnoreIfMissing()
	}
	return landlock.ROFiles(path).IgnoreIfMissing()
}

// ports are those of the allowed origins and of the search server.
func ports(s engine.Settings) []uint16 {
	list := []uint16{domain}
	for _, address := range append(slices.Clone(s.Origins), s.Endpoint) {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" {
			continue
		}
		port := map[string]uint16{"http": 80, "https": 443}[u.Scheme]
		if n, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
			port = uint16(n)
		}
		list = append(list, port)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
