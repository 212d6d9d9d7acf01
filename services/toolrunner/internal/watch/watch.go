// SPDX-License-Identifier: Apache-2.0

// Package watch tells when the files of a folder change.
package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	settle = 150 * time.Millisecond // editors write a file in several steps
	retry  = time.Second            // while the folder is not there
)

// Folder calls changed whenever something in dir changed, also when dir itself
// comes, goes or is replaced, and once when it begins to watch: what changed
// between the caller's last look and that moment would be missed otherwise. It
// returns when ctx ends, or with an error when the kernel offers no watches.
func Folder(ctx context.Context, log *slog.Logger, dir string, changed func()) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch folder %q: %w", dir, err)
	}
	defer w.Close()
	watched := w.Add(dir) == nil
	changed()
	ticker := time.NewTicker(retry)
	defer ticker.Stop()
	var settled <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-settled:
			settled = nil
			changed()
		case <-ticker.C:
			if !watched && w.Add(dir) == nil {
				watched = true
				changed()
			}
		case e := <-w.Events:
			if filepath.Clean(e.Name) == filepath.Clean(dir) && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)) {
				_ = w.Remove(dir) // the kernel may have dropped it already
				watched = false
			}
			settled = time.After(settle)
		case err := <-w.Errors:
			if errors.Is(err, fsnotify.ErrEventOverflow) { // events were lost: look once
				settled = time.After(settle)
				continue
			}
			log.Warn("watch folder", "dir", dir, "error", err)
		}
	}
}
