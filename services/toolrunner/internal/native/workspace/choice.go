// SPDX-License-Identifier: Apache-2.0

// Package workspace is the one folder that built-in tools can see: how it is
// chosen and remembered, and how its files are listed and read.
package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"example.org/desktop-assistant/services/toolrunner/internal/native/fault"
)

// Variable is the environment variable by which a launch chooses a workspace.
const Variable = "DESKTOP_ASSISTANT_WORKSPACE"

const (
	defaultName = "workspace"      // of the private folder
	savedName   = "workspace-root" // of the file with the saved choice
	maxPath     = 4096             // bytes of a path, PATH_MAX of Linux
)

// Where a choice came from.
const (
	FromVariable = "variable"
	FromConfig   = "configuration"
	FromSaved    = "saved"
	FromDefault  = "default"
)

// Sources are where a choice may come from, in this order; the saved one and
// the private folder lie in Data. Empty ones do not count.
type Sources struct {
	Variable string // of the environment
	Config   string // key workspace
	Data     string // folder of the program's data, absolute
}

// Choice is a workspace. Path is empty when the error of [Choose] is not nil.
type Choice struct {
	Path string
	From string
}

// Choose takes the first source that is there and validates it. One that is
// there and cannot be used is an error, never a reason to take the next. What
// the variable or the configuration chose is saved.
func Choose(s Sources) (Choice, error) {
	sweep(s.Data)
	for _, given := range []Choice{{s.Variable, FromVariable}, {s.Config, FromConfig}} {
		if given.Path == "" {
			continue
		}
		if err := Save(s.Data, given.Path); err != nil {
			return Choice{From: given.From}, err
		}
		return given, nil
	}
	path, err := saved(s.Data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		path, err = private(s.Data)
		return Choice{path, FromDefault}, err
	case err == nil:
		err = Validate(path)
	}
	if err != nil {
		return Choice{From: FromSaved}, err
	}
	return Choice{path, FromSaved}, nil
}

// Validate says why a path cannot be a workspace, nil when it can: it is
// absolute and canonical, and a folder that is reached without a link, not the
// root of all files and not of the kernel's own file systems. The error is a
// *[fault.Fault].
func Validate(path string) error {
	switch {
	case !filepath.IsAbs(path):
		return fault.Invalid("a workspace must be an absolute path")
	case len(path) > maxPath || !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl):
		return fault.Invalid("a workspace must be a plain path, without control characters")
	case filepath.Clean(path) != path:
		return fault.Invalid("a workspace must be a plain path, without . or .. and without a slash at its end")
	case path == "/":
		return fault.NotAllowed("the root of all files cannot be a workspace")
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return choiceFault(err)
	}
	if real != path {
		return fault.NotAllowed("there is a symbolic link in the path of the workspace")
	}
	info, err := os.Lstat(path)
	if err != nil {
		return choiceFault(err)
	}
	if !info.IsDir() {
		return fault.NotAllowed("the workspace is not a folder")
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return choiceFault(err)
	}
	if kernelOwn(stat.Type) {
		return fault.NotAllowed("a file system of the kernel cannot be a workspace")
	}
	return nil
}

func choiceFault(err error) *fault.Fault {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return fault.NotFound("the workspace does not exist")
	case errors.Is(err, fs.ErrPermission):
		return fault.NotAllowed("the user may not read the workspace")
	}
	return fault.Unavailable("the workspace cannot be looked at")
}

// kernelOwn says whether files of a file system are made up by the kernel: their
// sizes say nothing and reading them tells of processes and devices. The
// numbers are those of statfs(2).
func kernelOwn(kind int64) bool {
	switch kind {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC,
		unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.DEVPTS_SUPER_MAGIC, unix.SELINUX_MAGIC,
		unix.BPF_FS_MAGIC, unix.EFIVARFS_MAGIC, unix.PSTOREFS_MAGIC, unix.BINFMTFS_MAGIC, unix.NSFS_MAGIC:
		return true
	}
	return false
}

// Save validates a choice and writes it down, so that later starts find it.
// When it returns an error, what was saved before still holds.
func Save(data, path string) error {
	if err := Validate(path); err != nil {
		return err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return openFault(err)
	}
	if err := root.Close(); err != nil {
		return openFault(err)
	}
	if old, err := saved(data); err == nil && old == path {
		return nil
	}
	if err := write(data, path+"\n"); err != nil {
		return fault.Unavailable("the workspace cannot be saved")
	}
	return nil
}

// write replaces the file with the choice so that it is old or new at any
// moment, also when the power goes.
func write(data, text string) (err error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(data, savedName+".tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(data, savedName)); err != nil {
		return err
	}
	dir, err := os.Open(data)
	if err != nil {
		return nil // it is renamed; only the power may undo it now
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// sweep removes what a killed process left of a save. One toolrunner runs at a
// time, which holds a lock.
func sweep(data string) {
	for _, pattern := range []string{savedName + ".*", savedName + "~"} {
		left, _ := filepath.Glob(filepath.Join(escapeGlob(data), pattern)) // the pattern is well formed
		for _, path := range left {
			_ = os.Remove(path) // it is never read
		}
	}
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// saved reads the choice that was saved. The error is [fs.ErrNotExist] when
// there is none, else a *[fault.Fault].
func saved(data string) (string, error) {
	f, err := os.OpenFile(filepath.Join(data, savedName), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fs.ErrNotExist
	}
	damaged := fault.Unavailable("the saved workspace cannot be read")
	if err != nil {
		return "", damaged
	}
	defer f.Close()
	text := make([]byte, maxPath+2)
	n, err := f.Read(text)
	path, rest, found := strings.Cut(string(text[:n]), "\n")
	if err != nil || !found || rest != "" || !filepath.IsAbs(path) || !utf8.ValidString(path) {
		return "", damaged
	}
	return path, nil
}

// private makes the empty folder that is the workspace when nothing else was
// chosen, and gives its canonical path.
func private(data string) (string, error) {
	made := fault.Unavailable("the private workspace cannot be made")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return "", made
	}
	data, err := filepath.EvalSymlinks(data)
	if err != nil {
		return "", made
	}
	path := filepath.Join(data, defaultName)
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", made
	}
	return path, Validate(path)
}

// Saved names the file with the saved choice, for people.
func Saved(data string) string { return filepath.Join(data, savedName) }
