// SPDX-License-Identifier: Apache-2.0

// Package phonemetest builds the phoneme helper for tests.
package phonemetest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Helper is the path of the program, compiled from the source in this checkout and
// kept in the cache of the build until that changes.
func Helper(t testing.TB) string {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	source := filepath.Join(filepath.Dir(here), "../../../../phonemize/phonemize.c")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "desktop-assistant", fmt.Sprintf("phonemize-%x", sha256.Sum256(text))[:26])
	path := filepath.Join(dir, "phonemize")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(t.TempDir(), "phonemize")
	out, err := exec.CommandContext(t.Context(), "cc", "-std=c11", "-D_DEFAULT_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", "-o", made, source, "-lespeak-ng").CombinedOutput()
	if err != nil {
		t.Fatalf("build the phoneme helper (apt install gcc libespeak-ng-dev): %v\n%s", err, out)
	}
	program, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	// Other packages' tests may build it at the same time: they put the same there.
	part, err := os.CreateTemp(dir, "part-")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = part.Write(program); err == nil {
		err = part.Chmod(0o755)
	}
	if closeErr := part.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}
