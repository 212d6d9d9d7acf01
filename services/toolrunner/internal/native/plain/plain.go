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
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return r
		case breaks(r):
			return '\n'
		case hidden(r):
			return -1
		}
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
// joiners stay, since Persian and the scripts of India are not written without
// them, and so do the few format characters that have a shape.
func hidden(r rune) bool {
	switch {
	case r == '\u200c', r == '\u200d', unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	case r == '\u034f', r == '\u115f', r == '\u1160', r == '\u17b4', r == '\u17b5', r == '\u3164', r == '\uffa0':
		return true
	case r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector)
}
