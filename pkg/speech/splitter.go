// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"example.org/desktop-assistant/pkg/speech/lexicon"
)

// maxRunes is the longest piece a Splitter emits, code blocks and tables
// aside: Kokoro takes 510 phonemes, and text runs to 1.2 phonemes a character.
const maxRunes = 300

// minClause is the first character after which a long run may be cut at a
// clause mark; an earlier cut would leave a stump.
const minClause = 40

// A Splitter cuts a stream of text into sentences.
//
// What it emits depends on the text alone, never on how it was cut into
// pieces, and nothing but white space between sentences is lost: the emitted
// strings are slices of the input, Markdown marks included. A code block or a
// table is one string that begins with its fence or its bar; a heading and a
// list item end with their line. Pass each string to Spoken before saying it.
//
// The zero value is not ready, use NewSplitter. A Splitter is for one
// goroutine and one answer; after Flush it is empty and may be used again.
type Splitter struct {
	lang  string
	table *lexicon.Table

	buf    []byte // text not emitted yet; begins with the current item
	pos    int    // buf[:pos] is known to hold no end
	kind   kind   // of the line the item stands in
	bol    bool   // the item begins a line
	known  bool   // kind was decided for the item
	open   int    // brackets and quotes that matter for CJK stops
	quote  bool   // an odd number of straight quotes was seen
	square bool   // a square bracket is open
}

// NewSplitter returns a Splitter for text that is mostly in lang, a tag such
// as "it" or "en-us". The language chooses the abbreviations; a language
// without a table is cut by its marks alone.
func NewSplitter(lang string) *Splitter {
	return &Splitter{lang: lexicon.Primary(lang), table: lexicon.For(lang), bol: true}
}

// Push adds text and returns the sentences that are certain now, in order.
// Text may end anywhere, also inside a character. Most calls return nil.
func (s *Splitter) Push(text string) []string {
	s.buf = append(s.buf, text...)
	return s.drain(false)
}

// Flush returns what is left, as the end of the text, and empties s.
func (s *Splitter) Flush() []string {
	out := s.drain(true)
	*s = Splitter{lang: s.lang, table: s.table, buf: s.buf[:0], bol: true}
	return out
}

// A view is the part of the text that a decision may look at. Every decision
// is made from characters inside it, so that it cannot depend on how much more
// has arrived; one that needs more says so by setting more.
type view struct {
	b     []byte
	final bool // the text ends with b
	more  bool // something beyond b was needed
}

// eof is what a view answers behind the end of the text.
const eof rune = -1

// at decodes the character at i. Behind the end it answers eof, and sets more
// when the text may go on.
func (v *view) at(i int) (rune, int) {
	if i >= len(v.b) || !v.final && !utf8.FullRune(v.b[i:]) {
		if !v.final {
			v.more = true
		}
		return eof, 0
	}
	return utf8.DecodeRune(v.b[i:])
}

func (s *Splitter) drain(final bool) []string {
	var out []string
	for {
		if !s.trim() {
			return out
		}
		end, ok := s.scan(final)
		if !ok {
			return out
		}
		if text := bytes.TrimSpace(s.buf[:end]); len(text) > 0 {
			out = append(out, string(text))
		}
		s.advance(end)
	}
}

// trim drops white space before the next item and reports whether there is one.
func (s *Splitter) trim() bool {
	if s.known || s.pos > 0 {
		return true
	}
	i := 0
	for i < len(s.buf) && utf8.FullRune(s.buf[i:]) {
		r, n := utf8.DecodeRune(s.buf[i:])
		if !unicode.IsSpace(r) {
			break
		}
		if r == '\n' {
			s.bol, s.kind = true, paragraph
		}
		i += n
	}
	s.drop(i)
	return len(s.buf) > 0
}

// drop removes the first n bytes; the storage is kept for what follows.
func (s *Splitter) drop(n int) {
	s.buf = s.buf[:copy(s.buf, s.buf[n:])]
}

// advance starts the next item after one of n bytes.
func (s *Splitter) advance(n int) {
	block := s.kind == fence || s.kind == grid || s.kind == rule
	s.bol = block || n > 0 && s.buf[n-1] == '\n'
	if s.bol {
		s.kind = paragraph
	}
	s.drop(n)
	s.pos, s.known, s.open, s.quote, s.square = 0, false, 0, false, false
}

// scan looks for the end of the first item. It reports false when more text is
// needed, and always true when final is set.
func (s *Splitter) scan(final bool) (int, bool) {
	if s.known && (s.kind == fence || s.kind == grid) {
		return s.scanBlock(final)
	}
	limit, full := horizon(s.buf)
	v := &view{b: s.buf[:limit], final: final && !full}
	if !s.known {
		if s.bol {
			k, skip := lineKind(v, 0)
			if v.more && !full {
				return 0, false
			}
			if v.more {
				k, skip, v.more = paragraph, 0, false
			}
			s.kind, s.pos = k, skip
		}
		s.known = true
		if s.kind == fence || s.kind == grid {
			s.pos = 0
			return s.scanBlock(final)
		}
	}
	if end, ok := s.scanText(v); ok {
		return end, true
	}
	if full {
		return cut(v.b), true
	}
	return len(s.buf), final
}

// horizon is the length of the first maxRunes characters of b, and whether
// there are that many.
func horizon(b []byte) (int, bool) {
	if len(b) < maxRunes {
		return len(b), false
	}
	i := 0
	for range maxRunes {
		if i >= len(b) || !utf8.FullRune(b[i:]) {
			return len(b), false
		}
		_, n := utf8.DecodeRune(b[i:])
		i += n
	}
	return i, true
}

// scanText moves pos over running text up to the end of a sentence.
func (s *Splitter) scanText(v *view) (int, bool) {
	for {
		r, n := v.at(s.pos)
		if r == eof {
			return len(v.b), !v.more
		}
		next, end := s.pos+n, false
		switch {
		case r == '\n':
			next, end = s.lineBreak(v, s.pos)
		case r == '`':
			next = codeSpan(v, s.pos)
		case r == ']':
			next = linkTarget(v, s.pos)
			s.square = false
		case isWideStop(r):
			next, end = s.wideStop(v, s.pos)
		case isStop(r):
			next, end = s.stop(v, s.pos)
		}
		if v.more {
			return 0, false
		}
		if end {
			return next, true
		}
		if next == s.pos+n || isStop(r) || isWideStop(r) {
			for _, c := range string(v.b[s.pos:next]) {
				s.count(c)
			}
		}
		s.pos = next
	}
}

// count keeps track of open brackets and quotes, for stops without a space.
func (s *Splitter) count(r rune) {
	switch r {
	case '「', '『', '（', '《', '【', '“', '‘', '〈':
		s.open++
	case '」', '』', '）', '》', '】', '”', '’', '〉':
		s.open = max(0, s.open-1)
	case '"':
		s.quote = !s.quote
	case '[':
		s.square = true
	case ']':
		s.square = false
	}
}

// lineBreak decides what the line feed at i is: an end, or just a space.
func (s *Splitter) lineBreak(v *view, i int) (next int, end bool) {
	if s.kind != paragraph || s.boldLine(v, i) {
		return i + 1, true
	}
	next, blank := skipSpace(v, i)
	if blank {
		return i + 1, true
	}
	if v.more {
		return i + 1, false
	}
	if next >= len(v.b) {
		return i + 1, true
	}
	if k, _ := lineKind(v, next); k != paragraph || startsBold(v, next) {
		return i + 1, true
	}
	return next, false
}

// startsBold reports whether the line at i begins with a bold label, which is
// how a model writes a list without bullets.
func startsBold(v *view, i int) bool {
	for range 2 {
		if r, _ := v.at(i); r != '*' {
			return false
		}
		i++
	}
	return true
}

// boldLine reports whether the line that ends at i is bold as a whole, which
// is how a model writes a heading when it writes no heading.
func (s *Splitter) boldLine(v *view, i int) bool {
	line := bytes.TrimSpace(v.b[:i])
	if j := bytes.LastIndexByte(line, '\n'); j >= 0 || !s.bol {
		return false
	}
	line = bytes.TrimSuffix(line, []byte(":"))
	return len(line) > 4 && bytes.HasPrefix(line, []byte("**")) && bytes.HasSuffix(line, []byte("**")) &&
		bytes.Count(line, []byte("**")) == 2
}

// skipSpace returns the first position from i on that is not white space, and
// whether a blank line lies between.
func skipSpace(v *view, i int) (int, bool) {
	lines := 0
	for {
		r, n := v.at(i)
		if r == eof || !unicode.IsSpace(r) {
			return i, false
		}
		if r == '\n' {
			if lines++; lines > 1 {
				return i, true
			}
		}
		i += n
	}
}

// cut returns where to break a run of maxRunes characters without an end: after
// the last clause mark, else at the last space, else at its end.
func cut(b []byte) int {
	clause, space, count := 0, 0, 0
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		i, count = i+n, count+1
		switch {
		case unicode.IsSpace(r):
			space = i
		case isWideClause(r) && count >= minClause:
			if next, _ := utf8.DecodeRune(b[i:]); !unicode.IsDigit(next) && i < len(b) {
				clause = i
			}
		case isClause(r) && count >= minClause:
			if next, _ := utf8.DecodeRune(b[i:]); unicode.IsSpace(next) {
				clause = i
			}
		}
	}
	if clause > 0 {
		return clause
	}
	if space > 0 {
		return space
	}
	return len(b)
}

func isClause(r rune) bool {
	switch r {
	case ',', ';', ':', '–', '\u2014', '.', '!', '?', '…':
		return true
	}
	return false
}

func isWideClause(r rune) bool {
	switch r {
	case '，', '、', '；', '：', '。', '！', '？':
		return true
	}
	return false
}
