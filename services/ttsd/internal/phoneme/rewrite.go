// SPDX-License-Identifier: Apache-2.0

package phoneme

import "strings"

// The rewrites are facts of the model: they are those of misaki (the package of
// Kokoro's makers), for English its EspeakFallback, for the rest its EspeakG2P.
// Pairs are applied one after the other, each to all of the text.

var otherPairs = []string{
	"a^ɪ", "I", "a^ʊ", "W", "d^z", "ʣ", "d^ʒ", "ʤ", "e^ɪ", "A", "o^ʊ", "O", "ə^ʊ", "Q",
	"s^s", "S", "t^s", "ʦ", "t^ʃ", "ʧ", "ɔ^ɪ", "Y", "^", "", "-", "",
}

var englishPairs = []string{
	"ʔˌn\u0329", "ʔn", "ʔn\u0329", "ʔn",
	"a^ɪ", "I", "a^ʊ", "W", "d^ʒ", "ʤ", "e^ɪ", "A", "t^ʃ", "ʧ", "ɔ^ɪ", "Y", "ə^l", "ᵊl",
	"ʲo", "jo", "ʲə", "jə",
	"e", "A", "ʲ", "", "ɚ", "əɹ", "r", "ɹ", "x", "k", "ç", "k", "ɐ", "ə", "ɬ", "l", "\u0303", "",
}

var americanPairs = []string{"o^ʊ", "O", "ɜːɹ", "ɜɹ", "ɜː", "ɜɹ", "ɪə", "iə", "ː", ""}

// britishFirst comes before e becomes A, which would leave nothing for it: hair is
// hɛː to the model, and never hAə.
var britishFirst = []string{"e^ə", "ɛː", "i^ə", "ɪə"}

var britishPairs = []string{"iə", "ɪə", "ə^ʊ", "Q"}

var lastPairs = []string{"o", "ɔ", "ɾ", "T", "ʔ", "t", "^", ""}

func apply(text string, pairs []string) string {
	for i := 0; i < len(pairs); i += 2 {
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

func others(text string) string { return composed(apply(text, otherPairs)) }

func american(text string) string { return english(text, americanPairs) }

func british(text string) string { return english(apply(text, britishFirst), britishPairs) }

func english(text string, arm []string) string {
	text = syllabic(apply(text, englishPairs))
	return apply(apply(text, arm), lastPairs)
}

// syllabic turns a consonant with the mark below into the same with a weak vowel
// before it.
func syllabic(text string) string {
	const mark = '\u0329'
	if !strings.ContainsRune(text, mark) {
		return text
	}
	var out []rune
	for _, r := range text {
		if n := len(out); r == mark {
			if n > 0 && out[n-1] != ' ' {
				out = append(out[:n-1], 'ᵊ', out[n-1])
			}
			continue
		}
		out = append(out, r)
	}
	return string(out)
}

// composition is how Kokoro writes letters with marks: the tilde apart, the
// cedilla not.
var composition = strings.NewReplacer(
	"ã", "a\u0303", "õ", "o\u0303", "ũ", "u\u0303", "ẽ", "e\u0303", "ĩ", "i\u0303", "ñ", "n\u0303", "ỹ", "y\u0303",
	"c\u0327", "ç", "g", "ɡ",
)

func composed(text string) string { return composition.Replace(text) }
