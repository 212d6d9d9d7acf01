// SPDX-License-Identifier: Apache-2.0

// Package vdir finds and opens the files of a folder of calendars (the layout
// that vdirsyncer writes: one folder a calendar, one .ics file an event or more).
package vdir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	deepest   = 32        // folders within each other
	mostFiles = 1_000_000 // of a calendar folder
)

// Largest is the size in bytes over which a file is passed over.
const Largest = 256 << 20

// Stat tells one state of a file from another.
type Stat struct {
	Device, Inode   uint64
	Size            int64
	Modified, Moved int64 // mtime and ctime, Unix nanoseconds
}

// Find gives the paths below root of all files whose name ends in .ics (in any
// case) and does not begin with a dot, folder by folder in the order of their
// names; folders whose name begins with a dot are passed over. Links are
// followed, each folder is visited once. What cannot be read is told to
// problem with its path; the error is that of root itself.
func Find(root string, problem func(path string, err error)) ([]string, error) {
	w := walk{problem: problem, visited: map[[2]uint64]bool{}}
	info, err := os.Stat(root)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: root, Err: syscall.ENOTDIR}
	}
	w.visit(info)
	entries, err := os.ReadDir(root)
	if err != nil && len(entries) == 0 {
		return nil, err
	}
	w.folder(root, entries, 0)
	return w.files, nil
}

type walk struct {
	files   []string
	visited map[[2]uint64]bool
	problem func(string, error)
}

// visit says whether a folder is visited for the first time.
func (w *walk) visit(info fs.FileInfo) bool {
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return true
	}
	id := [2]uint64{sys.Dev, sys.Ino}
	if w.visited[id] {
		return false
	}
	w.visited[id] = true
	return true
}

func (w *walk) folder(path string, entries []fs.DirEntry, depth int) {
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		full := path + "/" + e.Name()
		if filepath.Clean(path) == "/" {
			full = "/" + e.Name()
		}
		kind := e.Type()
		if kind&fs.ModeSymlink != 0 {
			if kind = linked(full); kind&fs.ModeIrregular != 0 && calendar(e.Name()) {
				w.problem(full, errors.New("link leads nowhere"))
			}
		}
		switch {
		case kind.IsDir():
			w.enter(full, depth+1)
		case !calendar(e.Name()) || kind&fs.ModeIrregular != 0:
		case !kind.IsRegular():
			w.problem(full, errNoFile)
		case len(w.files) == mostFiles:
			w.problem(full, fmt.Errorf("more than %d files, the rest is left out", mostFiles))
			return
		case len(w.files) < mostFiles:
			w.files = append(w.files, full)
		}
	}
}

var errNoFile = errors.New("not a file")

func (w *walk) enter(path string, depth int) {
	info, err := os.Stat(path)
	if err == nil && depth > deepest {
		err = errors.New("too many folders within each other")
	}
	if err != nil {
		w.problem(path, err)
		return
	}
	if !w.visit(info) {
		return
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		w.problem(path, err)
	}
	w.folder(path, entries, depth)
}

func calendar(name string) bool {
	return len(name) > 4 && strings.EqualFold(name[len(name)-4:], ".ics")
}

// linked gives the type of what a link leads to; ModeIrregular for nothing.
func linked(path string) fs.FileMode {
	info, err := os.Stat(path)
	if err != nil {
		return fs.ModeIrregular
	}
	return info.Mode().Type()
}

// StatFile looks at a path, following links.
func StatFile(path string) (Stat, error) {
	var sys syscall.Stat_t
	for {
		err := syscall.Stat(path, &sys)
		if err == nil {
			return stat(&sys)
		}
		if err != syscall.EINTR {
			return Stat{}, err
		}
	}
}

func stat(sys *syscall.Stat_t) (Stat, error) {
	if sys.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return Stat{}, errNoFile
	}
	s := Stat{
		Device: sys.Dev, Inode: sys.Ino, Size: sys.Size,
		Modified: sys.Mtim.Nano(), Moved: sys.Ctim.Nano(),
	}
	if s.Size > Largest {
		return s, fmt.Errorf("larger than %d MB, passed over", Largest>>20)
	}
	return s, nil
}

// A File is a regular file that is being read.
type File struct {
	fd   int
	left int64
}

// Open opens a regular file of bearable size, and gives its state. It waits
// for nothing: a pipe that was given the name of a file is an error. It does
// without os.File, whose poller costs as much as reading a small file.
func Open(path string) (*File, Stat, error) {
	fd, err := ignoringInterrupts(func() (int, error) {
		return syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, Stat{}, err
	}
	var sys syscall.Stat_t
	err = syscall.Fstat(fd, &sys)
	var s Stat
	if err == nil {
		s, err = stat(&sys)
	}
	if err != nil {
		_ = syscall.Close(fd) // nothing was written
		return nil, Stat{}, err
	}
	return &File{fd, Largest + 1}, s, nil
}

// Read implements io.Reader; it ends after the largest size, whatever the file
// has become since.
func (f *File) Read(p []byte) (int, error) {
	p = p[:min(int64(len(p)), f.left)]
	if len(p) == 0 {
		return 0, io.EOF
	}
	n, err := ignoringInterrupts(func() (int, error) { return syscall.Read(f.fd, p) })
	f.left -= int64(max(n, 0))
	switch {
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// Close closes the file.
func (f *File) Close() error { return syscall.Close(f.fd) }

func ignoringInterrupts(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != syscall.EINTR {
			return n, err
		}
	}
}
