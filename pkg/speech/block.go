// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"bytes"
	"unicode"
)

// A kind says what a line of Markdown is.
type kind int

const (
	paragraph kind = iota // running text; may go on in the next line
	single                // a heading or list item; ends with its line
	rule                  // a line of three or more - * or _
	fence                 // a code block
	grid                  // a table
)

// lineKind decides what the line at i is, and where its text begins behind the
// mark. It sets v.more when the line has not shown itself yet.
func lineKind(v *view, i int) (kind, int) {
	start := i
	for {
		r, _ := v.at(i)
		if r != ' ' && r != '\t' && r != '>' {
			break
		}
		i++
	}
	r, n := v.at(i)
	switch r {
	case '`', '~':
		return fenceStart(v, i, start, r), start
	case '#':
		return headingStart(v, i, start)
	case '-', '*', '_', '+':
		return dashStart(v, i, start, r)
	case '•', '◦', '▪', '‣', '·', '・':
		return single, i + n
	case '–', '\u2014': // a bullet, or somebody's turn to speak
		if next, _ := v.at(i + n); next == ' ' {
			return single, i + n
		}
		return paragraph, start
	case '|':
		return grid, start
	case '=':
		return equalsLine(v, i), start
	}
	if next, _ := v.at(i + n); isEmoji(r) || r < 0x80 && (next == 0xFE0F || next == 0x20E3) {
		return single, i + n // a check mark or keycap for a bullet
	}
	if after, ok := itemNumber(v, i); ok {
		return single, after
	}
	return paragraph, start
}

// fenceStart tells a fence from a code span at the start of a line. A span may
// close in the same line, and a fence of backticks may not.
func fenceStart(v *view, i, start int, mark rune) kind {
	n := runLength(v, i, mark)
	if n < 3 || v.more {
		return paragraph
	}
	for j := i + n; ; j++ {
		switch r, _ := v.at(j); {
		case r == '\n':
			return fence
		case r == eof:
			if v.more {
				return paragraph
			}
			return fence
		case r == '`' && mark == '`':
			return paragraph
		}
	}
}

// equalsLine tells a line of equals signs, which stands below a heading.
func equalsLine(v *view, i int) kind {
	n := runLength(v, i, '=')
	if r, _ := v.at(i + n); n > 2 && (r == '\n' || r == '\r' || r == eof) && !v.more {
		return rule
	}
	return paragraph
}

func runLength(v *view, i int, mark rune) int {
	n := 0
	for {
		r, _ := v.at(i + n)
		if r != mark {
			return n
		}
		n++
	}
}

func headingStart(v *view, i, start int) (kind, int) {
	n := runLength(v, i, '#')
	r, _ := v.at(i + n)
	if n > 6 || r != ' ' && r != '\t' && r != '\n' {
		return paragraph, start
	}
	after := i + n
	for r == ' ' || r == '\t' {
		after++
		r, _ = v.at(after)
	}
	return single, after
}

// dashStart tells list items from rules, bold text and negative numbers.
func dashStart(v *view, i, start int, mark rune) (kind, int) {
	marks, j := 0, i
	r := mark
	for r == mark || r == ' ' || r == '\t' {
		if r == mark {
			marks++
		}
		j++
		r, _ = v.at(j)
	}
	if v.more {
		return paragraph, start
	}
	if (r == '\n' || r == '\r' || r == eof) && marks >= 3 && mark != '+' {
		return rule, j
	}
	if r, _ := v.at(i + 1); mark == '_' || r != ' ' && r != '\t' {
		return paragraph, start
	}
	return single, j
}

// itemNumber reads "1.", "12)", "(3)" or "a)" and the white space behind it.
func itemNumber(v *view, i int) (int, bool) {
	r, n := v.at(i)
	paren := r == '('
	if paren {
		i++
		r, n = v.at(i)
	}
	digits := 0
	if unicode.IsLetter(r) && r < 0x80 {
		i += n
		if r, _ = v.at(i); r != ')' {
			return 0, false
		}
	} else {
		for ; r >= '0' && r <= '9' && digits < 4; digits++ {
			i++
			r, _ = v.at(i)
		}
		if digits == 0 || digits > 3 || r != ')' && (r != '.' || paren) {
			return 0, false
		}
	}
	i++
	if r, _ = v.at(i); r != ' ' && r != '\t' {
		return 0, false
	}
	return i, true
}

// scanBlock looks for the end of a code block or table; pos is the start of the
// first line that has not been read whole.
func (s *Splitter) scanBlock(final bool) (int, bool) {
	for s.pos < len(s.buf) {
		line := s.buf[s.pos:]
		n := bytes.IndexByte(line, '\n')
		if n < 0 {
			break
		}
		if s.kind == grid && !isRow(line) {
			return s.pos, true
		}
		if s.kind == fence && s.pos > 0 && s.closes(line[:n]) {
			return s.pos + n + 1, true
		}
		s.pos += n + 1
	}
	if rest := trimIndent(s.buf[s.pos:]); s.kind == grid && len(rest) > 0 && rest[0] != '|' {
		return s.pos, true
	}
	return len(s.buf), final
}

func isRow(line []byte) bool {
	rest := trimIndent(line)
	return len(rest) > 0 && rest[0] == '|'
}

func trimIndent(line []byte) []byte {
	return bytes.TrimLeft(line, " \t>")
}

// closes reports whether line ends the code block in buf: a fence of the same
// mark, at least as long as the first.
func (s *Splitter) closes(line []byte) bool {
	first := trimIndent(s.buf)
	size := len(first) - len(bytes.TrimLeft(first, string(first[:1])))
	line = bytes.TrimSpace(trimIndent(line))
	return len(line) >= size && len(bytes.Trim(line, string(first[:1]))) == 0
}

// spanLimit is how far a code span or link target may reach. A mark that never
// closes must not hold the text back for longer.
const spanLimit = 160

// codeSpan returns the end of the code span at i, or of its marks when it does
// not close in its line.
func codeSpan(v *view, i int) int {
	n := runLength(v, i, '`')
	for j := i + n; j < i+n+spanLimit; {
		r, w := v.at(j)
		if r == eof || r == '\n' {
			break
		}
		if r != '`' {
			j += w
			continue
		}
		m := runLength(v, j, '`')
		if j += m; m == n {
			return j
		}
	}
	return i + n
}

// linkTarget returns the end of the "(target)" behind the bracket at i, or i+1.
func linkTarget(v *view, i int) int {
	if r, _ := v.at(i + 1); r != '(' {
		return i + 1
	}
	depth := 0
	for j := i + 1; j < i+spanLimit; {
		r, w := v.at(j)
		switch r {
		case eof, '\n':
			return i + 1
		case '(':
			depth++
		case ')':
			depth--
		}
		if j += w; depth == 0 {
			return j
		}
	}
	return i + 1
}
