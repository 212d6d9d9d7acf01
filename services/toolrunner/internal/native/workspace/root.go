// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"example.org/desktop-assistant/services/toolrunner/internal/native/fault"
)

const (
	maxListed  = 100       // entries that a listing shows
	maxEntries = 1_000_000 // that are counted
	maxSkipped = 64 << 20  // bytes before the first line that is wanted
	chunk      = 32 << 10
)

// Faults that must not differ by what is out there.
var (
	errOutside = fault.NotAllowed("the path leads out of the workspace")
	errNoFile  = fault.NotAFile("that is not a regular file")
)

// Root is an open workspace. It stays with the folder it was opened on, whatever
// happens to the path. Its methods may be called at the same time.
type Root struct{ root *os.Root }

// Open opens a workspace after [Validate].
func Open(path string) (*Root, error) {
	if err := Validate(path); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, openFault(err)
	}
	return &Root{root}, nil
}

// Close ends the use of the workspace.
func (r *Root) Close() error { return r.root.Close() }

// open opens what is at path, as it was given: nothing is decoded, expanded or
// cleaned. It never waits for the other end of a pipe.
func (r *Root) open(path string, flags int) (*os.File, fs.FileInfo, error) {
	switch {
	case path == "":
		return nil, nil, fault.Invalid("the path is empty")
	case strings.ContainsRune(path, 0):
		return nil, nil, fault.Invalid("the path holds a zero byte")
	case strings.HasPrefix(path, "/") || climbs(path):
		return nil, nil, errOutside
	}
	f, err := r.root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY|flags, 0)
	if err != nil {
		return nil, nil, openFault(err)
	}
	info, err := f.Stat()
	if err == nil {
		err = ordinary(f)
	}
	if err != nil {
		_ = f.Close() // it was only read
		return nil, nil, openFault(err)
	}
	return f, info, nil
}

// climbs says whether a path has at some point more steps up than down.
func climbs(path string) bool {
	depth := 0
	for step := range strings.SplitSeq(path, "/") {
		switch step {
		case "", ".":
		case "..":
			depth--
		default:
			depth++
		}
		if depth < 0 {
			return true
		}
	}
	return false
}

// ordinary refuses what lies on a file system of the kernel's own, which may be
// mounted inside the workspace.
func ordinary(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var stat unix.Statfs_t
	failed := raw.Control(func(fd uintptr) { err = unix.Fstatfs(int(fd), &stat) })
	if err = errors.Join(failed, err); err != nil {
		return err
	}
	if kernelOwn(stat.Type) {
		return errOutside
	}
	return nil
}

// openFault says in our words why something could not be opened. Only the
// number of a system error is looked at; an error without one is os.Root's own:
// the path leaves the root.
func openFault(err error) *fault.Fault {
	var errno syscall.Errno
	if f, ok := errors.AsType[*fault.Fault](err); ok {
		return f
	}
	if errors.Is(err, fs.ErrClosed) {
		return fault.Unavailable("the workspace cannot be read now")
	}
	if !errors.As(err, &errno) {
		return errOutside
	}
	switch errno {
	case syscall.ENOENT, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG:
		return fault.NotFound("there is nothing of that name in the workspace")
	case syscall.EACCES, syscall.EPERM:
		return fault.NotAllowed("the user may not read that")
	case syscall.ENXIO, syscall.ENODEV, syscall.EISDIR:
		return errNoFile
	case syscall.EINVAL:
		return fault.Invalid("the path cannot be used")
	}
	return fault.Unavailable("the workspace cannot be read now")
}

// Kinds of entries.
const (
	KindFile      = "file"
	KindDirectory = "directory"
	KindLink      = "link"  // a symbolic one, wherever it leads
	KindOther     = "other" // a pipe, socket or device
)

// Entry is one thing in a folder.
type Entry struct{ Kind, Name string }

// Listing is what a folder holds.
type Listing struct {
	Entries []Entry // by name, byte for byte, the first hundred
	Total   int     // how many there are
	More    bool    // there are even more than Total
}

// List reads the immediate entries of a folder. Only those of the given kind
// count, "" for all. Its memory does not grow with the folder.
func (r *Root) List(ctx context.Context, path, kind string) (Listing, error) {
	f, _, err := r.open(path, syscall.O_DIRECTORY)
	if err != nil {
		return Listing{}, err
	}
	defer f.Close()
	var l Listing
	for {
		entries, err := f.ReadDir(512)
		for _, e := range entries {
			l.add(Entry{kindOf(e.Type()), e.Name()}, kind)
		}
		switch {
		case ctx.Err() != nil:
			return Listing{}, fault.Ended(ctx)
		case errors.Is(err, io.EOF):
			return l, nil
		case err != nil:
			return Listing{}, openFault(err)
		case l.Total >= maxEntries:
			l.More = true
			return l, nil
		}
	}
}

// add keeps the first names in order.
func (l *Listing) add(e Entry, kind string) {
	if kind != "" && e.Kind != kind {
		return
	}
	l.Total++
	i, _ := slices.BinarySearchFunc(l.Entries, e, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	if i == maxListed {
		return
	}
	l.Entries = slices.Insert(l.Entries, i, e)
	if len(l.Entries) > maxListed {
		l.Entries = l.Entries[:maxListed]
	}
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return KindDirectory
	case m.IsRegular():
		return KindFile
	case m&fs.ModeSymlink != 0:
		return KindLink
	}
	return KindOther
}

// Range is the part of a file that is wanted. All of it is above 0.
type Range struct {
	Start int64 // first line, from 1
	Lines int64 // at most so many
	Bytes int64 // at most so many, without the last rune when it does not fit
}

// Excerpt is a part of a text file.
type Excerpt struct {
	Text  string // exactly the bytes of the file
	Start int64  // the line it begins with
	Lines int64  // lines it has, an unfinished last one included
	More  bool   // the file goes on
	Cut   bool   // it ends inside a line, since its bytes were spent
	Skip  int64  // whole lines before it; fewer than Start-1 when the file ended
}

// Read reads a part of a regular file. Every byte on the way to the end of the
// part must be UTF-8 and not zero, or the fault is not_text.
func (r *Root) Read(ctx context.Context, path string, want Range) (Excerpt, error) {
	f, info, err := r.open(path, 0)
	if err != nil {
		return Excerpt{}, err
	}
	defer f.Close()
	if !info.Mode().IsRegular() {
		return Excerpt{}, errNoFile
	}
	return excerpt(ctx, f, want)
}

// excerpt reads rune by rune, in constant memory beside the part itself.
func excerpt(ctx context.Context, from io.Reader, want Range) (Excerpt, error) {
	text := bufio.NewReaderSize(bounded(ctx, from), chunk)
	e := Excerpt{Start: want.Start}
	var out strings.Builder
	skipped, last := 0, '\n'
	for {
		r, size, err := text.ReadRune()
		switch {
		case errors.Is(err, io.EOF):
			e.Text = out.String()
			return e, nil
		case ctx.Err() != nil:
			return Excerpt{}, fault.Ended(ctx)
		case err != nil:
			return Excerpt{}, openFault(err)
		case r == utf8.RuneError && size == 1, r == 0:
			return Excerpt{}, fault.NotText("that is not a text file: it is not UTF-8, or it holds zero bytes")
		}
		if e.Skip < want.Start-1 {
			if skipped += size; skipped > maxSkipped {
				return Excerpt{}, fault.TooLarge("that line is too far down in the file")
			}
			if r == '\n' {
				e.Skip++
			}
			continue
		}
		fits := int64(out.Len()+size) <= want.Bytes
		if !fits || last == '\n' && e.Lines == want.Lines {
			e.Text, e.More, e.Cut = out.String(), true, !fits && last != '\n'
			return e, nil
		}
		if last == '\n' {
			e.Lines++
		}
		out.WriteRune(r)
		last = r
	}
}

// reader is a reader made of its one method.
type reader func(p []byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

// bounded is a reader that ends with a context.
func bounded(ctx context.Context, from io.Reader) io.Reader {
	return reader(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return from.Read(p)
	})
}
