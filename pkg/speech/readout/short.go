// SPDX-License-Identifier: Apache-2.0

package readout

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/desktop-assistant/pkg/speech/numeral"
)

var (
	shortWord = regexp.MustCompile(`(\pL[\pL.°ºª]*)\.`)
	bareWord  = regexp.MustCompile(`\pL+`)
)

// shortWords replaces abbreviations. The dot of one at the end stays a stop.
// "abbr." entries count everywhere, "abbr#." before a number, "abbr^." before a
// capital.
func (r *reader) shortWords(s string) string {
	if strings.Contains(s, ".") {
		s = each(shortWord, s, r.shortWord)
	}
	return each(bareWord, s, func(h hit) string {
		said := r.Say("bare." + h.whole())
		if said != "" && (h.prev() == '\'' || h.prev() == '-' || h.follows(unicode.IsDigit)) {
			return ""
		}
		return said
	})
}

func (r *reader) shortWord(h hit) string {
	word := strings.ToLower(h.group(1))
	if r.In("say.lower", word) && word != h.group(1) && strings.TrimSpace(h.before()) != "" {
		return "" // a name, Max
	}
	if prev := h.prev(); prev == '.' || prev == '@' || prev == '_' || unicode.IsDigit(prev) {
		return ""
	}
	if one, _ := r.Unit(h.group(1)); one != "" && h.follows(unicode.IsDigit) {
		return "" // 30 min.
	}
	said := r.Say("abbr." + word)
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(h.after(), " "))
	switch {
	case said != "" && unicode.IsLetter(h.next()):
		return "" // "p.M" is none
	case said == "" && (unicode.IsDigit(first) || r.Say("abbr#."+word) != "" && numeral.Roman(h.wordAfter()) > 0):
		said = r.Say("abbr#." + word)
	case said == "" && unicode.IsUpper(first):
		said = r.Say("abbr^." + word)
	}
	if said == "" {
		if end := r.Say("ending.str"); end != "" && strings.HasSuffix(word, "str") && len(word) > 4 {
			said = strings.TrimSuffix(h.group(1), "str") + end
		} else {
			return ""
		}
	}
	switch {
	case strings.Trim(h.after(), " \n)\"”»") == "":
		return said + "."
	case unicode.IsDigit(h.next()):
		return said + " "
	}
	return said
}

// acronyms spells those that the language would read as a word.
func (r *reader) acronyms(s string) string {
	if r.Say("say.spell") == "" {
		return s
	}
	return each(bareWord, s, func(h hit) string {
		if h.whole() != strings.ToUpper(h.whole()) || !r.In("say.spell", h.whole()) {
			return ""
		}
		return spell(h.whole())
	})
}
