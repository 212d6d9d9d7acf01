// SPDX-License-Identifier: Apache-2.0

package language

import (
	"strings"
	"unicode/utf8"

	"example.org/desktop-assistant/pkg/speech/lexicon"
)

// endings are the last letters that change with gender, number and person in a
// language, and clitics the pronouns that it writes onto a verb.
var (
	endings = map[string][]string{
		"it": {"o", "a", "i", "e"},
		"es": {"o", "a", "os", "as", "e", "es"},
		"pt": {"o", "a", "os", "as", "e", "es"},
		"fr": {"", "e", "s", "es"},
		"de": {"", "e", "en", "er", "es", "em"},
		"en": {"", "s", "ed", "ing", "ly", "er"},
	}
	clitics = map[string][]string{
		"it": {"mi", "ti", "ci", "vi", "lo", "la", "li", "le", "melo", "mela", "telo"},
		"es": {"me", "te", "lo", "la", "le", "nos", "los", "las", "melo"},
	}
)

// related reports whether a language lists another form of w, a word that no
// configured language lists: "ottima" beside "ottimo", "spiegami" beside
// "spiega". Short words say too little.
func related(lang, w string) bool {
	if utf8.RuneCountInString(w) < 5 {
		return false
	}
	lang = lexicon.Primary(lang)
	for _, end := range endings[lang] {
		stem, ok := strings.CutSuffix(w, end)
		if !ok || utf8.RuneCountInString(stem) < 4 {
			continue
		}
		for _, other := range endings[lang] {
			if other != end && lists(lang, stem+other) {
				return true
			}
		}
	}
	for _, c := range clitics[lang] {
		stem, ok := strings.CutSuffix(w, c)
		if ok && utf8.RuneCountInString(stem) > 3 && lists(lang, unstressed.Replace(stem)) {
			return true
		}
	}
	return false
}

// unstressed takes away the accent that Spanish sets when a pronoun is added.
var unstressed = strings.NewReplacer("á", "a", "é", "e", "í", "i", "ó", "o", "ú", "u")

// accented gives the Italian word that was typed with an apostrophe for its
// accent, "perche'", or "".
func accented(w string) string {
	stem, ok := strings.CutSuffix(w, "'")
	if !ok || stem == "" {
		return ""
	}
	i := strings.Index("aeiou", stem[len(stem)-1:])
	if i < 0 {
		return ""
	}
	for _, letter := range strings.Fields([]string{"à", "è é", "ì", "ò", "ù"}[i]) {
		if whole := stem[:len(stem)-1] + letter; lists("it", whole) {
			return whole
		}
	}
	return ""
}
