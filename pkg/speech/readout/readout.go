// SPDX-License-Identifier: Apache-2.0

// Package readout writes out what a phonemiser reads wrongly and a table of the
// language settles: dates, full hours, money, units, ranges, phone numbers,
// fractions, ordinals, Roman numerals, signs and abbreviations. What espeak-ng
// reads well stays: cardinals, decimals, per cent and times such as 18:30.
package readout

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/desktop-assistant/pkg/speech/lexicon"
)

// A reader writes out one text in one language.
type reader struct {
	*lexicon.Table
	sum bool // the text holds a sum, so that a hyphen is a minus
}

// Aloud returns s, plain text of one sentence on one line, as it is said in the
// language of t. A language without a table is left as it is.
func Aloud(s string, t *lexicon.Table) string {
	if t.Say("say.dot") == "" {
		return s
	}
	s = strings.ToValidUTF8(s, "")
	r := &reader{Table: t, sum: strings.ContainsAny(s, "=+×÷")}
	s = r.phrases(s)
	s = r.shortWords(s)
	if strings.IndexFunc(s, unicode.IsNumber) >= 0 {
		s = r.dates(s)
		s = r.clocks(s)
		s = r.phones(s)
		s = r.digits(s)
		s = r.decades(s)
		s = r.scales(r.money(s))
		s = r.fractions(s)
		s = r.ranges(s)
		s = r.quantities(s)
	}
	s = r.romans(s)
	s = r.ordinals(s)
	s = r.signs(s)
	s = r.decimals(s)
	return r.acronyms(s)
}

// A hit is one match of a pattern in a text.
type hit struct {
	text   string
	groups []int
}

// group returns the nth group, or "".
func (h hit) group(n int) string {
	if h.groups[2*n] < 0 {
		return ""
	}
	return h.text[h.groups[2*n]:h.groups[2*n+1]]
}

func (h hit) whole() string  { return h.group(0) }
func (h hit) before() string { return h.text[:h.groups[0]] }
func (h hit) after() string  { return h.text[h.groups[1]:] }

// wordBefore is the word in front of the match in lower case, without marks.
func (h hit) wordBefore() string { return strings.ToLower(lastWord(h.before())) }

// next is the character right behind the match, and prev the one in front.
func (h hit) next() rune { r, _ := utf8.DecodeRuneInString(h.after()); return none(r) }
func (h hit) prev() rune { r, _ := utf8.DecodeLastRuneInString(h.before()); return none(r) }

// follows reports whether the last character in front of the match that is no
// space is one of is.
func (h hit) follows(is func(rune) bool) bool {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(h.before(), " "))
	return is(r)
}

func none(r rune) rune {
	if r == utf8.RuneError {
		return ' '
	}
	return r
}

// wordAfter is the word that follows the match behind spaces, as it stands.
func (h hit) wordAfter() string {
	rest := strings.TrimLeft(h.after(), " ")
	return rest[:len(rest)-len(strings.TrimLeftFunc(rest, isWord))]
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) || r == '\'' || r == '’' }

func lastWord(s string) string {
	s = strings.TrimRightFunc(s, func(r rune) bool { return !isWord(r) && !unicode.IsDigit(r) })
	i := strings.LastIndexFunc(s, func(r rune) bool { return !isWord(r) })
	word := s[i+1:]
	return word[strings.LastIndexAny(word, "'’")+1:]
}

// each replaces every match of re by what say returns; "" leaves it.
func each(re *regexp.Regexp, s string, say func(hit) string) string {
	all := re.FindAllStringSubmatchIndex(s, -1)
	if all == nil {
		return s
	}
	var b strings.Builder
	last := 0
	for _, m := range all {
		if said := say(hit{s, m}); said != "" {
			b.WriteString(s[last:m[0]])
			b.WriteString(said)
			last = m[1]
		}
	}
	b.WriteString(s[last:])
	return b.String()
}

// fill puts values into the pattern of key, "{name}" by name; "" without one.
func (r *reader) fill(key string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		pairs[i] = "{" + pairs[i] + "}"
	}
	return strings.NewReplacer(pairs...).Replace(r.Say(key))
}

// plain drops leading zeros.
func plain(digits string) string {
	if n, err := strconv.Atoi(digits); err == nil {
		return strconv.Itoa(n)
	}
	return digits
}

// phrases replaces the fixed strings of the language where they stand alone.
func (r *reader) phrases(s string) string {
	for _, p := range r.Phrases {
		if strings.Contains(s, p[0]) {
			s = replaceAlone(s, p[0], p[1])
		}
	}
	return s
}

// replaceAlone replaces old where it is no part of a longer word; the dot of
// one at the end of the text stays a stop.
func replaceAlone(s, old, said string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, old)
		if i < 0 {
			break
		}
		end := i + len(old)
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		if b.Len() > 0 && i == 0 {
			before = 'x'
		}
		after, _ := utf8.DecodeRuneInString(s[end:])
		last, _ := utf8.DecodeLastRuneInString(old)
		if unicode.IsLetter(before) || unicode.IsDigit(before) || before == '.' || unicode.IsLetter(last) && isWord(after) {
			b.WriteString(s[:end])
			s = s[end:]
			continue
		}
		b.WriteString(s[:i])
		b.WriteString(said)
		if last == '.' && strings.Trim(s[end:], " )\"”»") == "" {
			b.WriteByte('.')
		} else if unicode.IsDigit(after) {
			b.WriteByte(' ')
		}
		s = s[end:]
	}
	return b.String() + s
}
