// SPDX-License-Identifier: Apache-2.0

package run

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// cleaner turns the bytes of a program into text for model, screen and voice,
// in constant memory and across any cut between writes: a run of bytes that
// are no UTF-8 becomes one U+FFFD, terminal escape sequences and invisible
// control characters vanish, and odd line separators become newlines.
type cleaner struct {
	put     func(rune) // receives each rune that is left
	part    []byte     // an incomplete rune, at most three bytes
	invalid bool       // the last rune stood for invalid bytes
	escape  escape
}

// escape is where the cleaner stands inside an escape sequence.
type escape int

const (
	escapeNone    escape = iota
	escapeBegun          // after ESC
	escapeControl        // after ESC [, until a final byte
	escapeString         // after ESC ], P, X, ^ or _, until BEL or ESC \
)

const esc = '\x1b'

func (c *cleaner) feed(p []byte) {
	for len(c.part) > 0 && len(p) > 0 {
		c.part = append(c.part, p[0])
		p = p[1:]
		for len(c.part) > 0 && utf8.FullRune(c.part) {
			r, n := utf8.DecodeRune(c.part)
			c.part = c.part[n:]
			c.decoded(r, n)
		}
	}
	for len(p) > 0 {
		if !utf8.FullRune(p) {
			c.part = append(c.part[:0:0], p...)
			return
		}
		r, n := utf8.DecodeRune(p)
		p = p[n:]
		c.decoded(r, n)
	}
}

// end says that no more bytes come.
func (c *cleaner) end() {
	if len(c.part) > 0 {
		c.part = nil
		c.decoded(utf8.RuneError, 1)
	}
}

// decoded takes a rune and the number of bytes it was read from.
func (c *cleaner) decoded(r rune, bytes int) {
	invalid := r == utf8.RuneError && bytes == 1
	if invalid && c.invalid {
		return
	}
	c.invalid = invalid
	if c.escape != escapeNone && c.inEscape(r) {
		return
	}
	if r == esc {
		c.escape = escapeBegun
		return
	}
	if r = visible(r); r >= 0 {
		c.put(r)
	}
}

// inEscape advances through an escape sequence and reports whether the rune
// belonged to it.
func (c *cleaner) inEscape(r rune) bool {
	switch c.escape {
	case escapeBegun:
		switch {
		case r == '[':
			c.escape = escapeControl
			return true
		case strings.ContainsRune("]PX^_", r):
			c.escape = escapeString
			return true
		case r >= 0x20 && r <= 0x2f: // an intermediate byte, the final one follows
			return true
		}
		c.escape = escapeNone
		return r >= 0x30 && r <= 0x7e
	case escapeControl:
		if r >= 0x20 && r <= 0x3f {
			return true
		}
		c.escape = escapeNone
		return r >= 0x40 && r <= 0x7e
	}
	switch r {
	case '\a':
		c.escape = escapeNone
	case esc:
		c.escape = escapeBegun
	case '\n': // an unfinished string must not swallow the rest
		c.escape = escapeNone
		return false
	}
	return true
}

// visible maps a rune to what is shown, negative for nothing. Which ones go:
// control characters, overrides of the writing direction, and the tag
// characters that hide text.
func visible(r rune) rune {
	switch {
	case r == '\n', r == '\t', r == '\r':
		return r
	case r == '\u0085', r == '\u2028', r == '\u2029':
		return '\n'
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return -1
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return -1
	case r >= 0xe0000 && r <= 0xe007f:
		return -1
	}
	return r
}

// head is a writer that keeps the first runes of the trimmed text and takes
// the rest without keeping it, so that a program never blocks on it.
type head struct {
	cleaner
	limit int
	kept  []byte
	runes int
	more  bool // something that is no white space came after the limit
}

func newHead(limit int) *head {
	h := &head{limit: limit}
	h.put = h.add
	return h
}

// Write implements [io.Writer] and never fails.
func (h *head) Write(p []byte) (int, error) {
	if !h.more {
		h.feed(p)
	}
	return len(p), nil
}

func (h *head) add(r rune) {
	space := unicode.IsSpace(r)
	switch {
	case h.runes == 0 && space:
	case h.runes < h.limit:
		h.kept = utf8.AppendRune(h.kept, r)
		h.runes++
	case !space:
		h.more = true
	}
}

// text is what was kept: the text trimmed on both sides, then cut.
func (h *head) text() string {
	h.end()
	if h.more {
		return string(h.kept)
	}
	return strings.TrimRightFunc(string(h.kept), unicode.IsSpace)
}

// lastLine is a writer that keeps the start of the last line that is not
// blank, however long the lines are.
type lastLine struct {
	cleaner
	limit   int
	current *head
	last    string
}

func newLastLine(limit int) *lastLine {
	l := &lastLine{limit: limit, current: newHead(limit)}
	l.put = l.add
	return l
}

// Write implements [io.Writer] and never fails.
func (l *lastLine) Write(p []byte) (int, error) {
	l.feed(p)
	return len(p), nil
}

func (l *lastLine) add(r rune) {
	if r == '\n' || r == '\r' {
		l.turn()
		return
	}
	l.current.add(r)
}

func (l *lastLine) turn() {
	if l.current.runes > 0 {
		l.last = l.current.text()
		l.current = newHead(l.limit)
	}
}

func (l *lastLine) text() string {
	l.end()
	l.turn()
	return l.last
}

// clean gives a short text the same treatment as a program's output.
func clean(text string, limit int) string {
	h := newHead(limit)
	h.feed([]byte(text))
	return h.text()
}
