// SPDX-License-Identifier: Apache-2.0

// Package watch tells when the files of a folder change.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	settle = 150 * time.Millisecond // editors write a file in several steps
	latest = 500 * time.Millisecond // after the first of many changes
	look   = 500 * time.Millisecond // how often what the kernel does not tell is looked at
)

// Folder calls changed whenever something in dir changed, also when dir itself
// comes, goes or is replaced, or a file that a link in it names changes, and
// once when it begins to watch: what changed between the caller's last look and
// that moment would be missed otherwise. It tells within a second, however much
// is going on. It returns when ctx ends, or with an error when the kernel offers
// no watches.
func Folder(ctx context.Context, log *slog.Logger, dir string, changed func()) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch folder %q: %w", dir, err)
	}
	defer w.Close()
	f := folder{dir: dir, watcher: w}
	f.check()
	changed()
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	var settled <-chan time.Time
	var first time.Time // of the changes that were not told yet
	wait := func() {
		if settled == nil {
			first = time.Now()
		}
		settled = time.After(max(0, min(settle, latest-time.Since(first))))
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-settled:
			settled = nil
			changed()
		case <-ticker.C:
			if f.check() {
				changed()
			}
		case e := <-w.Events:
			if filepath.Clean(e.Name) == filepath.Clean(dir) && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)) {
				f.drop()
			}
			wait()
		case err := <-w.Errors:
			if errors.Is(err, fsnotify.ErrEventOverflow) { // events were lost: look once
				wait()
				continue
			}
			log.Warn("watch folder", "dir", dir, "error", err)
		}
	}
}

// folder is what is being watched.
type folder struct {
	dir     string
	watcher *fsnotify.Watcher
	seen    fs.FileInfo // of the folder that the watch is on, nil for none
	links   string      // the state of the files that links name
}

// check sees to what the kernel does not tell: whether dir is still the folder
// with the watch, and whether the targets of links changed.
func (f *folder) check() (changed bool) {
	info, err := os.Stat(f.dir)
	if err != nil {
		info = nil
	}
	if f.seen != nil && (info == nil || !os.SameFile(info, f.seen)) {
		f.drop()
		changed = true
	}
	if f.seen == nil && info != nil && f.watcher.Add(f.dir) == nil {
		f.seen, changed = info, true
	}
	links := targets(f.dir)
	changed = changed || links != f.links
	f.links = links
	return changed
}

// drop gives up the watch: the folder is gone, or another, which may have the
// same number.
func (f *folder) drop() {
	_ = f.watcher.Remove(f.dir) // the kernel may have dropped it already
	f.seen = nil
}

// targets is the state of all files in a folder that are links.
func targets(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, entry := range entries {
		if entry.Type()&fs.ModeSymlink == 0 {
			continue
		}
		fmt.Fprintf(&b, "%q ", entry.Name())
		if info, err := os.Stat(filepath.Join(dir, entry.Name())); err == nil {
			fmt.Fprintf(&b, "%d %d %s", info.Size(), info.ModTime().UnixNano(), info.Mode())
		}
		b.WriteByte('\n')
	}
	return b.String()
}
