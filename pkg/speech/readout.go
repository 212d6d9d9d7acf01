// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	coinFirst = regexp.MustCompile(`(R\$|[€$£¥])\s?(\d[\d.,]*\d|\d)(?:\s(million|billion|milioni|miliardi|Millionen|Milliarden|millions|milliards|millones|milhões))?`)
	coinLast  = regexp.MustCompile(`(\d[\d.,]*)\s?([€$£¥])`)
	degrees   = regexp.MustCompile(`(\d)\s?°\s?[CF]\b`)
	below     = regexp.MustCompile(`(^|[\s(:])[-−–](\d)`)
	between   = regexp.MustCompile(`(\d)\s?[×÷]\s?(\d)`)
	quantity  = regexp.MustCompile(`(\d[\d.,]*)\s?([\pL°µ]+(?:/[\pL]+)?[²³]?)`)
	shortWord = regexp.MustCompile(`([\pL][\pL.°º]*)\.(\s*\d)?|n[°º]\s*(\d)`)
)

// readAloud writes out what a phonemiser reads wrongly and a table settles:
// money, temperatures, units, signs, abbreviations. Keys of a language file:
// "coin.€", "unit.km/h" (singular|plural), "abbr.dott", "abbr#.pag" (before a
// number only), "sign.&".
func readAloud(s string, t *table) string {
	for _, p := range t.phrases {
		s = replaceWord(s, p[0], p[1])
	}
	s = coinFirst.ReplaceAllStringFunc(s, func(m string) string {
		g := coinFirst.FindStringSubmatch(m)
		amount := g[2]
		if g[3] != "" {
			amount += " " + g[3]
		}
		return t.count("coin."+g[1], amount, g[1])
	})
	s = coinLast.ReplaceAllStringFunc(s, func(m string) string {
		g := coinLast.FindStringSubmatch(m)
		return t.count("coin."+g[2], g[1], g[2])
	})
	if d := t.notes["say.degrees"]; d != "" {
		s = degrees.ReplaceAllString(s, "${1} "+d)
	}
	if m := t.notes["say.minus"]; m != "" {
		s = below.ReplaceAllString(s, "${1}"+m+" ${2}")
	}
	if m := t.notes["say.times"]; m != "" {
		s = between.ReplaceAllStringFunc(s, func(x string) string { return strings.ReplaceAll(x, "×", " "+m+" ") })
	}
	if and := t.notes["say.and"]; and != "" {
		s = strings.ReplaceAll(s, " & ", " "+and+" ")
	}
	s = quantity.ReplaceAllStringFunc(s, func(m string) string {
		g := quantity.FindStringSubmatch(m)
		if t.notes["unit."+g[2]] == "" {
			return m
		}
		return t.count("unit."+g[2], g[1], g[2])
	})
	return shortWords(s, t)
}

// replaceWord replaces old where it does not go on a word.
func replaceWord(s, old, said string) string {
	from := 0
	for {
		i := strings.Index(s[from:], old)
		if i < 0 {
			return s
		}
		i += from
		from = i + len(old)
		if r, _ := utf8.DecodeLastRuneInString(s[:i]); unicode.IsLetter(r) || r == '.' {
			continue
		}
		s = s[:i] + said + s[from:]
		from = i + len(said)
	}
}

// count joins an amount and its unit, singular for 1; the unit stays as it is
// when the language has no word for it.
func (t *table) count(key, amount, unit string) string {
	one, many, ok := strings.Cut(t.notes[key], "|")
	switch {
	case one == "":
		return amount + " " + unit
	case amount == "1" || !ok:
		return amount + " " + one
	}
	return amount + " " + many
}

// shortWords replaces abbreviations. The dot of one at the end stays a stop.
func shortWords(s string, t *table) string {
	var b strings.Builder
	last := 0
	for _, m := range shortWord.FindAllStringSubmatchIndex(s, -1) {
		if m[2] < 0 {
			continue
		}
		word := strings.ToLower(s[m[2]:m[3]])
		said, digits := t.notes["abbr."+word], ""
		if m[4] >= 0 {
			digits = strings.TrimSpace(s[m[4]:m[5]])
			if said == "" {
				said = t.notes["abbr#."+word]
			}
		}
		if said == "" {
			continue
		}
		b.WriteString(s[last:m[2]])
		b.WriteString(said)
		switch {
		case digits != "":
			b.WriteString(" " + digits)
		case strings.Trim(s[m[1]:], " \n)\"”»") == "":
			b.WriteByte('.')
		}
		last = m[1]
	}
	return b.String() + s[last:]
}
