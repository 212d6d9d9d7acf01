// SPDX-License-Identifier: Apache-2.0

// Package mute keeps over restarts whether the assistant may listen.
package mute

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	fileName = "mute"
	on, off  = "muted", "open"
)

// File is the state file. The zero value is not usable; use [In].
type File struct{ path string }

// In names the state file in a folder, which is made when it is written.
func In(dir string) File { return File{filepath.Join(dir, fileName)} }

// Read gives the state. A missing file means open. A file that cannot be read
// or understood means muted, with the error that says why: when in doubt,
// nobody listens.
func (f File) Read() (muted bool, err error) {
	text, err := os.ReadFile(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return true, fmt.Errorf("read mute state: %w", err)
	}
	switch strings.TrimSpace(string(text)) {
	case on:
		return true, nil
	case off:
		return false, nil
	}
	return true, fmt.Errorf("read mute state: %s holds neither %q nor %q", f.path, on, off)
}

// Write stores the state and returns when it is on disk.
func (f File) Write(muted bool) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write mute state: %w", err)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(f.path), fileName+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails after the rename, as it should
	text := off
	if muted {
		text = on
	}
	_, err = tmp.WriteString(text + "\n")
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), f.path)
}
