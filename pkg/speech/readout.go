// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/desktop-assistant/pkg/speech/lexicon"
)

var (
	isoDate   = regexp.MustCompile(`\b(\d{4})-(\d{2})-(\d{2})\b`)
	dayFirst  = regexp.MustCompile(`\b(\d{1,2})[/.](\d{1,2})[/.](\d{4})\b`)
	span      = regexp.MustCompile(`(^|\s)(\d+)\s?[-–]\s?(\d+)([\s,.;:!?]|$)`)
	about     = regexp.MustCompile(`(^|\s)~\s?(\d)`)
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
func readAloud(s string, t *lexicon.Table) string {
	for _, p := range t.Phrases {
		s = replaceWord(s, p[0], p[1])
	}
	s = sayDates(s, t)
	s = coinFirst.ReplaceAllStringFunc(s, func(m string) string {
		g := coinFirst.FindStringSubmatch(m)
		amount := g[2]
		if g[3] != "" {
			amount += " " + g[3]
		}
		return count(t, "coin."+g[1], amount, g[1])
	})
	s = coinLast.ReplaceAllStringFunc(s, func(m string) string {
		g := coinLast.FindStringSubmatch(m)
		return count(t, "coin."+g[2], g[1], g[2])
	})
	if d := t.Say("say.degrees"); d != "" {
		s = degrees.ReplaceAllString(s, "${1} "+d)
	}
	if m := t.Say("say.minus"); m != "" {
		s = below.ReplaceAllString(s, "${1}"+m+" ${2}")
	}
	if to := t.Say("say.to"); to != "" {
		s = span.ReplaceAllString(s, "${1}${2} "+to+" ${3}${4}")
	}
	if near := t.Say("say.about"); near != "" {
		s = about.ReplaceAllString(s, "${1}"+near+" ${2}")
	}
	if m := t.Say("say.times"); m != "" {
		s = between.ReplaceAllStringFunc(s, func(x string) string { return strings.ReplaceAll(x, "×", " "+m+" ") })
	}
	if and := t.Say("say.and"); and != "" {
		s = strings.ReplaceAll(s, " & ", " "+and+" ")
	}
	s = quantity.ReplaceAllStringFunc(s, func(m string) string {
		g := quantity.FindStringSubmatch(m)
		if t.Say("unit."+g[2]) == "" {
			return m
		}
		return count(t, "unit."+g[2], g[1], g[2])
	})
	return shortWords(s, t)
}

// sayDates writes out 2026-09-15, and 15/9/2026 or 15.09.2026 where the day is
// known to come first.
func sayDates(s string, t *lexicon.Table) string {
	say := func(m string, year, month, day string) string {
		mm, _ := strconv.Atoi(month)
		dd, _ := strconv.Atoi(day)
		if t.Say("say.date") == "" || mm < 1 || mm > len(t.Months) || dd < 1 || dd > 31 {
			return m
		}
		return strings.NewReplacer("{d}", strconv.Itoa(dd), "{m}", t.Months[mm-1], "{y}", year).Replace(t.Say("say.date"))
	}
	s = isoDate.ReplaceAllStringFunc(s, func(m string) string {
		g := isoDate.FindStringSubmatch(m)
		return say(m, g[1], g[2], g[3])
	})
	if t.Say("say.dayfirst") == "" {
		return s
	}
	return dayFirst.ReplaceAllStringFunc(s, func(m string) string {
		g := dayFirst.FindStringSubmatch(m)
		return say(m, g[3], g[2], g[1])
	})
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
func count(t *lexicon.Table, key, amount, unit string) string {
	one, many, ok := strings.Cut(t.Say(key), "|")
	switch {
	case one == "":
		return amount + " " + unit
	case amount == "1" || !ok:
		return amount + " " + one
	}
	return amount + " " + many
}

// shortWords replaces abbreviations. The dot of one at the end stays a stop.
func shortWords(s string, t *lexicon.Table) string {
	var b strings.Builder
	last := 0
	for _, m := range shortWord.FindAllStringSubmatchIndex(s, -1) {
		if m[2] < 0 {
			continue
		}
		word := strings.ToLower(s[m[2]:m[3]])
		said, digits := t.Say("abbr."+word), ""
		if m[4] >= 0 {
			digits = strings.TrimSpace(s[m[4]:m[5]])
			if said == "" {
				said = t.Say("abbr#." + word)
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
