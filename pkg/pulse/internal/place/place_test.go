// SPDX-License-Identifier: Apache-2.0

package place

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAddresses(t *testing.T) {
	vars := map[string]string{}
	e := Environment{Getenv: func(k string) string { return vars[k] }, Home: "/home/you", UID: 1000, Machine: "m1", Host: "box"}
	join := func(server string) string {
		var out []string
		for _, a := range e.Addresses(server) {
			out = append(out, a.String())
		}
		return strings.Join(out, " ")
	}
	check := func(server, want string) {
		t.Helper()
		if got := join(server); got != want {
			t.Errorf("addresses of %q are\n%s, want\n%s", server, got, want)
		}
	}
	check("", "unix:/run/user/1000/pulse/native unix:/home/you/.config/pulse/m1-runtime/native unix:/run/pulse/native")
	vars["XDG_RUNTIME_DIR"], vars["PULSE_RUNTIME_PATH"] = "/run/user/1000", "/rt"
	check("", "unix:/rt/native unix:/run/user/1000/pulse/native unix:/home/you/.config/pulse/m1-runtime/native unix:/run/pulse/native")
	vars["PULSE_SERVER"] = "{m2}unix:/no {m1}/a {box}unix:/b {open tcp6:[::1]:99 tcp:host 10.0.0.1 [::1] host:1 unix:"
	check("", "unix:/a unix:/b tcp6:[::1]:99 tcp:host:4713 tcp:10.0.0.1:4713 tcp:[::1]:4713 tcp:host:1")
	check("unix:/mine", "unix:/mine")
}

func TestCookie(t *testing.T) {
	home, conf := t.TempDir(), t.TempDir()
	vars := map[string]string{"PULSE_COOKIE": filepath.Join(home, "none"), "XDG_CONFIG_HOME": conf}
	e := Environment{Getenv: func(k string) string { return vars[k] }, Home: home}
	if c := e.Cookie(); len(c) != cookieSize || strings.Trim(string(c), "\x00") != "" {
		t.Errorf("cookie without a file is %q, want zeros", c)
	}
	put := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(conf, "pulse/cookie"), "too short")
	put(filepath.Join(home, ".pulse-cookie"), strings.Repeat("o", cookieSize))
	if c := e.Cookie(); c[0] != 'o' {
		t.Errorf("cookie is %q, want the old file's", c[:1])
	}
	put(filepath.Join(home, ".config/pulse/cookie"), strings.Repeat("n", cookieSize))
	if c := e.Cookie(); c[0] != 'n' {
		t.Errorf("cookie is %q, want the new file's", c[:1])
	}
}
