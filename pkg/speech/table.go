// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"embed"
	"path"
	"strings"
	"sync"
)

//go:embed lang/*.txt
var langFiles embed.FS

// A table holds what is particular to one language. All words are lower case.
type table struct {
	never   map[string]bool // abbreviations that never end a sentence
	number  map[string]bool // abbreviations only before a number
	may     map[string]bool // abbreviations that may end a sentence
	months  map[string]bool
	words   map[string]bool // function words; capitalised they open a sentence
	common  map[string]bool // frequent other words, for the language only
	apart   string          // letters that only some languages have
	notes   map[string]string
	phrases [][2]string // abbreviations of two words, and what they say
}

// tables reads lang/*.txt once. A line is "section: word word ..."; a section
// may take several lines and "#" starts a comment. Any other key is a phrase for
// Spoken, see readAloud. The name of the file is the language.
var tables = sync.OnceValue(func() map[string]*table {
	all := map[string]*table{}
	files, _ := langFiles.ReadDir("lang")
	for _, f := range files {
		data, _ := langFiles.ReadFile(path.Join("lang", f.Name()))
		all[strings.TrimSuffix(f.Name(), ".txt")] = readTable(string(data))
	}
	return all
})

func readTable(data string) *table {
	t := &table{notes: map[string]string{}}
	sets := map[string]*map[string]bool{
		"never": &t.never, "number": &t.number, "may": &t.may,
		"months": &t.months, "words": &t.words, "common": &t.common,
	}
	for _, set := range sets {
		*set = map[string]bool{}
	}
	for line := range strings.Lines(data) {
		key, rest, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		rest = strings.TrimSpace(rest)
		switch set := sets[key]; {
		case set != nil:
			for _, w := range strings.Fields(rest) {
				(*set)[w] = true
			}
		case key == "letters":
			t.apart = rest
		case strings.HasPrefix(key, "phrase."):
			t.phrases = append(t.phrases, [2]string{strings.TrimPrefix(key, "phrase."), rest})
		default:
			t.notes[key] = rest
		}
	}
	return t
}

// tableFor returns the table of a language tag such as "it" or "en-us", or an
// empty one: an unknown language has no abbreviations, only stops.
func tableFor(lang string) *table {
	if t := tables()[primary(lang)]; t != nil {
		return t
	}
	return &table{}
}

// primary is the first part of a language tag in lower case.
func primary(lang string) string {
	lang, _, _ = strings.Cut(strings.ToLower(lang), "-")
	lang, _, _ = strings.Cut(lang, "_")
	return lang
}
