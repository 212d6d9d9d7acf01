// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFolder: a file written, changed, removed, and the folder itself gone and
// back are each told.
func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tools")
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan struct{}, 16)
	done := make(chan error, 1)
	go func() {
		done <- Folder(ctx, slog.New(slog.DiscardHandler), dir, func() { told <- struct{}{} })
	}()
	await := func(what string) {
		t.Helper()
		select {
		case <-told:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: not told", what)
		}
	}
	await("the first look")
	file := filepath.Join(dir, "a.toml")
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"the folder comes", func() error { return os.Mkdir(dir, 0o700) }},
		{"a file comes", func() error { return os.WriteFile(file, []byte("a"), 0o600) }},
		{"a file changes", func() error { return os.WriteFile(file, []byte("ab"), 0o600) }},
		{"a file goes", func() error { return os.Remove(file) }},
		{"the folder goes", func() error { return os.Remove(dir) }},
		{"the folder is back", func() error { return os.Mkdir(dir, 0o700) }},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		await(step.what)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
