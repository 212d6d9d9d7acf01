// SPDX-License-Identifier: Apache-2.0

package ical

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	chunk    = 64 << 10 // bytes asked for at a time
	longest  = 1 << 20  // of a line that is kept; RFC 5545 has 75
	detected = 512      // bytes at the start by which a file is judged
)

// lines cuts a stream into physical lines without their ends: LF, CR LF, or CR
// alone in a file that begins so. A byte order mark is dropped, and UTF-16 is
// turned into UTF-8.
type lines struct {
	from     io.Reader
	buf      []byte
	at, end  int
	err      error // what from ended with
	lineEnd  byte
	prepared bool
}

// reset begins a new stream and keeps the buffer.
func (l *lines) reset(from io.Reader) {
	*l = lines{from: from, buf: l.buf, lineEnd: '\n'}
}

// fill reads on, makes room first, and says whether anything came.
func (l *lines) fill() bool {
	if l.err != nil {
		return false
	}
	if l.at > 0 {
		copy(l.buf, l.buf[l.at:l.end])
		l.end -= l.at
		l.at = 0
	}
	if len(l.buf)-l.end < chunk {
		l.buf = append(l.buf[:l.end], make([]byte, max(chunk, l.end))...)
		l.buf = l.buf[:cap(l.buf)]
	}
	for range 10 {
		n, err := l.from.Read(l.buf[l.end:])
		l.end += n
		if err != nil {
			l.err = err
		}
		if n > 0 || err != nil {
			return n > 0
		}
	}
	l.err = io.ErrNoProgress
	return false
}

// prepare looks at the first bytes once.
func (l *lines) prepare() {
	l.prepared = true
	for l.end-l.at < detected && l.fill() {
	}
	head := l.buf[l.at:min(l.end, l.at+detected)]
	for big, marks := range [2][]string{{"\xff\xfe", "B\x00E\x00"}, {"\xfe\xff", "\x00B\x00E"}} {
		if bytes.HasPrefix(head, []byte(marks[0])) || bytes.HasPrefix(head, []byte(marks[1])) {
			rest := append([]byte(nil), l.buf[l.at:l.end]...)
			from := io.MultiReader(bytes.NewReader(rest), &failing{l.from, l.err})
			*l = lines{from: &wide{from: from, big: big}, buf: l.buf, lineEnd: '\n'}
			l.prepare()
			return
		}
	}
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		l.at += 3
	}
	if bytes.IndexByte(head, '\r') >= 0 && bytes.IndexByte(head, '\n') < 0 {
		if i := bytes.IndexByte(head, '\r'); i+1 < len(head) {
			l.lineEnd = '\r'
		}
	}
}

// next gives the next line, valid until the next call. more is false at the
// end. Of a line over the longest the rest is dropped.
func (l *lines) next() (line []byte, more bool) {
	if !l.prepared {
		l.prepare()
	}
	for seen := 0; ; {
		if i := bytes.IndexByte(l.buf[l.at+seen:l.end], l.lineEnd); i >= 0 {
			size := seen + i
			if l.at+size+1 == l.end {
				l.fill() // for folded; what is at moves to the front
			}
			line = l.buf[l.at : l.at+size]
			l.at += size + 1
			return bytes.TrimRight(line, "\r"), true
		}
		seen = l.end - l.at
		if seen > longest {
			line = append([]byte(nil), l.buf[l.at:l.at+longest]...)
			l.skip()
			return line, true
		}
		if !l.fill() {
			break
		}
	}
	line = l.buf[l.at:l.end]
	l.at = l.end
	return bytes.TrimRight(line, "\r"), len(line) > 0
}

// skip drops what is left of a line.
func (l *lines) skip() {
	for {
		if i := bytes.IndexByte(l.buf[l.at:l.end], l.lineEnd); i >= 0 {
			l.at += i + 1
			if l.at == l.end {
				l.fill()
			}
			return
		}
		l.at = l.end
		if !l.fill() {
			return
		}
	}
}

// folded says whether the next line goes on with this one (RFC 5545, 3.1).
func (l *lines) folded() bool {
	return l.at < l.end && (l.buf[l.at] == ' ' || l.buf[l.at] == '\t')
}

// failing is a reader that has failed already, or goes on.
type failing struct {
	from io.Reader
	err  error
}

func (f *failing) Read(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return f.from.Read(p)
}

// wide reads UTF-16 as UTF-8; what is none becomes the replacement character.
type wide struct {
	from    io.Reader
	big     int // 1: the high byte comes first
	in, out []byte
	raw     [4096]byte
}

func (w *wide) Read(p []byte) (int, error) {
	for len(w.out) == 0 {
		n, err := w.from.Read(w.raw[:])
		w.in = append(w.in, w.raw[:n]...)
		if n == 0 && err != nil {
			return 0, err
		}
		w.decode(errors.Is(err, io.EOF))
	}
	n := copy(p, w.out)
	w.out = w.out[n:]
	return n, nil
}

func (w *wide) decode(last bool) {
	for len(w.in) >= 2 {
		r := w.unit(0)
		size := 2
		if utf16.IsSurrogate(r) {
			if len(w.in) < 4 && !last {
				return
			}
			if len(w.in) >= 4 {
				if pair := utf16.DecodeRune(r, w.unit(2)); pair != utf8.RuneError {
					r, size = pair, 4
				}
			}
		}
		w.out = utf8.AppendRune(w.out, r)
		w.in = w.in[size:]
	}
}

func (w *wide) unit(i int) rune {
	return rune(w.in[i+w.big^1])<<8 | rune(w.in[i+w.big])
}

// windows1252 are the runes of the bytes 0x80 to 0x9f (WHATWG Encoding, index
// windows-1252); the other bytes are the runes of their number.
var windows1252 = []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–\u2014˜™š›œ\u009džŸ")

// decode reads the bytes of a value as UTF-8, and as Windows-1252 where they are
// none.
func decode(value []byte) string {
	if utf8.Valid(value) {
		return string(value)
	}
	var b strings.Builder
	for _, c := range value {
		if c >= 0x80 && c < 0xa0 {
			b.WriteRune(windows1252[c-0x80])
		} else {
			b.WriteRune(rune(c))
		}
	}
	return b.String()
}

// Text reads the escapes of a TEXT (RFC 5545, 3.3.11) and makes it one line
// that can be shown: a line break becomes a blank, other control characters
// are dropped, and so are blanks around it.
func Text(value string) string {
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		c := value[i]
		if c == '\\' && i+1 < len(value) {
			i++
			switch c = value[i]; c {
			case 'n', 'N':
				c = '\n'
			case '\\', ',', ';', ':', '"':
			default:
				b.WriteByte('\\') // none of the escapes
			}
		}
		b.WriteByte(c)
	}
	shown := strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\u2028', r == '\u2029', r == '\u0085':
			return ' '
		case r == '\t':
			return r
		case r < ' ', r >= 0x7f && r < 0xa0:
			return -1
		}
		return r
	}, b.String())
	return strings.TrimSpace(shown)
}
