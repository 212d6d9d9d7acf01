// SPDX-License-Identifier: Apache-2.0

// Package place finds the sound server: where it may listen and the secret that
// opens it.
package place

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

// An Address is one place to look for a server.
type Address struct{ Network, Addr string }

// String gives "unix:/path" or "tcp:host:port".
func (a Address) String() string { return a.Network + ":" + a.Addr }

// An Environment is what the search for the server depends on.
type Environment struct {
	Getenv  func(string) string
	Home    string
	UID     int
	Machine string // machine id, empty when unknown
	Host    string
}

// System is the environment of this process.
func System() Environment {
	e := Environment{Getenv: os.Getenv, UID: os.Getuid()}
	// Each of these may be missing in a container; the places that need it are
	// then left out.
	e.Home, _ = os.UserHomeDir()
	e.Host, _ = os.Hostname()
	for _, f := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if b, err := os.ReadFile(f); err == nil {
			e.Machine = strings.TrimSpace(string(b))
			break
		}
	}
	return e
}

// Addresses are the places to ask, in order: what was configured, PULSE_SERVER,
// else the sockets libpulse would look for.
func (e Environment) Addresses(server string) []Address {
	for _, list := range []string{server, e.Getenv("PULSE_SERVER")} {
		if strings.TrimSpace(list) != "" {
			return e.parseList(list)
		}
	}
	var dirs []string
	if d := e.Getenv("PULSE_RUNTIME_PATH"); d != "" {
		dirs = append(dirs, d)
	}
	if d := e.Getenv("XDG_RUNTIME_DIR"); d != "" {
		dirs = append(dirs, filepath.Join(d, "pulse"))
	}
	dirs = append(dirs, filepath.Join("/run/user", strconv.Itoa(e.UID), "pulse"))
	if e.Home != "" && e.Machine != "" {
		dirs = append(dirs, filepath.Join(e.Home, ".config/pulse", e.Machine+"-runtime"))
	}
	dirs = append(dirs, "/run/pulse")
	var list []Address
	seen := map[string]bool{}
	for _, d := range dirs {
		if path := filepath.Join(d, "native"); !seen[path] {
			seen[path] = true
			list = append(list, Address{"unix", path})
		}
	}
	return list
}

// parseList reads a server string: entries separated by spaces, each perhaps with
// a {machine} prefix that limits it to one computer.
// Format: https://www.freedesktop.org/wiki/Software/PulseAudio/Documentation/User/ServerStrings/
func (e Environment) parseList(list string) []Address {
	var out []Address
	for _, s := range strings.Fields(list) {
		if rest, ok := strings.CutPrefix(s, "{"); ok {
			id, addr, closed := strings.Cut(rest, "}")
			if !closed || (id != e.Machine && id != e.Host) {
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

func parseAddress(s string) (Address, bool) {
	if strings.HasPrefix(s, "/") {
		return Address{"unix", s}, true
	}
	scheme, rest, ok := strings.Cut(s, ":")
	switch {
	case s == "":
		return Address{}, false
	case ok && scheme == "unix":
		return Address{"unix", rest}, rest != ""
	case ok && (scheme == "tcp" || scheme == "tcp4" || scheme == "tcp6"):
		return Address{scheme, withPort(rest)}, rest != ""
	}
	return Address{"tcp", withPort(s)}, true
}

func withPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), defaultPort)
}

// Cookie is the secret of the first usable cookie file, else zeros: a server that
// checks the socket's credentials takes any.
func (e Environment) Cookie() []byte {
	var files []string
	if f := e.Getenv("PULSE_COOKIE"); f != "" {
		files = append(files, f)
	}
	if d := e.Getenv("XDG_CONFIG_HOME"); d != "" {
		files = append(files, filepath.Join(d, "pulse/cookie"))
	}
	if e.Home != "" {
		files = append(files, filepath.Join(e.Home, ".config/pulse/cookie"), filepath.Join(e.Home, ".pulse-cookie"))
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && len(b) == cookieSize {
			return b
		}
	}
	return make([]byte, cookieSize)
}
