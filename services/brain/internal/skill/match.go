// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// unit is one character as it is compared: without its case, with its accents
// composed, any white space like any other.
type unit struct {
	r          rune
	start, end int  // of what it was made of, in bytes
	last       bool // the last unit of that
}

// gap stands for white space, and in what is spoken for a hyphen too.
const gap = ' '

// units takes text apart.
func units(text string, spoken bool) []unit {
	fold := cases.Fold()
	all := make([]unit, 0, len(text))
	var it norm.Iter
	it.InitString(norm.NFC, text)
	for from := 0; !it.Done(); {
		piece := string(it.Next())
		to := it.Pos()
		if len(piece) == 1 {
			piece = strings.ToLower(piece) // the same for ASCII, and quick
		} else {
			piece = fold.String(piece)
		}
		for i, r := range piece {
			last := i+utf8.RuneLen(r) == len(piece)
			if unicode.IsSpace(r) || spoken && (r == '-' || r == '_') {
				r = gap
			}
			if n := len(all); r == gap && n > 0 && all[n-1].r == gap {
				all[n-1].end, all[n-1].last = to, last
				continue
			}
			all = append(all, unit{r, from, to, last})
		}
		from = to
	}
	return all
}

// fold is a name as it is compared.
func fold(name string) string { return key(units(name, false)) }

func key(all []unit) string {
	var b strings.Builder
	for _, u := range all {
		b.WriteRune(u.r)
	}
	return b.String()
}

// index finds names: by their first character, the longest first, as they are
// written and as they are spoken.
type index [2]map[rune][]target

type target struct {
	name  string
	units []unit
}

func newIndex(skills []Skill) (x index) {
	for i := range x {
		x[i] = map[rune][]target{}
		for _, k := range skills {
			u := units(k.Name, i == 1)
			x[i][u[0].r] = append(x[i][u[0].r], target{k.Name, u})
		}
		for _, list := range x[i] {
			slices.SortStableFunc(list, func(a, b target) int { return len(b.units) - len(a.units) })
		}
	}
	return x
}

// Match finds the skills that a message asks for, each once and in the order in
// which they come, and gives the message without the calls.
//
// A call is /name where neither a word nor a path goes on before or after it. A
// name also counts as a word of its own, not part of a longer one or of a path;
// it stays. Case does not matter; in what was spoken, hyphens and spaces are the
// same.
func (s Shelf) Match(text string, spoken bool) (names []string, rest string) {
	if len(s.Skills) == 0 {
		return nil, text
	}
	m := &matcher{text: text, units: units(text, spoken), index: s.index[0]}
	if spoken {
		m.index = s.index[1]
	}
	var kept strings.Builder
	from := 0
	for i := 0; i < len(m.units); {
		u := m.units[i]
		name, next, called := m.at(i)
		if name == "" {
			i++
			continue
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		if called {
			kept.WriteString(text[from:u.start])
			from = m.units[next-1].end
			from += doubled(text, u.start, from)
		}
		i = next
	}
	if from == 0 {
		return names, text
	}
	kept.WriteString(text[from:])
	return names, strings.TrimSpace(kept.String())
}

// doubled is how much white space from text[end:] on would stand beside other
// white space, or at the beginning of a line, without text[start:end].
func doubled(text string, start, end int) int {
	rest := text[end:]
	switch before := before(text, start); {
	case before == none, before == '\n':
		return len(rest) - len(strings.TrimLeftFunc(rest, unicode.IsSpace))
	case isSpace(before):
		return len(rest) - len(strings.TrimLeft(rest, " \t"))
	}
	return 0
}

type matcher struct {
	text  string
	units []unit
	index map[rune][]target
	piece piece // the one looked at last
}

// piece is a stretch of text that may be a path or an address.
type piece struct {
	start, end int
	path       bool // and is one
}

// at gives the skill that is asked for at unit i, and the unit behind it.
func (m *matcher) at(i int) (name string, next int, called bool) {
	u := m.units[i]
	if i > 0 && !m.units[i-1].last {
		return "", 0, false
	}
	if u.r == '/' {
		if r := before(m.text, u.start); r != none && !isSpace(r) && !isOpening(r) {
			return "", 0, false
		}
		name, next = m.named(i+1, func(end int) bool { return m.ends(end) })
		return name, next, name != ""
	}
	if touches(before(m.text, u.start)) {
		return "", 0, false
	}
	name, next = m.named(i, func(end int) bool {
		return !touches(after(m.text, end)) && !m.inPath(u.start, end)
	})
	return name, next, false
}

// named gives the longest name at unit i behind whose end the text may go on.
func (m *matcher) named(i int, may func(end int) bool) (name string, next int) {
	if i >= len(m.units) {
		return "", 0
	}
	for _, t := range m.index[m.units[i].r] {
		next := i + len(t.units)
		if next > len(m.units) || !m.units[next-1].last {
			continue
		}
		same := slices.EqualFunc(m.units[i:next], t.units, func(a, b unit) bool { return a.r == b.r })
		if same && may(m.units[next-1].end) {
			return t.name, next
		}
	}
	return "", 0
}

// ends says whether a call may end here: what follows in one piece, without the
// marks that end a sentence, is nothing.
func (m *matcher) ends(end int) bool {
	rest := m.text[end:]
	if n := strings.IndexFunc(rest, func(r rune) bool { return !inPiece(r) }); n >= 0 {
		rest = rest[:n]
	}
	return strings.Trim(rest, ".:?") == ""
}

// inPath says whether text[start:end] is part of a path or an address.
func (m *matcher) inPath(start, end int) bool {
	if p := m.piece; p.start <= start && end <= p.end {
		return p.path
	}
	for start > 0 && inPiece(before(m.text, start)) {
		_, n := utf8.DecodeLastRuneInString(m.text[:start])
		start -= n
	}
	for end < len(m.text) && inPiece(after(m.text, end)) {
		_, n := utf8.DecodeRuneInString(m.text[end:])
		end += n
	}
	m.piece = piece{start, end, strings.ContainsAny(m.text[start:end], `/\`)}
	return m.piece.path
}

// inPiece says whether a path or an address may go on with r.
func inPiece(r rune) bool {
	return touches(r) || r != none && strings.ContainsRune(`/\.~@%+=:?#&$*`, r)
}

// none stands for no character.
const none rune = -1

func before(text string, i int) rune {
	if i == 0 {
		return none
	}
	r, _ := utf8.DecodeLastRuneInString(text[:i])
	return r
}

func after(text string, i int) rune {
	if i == len(text) {
		return none
	}
	r, _ := utf8.DecodeRuneInString(text[i:])
	return r
}

func isSpace(r rune) bool { return r != none && unicode.IsSpace(r) }

// isOpening says whether r opens a bracket or is a quote.
func isOpening(r rune) bool {
	return strings.ContainsRune("\"'`", r) || unicode.In(r, unicode.Ps, unicode.Pi, unicode.Pf)
}

// touches says whether r makes the name beside it part of a longer word.
func touches(r rune) bool {
	return r == '_' || r == '-' || r != none && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r))
}
