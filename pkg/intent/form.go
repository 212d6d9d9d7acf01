// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A form is one sentence of a template: words in their order, with slots for
// its params.
type form struct {
	parts []part
}

// A part is literal text as it was written, or a slot.
type part struct {
	text string
	slot *slot
}

// A slot takes the value of a param: one of values, a number when kind is
// "integer" or "number", or free text of one or more words.
type slot struct {
	param  string
	values []string
	kind   string
}

// free reports whether s takes any text.
func (s *slot) free() bool { return len(s.values) == 0 && !isNumber(s.kind) }

func isNumber(kind string) bool { return kind == "integer" || kind == "number" }

// key tells forms apart that say the same.
func (f form) key() string {
	var b strings.Builder
	for _, p := range f.parts {
		if p.slot != nil {
			fmt.Fprintf(&b, "{%s} ", p.slot.param)
			continue
		}
		b.WriteString(strings.Join(strings.Fields(strings.ToLower(p.text)), " ") + " ")
	}
	return b.String()
}

// form makes a form of atoms.
func (p *parser) form(atoms []atom) (form, error) {
	var f form
	for i, a := range atoms {
		if a.param == "" {
			f.addText(a.text)
			continue
		}
		s := &slot{a.param, p.params[a.param].Enum, p.params[a.param].Type}
		switch {
		case f.has(a.param):
			return form{}, p.fail(a.at, fmt.Sprintf("param %q twice in one sentence", a.param), "")
		case i > 0 && touches(atoms[i-1], false), i+1 < len(atoms) && touches(atoms[i+1], true):
			return form{}, p.fail(a.at, fmt.Sprintf("param %q inside a word", a.param), "put a space around it")
		case s.free() && f.endsFree():
			return form{}, p.fail(a.at, fmt.Sprintf("free text %q follows another without a word between", a.param), "put a word between them")
		}
		for _, v := range s.values {
			if len(parseWords(v, "")) == 0 {
				return form{}, p.fail(a.at, fmt.Sprintf("value %q of param %q has no word", v, a.param), "")
			}
		}
		f.parts = append(f.parts, part{slot: s})
	}
	return f, p.check(f)
}

// check looks at a form as a whole.
func (p *parser) check(f form) error {
	words, free := 0, 0
	for _, x := range f.parts {
		switch {
		case x.slot == nil:
			words += len(parseWords(x.text, ""))
		case x.slot.free():
			free++
		case isNumber(x.slot.kind) && len(x.slot.values) == 0:
			// A lone number is no command.
		default:
			words++
		}
	}
	if words == 0 {
		return p.fail(0, "a sentence without a word of its own would take any text", "add a word that is always said")
	}
	if free > maxFree {
		return p.fail(0, fmt.Sprintf("more than %d free text params", maxFree), "")
	}
	for _, name := range slices.Sorted(maps.Keys(p.params)) {
		if p.params[name].Required && !f.has(name) {
			return p.fail(0, fmt.Sprintf("param %q is required, and the sentence can leave it out", name), "put it outside of [ ] in every alternative")
		}
	}
	return nil
}

func (f form) has(param string) bool {
	return slices.ContainsFunc(f.parts, func(p part) bool { return p.slot != nil && p.slot.param == param })
}

// addText joins literal text to the last part, so that light[s] is one word.
func (f *form) addText(text string) {
	if n := len(f.parts); n > 0 && f.parts[n-1].slot == nil {
		f.parts[n-1].text += text
		return
	}
	f.parts = append(f.parts, part{text: text})
}

func (f *form) endsFree() bool {
	for i := len(f.parts) - 1; i >= 0; i-- {
		if f.parts[i].slot != nil {
			return f.parts[i].slot.free()
		}
		if len(parseWords(f.parts[i].text, "")) > 0 {
			return false
		}
	}
	return false
}

// touches reports whether a, right before or behind a slot, would be one word
// with its value. An apostrophe parts words: dell'{place}, {person}'s.
func touches(a atom, behind bool) bool {
	r, n := utf8.DecodeLastRuneInString(a.text)
	next, _ := utf8.DecodeLastRuneInString(a.text[:len(a.text)-n])
	if behind {
		r, n = utf8.DecodeRuneInString(a.text)
		next, _ = utf8.DecodeRuneInString(a.text[n:])
	}
	switch {
	case a.param != "", unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
		return true
	}
	return strings.ContainsRune(".,:", r) && unicode.IsDigit(next)
}

// free reports whether f has a slot whose values cannot be listed.
func (f form) free() bool {
	for _, p := range f.parts {
		if p.slot != nil && len(p.slot.values) == 0 {
			return true
		}
	}
	return false
}

// Phrases returns at most limit sentences of t in a fixed order, every enum
// value put in, white space single. Sentences with free text are left out.
func (t Template) Phrases(limit int) []string {
	var out []string
	for _, f := range t.forms {
		if f.free() {
			continue
		}
		texts := []string{""}
		for _, p := range f.parts {
			choices := []string{p.text}
			if p.slot != nil {
				choices = p.slot.values
			}
			var next []string
			for _, a := range texts {
				for _, b := range choices {
					if len(next) < limit {
						next = append(next, a+b)
					}
				}
			}
			texts = next
		}
		for _, s := range texts {
			if len(out) == limit {
				return out
			}
			out = append(out, strings.Join(strings.Fields(s), " "))
		}
	}
	return out
}
