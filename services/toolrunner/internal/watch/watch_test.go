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

// watching follows a folder until the test ends.
type watching struct {
	t    *testing.T
	told chan struct{}
}

func follow(t *testing.T, dir string) *watching {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &watching{t: t, told: make(chan struct{}, 1)}
	done := make(chan error, 1)
	go func() {
		done <- Folder(ctx, slog.New(slog.DiscardHandler), dir, func() {
			select {
			case w.told <- struct{}{}:
			default:
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	w.await("the first look")
	return w
}

func (w *watching) await(what string) {
	w.t.Helper()
	select {
	case <-w.told:
	case <-time.After(20 * time.Second):
		w.t.Fatalf("%s: not told", what)
	}
}

// do makes a change and waits until it is told.
func (w *watching) do(what string, change error) {
	w.t.Helper()
	if change != nil {
		w.t.Fatal(change)
	}
	w.await(what)
}

// TestFolder: a file written, changed, removed, and the folder itself gone and
// back are each told.
func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tools")
	file := filepath.Join(dir, "a.toml")
	w := follow(t, dir)
	w.do("the folder comes", os.Mkdir(dir, 0o700))
	w.do("a file comes", os.WriteFile(file, []byte("a"), 0o600))
	w.do("a file changes", os.WriteFile(file, []byte("ab"), 0o600))
	w.do("a file is replaced", os.Rename(write(t, "abc"), file))
	w.do("a file goes", os.Remove(file))
	w.do("the folder goes", os.Remove(dir))
	w.do("the folder is back", os.Mkdir(dir, 0o700))
	w.do("a file comes again", os.WriteFile(file, []byte("a"), 0o600))
	w.do("the folder is moved away", os.Rename(dir, dir+".old"))
	w.do("another takes its place", os.Mkdir(dir, 0o700))
	w.do("a file comes there", os.WriteFile(file, []byte("a"), 0o600))
}

// write makes a file elsewhere and gives its name.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLinks: a file that lies elsewhere, as the files of people who keep their
// settings in one place, and a folder that is a link itself.
func TestLinks(t *testing.T) {
	root := t.TempDir()
	one, two, dir := filepath.Join(root, "one"), filepath.Join(root, "two"), filepath.Join(root, "tools")
	for _, d := range []string{one, two} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(one, dir); err != nil {
		t.Fatal(err)
	}
	target := write(t, "a")
	w := follow(t, dir)
	w.do("a link comes", os.Symlink(target, filepath.Join(dir, "a.toml")))
	// The link may be seen twice: by the kernel's word and by the next look.
	w.do("its target changes", os.WriteFile(target, []byte("changed"), 0o600))
	w.do("its target goes", os.Remove(target))
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	w.do("the folder is another", os.Symlink(two, dir))
	w.do("a file comes there", os.WriteFile(filepath.Join(two, "b.toml"), nil, 0o600))
}

// TestBusyFolder: a folder in which something is written all the time is told
// of all the same.
func TestBusyFolder(t *testing.T) {
	dir := t.TempDir()
	w := follow(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	written := make(chan struct{})
	go func() {
		defer close(written)
		ticker := time.NewTicker(settle / 10)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if err := os.WriteFile(filepath.Join(dir, "log"), []byte("x"), 0o600); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	for range 3 {
		w.await("a change among many")
	}
	cancel()
	<-written
}
