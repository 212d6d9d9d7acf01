// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.org/desktop-assistant/examples/tools/agenda/internal/vdir"
)

// An Entry is one calendar file in the state that was read.
type Entry struct {
	Path   string
	Stat   vdir.Stat
	Record Record
}

const (
	magic     = "agenda cache 1\n\x00"
	fixedSize = len(magic) + 8 + 4 // the program's mark, the checksum
	mostBytes = 256 << 20          // of a book
	mostBooks = 8                  // of the folder: as many folders of calendars
	leftovers = time.Hour          // the age of a temporary file that nobody writes any more
)

var checksums = crc32.MakeTable(crc32.Castagnoli)

// ErrBook says that a book is damaged, or was written by another program.
var ErrBook = errors.New("read cache: it is damaged, or of another version")

// Encode writes a book; program marks what wrote it.
func Encode(entries []Entry, program uint64) []byte {
	size := fixedSize
	for i := range entries {
		size += len(entries[i].Path) + len(entries[i].Record) + 64
	}
	w := binary.AppendUvarint(make([]byte, fixedSize, size), uint64(len(entries)))
	for i := range entries {
		e := &entries[i]
		w = appendString(w, e.Path)
		w = binary.AppendUvarint(w, e.Stat.Device)
		w = binary.AppendUvarint(w, e.Stat.Inode)
		for _, n := range []int64{e.Stat.Size, e.Stat.Modified, e.Stat.Moved} {
			w = binary.AppendVarint(w, n)
		}
		w = appendString(w, string(e.Record))
	}
	seal(w, program)
	return w
}

// seal fills the front of a book: what it is, who wrote it, the checksum.
func seal(w []byte, program uint64) {
	copy(w, magic)
	binary.LittleEndian.PutUint64(w[len(magic):], program)
	binary.LittleEndian.PutUint32(w[fixedSize-4:], crc32.Checksum(w[fixedSize:], checksums))
}

// Decode reads a book that the same program wrote. The entries are parts of
// one copy of the data.
func Decode(data []byte, program uint64) ([]Entry, error) {
	if len(data) < fixedSize || string(data[:len(magic)]) != magic ||
		binary.LittleEndian.Uint64(data[len(magic):]) != program ||
		binary.LittleEndian.Uint32(data[fixedSize-4:]) != crc32.Checksum(data[fixedSize:], checksums) {
		return nil, ErrBook
	}
	in := input{text: string(data[fixedSize:])}
	entries := make([]Entry, in.count(8))
	for i := range entries {
		e := &entries[i]
		e.Path = in.string()
		e.Stat = vdir.Stat{
			Device: in.uvarint(), Inode: in.uvarint(),
			Size: in.varint(), Modified: in.varint(), Moved: in.varint(),
		}
		e.Record = Record(in.string())
		if !e.Record.Sound() {
			return nil, ErrBook
		}
	}
	if in.broken || in.at != len(in.text) {
		return nil, ErrBook
	}
	return entries, nil
}

// File gives the path of the book for a folder of calendars.
func File(dir, root string) string {
	return filepath.Join(dir, fmt.Sprintf("%016x.cache", Hash(root)))
}

// Read reads a book from its file.
func Read(file string, program uint64) ([]Entry, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > mostBytes {
		return nil, ErrBook
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	return Decode(data, program)
}

// Write puts a book in the place of the one before, all at once, so that a
// reader at the same time has one or the other; of two writers the later wins.
// Books of other folders are removed when there are too many of them.
func Write(file string, entries []Entry, program uint64) (err error) {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	data := Encode(entries, program)
	if len(data) > mostBytes {
		return fmt.Errorf("write cache: %d MB are too many", len(data)>>20)
	}
	f, err := os.CreateTemp(dir, "*.part")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return err
	}
	return tidy(dir)
}

// tidy removes the oldest books over the number allowed, and what a writer
// left that was killed.
func tidy(dir string) error {
	found, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var books []fs.FileInfo
	var failed []error
	for _, e := range found {
		info, err := e.Info()
		switch {
		case err != nil: // another writer's, gone already
		case strings.HasSuffix(e.Name(), ".cache"):
			books = append(books, info)
		case strings.HasSuffix(e.Name(), ".part") && time.Since(info.ModTime()) > leftovers:
			failed = append(failed, remove(filepath.Join(dir, e.Name())))
		}
	}
	slices.SortFunc(books, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, b := range books[min(len(books), mostBooks):] {
		failed = append(failed, remove(filepath.Join(dir, b.Name())))
	}
	return errors.Join(failed...)
}

// remove removes a file that another process may have removed before.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
