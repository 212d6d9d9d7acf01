// SPDX-License-Identifier: Apache-2.0

// Package template writes the first version of a tool for its author to change.
package template

import (
	_ "embed" // the template
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// text is a tool that works as it is, with every key explained; NAME stands for
// its name.
//
//go:embed template.toml
var text string

// Write writes NAME.toml into a folder, which it makes if need be, and gives
// its path. The error is [io/fs.ErrExist] when the file is there already; it is
// never written over.
func Write(dir, name string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make tools folder: %w", err)
	}
	path = filepath.Join(dir, name+".toml")
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return path, fmt.Errorf("write tool: %w", err)
	}
	_, err = file.WriteString(strings.ReplaceAll(text, "NAME", name))
	if err = errors.Join(err, file.Close()); err != nil {
		return path, fmt.Errorf("write tool: %w", errors.Join(err, os.Remove(path)))
	}
	return path, nil
}
