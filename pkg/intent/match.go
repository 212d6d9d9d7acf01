// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"example.org/desktop-assistant/pkg/speech/lexicon"
	"maps"
	"slices"
)

// A Match is what a text asks for.
type Match struct {
	Tool     string
	Lang     string            // primary tag of the template's language
	Args     map[string]string // enum values as the tool wrote them, numbers in digits, free text as the user said it; never nil
	Template string            // the sentence that matched
	Words    int               // words of the text that the template names, enum values included
}

// Match finds the tool that text asks for. Case, accents, punctuation, fillers
// ("please", "per favore", "um") and the way of writing contractions and
// numbers do not count; every other word must be in the template or in a param.
// The sentence that names most words wins, then the one defined first. An empty
// lang compares with every language, in the order of their tags.
func (x *Intents) Match(text, lang string) (Match, bool) {
	langs := []string{lexicon.Primary(lang)}
	if lang == "" {
		langs = slices.Sorted(maps.Keys(x.roots))
	}
	var best Match
	order := 0
	for _, l := range langs {
		words := parseWords(text, l)
		if x.roots[l] == nil || len(words) == 0 || len(words) > maxWords {
			continue
		}
		s := &search{text: text, lang: l, words: words}
		s.start(x.roots[l])
		if s.best != nil && (order == 0 || s.named > best.Words || s.named == best.Words && s.best.order < order) {
			order = s.best.order
			best = Match{Tool: s.best.tool, Lang: l, Args: s.args, Template: s.best.template, Words: s.named}
		}
	}
	return best, order > 0
}

// A search walks the tree over one text and keeps the best ending.
type search struct {
	text  string
	lang  string
	words []word
	taken []capture

	best  *ending
	named int
	args  map[string]string
}

type capture struct{ param, value string }

// start walks from the root, behind the fillers in front if that can be, so that
// they are not taken for free text.
func (s *search) start(root *node) {
	starts := []int{0}
	for i := 0; i < len(s.words) && s.words[i].filler > 0; {
		i += s.words[i].filler
		starts = append(starts, i)
	}
	for _, i := range slices.Backward(starts) {
		s.walk(root, i, 0)
	}
}

// onlyFillers reports whether words are fillers, or none at all.
func onlyFillers(words []word) bool {
	i := 0
	for i < len(words) && words[i].filler > 0 {
		i += words[i].filler
	}
	return i >= len(words)
}

// walk goes on from n at word i, after naming so many words.
func (s *search) walk(n *node, i, named int) {
	if n.end != nil && onlyFillers(s.words[i:]) {
		s.keep(n.end, named)
	}
	// A filler may stand before a word of the template.
	for j := i; j < len(s.words); j += s.words[j].filler {
		if next := n.words[s.words[j].text]; next != nil {
			s.walk(next, j+1, named+1)
		}
		for _, e := range n.slots {
			s.listed(e, j, named)
		}
		if s.words[j].filler == 0 {
			break
		}
	}
	for _, e := range n.slots {
		if len(e.enum) > 0 || isNumber(e.kind) {
			continue
		}
		for j := i + 1; j <= len(s.words); j++ {
			if onlyFillers(s.words[i:j]) {
				continue // "weather in please" names no place
			}
			s.take(e, s.text[s.words[i].start:s.words[j-1].end], j, named)
		}
	}
}

// listed tries the values of an enum at word j, or a number.
func (s *search) listed(e *edge, j, named int) {
	for _, v := range e.enum {
		if k := matchPhrase(s.words[j:], v.words); k > 0 {
			s.take(e, v.text, j+k, named+k)
		}
	}
	if !isNumber(e.kind) {
		return
	}
	digits, k := number(s.words[j:], s.lang, e.kind)
	switch {
	case k == 0:
	case len(e.enum) == 0:
		s.take(e, digits, j+k, named+k)
	case ones[s.lang][s.words[j].text]:
		for _, v := range e.enum {
			if v.text == "1" {
				s.take(e, v.text, j+k, named+k)
			}
		}
	}
}

func (s *search) take(e *edge, value string, i, named int) {
	s.taken = append(s.taken, capture{e.param, value})
	s.walk(e.next, i, named)
	s.taken = s.taken[:len(s.taken)-1]
}

func (s *search) keep(end *ending, named int) {
	if s.best != nil && (named < s.named || named == s.named && end.order >= s.best.order) {
		return
	}
	s.best, s.named, s.args = end, named, map[string]string{}
	for _, c := range s.taken {
		s.args[c.param] = c.value
	}
}
