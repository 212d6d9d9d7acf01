// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the longest line of an event stream, in bytes. Lines over 64 KiB
// are real (arguments, padding); 8 MiB is a guard, not a protocol limit.
const MaxLine = 8 << 20

// ErrLineTooLong is returned by [Reader.Next] for a line over [MaxLine].
var ErrLineTooLong = errors.New("line of the event stream is too long")

// An Event is one dispatched event of an event stream.
type Event struct {
	// Name is the event field; "error" also when the payload came in a field
	// named error, as llama-server wrote it until late 2025.
	Name string
	// Data holds the payload: the data lines joined by line feeds. It is valid
	// until the next call of Next.
	Data []byte
}

// A Reader cuts a byte stream into events. It takes the three line ends of the
// event-stream grammar, also cut over reads, drops one byte order mark, ignores
// comments and unknown fields, and dispatches what is left at the end of the
// body. Two things go beyond the grammar because servers do them: a line that is
// a whole JSON object without a field name is an event, and a complete JSON
// payload followed directly by another data line is an event of its own.
type Reader struct {
	src     io.Reader
	buf     []byte // bytes read and not yet used, buf[off:]
	off     int
	scanned int // buf[off:scanned] holds no line end
	skipLF  bool
	first   bool
	readErr error

	name   string
	data   []byte
	has    bool // a data or error field came since the last dispatch
	out    []byte
	queued bool // the line in hold has not been used yet
	hold   []byte
	raw    []byte // the body so far, kept until the first event
	events int
}

// NewReader returns a Reader over src.
func NewReader(src io.Reader) *Reader {
	return &Reader{src: src, first: true}
}

// Next blocks until an event is complete. At the end of the body it returns
// io.EOF after the last event; any other read error comes back as it is, after
// the events whose lines were complete.
func (r *Reader) Next() (Event, error) {
	for {
		line, err := r.line()
		if err != nil {
			if r.has {
				return r.dispatch(), nil
			}
			return Event{}, err
		}
		if ev, ok := r.use(line); ok {
			return ev, nil
		}
	}
}

// Body returns the body as far as it was read while no event was found in it, so
// that an answer which is one JSON document can be decoded whole. It is nil once
// an event was dispatched.
func (r *Reader) Body() []byte {
	if r.events > 0 {
		return nil
	}
	return bytes.TrimPrefix(r.raw, bom)
}

var bom = []byte("\xef\xbb\xbf")

// line returns the next line without its end. An unterminated last line counts
// at the end of the body, but not after a read error: it may be half a line.
func (r *Reader) line() ([]byte, error) {
	if r.queued {
		r.queued = false
		return r.hold, nil
	}
	for {
		if r.skipLF && r.off < len(r.buf) {
			if r.buf[r.off] == '\n' {
				r.off++
			}
			r.skipLF = false
		}
		r.scanned = max(r.scanned, r.off)
		if i := bytes.IndexAny(r.buf[r.scanned:], "\r\n"); i >= 0 {
			end := r.scanned + i
			line := r.buf[r.off:end]
			r.skipLF = r.buf[end] == '\r'
			r.off, r.scanned = end+1, end+1
			return r.trimBOM(line), nil
		}
		r.scanned = len(r.buf)
		if r.readErr != nil {
			return r.last()
		}
		if len(r.buf)-r.off > MaxLine {
			r.readErr = fmt.Errorf("read event stream: %w", ErrLineTooLong)
			r.off = len(r.buf)
			return nil, r.readErr
		}
		r.fill()
	}
}

func (r *Reader) last() ([]byte, error) {
	if r.readErr != io.EOF || r.off == len(r.buf) {
		return nil, r.readErr
	}
	line := r.buf[r.off:]
	r.off = len(r.buf)
	return r.trimBOM(line), nil
}

func (r *Reader) trimBOM(line []byte) []byte {
	if !r.first {
		return line
	}
	r.first = false
	return bytes.TrimPrefix(line, bom)
}

func (r *Reader) fill() {
	if r.off > 0 {
		n := copy(r.buf, r.buf[r.off:])
		r.buf = r.buf[:n]
		r.scanned -= r.off
		r.off = 0
	}
	if cap(r.buf)-len(r.buf) < 4096 {
		grown := make([]byte, len(r.buf), 2*cap(r.buf)+16384)
		copy(grown, r.buf)
		r.buf = grown
	}
	n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
	if r.events == 0 && len(r.raw) < MaxLine {
		r.raw = append(r.raw, r.buf[len(r.buf):len(r.buf)+n]...)
	}
	r.buf = r.buf[:len(r.buf)+n]
	r.readErr = err
}

// use applies one line; ok tells that an event is complete.
func (r *Reader) use(line []byte) (ev Event, ok bool) {
	if len(line) == 0 {
		if !r.has {
			r.name = ""
			return Event{}, false
		}
		return r.dispatch(), true
	}
	if line[0] == '{' && json.Valid(line) {
		if r.has {
			return r.postpone(line), true
		}
		r.field("data", line)
		return r.dispatch(), true
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		r.name = string(value)
	case "data", "error":
		if r.has && (r.whole(value) || string(field) == "error") {
			return r.postpone(line), true
		}
		r.field(string(field), value)
	}
	return Event{}, false
}

// whole tells that the payload so far stands for itself although no blank line
// followed: it is complete and the next line begins a new one.
func (r *Reader) whole(next []byte) bool {
	if !bytes.HasPrefix(next, []byte("{")) && !bytes.HasPrefix(next, []byte("[DONE")) {
		return false
	}
	return bytes.HasPrefix(r.data, []byte("[DONE")) || json.Valid(r.data)
}

func (r *Reader) postpone(line []byte) Event {
	r.hold = append(r.hold[:0], line...)
	r.queued = true
	return r.dispatch()
}

func (r *Reader) field(name string, value []byte) {
	if name == "error" {
		r.name = "error"
	}
	if r.has {
		r.data = append(r.data, '\n')
	}
	r.data = append(r.data, value...)
	r.has = true
}

func (r *Reader) dispatch() Event {
	r.out, r.data = r.data, r.out[:0]
	ev := Event{Name: r.name, Data: r.out}
	r.name, r.has = "", false
	r.events++
	r.raw = nil
	return ev
}
