// SPDX-License-Identifier: Apache-2.0

// Package voice reads Kokoro's voices and mixes them.
//
// A voice is a table of rows, one for each length of what is said, each of which
// is a style: 128 numbers for the timbre and 128 for the melody. There are three
// ways to keep many of them, and [Open] knows them all: the npz archive of
// kokoro-onnx (voices-v1.0.bin), a folder of raw files (af_heart.bin and so on),
// and the raw bundle of sherpa-onnx, whose names are in the model.
package voice

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"example.org/desktop-assistant/proto"
)

const (
	// Rows is how many lengths a voice knows, StyleSize how many numbers a style has.
	Rows      = 510
	StyleSize = 256
	tableSize = Rows * StyleSize
	// fileSize is that of a raw voice, in bytes.
	fileSize = tableSize * 4
	// knownSize is that of kokoro-onnx's voices-v1.0.bin, for the hint.
	knownSize = 28214398
)

// op is the operation of every error here.
const op = "read voices"

// A Table is one voice, or a mixture of some.
type Table []float32

// Row is the style for a text of n symbols. It belongs to the table.
func (t Table) Row(n int) []float32 {
	row := max(0, min(n-1, Rows-1))
	return t[row*StyleSize : (row+1)*StyleSize]
}

// A Set is where voices come from. Its methods are for any goroutine.
type Set struct {
	path  string
	names []string
	read  func(name string) (Table, error)

	mu     sync.Mutex
	tables map[string]Table // by blend, as written by Blend.String
}

// maxTables bounds what is kept: 522 kB each.
const maxTables = 16

// Open looks at what is there and reads no voice yet. speakers are the names that
// the model gives for a raw bundle, nil when it gives none. Errors are *proto.Error
// with a hint.
func Open(path string, speakers []string) (*Set, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault(path, "there is no such file")
	case err != nil:
		return nil, fault(path, "%v", err)
	case info.IsDir():
		return openFolder(path)
	case !info.Mode().IsRegular(): // to open a pipe would wait for someone who writes
		return nil, fault(path, "it is neither a file nor a folder")
	}
	head, err := headOf(path)
	switch {
	case err != nil:
		return nil, fault(path, "%v", err)
	case strings.HasPrefix(head, "PK\x03\x04"):
		return openArchive(path)
	case strings.HasPrefix(head, "version https://git-lfs"):
		return nil, fault(path, "it is the pointer of Git LFS to a file, and not that file")
	case strings.HasPrefix(head, "<"):
		return nil, fault(path, "it is a web page, and not the file that was to be downloaded")
	}
	return openBundle(path, info.Size(), speakers)
}

func fault(path, format string, args ...any) *proto.Error {
	return proto.Errorf(proto.CodeUnavailable, op, "%s: %s", path, fmt.Sprintf(format, args...)).
		WithHint("put voices-v1.0.bin (%d bytes) of kokoro-onnx there, or name it: voices below [kokoro] in the configuration", knownSize)
}

func headOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, 64)
	n, _ := f.Read(head) // a short file has a short head
	return string(head[:n]), nil
}

// openFolder takes every raw file of a folder for a voice of its name.
func openFolder(path string) (*Set, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fault(path, "%v", err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".bin"); ok && validName(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, fault(path, "no file like af_heart.bin is in this folder")
	}
	return &Set{path: path, names: names, read: func(name string) (Table, error) {
		file := filepath.Join(path, name+".bin")
		b, err := readAll(file, fileSize)
		if err != nil {
			return nil, fault(file, "%v", err)
		}
		t, err := DecodeRaw(b)
		if err != nil {
			return nil, fault(file, "%v", err)
		}
		return t, nil
	}}, nil
}

// openBundle takes a raw file for as many voices as the model names.
func openBundle(path string, size int64, speakers []string) (*Set, error) {
	switch {
	case size == fileSize:
		return nil, fault(path, "it is one voice: name the folder it is in")
	case size == 0 || size%fileSize != 0:
		return nil, fault(path, "%d bytes are no voices: it is not an npz archive, and a bundle has %d bytes for each", size, fileSize)
	case len(speakers) == 0:
		return nil, fault(path, "it is a bundle without names, and the model names no speakers")
	case int64(len(speakers)) != size/fileSize:
		return nil, fault(path, "it has %d voices, and the model names %d", size/fileSize, len(speakers))
	}
	for _, name := range speakers {
		if !validName(name) {
			return nil, fault(path, "the model names a speaker %.40q", name)
		}
	}
	names := slices.Sorted(slices.Values(speakers))
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		return nil, fault(path, "the model names a speaker twice")
	}
	return &Set{path: path, names: names, read: func(name string) (Table, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, fault(path, "%v", err)
		}
		defer f.Close()
		b := make([]byte, fileSize)
		if _, err := f.ReadAt(b, int64(slices.Index(speakers, name))*fileSize); err != nil {
			return nil, fault(path, "it ends too early: %v", err)
		}
		t, err := DecodeRaw(b)
		if err != nil {
			return nil, fault(path, "voice %s: %v", name, err)
		}
		return t, nil
	}}, nil
}

// validName keeps names to what is a file name and can be written in a blend.
func validName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
}

// Path is where they come from.
func (s *Set) Path() string { return s.path }

// Names lists the voices, sorted.
func (s *Set) Names() []string { return slices.Clone(s.names) }

// Check says, as an error with the known ones, whether a voice of the blend is not
// there.
func (s *Set) Check(b Blend) error {
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if !slices.Contains(s.names, name) {
			return proto.Errorf(proto.CodeInvalid, op, "there is no voice %q in %s; known are %s", name, s.path, strings.Join(s.names, ", ")).
				WithHint("see them: desktop-assistant voice list")
		}
	}
	return nil
}

// Table mixes voices; the shares are brought to the sum of 1. It is kept, and must
// not be changed.
func (s *Set) Table(b Blend) (Table, error) {
	b = b.normal()
	if len(b) == 0 {
		return nil, proto.Errorf(proto.CodeInvalid, op, "a blend needs a voice with a share above 0")
	}
	if err := s.Check(b); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := b.String()
	if t, ok := s.tables[key]; ok {
		return t, nil
	}
	sum := make(Table, tableSize)
	for _, name := range slices.Sorted(maps.Keys(b)) {
		t, err := s.read(name)
		if err != nil {
			return nil, err
		}
		share := float32(b[name])
		for i, v := range t {
			sum[i] += share * v
		}
	}
	if s.tables == nil || len(s.tables) == maxTables {
		s.tables = map[string]Table{}
	}
	s.tables[key] = sum
	return sum, nil
}

// finite says whether all are numbers of a size that a style can have: those of
// the real voices are below 2.
func finite(t Table) error {
	for i, v := range t {
		if math.IsNaN(float64(v)) || math.Abs(float64(v)) > 100 {
			return fmt.Errorf("number %d is %v: these are not the numbers of a voice", i, v)
		}
	}
	return nil
}
