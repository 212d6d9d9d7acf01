// SPDX-License-Identifier: Apache-2.0

package phoneme

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A glyph is a character to be read, and where in the text it ends.
type glyph struct {
	r   rune
	end int
}

const (
	dash     = '\u2014' // the only dash that Kokoro knows
	ellipsis = '…'
	// none stands for what is left out.
	none = -1
)

// replaced are characters that stand for others.
var replaced = map[rune]rune{
	'’': '\'', '‘': '\'', 'ʼ': '\'', '′': '\'',
	'„': '“', '‟': '“', '«': '“', '‹': '“', '»': '”', '›': '”', '″': '"',
	'！': '!', '，': ',', '．': '.', '：': ':', '；': ';', '？': '?', '（': '(', '）': ')',
	'、': ',', '。': '.', '।': '.', '॥': '.',
	'\u2012': dash, '\u2013': dash, '\u2015': dash, '\u2011': '-', '\u2010': '-', '\u2212': '-',
	'¡': none, '¿': none, '*': none, '_': none, '#': none, '`': none,
	'[': ' ', ']': ' ', '{': ' ', '}': ' ', '<': ' ', '>': ' ', '|': ' ', '\\': ' ', '^': ' ', '~': ' ',
}

// clean makes characters out of which nothing can be but something to read.
func clean(text string) []glyph {
	list := make([]glyph, 0, len(text))
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		if r = meant(r, size); r != none {
			list = append(list, glyph{r, i + size})
		}
	}
	return join(list)
}

func meant(r rune, size int) rune {
	if other, ok := replaced[r]; ok {
		return other
	}
	switch {
	case r == utf8.RuneError && size == 1:
		return none
	case unicode.IsSpace(r), unicode.Is(unicode.Cc, r):
		return ' '
	case r == '\u200c', r == '\u200d': // they shape letters of Hindi
		return r
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r), unicode.Is(unicode.Variation_Selector, r):
		return none
	case r >= '\u2190' && (unicode.Is(unicode.So, r) || unicode.Is(unicode.Sk, r)): // pictures
		return none
	}
	return r
}

// join makes one of what is written with several characters: spaces, dots, dashes
// and repeated marks.
func join(list []glyph) []glyph {
	out := make([]glyph, 0, len(list))
	for i := 0; i < len(list); {
		n := run(list[i:])
		g := glyph{list[i].r, list[i+n-1].end}
		switch {
		case g.r == '.' && n > 1:
			g.r = ellipsis
		case g.r == '-' && (n > 1 || alone(list, i)):
			g.r = dash
		case g.r == dash && n == 1 && i > 0 && i+1 < len(list) && unicode.IsDigit(list[i-1].r) && unicode.IsDigit(list[i+1].r):
			g.r = '-' // a range
		}
		i += n
		if len(out) == 0 && g.r == ' ' {
			continue
		}
		out = append(out, g)
	}
	if n := len(out); n > 0 && out[n-1].r == ' ' {
		out = out[:n-1]
	}
	return out
}

// run counts how often the first character stands there, for those of which
// several are one.
func run(list []glyph) int {
	n := 1
	if strings.ContainsRune(" .-,;:!?…", list[0].r) || list[0].r == dash {
		for n < len(list) && list[n].r == list[0].r {
			n++
		}
	}
	return n
}

// alone says whether a character stands between spaces.
func alone(list []glyph, i int) bool {
	return i > 0 && list[i-1].r == ' ' && i+1 < len(list) && list[i+1].r == ' '
}

// A piece is one mark, or what stands between two.
type piece struct {
	glyphs        []glyph // without the spaces around them; empty when there are only those
	mark          bool
	before, after bool // a space stood there
}

func (p piece) text() string {
	var b strings.Builder
	for _, g := range p.glyphs {
		b.WriteRune(g.r)
	}
	return b.String()
}

func split(list []glyph) []piece {
	var out []piece
	from := 0
	flush := func(to int) {
		if from == to {
			return
		}
		p := piece{glyphs: list[from:to]}
		for len(p.glyphs) > 0 && p.glyphs[0].r == ' ' {
			p.before, p.glyphs = true, p.glyphs[1:]
		}
		for n := len(p.glyphs); n > 0 && p.glyphs[n-1].r == ' '; n = len(p.glyphs) {
			p.after, p.glyphs = true, p.glyphs[:n-1]
		}
		out = append(out, p)
	}
	for i, g := range list {
		if isMark(list, i) {
			flush(i)
			out = append(out, piece{glyphs: []glyph{g}, mark: true})
			from = i + 1
		}
	}
	flush(len(list))
	return out
}

// isMark says whether a character is punctuation. A dot, comma or colon inside a
// number or a name is not: espeak-ng reads it.
func isMark(list []glyph, i int) bool {
	switch list[i].r {
	case ';', '!', '?', dash, ellipsis, '"', '“', '”', '(', ')':
		return true
	case '.', ',', ':':
	default:
		return false
	}
	if i+1 == len(list) {
		return true
	}
	next, last := list[i+1].r, rune(' ')
	if i > 0 {
		last = list[i-1].r
	}
	switch {
	case !inWord(next):
		return true
	case !inWord(last):
		return !unicode.IsDigit(next) || list[i].r == ':' // ".5" is a number
	case list[i].r == '.':
		return unicode.IsLower(last) && unicode.IsUpper(next) // a space was forgotten
	}
	return unicode.IsLetter(last) && unicode.IsLetter(next)
}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || strings.ContainsRune("'@/-&+%€$£°=", r)
}

// A word is what stands between spaces: where it ends in the text, and how many
// characters it has.
type word struct{ end, length int }

func fields(list []glyph) []word {
	var out []word
	sounds := false
	var w word
	for _, g := range list {
		if g.r == ' ' {
			if sounds {
				out = append(out, w)
				w, sounds = word{}, false
			}
			continue
		}
		sounds = sounds || unicode.IsLetter(g.r) || unicode.IsNumber(g.r) || strings.ContainsRune("@&+%€$£°=", g.r)
		w.end = g.end
		w.length++
	}
	if sounds {
		out = append(out, w)
	}
	return out
}
