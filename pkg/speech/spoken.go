// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"regexp"
	"strings"
	"unicode"

	"example.org/desktop-assistant/pkg/speech/lexicon"
	"example.org/desktop-assistant/pkg/speech/readout"
	"golang.org/x/text/unicode/norm"
)

// Spoken returns the words to say for a piece that a Splitter emitted: Markdown
// marks, addresses and pictures are resolved, abbreviations, units and sums of
// money read out, everything on one line. A code block or a table becomes one
// short sentence in lang. Text with nothing to say, such as a rule or an emoji
// alone, gives "".
//
// The stops of a sentence stay, a voice needs them for its pauses. Plain
// numbers, times and percent signs are left to the phonemiser, which reads them
// well; lang is a tag such as "it" or "en-us".
func Spoken(sentence, lang string) string {
	t := lexicon.For(lang)
	text := strings.TrimSpace(norm.NFC.String(strings.Map(visible, sentence)))
	switch k, _ := lineKind(&view{b: []byte(text), final: true}, 0); k {
	case fence:
		return t.Say("say.code")
	case grid:
		return sayTable(text, t)
	case rule:
		return ""
	}
	text, spans := setAside(text)
	text = stripEmphasis(stripMarkup(text))
	text = putBack(text, spans)
	text = sayAddresses(text, t)
	text = strings.Map(sayable, wideQuote.ReplaceAllString(text, "$1$2"))
	text = tidy(readout.Aloud(text, t))
	if strings.IndexFunc(text, hasSound) < 0 {
		return ""
	}
	return text
}

// wideQuote is a quotation mark next to a letter of a script without spaces.
var wideQuote = regexp.MustCompile(`(\p{Han}|\p{Hiragana}|\p{Katakana})["“”‘’]+|["“”‘’]+(\p{Han}|\p{Hiragana}|\p{Katakana})`)

func hasSound(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// visible drops characters of no width and makes every space a plain one.
func visible(r rune) rune {
	switch {
	case r == '\u200b', r == '\u200c', r == '\u2060', r == '\ufeff', r == '\u00ad':
		return -1
	case r != '\n' && unicode.IsSpace(r):
		return ' '
	}
	return r
}

// sayable drops pictures and makes arrows, bars and box lines spaces.
func sayable(r rune) rune {
	switch {
	case isEmoji(r):
		return ' '
	case r >= 0x2190 && r <= 0x21FF, r >= 0x2500 && r <= 0x25FF, r == '•', r == '|', r == '\\', r == '\n':
		return ' '
	case r == '“', r == '”', r == '„', r == '«', r == '»', r == '"':
		return ' '
	}
	return r
}

// sayTable reads a table of one row, and only mentions a larger one.
func sayTable(text string, t *lexicon.Table) string {
	var rows []string
	for line := range strings.Lines(text) {
		if strings.IndexFunc(line, hasSound) >= 0 {
			rows = append(rows, line)
		}
	}
	switch len(rows) {
	case 0:
		return ""
	case 1:
		cells := strings.FieldsFunc(rows[0], func(r rune) bool { return r == '|' })
		for i := range cells {
			cells[i] = strings.TrimSpace(stripEmphasis(stripMarkup(cells[i])))
		}
		return tidy(strings.Map(sayable, strings.Join(cells, ", ")))
	}
	return t.Say("say.table")
}

// tidy makes white space single and takes it from in front of marks.
func tidy(s string) string {
	var b strings.Builder
	for _, w := range strings.Fields(s) {
		lone := strings.Trim(w, ".,;:!?)…") == ""
		if b.Len() > 0 && !lone {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	return b.String()
}
