// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"example.org/desktop-assistant/services/toolrunner/internal/tool"
)

var (
	errNoProgram = errors.New("no such program")
	errOutside   = errors.New("it lies outside the tools folder")
)

// Find looks for the program of a tool and for whatever else can be seen
// without running it. The error says what is missing.
func (c Config) Find(t *tool.Tool, dir string) error {
	c = c.complete()
	vars := c.environment(t)
	program, err := lookup(t.Command[0], dir, vars["PATH"])
	if err != nil {
		return err
	}
	if err := unix.Access(program, unix.X_OK); err != nil {
		return errors.New(startReason(program, err))
	}
	if t.Sandbox != nil {
		_, err = c.confinement(t, dir, vars)
	}
	return err
}

// lookup finds the program of a tool: an absolute path as it is, a relative
// one with a slash below the tools folder, a bare name first in the tools
// folder and then in the search path, of which only absolute entries count.
// The working directory is never looked into. A file that lies in the tools
// folder is taken even when it cannot be run, so that its author is told.
func lookup(program, dir, searchPath string) (string, error) {
	if filepath.IsAbs(program) {
		return program, nil
	}
	if strings.Contains(program, "/") {
		if !filepath.IsLocal(program) {
			return "", errOutside
		}
		return filepath.Join(dir, program), nil
	}
	if dir != "" {
		if file := filepath.Join(dir, program); regular(file) {
			return file, nil
		}
	}
	for _, folder := range filepath.SplitList(searchPath) {
		if !filepath.IsAbs(folder) {
			continue
		}
		file := filepath.Join(folder, program)
		if regular(file) && unix.Access(file, unix.X_OK) == nil {
			return file, nil
		}
	}
	return "", errNoProgram
}

func regular(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}

// startReason says why a program that was found did not start, in words that
// hold no path.
func startReason(program string, err error) string {
	var errno unix.Errno
	if !errors.As(err, &errno) {
		if strings.Contains(err.Error(), "NUL") {
			return "an argument holds a NUL byte"
		}
		return "it could not be started"
	}
	switch errno {
	case unix.ENOENT:
		if regular(program) {
			return "the interpreter in its first line does not exist"
		}
		return errNoProgram.Error()
	case unix.EACCES:
		return "it is not executable"
	case unix.ENOEXEC:
		return "it is neither a program nor a script with #! in its first line"
	case unix.E2BIG:
		return "its arguments are too long"
	case unix.EINVAL:
		return "an argument holds a NUL byte"
	}
	return errno.Error()
}
