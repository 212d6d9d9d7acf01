// SPDX-License-Identifier: Apache-2.0

package xdg

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFolders(t *testing.T) {
	folders := []struct {
		variable, fallback string
		get                func() (string, error)
	}{
		{"XDG_CONFIG_HOME", "/home/you/.config/desktop-assistant", Config},
		{"XDG_DATA_HOME", "/home/you/.local/share/desktop-assistant", Data},
		{"XDG_STATE_HOME", "/home/you/.local/state/desktop-assistant", State},
		{"XDG_CACHE_HOME", "/home/you/.cache/desktop-assistant", Cache},
	}
	for _, f := range folders {
		t.Run(f.variable, func(t *testing.T) {
			t.Setenv("HOME", "/home/you")
			for value, want := range map[string]string{
				"":           f.fallback,
				"relative/x": f.fallback,
				"/srv/x":     "/srv/x/desktop-assistant",
				"/srv/x/":    "/srv/x/desktop-assistant",
			} {
				t.Setenv(f.variable, value)
				got, err := f.get()
				if err != nil || got != want {
					t.Errorf("%s=%q: got %q, %v, want %q", f.variable, value, got, err, want)
				}
			}
			if err := os.Unsetenv(f.variable); err != nil {
				t.Fatal(err)
			}
			if got, err := f.get(); err != nil || got != f.fallback {
				t.Errorf("%s unset: got %q, %v, want %q", f.variable, got, err, f.fallback)
			}
		})
	}
}

// Without a usable HOME the user database knows the home folder.
func TestHomeFromUserDatabase(t *testing.T) {
	for _, home := range []string{"", "here"} {
		t.Setenv("HOME", home)
		t.Setenv("XDG_CONFIG_HOME", "")
		got, err := Config()
		if err != nil {
			t.Fatalf("HOME=%q: %v", home, err)
		}
		if !filepath.IsAbs(got) || !strings.HasSuffix(got, "/.config/desktop-assistant") {
			t.Errorf("HOME=%q: got %q", home, got)
		}
	}
}

func TestExpand(t *testing.T) {
	t.Setenv("HOME", "/home/you")
	for in, want := range map[string]string{
		"":          "",
		"~":         "/home/you",
		"~/":        "/home/you",
		"~/a/b":     "/home/you/a/b",
		"~other/a":  "~other/a",
		"/a/~/b":    "/a/~/b",
		"relative":  "relative",
		"./~/x":     "./~/x",
		"~/../them": "/home/them",
	} {
		if got, err := Expand(in); err != nil || got != want {
			t.Errorf("Expand(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestRuntime(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	want := filepath.Join(dir, "desktop-assistant")
	for range 2 { // made, then found
		got, err := Runtime()
		if err != nil || got != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
		checkMode(t, want)
		if err := os.Chmod(want, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRuntimeMissingParent(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "/nowhere/at/all")
	_, err := Runtime()
	want := `make runtime folder "/nowhere/at/all/desktop-assistant": no such file or directory`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestRuntimePlaces(t *testing.T) {
	uid := os.Getuid()
	session, temp := t.TempDir(), t.TempDir()

	got, err := runtimePlaces{session: session, temp: temp, uid: uid}.folder()
	if want := filepath.Join(session, "desktop-assistant"); err != nil || got != want {
		t.Errorf("session folder ours: got %q, %v, want %q", got, err, want)
	}
	checkMode(t, got)

	got, err = runtimePlaces{session: filepath.Join(session, "absent"), temp: temp, uid: uid}.folder()
	if err != nil || filepath.Dir(got) != temp || !strings.HasPrefix(filepath.Base(got), "desktop-assistant-") {
		t.Errorf("no session folder: got %q, %v", got, err)
	}
	checkMode(t, got)

	// A session folder of someone else is passed over; the temporary one of
	// someone else is refused. Another uid stands in for another owner, so that
	// the test needs no root.
	if _, err := (runtimePlaces{session: session, temp: temp, uid: uid + 1}).folder(); err == nil ||
		!strings.Contains(err.Error(), temp) || !strings.Contains(err.Error(), "it belongs to user") {
		t.Errorf("other owner: got %v", err)
	}
}

func TestRuntimeRefusesLinkAndFile(t *testing.T) {
	temp, elsewhere := t.TempDir(), t.TempDir()
	p := runtimePlaces{session: "/nowhere", temp: temp, uid: os.Getuid()}
	path, err := p.folder()
	if err != nil {
		t.Fatal(err)
	}
	for _, replace := range []func() error{
		func() error { return os.Symlink(elsewhere, path) },
		func() error { return os.Symlink("/nowhere/dangling", path) },
		func() error { return os.WriteFile(path, nil, 0o600) },
	} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := replace(); err != nil {
			t.Fatal(err)
		}
		if got, err := p.folder(); err == nil || !strings.Contains(err.Error(), "a link or a file") {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

func checkMode(t *testing.T, dir string) {
	t.Helper()
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o700 {
		t.Errorf("%s: mode %o, want 700", dir, got)
	}
}
