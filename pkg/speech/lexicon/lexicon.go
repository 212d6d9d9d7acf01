// SPDX-License-Identifier: Apache-2.0

// Package lexicon holds what is particular to one language for pkg/speech:
// abbreviations, frequent words, and how units and signs are said. It is read
// from lang/*.txt, which is part of the program; a new language is a new file.
package lexicon

import (
	"embed"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed lang/*.txt
var langFiles embed.FS

// A Table holds one language. All words are lower case, without the last dot.
// Tables are shared; callers only read them.
type Table struct {
	Never   map[string]bool // abbreviations that never end a sentence
	Number  map[string]bool // abbreviations only before a number
	May     map[string]bool // abbreviations that may end a sentence
	Months  []string
	Words   map[string]bool // function words; capitalised they open a sentence
	Common  map[string]bool // frequent other words, to know the language by
	Letters string          // letters that only some languages have
	Phrases [][2]string     // abbreviations of two words or with marks, and what they say
	say     map[string]string
}

// Say returns the value of another key, such as "unit.km/h", or "".
func (t *Table) Say(key string) string { return t.say[key] }

// tables reads lang/*.txt once. A line is "section: word word ..."; a section
// may take several lines and "#" starts a comment. Any other key is a phrase for
// Say. The name of the file is the language.
var tables = sync.OnceValue(func() map[string]*Table {
	all := map[string]*Table{}
	files, _ := langFiles.ReadDir("lang")
	for _, f := range files {
		data, _ := langFiles.ReadFile(path.Join("lang", f.Name()))
		all[strings.TrimSuffix(f.Name(), ".txt")] = readTable(string(data))
	}
	return all
})

func readTable(data string) *Table {
	t := &Table{say: map[string]string{}}
	sets := map[string]*map[string]bool{
		"never": &t.Never, "number": &t.Number, "may": &t.May,
		"words": &t.Words, "common": &t.Common,
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
		case key == "months":
			t.Months = strings.Fields(rest)
		case key == "letters":
			t.Letters = rest
		case strings.HasPrefix(key, "phrase."):
			t.Phrases = append(t.Phrases, [2]string{strings.TrimPrefix(key, "phrase."), rest})
		default:
			t.say[key] = rest
		}
	}
	return t
}

// For returns the table of a language tag such as "it" or "en-us", or an empty
// one for a language without a file.
func For(lang string) *Table {
	if t := tables()[Primary(lang)]; t != nil {
		return t
	}
	return &Table{}
}

// Languages returns the primary tags that have a table, sorted.
func Languages() []string { return slices.Sorted(maps.Keys(tables())) }

// Primary returns the first part of a language tag in lower case.
func Primary(lang string) string {
	lang, _, _ = strings.Cut(strings.ToLower(lang), "-")
	lang, _, _ = strings.Cut(lang, "_")
	return lang
}
