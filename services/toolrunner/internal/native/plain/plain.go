// SPDX-License-Identifier: Apache-2.0

// Package plain makes text from files and servers safe to hand on: what nobody
// sees is taken out, so that a model reads what a person would read.
package plain

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text takes invisible and control characters out of a text. Line ends of every
// sort become newlines; tabs stay.
func Text(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\r\n", "\n")
	last := rune(0) // of what stays
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
		case breaks(r):
			r = '\n'
		case hidden(r), joins(r) && (last < utf8.RuneSelf || joins(last)):
			return -1
		}
		last = r
		return r
	}, s)
}

// Line makes one line of a text, with single spaces, cut to at most limit
// runes; what was cut off is shown as an ellipsis.
func Line(s string, limit int) string {
	s = strings.Join(strings.Fields(Text(s)), " ")
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	runes := []rune(s)
	return strings.TrimSpace(string(runes[:limit-1])) + "…"
}

// Name shows a file name on one line: as it is when it is plain, else quoted as
// Go quotes strings, so that every byte of it can be told.
func Name(name string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || breaks(r) || hidden(r) }
	if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, odd) || strings.ContainsAny(name, "\"\\") || strings.TrimSpace(name) != name {
		return strconv.QuoteToASCII(name)
	}
	return name
}

// breaks says whether a terminal or a reader takes r for the end of a line.
func breaks(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// hidden says whether r shows nothing: control characters, format characters
// (among them overrides of the writing direction and the tags that spell hidden
// text), variation selectors, fillers and what may stand for them one day. The
// few format characters that have a shape stay, and the joiners, see [joins].
func hidden(r rune) bool {
	if joins(r) || unicode.Is(unicode.Prepended_Concatenation_Mark, r) {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// joins says whether r is one of the two joiners, without which Persian, the
// scripts of India and some pictures are not written. They stand singly after a
// character beyond ASCII; anywhere else they could only spell hidden text.
func joins(r rune) bool { return r == '\u200c' || r == '\u200d' }
