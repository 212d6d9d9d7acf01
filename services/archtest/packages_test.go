// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// distribution is a PATH with nothing but what deploy/packages.sh itself
// calls, and the given commands, which print their arguments.
func distribution(t *testing.T, commands ...string) (path string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"sh", "cat", "grep", "cut", "tr", "sed", "env"} {
		real, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(real, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range commands {
		name, script, _ := strings.Cut(name, "=")
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\necho \""+name+" $*\" >&2\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestPackageScript: the script names what is missing and how to get it, installs
// only where nobody needs to be asked, and says nothing when all is there.
func TestPackageScript(t *testing.T) {
	const user, admin, sudo = "id=echo 1000; exit 0", "id=echo 0; exit 0", "sudo=[ $1 = env ] && exec \"$@\""
	for name, c := range map[string]struct {
		commands []string
		env      string
		code     int
		words    []string // that must come
		not      string
	}{
		"root":              {[]string{admin, "apt-get"}, "", 0, []string{"  espeak-ng: the voice\n", "install -y --no-install-recommends espeak-ng pocketsphinx", "Installed: espeak-ng pocketsphinx"}, "sudo"},
		"user with YES":     {[]string{user, "apt-get", sudo}, "YES=1", 0, []string{"Installed: espeak-ng"}, ""},
		"user in CI":        {[]string{user, "apt-get", sudo}, "CI=true", 0, []string{"Installed: espeak-ng"}, ""},
		"user, no terminal": {[]string{user, "apt-get", sudo}, "", 1, []string{"Install them: sudo apt-get install espeak-ng pocketsphinx", "YES=1"}, "install -y"},
		"user without sudo": {[]string{user, "apt-get"}, "YES=1", 1, []string{"Ask whoever administers this machine for: apt-get install espeak-ng pocketsphinx"}, "install -y"},
		"apt-get fails":     {[]string{admin, "apt-get=exit 100"}, "", 100, nil, "Installed"},
		"dnf":               {[]string{user, "dnf"}, "", 1, []string{"Install what your distribution has: sudo dnf install espeak-ng curl jq\n"}, "dnf install -"},
		"pacman":            {[]string{user, "pacman"}, "", 1, []string{"sudo pacman -S espeak-ng curl jq\n"}, ""},
		"dnf, the rest":     {[]string{user, "dnf", "espeak-ng", "curl", "jq"}, "", 1, []string{"Your distribution has none of them"}, "sudo"},
		"another":           {[]string{user}, "", 1, []string{"the names above are Debian's"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "/bin/sh", filepath.Join(root(t), "deploy/packages.sh"), "run")
			cmd.Env = []string{"PATH=" + distribution(t, c.commands...)}
			if c.env != "" {
				cmd.Env = append(cmd.Env, c.env)
			}
			out, _ := cmd.CombinedOutput() // the exit status is looked at below
			if got := cmd.ProcessState.ExitCode(); got != c.code {
				t.Errorf("exit status %d, want %d", got, c.code)
			}
			for _, w := range c.words {
				if !strings.Contains(string(out), w) {
					t.Errorf("lacks %q", w)
				}
			}
			if c.not != "" && strings.Contains(string(out), c.not) {
				t.Errorf("has %q", c.not)
			}
			if t.Failed() {
				t.Logf("output:\n%s", out)
			}
		})
	}
	for _, profile := range []string{"run", "test"} { // these tests need them all
		cmd := exec.CommandContext(t.Context(), filepath.Join(root(t), "deploy/packages.sh"), profile)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", profile, err, out)
		}
	}
}
