// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"example.org/desktop-assistant/services/toolrunner/internal/sandbox"
	"example.org/desktop-assistant/services/toolrunner/internal/tool"
)

var (
	errNoProgram = errors.New("no such program")
	errOutside   = errors.New("it lies outside the tools folder")
)

// Examine finds what is wrong with a tool that can be seen on this machine
// without running it: its program is missing, or its sandbox cannot be as its
// file says. All are warnings, since what is missing may come.
func (c Config) Examine(t *tool.Tool, dir string) []tool.Problem {
	c = c.complete()
	var problems []tool.Problem
	warn := func(key, hint, format string, args ...any) {
		problems = append(problems, tool.Problem{
			File: t.File, Line: tool.LineOf(t.File, key), Text: fmt.Sprintf(format, args...), Hint: hint, Warning: true,
		})
	}
	vars := c.environment(t)
	program, err := lookup(t.Command[0], dir, vars["PATH"])
	if err == nil {
		if access := unix.Access(program, unix.X_OK); access != nil {
			err = errors.New(startReason(program, access))
		}
	}
	if err != nil {
		warn("command", hintFor(t.Command[0], program), "cannot run %s: %v", t.Command[0], err)
	}
	if t.Sandbox == nil {
		return problems
	}
	spec, err := c.confinement(t, dir, vars)
	if err != nil {
		warn("sandbox", "name other folders, or none", "cannot run %s: %v", t.Command[0], err)
		return problems
	}
	if p, ok := c.Unconfined(t); ok {
		problems = append(problems, p)
	}
	if i := slices.IndexFunc(spec.Write, func(path string) bool { return below(resolved(dir), resolved(path)) }); i >= 0 {
		warn("sandbox", "name a folder of its own, such as \"~/.cache/"+t.Name+"\"",
			"the sandbox lets it write to %q, which holds the tools folder: it could put a tool there that has none", spec.Write[i])
	}
	for _, path := range slices.Concat(spec.Read, spec.Write) {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			warn("sandbox", "make it, if the tool needs it: mkdir -p for a folder, touch for a file", "the sandbox names %q, which does not exist", path)
		}
	}
	return problems
}

// Unconfined warns of a tool whose sandbox this kernel cannot hold at all, of
// its files or its network.
func (c Config) Unconfined(t *tool.Tool) (tool.Problem, bool) {
	if t.Sandbox == nil {
		return tool.Problem{}, false
	}
	missing := c.complete().Sandbox.Missing(sandbox.Spec{Network: t.Sandbox.Network})
	if missing == "" {
		return tool.Problem{}, false
	}
	return tool.Problem{
		File: t.File, Line: tool.LineOf(t.File, "sandbox"), Warning: true,
		Text: "the sandbox does not hold here: nothing keeps the tool from " + missing,
		Hint: "run it on a kernel with Landlock: see whether its boot options switch it off (lsm=)",
	}, true
}

// hintFor says what to do about a program that cannot be run.
func hintFor(name, program string) string {
	switch {
	case program == "" && strings.Contains(name, "/"):
		return "write an absolute path, or put it into the tools folder"
	case program == "":
		return "install it, or put a script of that name into the tools folder"
	case regular(program):
		return "chmod +x " + strconv.Quote(program)
	}
	return "see what is there: ls -ld " + strconv.Quote(program)
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
