// SPDX-License-Identifier: Apache-2.0

package access

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func checkMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != want {
		t.Errorf("%s: mode %s, want %s", path, info.Mode(), want)
	}
}

func TestCookieIsKept(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "bus.cookie")
	first, err := Cookie(dir)
	if err != nil || len(first) != 26 {
		t.Fatalf("got %q, %v", first, err)
	}
	checkMode(t, path, 0o600)
	if again, err := Cookie(dir); err != nil || again != first {
		t.Errorf("got %q, %v, want %q", again, err, first)
	}
	if other, err := Cookie(t.TempDir()); err != nil || other == first {
		t.Errorf("two folders have one cookie: %q, %v", other, err)
	}
}

// A cookie that others could read, or that is no whole one, is no secret.
func TestCookieIsReplaced(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(elsewhere, []byte(strings.Repeat("A", 26)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(path string) error{
		"readable": func(p string) error { return os.Chmod(p, 0o640) },
		"empty":    func(p string) error { return os.Truncate(p, 0) },
		"cut":      func(p string) error { return os.Truncate(p, 25) },
		"link":     func(p string) error { return errors.Join(os.Remove(p), os.Symlink(elsewhere, p)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "bus.cookie")
			first, err := Cookie(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			next, err := Cookie(dir)
			if err != nil || next == first || len(next) != 26 || strings.HasPrefix(next, "AAAA") {
				t.Errorf("got %q, %v after %q", next, err, first)
			}
			checkMode(t, path, 0o600)
		})
	}
	if _, err := Cookie("/nowhere/at/all"); err == nil || !strings.HasPrefix(err.Error(), "write bus cookie: ") {
		t.Errorf("got %v", err)
	}
}

func TestContext(t *testing.T) {
	runtime, home := t.TempDir(), t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "cfg"))
	path := filepath.Join(home, "cfg/nats/context/desktop-assistant.json")
	password, err := CLIPassword(runtime)
	if err != nil || len(password) != 26 {
		t.Fatalf("got %q, %v", password, err)
	}
	checkMode(t, filepath.Join(runtime, "cli.pw"), 0o600)
	if next, err := CLIPassword(runtime); err != nil || next == password {
		t.Errorf("the password stays: %q, %v", next, err)
	}
	for _, url := range []string{"nats://127.0.0.1:1", "nats://127.0.0.1:2"} {
		if err := WriteContext(runtime, url); err != nil {
			t.Fatal(err)
		}
		checkMode(t, path, 0o600)
		checkMode(t, filepath.Dir(path), fs.ModeDir|0o700)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]string
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if got["url"] != url || got["user"] != "dev" || got["password"] != "file://"+runtime+"/cli.pw" {
			t.Errorf("context %v", got)
		}
	}
	for _, dir := range []string{filepath.Dir(path), runtime} {
		left, err := filepath.Glob(filepath.Join(dir, ".new-*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
	for range 2 { // also when there is nothing
		if err := Withdraw(runtime); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{path, filepath.Join(runtime, "cli.pw")} {
		if _, err := os.Stat(p); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", p, err)
		}
	}
}

// A folder that cannot be written is named, and nothing is left half done.
func TestContextErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", file)
	if err := WriteContext("/run/x", "nats://127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	if err := os.MkdirAll(filepath.Join(dir, "nats/context/desktop-assistant.json/x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteContext("/run/x", "nats://127.0.0.1:1"); err == nil {
		t.Error("a context that is a folder is no error")
	}
	left, err := filepath.Glob(filepath.Join(dir, "nats/context/.new-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
