// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

func isStop(r rune) bool {
	return r == '.' || r == '!' || r == '?' || r == '…' || r == '‽'
}

// isWideStop names the stops of scripts that write no space behind them.
func isWideStop(r rune) bool {
	return r == '。' || r == '！' || r == '？' || r == '｡'
}

func isWideCloser(r rune) bool {
	return strings.ContainsRune("」』”’）》】〉\"'", r)
}

// wideStop decides about a CJK stop at i.
func (s *Splitter) wideStop(v *view, i int) (next int, end bool) {
	r, n := v.at(i)
	next = i + n
	if r == '。' && s.open == 0 && !s.quote {
		return next, true
	}
	closed := false
	for {
		r, n = v.at(next)
		if v.more {
			return next, false
		}
		if !isWideStop(r) && !isWideCloser(r) {
			break
		}
		closed = closed || isWideCloser(r)
		next += n
	}
	// A quotation goes on behind its closer: 「…。」と言った.
	return next, !(closed && (r == 'と' || r == 'っ'))
}

// stop decides about the run of stops at i.
func (s *Splitter) stop(v *view, i int) (next int, end bool) {
	next = s.afterStops(v, i)
	if v.more {
		return next, false
	}
	run := v.b[i:next]
	if bytes.ContainsFunc(run, isWideStop) {
		return next, true
	}
	if r, _ := v.at(next); r == eof || !unicode.IsSpace(r) || omission(v.b[:i], run) {
		return next, false
	}
	if s.square && !bytes.ContainsRune(run, ']') && insideLink(v, next) {
		_, n := v.at(i)
		return i + n, false
	}
	cutAt := s.afterEmoji(v, next)
	o := s.opening(v, cutAt)
	if v.more || o.kind == opensNothing {
		return next, false
	}
	if v.b[i] == '.' && !bytes.ContainsAny(run[1:], ".!?…") {
		if s.itemNumberEnds(i) || s.holds(v, i, o) {
			return next, false
		}
	}
	if v.more {
		return next, false
	}
	return cutAt, o.kind == opensBlock || o.newLine || o.kind != opensSmall
}

// omission reports whether a run of stops is the dots of "[...]", which leave
// words out and end nothing.
func omission(before, run []byte) bool {
	dots := bytes.TrimLeft(run, ".…")
	return bytes.HasSuffix(before, []byte("[")) && len(run)-len(dots) > 1 && bytes.HasPrefix(dots, []byte("]"))
}

// insideLink reports whether the text at i stands between the brackets of a
// link. It looks no further than the line and spanLimit.
func insideLink(v *view, i int) bool {
	for j := i; j < i+spanLimit; {
		r, n := v.at(j)
		switch r {
		case eof, '\n', '[':
			return false
		case ']':
			after, _ := v.at(j + n)
			return after == '(' || after == '['
		}
		j += n
	}
	return false
}

// itemNumberEnds reports whether the dot at i is that of the number a heading
// or list item begins with, as in "## 1. Title".
func (s *Splitter) itemNumberEnds(i int) bool {
	if s.kind != single {
		return false
	}
	lead := bytes.TrimLeft(s.buf[:i], "0123456789.#>*+-_\t •◦▪‣·–\u2014")
	return len(lead) == 0 && !bytes.ContainsRune(s.buf[:i], '\n')
}

// afterStops skips stops, what closes behind them, and footnotes.
func (s *Splitter) afterStops(v *view, i int) int {
	for {
		r, n := v.at(i)
		switch {
		case r == eof:
			return i
		case isStop(r), isWideStop(r), s.closesQuote(r), isEmoji(r):
			i += n
		case r == '[':
			j := footnote(v, i)
			if j == i {
				return i
			}
			i = j
		case unicode.IsSpace(r) && s.lang == "fr" && r != '\n':
			// French sets a space before » and double marks.
			next, w := v.at(i + n)
			if next != '»' && next != '!' && next != '?' {
				return i
			}
			i += n + w
		default:
			return i
		}
	}
}

func (s *Splitter) closesQuote(r rune) bool {
	if s.lang == "de" && (r == '»' || r == '«') {
		return r == '«'
	}
	return strings.ContainsRune("\"'”’»)]}*_“‘~`›", r)
}

// footnote returns the end of "[1]" or "[^1]" at i, or i.
func footnote(v *view, i int) int {
	j := i + 1
	for j < i+6 {
		r, _ := v.at(j)
		if r == ']' && j > i+1 {
			return j + 1
		}
		if r != '^' && (r < '0' || r > '9') {
			return i
		}
		j++
	}
	return i
}

// afterEmoji takes emoji that follow a stop along with the sentence before.
func (s *Splitter) afterEmoji(v *view, i int) int {
	for j := i; ; {
		r, n := v.at(j)
		switch {
		case r == ' ':
			j += n
		case isEmoji(r):
			j += n
			i = j
		default:
			return i
		}
	}
}

// What stands behind a stop.
type opens int

const (
	opensNothing opens = iota // another mark: no sentence begins here
	opensSmall                // a small letter
	opensCapital              // a capital, or a letter without case
	opensNumber
	opensBlock // a blank line, the end, or the start of a list, heading, ...
)

// An opening describes the text behind a stop; at is where its word begins.
type opening struct {
	kind    opens
	newLine bool
	at      int
}

func (s *Splitter) opening(v *view, i int) opening {
	j, blank := skipSpace(v, i)
	o := opening{at: j, newLine: bytes.IndexByte(v.b[i:j], '\n') >= 0}
	if v.more {
		return o
	}
	if blank {
		o.kind = opensBlock
		return o
	}
	if r, _ := v.at(j); o.newLine && !unicode.IsLetter(r) {
		k, _ := lineKind(v, j)
		if v.more {
			return o
		}
		if k != paragraph {
			o.kind = opensBlock
			return o
		}
	}
	code := false
	for steps := 0; ; steps++ {
		r, n := v.at(o.at)
		switch {
		case r == eof:
			o.kind = opensBlock
		case unicode.IsDigit(r):
			o.kind = opensNumber
		case unicode.IsLower(r):
			o.kind = opensSmall
			if code {
				o.kind = opensCapital // `go`
			} else if after, _ := v.at(o.at + n); unicode.IsUpper(after) {
				o.kind = opensCapital // iPhone, eBay
			}
		case unicode.IsLetter(r), r == '¿', r == '¡':
			o.kind = opensCapital
		case isStop(r):
			o.kind = opensNothing
			if after, _ := v.at(o.at + n); r == '.' && unicode.IsLetter(after) {
				o.kind = opensCapital // .NET
			}
		case r == '\n' && steps > 0:
			o.kind = opensBlock
		case unicode.IsSpace(r), isEmoji(r), strings.ContainsRune("«»„“”‘’\"'*_`[({~-–\u2014•<‹›#>", r):
			code = code || r == '`'
			o.at += n
			continue
		default:
			o.kind = opensNumber
		}
		return o
	}
}

// holds reports whether the dot at i belongs to an abbreviation or ordinal, so
// that the sentence goes on. It may set v.more.
func (s *Splitter) holds(v *view, i int, o opening) bool {
	if o.kind == opensBlock {
		return false
	}
	token, before := lastToken(v.b[:i])
	low := strings.ToLower(token)
	plain := low[strings.LastIndexAny(low, "'’")+1:]
	t := s.table
	switch {
	case token == "", s.label(token, before):
		return false
	case o.kind == opensNumber && hasEnding(low, t.Say("streets")):
		return true // Goethestr. 12
	case t.Never[low] || t.Never[plain] || t.Never[before+"_"+low]:
		return true
	case (t.Number[low] || t.Number[plain]) && (o.kind == opensNumber || !isInitial(token)):
		return o.kind == opensNumber || o.kind == opensCapital && t.In("roman", low) && romanFollows(v, o.at)
	case t.May[low] || t.May[plain]:
		if _, many := t.Unit(plain); many != "" && strings.Trim(before, "0123456789.,") == "" && before != "" {
			return false // 30 min.
		}
		return !s.opensSentence(v, o, s.lang != "de")
	case t.May[before+"_"+low]:
		return !s.opensSentence(v, o, false)
	case len(token) == 1 && s.lang != "en" && strings.Contains("acdeimnopsuvz", token) && initialFollows(v, o):
		return true // a. C.
	case isOrdinal(token) && s.lang == "de":
		return o.kind == opensCapital && !s.opensSentence(v, o, false) || o.kind == opensNumber && dateFollows(v, o.at)
	case isDotted(token) && o.kind == opensNumber:
		return true // S.S. 36
	case isInitial(token), isDotted(token):
		return o.kind == opensCapital && !s.opensSentence(v, o, false)
	}
	return false
}

// label reports whether token is a letter that names a thing, as in "vitamin C",
// or the English I: no initial of a person.
func (s *Splitter) label(token, before string) bool {
	r, n := utf8.DecodeRuneInString(token)
	if n != len(token) || !unicode.IsUpper(r) {
		return false
	}
	return s.table.In("label", before) || token == "I" && s.table.In("label.i", before)
}

// hasEnding reports whether word ends with one of a list of endings.
func hasEnding(word, endings string) bool {
	for end := range strings.FieldsSeq(endings) {
		if strings.HasSuffix(word, end) {
			return true
		}
	}
	return false
}

// romanFollows reports whether the word at i is a Roman numeral.
func romanFollows(v *view, i int) bool {
	for j := i; ; j++ {
		r, _ := v.at(j)
		if !strings.ContainsRune("IVXLC", r) {
			return j > i && !unicode.IsLetter(r) && !v.more
		}
	}
}

// initialFollows reports whether one capital with a dot stands behind a stop.
func initialFollows(v *view, o opening) bool {
	r, n := v.at(o.at)
	if o.kind != opensCapital || !unicode.IsUpper(r) {
		return false
	}
	r, _ = v.at(o.at + n)
	return r == '.'
}

// dateFollows reports whether a number of one or two digits with a dot stands
// at i, as in "18. 6. 2026", or a year.
func dateFollows(v *view, i int) bool {
	j := i
	for {
		r, _ := v.at(j)
		if r < '0' || r > '9' {
			return !v.more && (j-i < 3 && r == '.' || j-i == 4)
		}
		j++
	}
}

// lastToken returns the word that b ends with, without what opens in front of
// it, and the word before it in lower case.
func lastToken(b []byte) (token, before string) {
	start := bytes.LastIndexFunc(b, unicode.IsSpace) + 1
	rest := bytes.TrimSpace(b[:start])
	from := bytes.LastIndexFunc(rest, unicode.IsSpace) + 1
	token = strings.TrimLeft(string(b[start:]), "\"'“”‘’«»„([{*_`~-–\u2014")
	before = strings.Trim(strings.ToLower(string(rest[from:])), ".\"'“”‘’«»„([{*_`~")
	return token, before
}

// opensSentence reports whether the whole next word is one that begins a
// sentence rather than goes on with a name or a noun: a function word, or with
// common any frequent word, as only German writes nouns with a capital.
func (s *Splitter) opensSentence(v *view, o opening, common bool) bool {
	if o.kind != opensCapital {
		return false
	}
	j := o.at
	for {
		r, n := v.at(j)
		if v.more {
			return false
		}
		if !unicode.IsLetter(r) && !unicode.IsMark(r) && r != '\'' && r != '’' {
			break
		}
		j += n
	}
	if r, _ := utf8.DecodeRune(v.b[o.at:]); r == '¿' || r == '¡' {
		return true
	}
	if initialFollows(v, o) {
		return false
	}
	word := strings.Trim(strings.ReplaceAll(strings.ToLower(string(v.b[o.at:j])), "’", "'"), "'")
	elided, _, _ := strings.Cut(word, "'")
	return s.table.Words[word] || s.table.Words[elided] || common && s.table.Common[word]
}

// isOrdinal: 3, 12, XIV; a year is none.
func isOrdinal(token string) bool {
	digits := strings.Trim(token, "0123456789") == "" && len(token) < 4
	return digits || strings.Trim(token, "IVXLC") == ""
}

// isInitial: J, J.-C, R.
func isInitial(token string) bool {
	token = token[strings.LastIndexAny(token, "-.")+1:]
	r, n := utf8.DecodeRuneInString(token)
	return n == len(token) && unicode.IsUpper(r)
}

// isDotted: U.S, a.C, p.m, S.p.A; parts of one or two letters.
func isDotted(token string) bool {
	parts := strings.Split(token, ".")
	for _, p := range parts {
		if n := utf8.RuneCountInString(p); n == 0 || n > 2 || strings.IndexFunc(p, notLetter) >= 0 {
			return false
		}
	}
	return len(parts) > 1
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) }

// isEmoji reports symbols drawn as pictures, and what joins or colours them.
func isEmoji(r rune) bool {
	switch {
	case r >= 0x1F000 && r <= 0x1FBFF, r >= 0x2600 && r <= 0x27BF, r >= 0x2B00 && r <= 0x2BFF:
		return true
	case r == 0x231A, r == 0x231B, r >= 0x23E9 && r <= 0x23FA, r == 0x20E3:
		return true
	case r == 0xFE0E, r == 0xFE0F, r == 0x200D, r >= 0xE0020 && r <= 0xE007F:
		return true
	}
	return false
}
