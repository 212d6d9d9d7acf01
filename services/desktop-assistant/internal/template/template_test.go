// SPDX-License-Identifier: Apache-2.0

package template

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The file is new, private and named; what is there stays.
func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a/tools")
	path, err := Write(dir, "greet")
	if err != nil || path != filepath.Join(dir, "greet.toml") {
		t.Fatalf("%s, %v", path, err)
	}
	first, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(first), "# greet, a tool") || strings.Contains(string(first), "NAME.") {
		t.Errorf("%v: %s", err, first)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if again, err := Write(dir, "greet"); !errors.Is(err, fs.ErrExist) || again != path {
		t.Errorf("%s, %v", again, err)
	}
	if _, err := Write(path, "x"); err == nil || !strings.HasPrefix(err.Error(), "make tools folder: ") {
		t.Errorf("below a file: %v", err)
	}
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "link.toml")); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(dir, "link"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("through a link: %v", err)
	}
}
