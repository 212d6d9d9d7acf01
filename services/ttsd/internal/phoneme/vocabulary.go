// SPDX-License-Identifier: Apache-2.0

package phoneme

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// MaxTokens is how many symbols Kokoro takes at once: its context of 512 less a
// padding token at both ends, and less one, since the last row of a voice is for
// 509.
const MaxTokens = 509

// A Vocabulary gives the number of each symbol.
type Vocabulary map[rune]int64

// standard is the table of the model's first version (114 symbols of n_token 178).
// 0 is the padding.
var standard = Vocabulary{
	';': 1, ':': 2, ',': 3, '.': 4, '!': 5, '?': 6, '\u2014': 9, '…': 10, '"': 11, '(': 12,
	')': 13, '“': 14, '”': 15, ' ': 16, '\u0303': 17, 'ʣ': 18, 'ʥ': 19, 'ʦ': 20, 'ʨ': 21, 'ᵝ': 22,
	'ꭧ': 23, 'A': 24, 'I': 25, 'O': 31, 'Q': 33, 'S': 35, 'T': 36, 'W': 39, 'Y': 41, 'ᵊ': 42,
	'a': 43, 'b': 44, 'c': 45, 'd': 46, 'e': 47, 'f': 48, 'h': 50, 'i': 51, 'j': 52, 'k': 53,
	'l': 54, 'm': 55, 'n': 56, 'o': 57, 'p': 58, 'q': 59, 'r': 60, 's': 61, 't': 62, 'u': 63,
	'v': 64, 'w': 65, 'x': 66, 'y': 67, 'z': 68, 'ɑ': 69, 'ɐ': 70, 'ɒ': 71, 'æ': 72, 'β': 75,
	'ɔ': 76, 'ɕ': 77, 'ç': 78, 'ɖ': 80, 'ð': 81, 'ʤ': 82, 'ə': 83, 'ɚ': 85, 'ɛ': 86, 'ɜ': 87,
	'ɟ': 90, 'ɡ': 92, 'ɥ': 99, 'ɨ': 101, 'ɪ': 102, 'ʝ': 103, 'ɯ': 110, 'ɰ': 111, 'ŋ': 112,
	'ɳ': 113, 'ɲ': 114, 'ɴ': 115, 'ø': 116, 'ɸ': 118, 'θ': 119, 'œ': 120, 'ɹ': 123, 'ɾ': 125,
	'ɻ': 126, 'ʁ': 128, 'ɽ': 129, 'ʂ': 130, 'ʃ': 131, 'ʈ': 132, 'ʧ': 133, 'ʊ': 135, 'ʋ': 136,
	'ʌ': 138, 'ɣ': 139, 'ɤ': 140, 'χ': 142, 'ʎ': 143, 'ʒ': 147, 'ʔ': 148, 'ˈ': 156, 'ˌ': 157,
	'ː': 158, 'ʰ': 162, 'ʲ': 164, '↓': 169, '→': 171, '↗': 172, '↘': 173, 'ᵻ': 177,
}

// Standard is the vocabulary of every model that brings none of its own.
func Standard() Vocabulary { return standard }

// maxID bounds the numbers of a foreign table; Kokoro's has 178.
const maxID = 1 << 12

// ParseVocabulary reads the table out of a model's configuration, a JSON object
// with a member vocab. Symbols of more than one character are passed over: text
// never has them.
func ParseVocabulary(config []byte) (Vocabulary, error) {
	var c struct {
		Vocab map[string]int64 `json:"vocab"`
	}
	if err := json.Unmarshal(config, &c); err != nil {
		return nil, fmt.Errorf("read vocabulary: %w", err)
	}
	v := Vocabulary{}
	for symbol, id := range c.Vocab {
		if id < 0 || id >= maxID {
			return nil, fmt.Errorf("read vocabulary: %q has the number %d, want 0 to %d", symbol, id, maxID-1)
		}
		if r, size := utf8.DecodeRuneInString(symbol); size == len(symbol) && r != utf8.RuneError && id > 0 {
			v[r] = id
		}
	}
	if len(v) < len(standard)/2 {
		return nil, errors.New("read vocabulary: it has hardly any symbols")
	}
	return v, nil
}

// A Token is a symbol that the model knows.
type Token struct {
	ID int64
	Symbol
}

// Tokens looks a line up. What the model does not know is left out, since a
// missing sound is better than none, and given back.
func (v Vocabulary) Tokens(line Line) (tokens []Token, dropped []rune) {
	tokens = make([]Token, 0, len(line))
	for _, s := range line {
		id, ok := v[s.Rune]
		if !ok {
			dropped = append(dropped, s.Rune)
			if n := len(tokens); n > 0 {
				tokens[n-1].End = max(tokens[n-1].End, s.End)
			}
			continue
		}
		tokens = append(tokens, Token{id, s})
	}
	return tokens, dropped
}
