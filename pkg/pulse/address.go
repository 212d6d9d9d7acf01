// SPDX-License-Identifier: Apache-2.0

package pulse

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	// defaultPort is where a server listens over TCP.
	defaultPort = "4713"
	// cookieSize is the size of the server's secret; a file of another size is no
	// cookie, and the server then goes by the credentials of the socket.
	cookieSize = 256
)

// An address is one place to look for a server.
type address struct{ network, addr string }

func (a address) String() string { return a.network + ":" + a.addr }

// An environment is what the search for the server depends on.
type environment struct {
	getenv  func(string) string
	home    string
	uid     int
	machine string // machine id, empty when unknown
	host    string
}

func systemEnvironment() environment {
	e := environment{getenv: os.Getenv, uid: os.Getuid()}
	// Each of these may be missing in a container; the places that need it are
	// then left out.
	e.home, _ = os.UserHomeDir()
	e.host, _ = os.Hostname()
	for _, f := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if b, err := os.ReadFile(f); err == nil {
			e.machine = strings.TrimSpace(string(b))
			break
		}
	}
	return e
}

// addresses are the places to ask, in order: what was configured, PULSE_SERVER,
// else the sockets libpulse would look for.
func (e environment) addresses(server string) []address {
	for _, list := range []string{server, e.getenv("PULSE_SERVER")} {
		if strings.TrimSpace(list) != "" {
			return e.parseList(list)
		}
	}
	var dirs []string
	if d := e.getenv("PULSE_RUNTIME_PATH"); d != "" {
		dirs = append(dirs, d)
	}
	if d := e.getenv("XDG_RUNTIME_DIR"); d != "" {
		dirs = append(dirs, filepath.Join(d, "pulse"))
	}
	dirs = append(dirs, filepath.Join("/run/user", strconv.Itoa(e.uid), "pulse"))
	if e.home != "" && e.machine != "" {
		dirs = append(dirs, filepath.Join(e.home, ".config/pulse", e.machine+"-runtime"))
	}
	dirs = append(dirs, "/run/pulse")
	var list []address
	seen := map[string]bool{}
	for _, d := range dirs {
		if path := filepath.Join(d, "native"); !seen[path] {
			seen[path] = true
			list = append(list, address{"unix", path})
		}
	}
	return list
}

// parseList reads a server string: entries separated by spaces, each perhaps with
// a {machine} prefix that limits it to one computer.
// Format: https://www.freedesktop.org/wiki/Software/PulseAudio/Documentation/User/ServerStrings/
func (e environment) parseList(list string) []address {
	var out []address
	for _, s := range strings.Fields(list) {
		if rest, ok := strings.CutPrefix(s, "{"); ok {
			id, addr, closed := strings.Cut(rest, "}")
			if !closed || (id != e.machine && id != e.host) {
				continue
			}
			s = addr
		}
		if a, ok := parseAddress(s); ok {
			out = append(out, a)
		}
	}
	return out
}

func parseAddress(s string) (address, bool) {
	if strings.HasPrefix(s, "/") {
		return address{"unix", s}, true
	}
	scheme, rest, ok := strings.Cut(s, ":")
	switch {
	case s == "":
		return address{}, false
	case ok && scheme == "unix":
		return address{"unix", rest}, rest != ""
	case ok && (scheme == "tcp" || scheme == "tcp4" || scheme == "tcp6"):
		return address{scheme, withPort(rest)}, rest != ""
	}
	return address{"tcp", withPort(s)}, true
}

func withPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), defaultPort)
}

// cookie is the secret of the first usable cookie file, else zeros: a server that
// checks the socket's credentials takes any.
func (e environment) cookie() []byte {
	var files []string
	if f := e.getenv("PULSE_COOKIE"); f != "" {
		files = append(files, f)
	}
	if d := e.getenv("XDG_CONFIG_HOME"); d != "" {
		files = append(files, filepath.Join(d, "pulse/cookie"))
	}
	if e.home != "" {
		files = append(files, filepath.Join(e.home, ".config/pulse/cookie"), filepath.Join(e.home, ".pulse-cookie"))
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && len(b) == cookieSize {
			return b
		}
	}
	return make([]byte, cookieSize)
}
