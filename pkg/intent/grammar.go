// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxPhrases bounds a grammar; a recogniser of commands gets slow and wrong
// long before.
const maxPhrases = 5000

// Grammar writes English templates as a JSGF grammar for pocketsphinx with the
// one public rule <command>, and lists its words, sorted, to be looked up in
// the dictionary. Words are lower case letters and apostrophes: digits up to
// 9999 are spelled, accents dropped, "what is" may also be said "what's".
// Sentences with free text are left out, a grammar cannot hear them. A word
// that cannot be written so, no sentence at all, or too many, is an error.
func Grammar(templates []Template) (jsgf string, words []string, err error) {
	lines, used := map[string]bool{}, map[string]bool{}
	for _, t := range templates {
		for _, p := range t.Phrases(maxPhrases + 1) {
			said, err := sayable(p)
			if err != nil {
				return "", nil, fmt.Errorf("write grammar: sentence %q: %w", t.source, err)
			}
			for _, w := range said {
				used[w] = true
			}
			lines[contracted(said, used)] = true
		}
		if len(lines) > maxPhrases {
			return "", nil, fmt.Errorf("write grammar: more than %d sentences", maxPhrases)
		}
	}
	if len(lines) == 0 {
		return "", nil, fmt.Errorf("write grammar: no sentence without free text")
	}
	var b strings.Builder
	b.WriteString("#JSGF V1.0;\n\ngrammar command;\n\npublic <command> =\n    ")
	b.WriteString(strings.Join(slices.Sorted(maps.Keys(lines)), "\n  | "))
	b.WriteString("\n  ;\n")
	return b.String(), slices.Sorted(maps.Keys(used)), nil
}

// sayable cuts a phrase into words of a pronouncing dictionary.
func sayable(phrase string) ([]string, error) {
	var out []string
	for _, token := range strings.FieldsFunc(plain(phrase), func(r rune) bool {
		return strings.ContainsRune(" -,.?!:\t\"", r)
	}) {
		if n, err := strconv.Atoi(token); err == nil && n >= 0 && n <= 9999 {
			out = append(out, strings.Fields(spellEnglish(n))...)
			continue
		}
		if strings.Trim(token, "abcdefghijklmnopqrstuvwxyz'") != "" {
			return nil, fmt.Errorf("%q is no word of letters", token)
		}
		if token = strings.Trim(token, "'"); token != "" {
			out = append(out, token)
		}
	}
	return out, nil
}

// contracted joins words to a JSGF sequence in which "what is" may be "what's",
// and adds the contraction to used.
func contracted(words []string, used map[string]bool) string {
	var b strings.Builder
	for i := 0; i < len(words); i++ {
		if i > 0 {
			b.WriteByte(' ')
		}
		if i+1 < len(words) && words[i+1] == "is" && isBefore[words[i]] {
			used[words[i]+"'s"] = true
			fmt.Fprintf(&b, "( %s is | %s's )", words[i], words[i])
			i++
			continue
		}
		b.WriteString(words[i])
	}
	return b.String()
}
