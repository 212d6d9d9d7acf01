// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"errors"
	"example.org/desktop-assistant/pkg/speech/lexicon"
	"fmt"
)

// maxWords is the longest text that is compared; a command is shorter, and the
// work for several free params grows with a power of it.
const maxWords = 40

// A Source is what one tool says about one language.
type Source struct {
	Tool      string
	Lang      string // a tag such as "en"; only its first part counts
	Sentences []string
	Params    map[string]Param
}

// Intents are compiled templates of many tools. They never change and may be
// shared between goroutines.
type Intents struct {
	roots map[string]*node // by primary language
}

// A node is a place in the tree of all forms of a language.
type node struct {
	words map[string]*node
	slots []*edge
	end   *ending // the first form that was defined to end here
}

// An edge leads over a slot. Tools share none, since their values differ.
type edge struct {
	tool  string
	param string
	kind  string      // "integer" or "number" takes a number
	enum  []enumValue // empty for a number or free text
	next  *node
}

type enumValue struct {
	text  string // as the tool wants it
	words []string
}

type ending struct {
	order    int
	tool     string
	template string
}

// Compile parses all sentences. The error joins one error for each sentence
// that cannot be used, naming its tool and language, with a *SyntaxError in its
// chain; the other sentences work, so the Intents are never nil.
func Compile(sources []Source) (*Intents, error) {
	x := &Intents{roots: map[string]*node{}}
	var errs []error
	order := 0
	for _, src := range sources {
		lang := lexicon.Primary(src.Lang)
		if x.roots[lang] == nil {
			x.roots[lang] = &node{}
		}
		for _, s := range src.Sentences {
			order++
			t, err := ParseTemplate(s, src.Params)
			if err != nil {
				errs = append(errs, fmt.Errorf("compile sentences.%s of tool %q: %w", src.Lang, src.Tool, err))
				continue
			}
			for _, f := range t.forms {
				x.roots[lang].add(f, lang, &ending{order, src.Tool, s})
			}
		}
	}
	return x, errors.Join(errs...)
}

// add inserts a form; the first one to end at a node keeps it.
func (n *node) add(f form, lang string, end *ending) {
	at := n
	for _, p := range f.parts {
		if p.slot != nil {
			at = at.over(p.slot, lang, end.tool)
			continue
		}
		for _, w := range parseWords(p.text, lang) {
			at = at.word(w.text)
		}
	}
	if at.end == nil {
		at.end = end
	}
}

func (n *node) word(w string) *node {
	if n.words == nil {
		n.words = map[string]*node{}
	}
	if n.words[w] == nil {
		n.words[w] = &node{}
	}
	return n.words[w]
}

func (n *node) over(s *slot, lang, tool string) *node {
	for _, e := range n.slots {
		if e.tool == tool && e.param == s.param {
			return e.next
		}
	}
	e := &edge{tool: tool, param: s.param, kind: s.kind, next: &node{}}
	for _, v := range s.values {
		var words []string
		for _, w := range parseWords(v, lang) {
			words = append(words, w.text)
		}
		e.enum = append(e.enum, enumValue{v, words})
	}
	n.slots = append(n.slots, e)
	return e.next
}
