// SPDX-License-Identifier: Apache-2.0

package pocketsphinx

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"example.org/desktop-assistant/proto"
)

// A lexicon is a grammar made ready for the decoder, which refuses a grammar
// with a word it cannot pronounce, and which loads a dictionary of the few
// words needed in a tenth of the time of the whole one.
type lexicon struct {
	jsgf    string
	dict    string   // "word PH ON EM ES" a line
	unknown []string // sorted
}

// unsayable is how unknown words are entered, since pocketsphinx gives up the
// whole grammar for one word that is missing (and for JSGF's <VOID> too): no
// mouth makes it, so the sentences that need the word lose against any other.
const unsayable = "ZH OY ZH OY ZH OY ZH OY ZH OY ZH"

// prepare gives the lexicon of the current grammar.
func (e *Engine) prepare() (*lexicon, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lexicon != nil {
		return e.lexicon, nil
	}
	f, err := os.Open(e.dictionary())
	if err != nil {
		return nil, proto.Errorf(proto.CodeUnavailable, "read pocketsphinx dictionary", "%v", err).WithHint("%s", installHint)
	}
	defer f.Close()
	lex, err := newLexicon(e.grammar, f)
	if err != nil {
		return nil, proto.Errorf(proto.CodeFailed, "read pocketsphinx dictionary", "%v", err).WithHint("%s", installHint)
	}
	e.lexicon = lex
	return lex, nil
}

// newLexicon looks the words up. One that is missing is tried as two words
// written together ("slackware"), which names of programs often are.
func newLexicon(g grammar, dictionary io.Reader) (*lexicon, error) {
	wanted := map[string]bool{}
	for _, word := range g.words {
		wanted[word] = true
		for cut := 2; cut <= len(word)-2; cut++ {
			wanted[word[:cut]], wanted[word[cut:]] = true, true
		}
	}
	said, err := pronunciations(dictionary, wanted)
	if err != nil {
		return nil, err
	}
	lex := &lexicon{}
	var dict strings.Builder
	for _, word := range slices.Compact(slices.Sorted(slices.Values(g.words))) {
		sounds := said[word]
		if len(sounds) == 0 {
			sounds = joined(word, said)
		}
		if len(sounds) == 0 {
			lex.unknown = append(lex.unknown, word)
			sounds = []string{unsayable}
		}
		for i, sound := range sounds {
			if i == 0 {
				fmt.Fprintf(&dict, "%s %s\n", word, sound)
			} else {
				fmt.Fprintf(&dict, "%s(%d) %s\n", word, i+1, sound)
			}
		}
	}
	lex.dict, lex.jsgf = dict.String(), g.jsgf
	return lex, nil
}

// pronunciations reads the wanted words of a dictionary of lines like
// "today(2) T AH D EY", all variants of a word in order.
func pronunciations(dictionary io.Reader, wanted map[string]bool) (map[string][]string, error) {
	said := map[string][]string{}
	lines := bufio.NewScanner(dictionary)
	for lines.Scan() {
		entry, sounds, ok := strings.Cut(lines.Text(), " ")
		word, _, _ := strings.Cut(entry, "(")
		if ok && wanted[word] {
			said[word] = append(said[word], strings.TrimSpace(sounds))
		}
	}
	return said, lines.Err()
}

// joined pronounces a word as two of the dictionary, the most even cut first.
func joined(word string, said map[string][]string) []string {
	for off := range len(word) / 2 {
		for _, cut := range []int{len(word)/2 - off, len(word)/2 + off} {
			if cut < 2 || cut > len(word)-2 {
				continue
			}
			if a, b := said[word[:cut]], said[word[cut:]]; len(a) > 0 && len(b) > 0 {
				return []string{a[0] + " " + b[0]}
			}
		}
	}
	return nil
}
