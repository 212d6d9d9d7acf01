// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"encoding/binary"
	"fmt"
	"io"
)

// A scan reads protobuf without keeping it: fields of bytes are jumped over
// unless someone looks into them.
type scan struct {
	r      io.ReaderAt
	size   int64
	fields int // how many more are looked at
	kept   int // bytes of metadata
	depth  int

	window []byte // bytes of the file from start on
	start  int64
}

// A field is one of a message. The bytes of kind 2 lie at from, to to.
type field struct {
	number   uint64
	kind     uint64
	value    uint64 // of kind 0
	from, to int64
}

// maxDepth is deeper than what is looked into.
const maxDepth = 8

func (s *scan) inner(f field, visit func(field) error) error {
	if f.kind != 2 {
		return fmt.Errorf("%w: field %d at byte %d is no message", ErrNotModel, f.number, f.from)
	}
	s.depth++
	defer func() { s.depth-- }()
	if s.depth > maxDepth {
		return fmt.Errorf("%w: nested too deep", ErrNotModel)
	}
	return s.message(f.from, f.to, visit)
}

// message visits the fields between two places.
func (s *scan) message(at, end int64, visit func(field) error) error {
	for at < end {
		if s.fields--; s.fields < 0 {
			return fmt.Errorf("%w: more than %d fields", ErrNotModel, maxFields)
		}
		f, next, err := s.field(at, end)
		if err != nil {
			return err
		}
		if err := visit(f); err != nil {
			return err
		}
		at = next
	}
	return nil
}

func (s *scan) field(at, end int64) (f field, next int64, err error) {
	key, n, err := s.varint(at)
	if err != nil {
		return f, 0, err
	}
	f.number, f.kind = key>>3, key&7
	at += n
	f.from = at
	switch f.kind {
	case 0:
		f.value, n, err = s.varint(at)
		next = at + n
	case 1:
		next = at + 8
	case 5:
		next = at + 4
	case 2:
		var length uint64
		length, n, err = s.varint(at)
		f.from = at + n
		if err == nil && length > uint64(s.size-min(s.size, f.from)) {
			return f, 0, fmt.Errorf("%w: it has %d bytes and says that it goes on to byte %d", ErrTruncated, s.size, uint64(f.from)+length)
		}
		f.to = f.from + int64(length)
		next = f.to
	default:
		return f, 0, fmt.Errorf("%w: byte %d makes no sense", ErrNotModel, at-n)
	}
	switch {
	case err != nil:
		return f, 0, err
	case f.number == 0:
		return f, 0, fmt.Errorf("%w: byte %d makes no sense", ErrNotModel, at-n)
	case next > end && end == s.size:
		return f, 0, fmt.Errorf("%w: %d bytes", ErrTruncated, s.size)
	case next > end:
		return f, 0, fmt.Errorf("%w: field %d at byte %d is longer than what holds it", ErrNotModel, f.number, at)
	}
	return f, next, nil
}

func (s *scan) varint(at int64) (v uint64, n int64, err error) {
	b, err := s.peek(at, binary.MaxVarintLen64)
	if err != nil {
		return 0, 0, err
	}
	v, length := binary.Uvarint(b)
	switch {
	case length > 0:
		return v, int64(length), nil
	case length == 0:
		return 0, 0, fmt.Errorf("%w: %d bytes", ErrTruncated, s.size)
	}
	return 0, 0, fmt.Errorf("%w: byte %d makes no sense", ErrNotModel, at)
}

// peek gives up to n bytes at a place; fewer only at the end of the file.
func (s *scan) peek(at int64, n int) ([]byte, error) {
	n = int(min(int64(n), s.size-at))
	if at < s.start || at+int64(n) > s.start+int64(len(s.window)) {
		if s.window == nil {
			s.window = make([]byte, windowLength)
		}
		s.window = s.window[:min(int64(windowLength), s.size-at)]
		s.start = at
		if got, err := s.r.ReadAt(s.window, at); got < len(s.window) {
			return nil, fmt.Errorf("%w: byte %d cannot be read: %w", ErrTruncated, at+int64(got), err)
		}
	}
	from := at - s.start
	return s.window[from : from+int64(n)], nil
}

func (s *scan) text(f field, into *string) error {
	if f.kind != 2 || f.to-f.from > maxName {
		return fmt.Errorf("%w: field %d at byte %d is no name", ErrNotModel, f.number, f.from)
	}
	b, err := s.peek(f.from, int(f.to-f.from))
	if err == nil {
		*into = string(b)
	}
	return err
}

// long reads a text that may be longer than a window.
func (s *scan) long(f field, into *string) error {
	if f.kind != 2 || f.to-f.from > maxMetadata {
		return fmt.Errorf("%w: field %d at byte %d is no text", ErrNotModel, f.number, f.from)
	}
	b := make([]byte, f.to-f.from)
	if got, err := s.r.ReadAt(b, f.from); got < len(b) {
		return fmt.Errorf("%w: byte %d cannot be read: %w", ErrTruncated, f.from+int64(got), err)
	}
	*into = string(b)
	return nil
}
