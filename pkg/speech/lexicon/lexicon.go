// SPDX-License-Identifier: Apache-2.0

// Package lexicon holds what is particular to one language for pkg/speech:
// abbreviations, frequent words, and how numbers, units and signs are said. It
// is read from lang/*.txt, say/*.txt and the tables of units and coins, which
// are part of the program; a new language is new files.
package lexicon

import (
	"embed"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed lang/*.txt say/*.txt units.tsv coins.tsv
var files embed.FS

// columns are the languages of units.tsv and coins.tsv, in their order.
var columns = []string{"it", "en", "de", "fr", "es", "pt"}

// A Table holds one language. All words are lower case, without the last dot.
// Tables are shared; callers only read them.
type Table struct {
	Lang    string          // primary tag
	Never   map[string]bool // abbreviations that never end a sentence
	Number  map[string]bool // abbreviations only before a number
	May     map[string]bool // abbreviations that may end a sentence
	Months  []string
	Words   map[string]bool // function words; capitalised they open a sentence
	Common  map[string]bool // frequent other words, to know the language by
	Also    map[string]bool // words of other languages that exist in this one too
	Letters string          // letters that only some languages have
	Phrases [][2]string     // abbreviations of two words or with marks, and what they say

	say   map[string]string
	lists map[string]map[string]bool
	units map[string][]string
	coins map[string][]string
}

// Say returns the value of another key, such as "say.dot", or "".
func (t *Table) Say(key string) string { return t.say[key] }

// In reports whether word is one of the words of the value of key.
func (t *Table) In(key, word string) bool { return t.lists[key][word] }

// Unit returns the singular and plural of a unit such as "km/h", or "".
func (t *Table) Unit(symbol string) (one, many string) {
	if u := t.units[symbol]; len(u) == 2 {
		return u[0], u[1]
	}
	return "", ""
}

// Units returns the symbols of all units that the language has words for, sorted.
func (t *Table) Units() []string { return slices.Sorted(maps.Keys(t.units)) }

// Coin returns the names of a currency by its sign or code: the singular and
// plural, and those of its hundredth part, which may be empty. It returns nil
// for one that is not known.
func (t *Table) Coin(symbol string) []string { return t.coins[symbol] }

// tables reads the files once. A line of a language is "section: word word ...";
// a section may take several lines and "#" starts a comment. Any other key is a
// phrase for Say. The name of the file is the language.
var tables = sync.OnceValue(func() map[string]*Table {
	all := map[string]*Table{}
	for _, dir := range []string{"lang", "say"} {
		names, _ := files.ReadDir(dir)
		for _, f := range names {
			data, _ := files.ReadFile(path.Join(dir, f.Name()))
			lang := strings.TrimSuffix(f.Name(), ".txt")
			if all[lang] == nil {
				all[lang] = newTable(lang)
			}
			all[lang].read(string(data))
		}
	}
	units, _ := files.ReadFile("units.tsv")
	readColumns(string(units), func(lang, symbol string, names []string) { all[lang].units[symbol] = names })
	coins, _ := files.ReadFile("coins.tsv")
	readColumns(string(coins), func(lang, symbol string, names []string) { all[lang].coins[symbol] = names })
	return all
})

func newTable(lang string) *Table {
	return &Table{
		Lang: lang, Never: map[string]bool{}, Number: map[string]bool{}, May: map[string]bool{},
		Words: map[string]bool{}, Common: map[string]bool{}, Also: map[string]bool{},
		say: map[string]string{}, lists: map[string]map[string]bool{},
		units: map[string][]string{}, coins: map[string][]string{},
	}
}

func (t *Table) read(data string) {
	sets := map[string]map[string]bool{
		"never": t.Never, "number": t.Number, "may": t.May, "words": t.Words, "common": t.Common, "also": t.Also,
	}
	for line := range strings.Lines(data) {
		key, rest, ok := strings.Cut(line, ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		rest = strings.TrimSpace(rest)
		switch set := sets[key]; {
		case set != nil:
			addWords(set, rest)
		case key == "months":
			t.Months = strings.Fields(rest)
		case key == "letters":
			t.Letters = rest
		case strings.HasPrefix(key, "phrase."):
			t.Phrases = append(t.Phrases, [2]string{strings.TrimPrefix(key, "phrase."), rest})
		default:
			t.say[key] = rest
			if t.lists[key] == nil {
				t.lists[key] = map[string]bool{}
			}
			addWords(t.lists[key], rest)
		}
	}
}

func addWords(set map[string]bool, list string) {
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
}

// readColumns calls add for each symbol and language of a table: symbols between
// spaces, then a cell for each language with its names between bars.
func readColumns(data string, add func(lang, symbol string, names []string)) {
	for line := range strings.Lines(data) {
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || len(cells) != len(columns)+1 {
			continue
		}
		for i, lang := range columns {
			if cells[i+1] == "-" {
				continue
			}
			for _, symbol := range strings.Fields(cells[0]) {
				add(lang, symbol, strings.Split(cells[i+1], "|"))
			}
		}
	}
}

// For returns the table of a language tag such as "it" or "en-us", or an empty
// one for a language without a file.
func For(lang string) *Table {
	if t := tables()[Primary(lang)]; t != nil {
		return t
	}
	return &Table{Lang: Primary(lang)}
}

// Languages returns the primary tags that have a table, sorted.
func Languages() []string { return slices.Sorted(maps.Keys(tables())) }

// Primary returns the first part of a language tag in lower case: "en" of
// "en-US", "pt" of "pt_BR".
func Primary(lang string) string {
	if i := strings.IndexAny(lang, "-_"); i >= 0 {
		lang = lang[:i]
	}
	return strings.ToLower(lang)
}
