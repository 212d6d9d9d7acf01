// SPDX-License-Identifier: Apache-2.0

// Package access makes the secrets with which clients are let in, and the
// files that tell clients about them.
package access

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"example.org/desktop-assistant/pkg/bus"
)

const secretLength = 26 // of rand.Text: 130 random bits in base32

// Cookie gives the password of the socket's clients, which is kept in the
// runtime folder dir over restarts, so that clients come back without reading
// it twice. A file that is no secret any more, because others may read it or
// because it was cut short, is replaced.
func Cookie(dir string) (string, error) {
	path := filepath.Join(dir, bus.CookieName)
	kept, err := readSecret(path)
	if err != nil {
		return "", fmt.Errorf("read bus cookie: %w", err)
	}
	if kept != "" {
		return kept, nil
	}
	cookie := rand.Text()
	if err := writePrivate(path, []byte(cookie)); err != nil {
		return "", fmt.Errorf("write bus cookie: %w", err)
	}
	return cookie, nil
}

// readSecret gives the content of path, "" when there is none worth keeping.
func readSecret(path string) (string, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if info.Mode() != 0o600 || info.Size() != secretLength { // also no link and no folder
		return "", nil
	}
	content, err := os.ReadFile(path)
	return string(content), err
}

// writePrivate puts a file with mode 0600 into place at once: a reader sees
// the old content or the new, never half of it.
func writePrivate(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // made with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
