// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A word is one word of a text in the form that is compared: lower case, no
// accents, contractions written out, number words as digits. start and end are
// its place in the text; two words of a contraction share one.
type word struct {
	text       string
	start, end int
	filler     int // words of the filler that begins here, else 0
}

// parseWords cuts text into words of lang, a primary tag.
func parseWords(text, lang string) []word {
	var out []word
	for i := 0; i < len(text); {
		n := tokenLength(text[i:])
		if n == 0 {
			_, w := utf8.DecodeRuneInString(text[i:])
			i += w
			continue
		}
		out = appendToken(out, text, i, i+n, lang)
		i += n
	}
	return markFillers(joinNumbers(out, lang), lang)
}

// tokenLength is the length of the token at the start of s: letters and digits,
// apostrophes inside and at the end, marks between digits.
func tokenLength(s string) int {
	var last rune
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		next, _ := utf8.DecodeRuneInString(s[i+n:])
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
		case (r == '\'' || r == '’') && i > 0:
		case (r == '.' || r == ',' || r == ':') && unicode.IsDigit(last) && unicode.IsDigit(next):
		case strings.ContainsRune("%€$£+", r) && i == 0:
			return n
		default:
			return i
		}
		i, last = i+n, r
	}
	return len(s)
}

// plain folds compatibility forms, case and accents.
func plain(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	s = ligatures.Replace(strings.ToLower(norm.NFKC.String(s)))
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if r >= 0x300 && r <= 0x36F {
			return -1
		}
		return r
	}, norm.NFD.String(s)))
}

var ligatures = strings.NewReplacer("’", "'", "ß", "ss", "œ", "oe", "æ", "ae")

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// English contractions by their first part, and those often written without an
// apostrophe. "today's" is none.
var (
	isBefore  = set("what who where when why how that it he she there here everything")
	pronouns  = set("i you he she it we they who what that there where how")
	auxiliary = set("is are was were do does did has have had would could should must need")
	endings   = map[string]string{"m": "am", "re": "are", "ve": "have", "ll": "will", "d": "would"}
	unmarked  = map[string]string{"whats": "what is", "wheres": "where is", "whos": "who is", "hows": "how is", "thats": "that is", "dont": "do not", "cant": "can not", "cannot": "can not", "im": "i am"}
	shortened = map[string]string{"can't": "can not", "won't": "will not", "shan't": "shall not", "let's": "let us"}
)

func set(list string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(list) {
		m[w] = true
	}
	return m
}

// appendToken adds the words of the token text[start:end]: those of an English
// contraction, else the parts between its apostrophes (dell'acqua, Anna's, e').
func appendToken(out []word, text string, start, end int, lang string) []word {
	if lang == "en" {
		if words := contraction(strings.Trim(plain(text[start:end]), "'")); words != nil {
			for _, w := range words {
				out = append(out, word{text: w, start: start, end: end})
			}
			return out
		}
	}
	for start < end {
		n := strings.IndexAny(text[start:end], "'’")
		if n < 0 {
			n = end - start
		}
		if w := plain(text[start : start+n]); w != "" {
			out = append(out, word{text: w, start: start, end: start + n})
		}
		_, mark := utf8.DecodeRuneInString(text[start+n:])
		start += n + mark
	}
	return out
}

// contraction writes out an English contraction, or returns nil.
func contraction(token string) []string {
	if w := unmarked[token] + shortened[token]; w != "" {
		return strings.Fields(w)
	}
	if stem, ok := strings.CutSuffix(token, "n't"); ok && auxiliary[stem] {
		return []string{stem, "not"}
	}
	stem, end, _ := strings.Cut(token, "'")
	switch full := endings[end]; {
	case end == "s" && isBefore[stem]:
		return []string{stem, "is"}
	case full != "" && pronouns[stem]:
		return []string{stem, full}
	}
	return nil
}

// fillers are what people say around a command, in the compared form.
var fillers = map[string][][]string{
	"en": phrases("please, hey, hi, hello, ok, okay, um, uh, er, erm, hmm, excuse me, thanks, thank you"),
	"it": phrases("per favore, per piacere, per cortesia, ehi, hey, ehm, uhm, mmh, eh, allora, senti, scusa, scusami, ciao, ok, grazie"),
	"de": phrases("bitte, hey, hallo, ah, ahm, hm, ok, okay, danke"),
	"fr": phrases("s il te plait, s il vous plait, euh, he, hey, bonjour, ok, merci"),
	"es": phrases("por favor, oye, eh, hola, ok, gracias"),
	"pt": phrases("por favor, faz favor, ei, ola, hum, ok, obrigado, obrigada"),
}

func phrases(list string) [][]string {
	var out [][]string
	for p := range strings.SplitSeq(list, ", ") {
		out = append(out, strings.Fields(p))
	}
	return out
}

func markFillers(words []word, lang string) []word {
	for i := range words {
		for _, f := range fillers[lang] {
			words[i].filler = max(words[i].filler, matchPhrase(words[i:], f))
		}
	}
	return words
}

// matchPhrase returns len(phrase) when words begin with it, else 0.
func matchPhrase(words []word, phrase []string) int {
	if len(words) < len(phrase) {
		return 0
	}
	for i, p := range phrase {
		if words[i].text != p {
			return 0
		}
	}
	return len(phrase)
}
