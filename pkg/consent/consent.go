// SPDX-License-Identifier: Apache-2.0

// Package consent asks the user whether a tool may run, in their language, and
// reads the answer. It is pure.
package consent

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Answer is what an utterance says to a question.
type Answer int

// The answers. Whoever asked takes what is unclear for a no.
const (
	Unclear Answer = iota
	Yes
	No
)

// fallback is the language of those that have no words here.
const fallback = "en"

// Languages lists the languages that can be asked in.
func Languages() []string { return slices.Sorted(maps.Keys(table)) }

// wordsOf gives the words of lang, a tag such as "it" or "en-us", and the
// language that a question in it has.
func wordsOf(lang string) (w words, language string) {
	if key, ok := primary(lang); ok {
		return table[key], lang
	}
	return table[fallback], fallback
}

// primary is the key of a language in the table; known is false when it is that
// of another one.
func primary(lang string) (key string, known bool) {
	key, _, _ = strings.Cut(strings.ToLower(lang), "-")
	if _, ok := table[key]; ok {
		return key, true
	}
	return fallback, false
}

// lists are the phrases of a language, as [split] gives them.
type lists struct{ yes, no, filler [][]string }

var compiled = sync.OnceValue(func() map[string]lists {
	all := map[string]lists{}
	for lang, w := range table {
		all[lang] = lists{splitAll(w.yes), splitAll(w.no), splitAll(w.filler)}
	}
	return all
})

func splitAll(phrases []string) [][]string {
	list := make([][]string, 0, len(phrases))
	for _, p := range phrases {
		list = append(list, split(p))
	}
	return list
}

// Bounds of what is asked: more cannot be kept in mind. What is left out is
// shown as left out.
const (
	maxValue     = 160 // runes of one value
	maxArguments = 8
)

// Question asks in lang whether a tool may run with the arguments of a call, a
// JSON object; what is no object counts as none. The language is lang, or "en"
// when there are no words in it.
func Question(tool, lang string, arguments json.RawMessage) (text, language string) {
	w, language := wordsOf(lang)
	tool = named(tool)
	with := w.list(w.arguments(arguments))
	template := w.question
	if with != "" {
		template = w.questionWith
	}
	return strings.NewReplacer("{tool}", tool, "{arguments}", with).Replace(template), language
}

// named makes words of a name in code.
func named(name string) string {
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || unicode.IsSpace(r) }), " ")
}

// arguments gives "name value" for each argument that has a value, by name. A
// name that comes twice has its last value, as for the tool.
func (w words) arguments(object json.RawMessage) []string {
	var values map[string]any
	d := json.NewDecoder(strings.NewReader(string(object)))
	d.UseNumber()
	if d.Decode(&values) != nil {
		return nil
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if v := w.value(values[name]); v != "" {
			list = append(list, named(name)+" "+v)
		}
	}
	if len(list) > maxArguments {
		list = append(list[:maxArguments], "…")
	}
	return list
}

// value gives words for a JSON value, "" for one that is empty to a tool.
func (w words) value(v any) string {
	var text string
	switch v := v.(type) {
	case string:
		if text = strings.Join(strings.Fields(v), " "); text != "" {
			return `"` + shortened(text) + `"`
		}
	case json.Number:
		text = v.String()
	case bool:
		text = w.no[0]
		if v {
			text = w.yes[0]
		}
	case []any:
		var items []string
		for _, item := range v {
			if s := w.value(item); s != "" {
				items = append(items, s)
			}
		}
		text = w.list(items)
	case map[string]any:
		body, err := json.Marshal(v)
		if err != nil { // it was JSON
			return ""
		}
		text = strings.Join(w.arguments(body), ", ")
	}
	return shortened(text)
}

func shortened(text string) string {
	if r := []rune(text); len(r) > maxValue {
		return string(r[:maxValue]) + " …"
	}
	return text
}

// list joins with commas, and with the word for "and" before the last.
func (w words) list(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	last := len(items) - 1
	return strings.Join(items[:last], ", ") + " " + w.and + " " + items[last]
}

// longest is how many words of an utterance are looked at: a longer one is no
// yes.
const longest = 32

// echoed is how many words in a row, all of the question itself, are the
// question heard by the microphone and no answer.
const echoed = 4

// Read says what text answers to a question in a language. A yes has nothing
// beside it but words of courtesy; a word that refuses is a no whatever else
// is said. The question is needed to know its echo.
func Read(text, question, lang string) Answer {
	key, _ := primary(lang)
	w := compiled()[key]
	said := split(text)
	if len(said) > longest {
		said = append(said[:longest], "…") // no word of any list
	}
	if len(said) >= echoed && within(said, split(question)) {
		return Unclear
	}
	agreed := false
	for len(said) > 0 {
		if begins(said, w.no) > 0 {
			return No
		}
		switch yes, filler := begins(said, w.yes), begins(said, w.filler); {
		case yes > 0:
			agreed, said = true, said[yes:]
		case filler > 0:
			said = said[filler:]
		default:
			return unclear(said, w)
		}
	}
	if agreed {
		return Yes
	}
	return Unclear
}

// unclear looks for a refusal in the rest of what is no yes.
func unclear(said []string, w lists) Answer {
	for i := range said {
		if begins(said[i:], w.no) > 0 {
			return No
		}
	}
	return Unclear
}

// begins gives the number of words of the longest phrase that said begins with.
func begins(said []string, phrases [][]string) int {
	most := 0
	for _, p := range phrases {
		if n := len(p); n > most && n <= len(said) && slices.Equal(said[:n], p) {
			most = n
		}
	}
	return most
}

func within(said, question []string) bool {
	return !slices.ContainsFunc(said, func(word string) bool { return !slices.Contains(question, word) })
}

// split gives the words of a text in lower case and without accents.
func split(text string) []string {
	var b strings.Builder
	for _, r := range norm.NFD.String(strings.ToLower(text)) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		default:
			b.WriteByte(' ')
		}
	}
	return strings.Fields(b.String())
}
