// SPDX-License-Identifier: Apache-2.0

package readout

import (
	"regexp"
	"strings"
	"unicode"
)

var (
	phone     = regexp.MustCompile(`(?:\+|\b00)?\(?\b\d+\)?(?:[ /.-]{1,2}\(?\d+\)?)*`)
	fourParts = regexp.MustCompile(`\b(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(:\d{1,5}\b)?`)
	spaced    = regexp.MustCompile(`\b([1-9]\d{0,2})((?:[ ']\d{3})+)\b`)
	grouped   = regexp.MustCompile(`\b\d{1,3}([.,])\d{3}(?:[.,]\d{3})+\b`)
	dotGroups = regexp.MustCompile(`^[1-9]\d?(\.\d{3})+$`)
	enComma   = regexp.MustCompile(`\b(\d+),(\d{1,2})\b`)
	enPoint   = regexp.MustCompile(`(^|[ (])\.(\d)`)
	longTail  = regexp.MustCompile(`\b(\d+)[.,](\d{5,})\b`)
)

// phones reads telephone numbers digit by digit, with a pause between groups.
func (r *reader) phones(s string) string {
	if len(s)-len(strings.Map(notDigit, s)) < 6 {
		return s
	}
	return each(phone, s, func(h hit) string {
		if !r.isPhone(h) {
			return ""
		}
		said := ""
		if strings.HasPrefix(h.whole(), "+") {
			said = r.Say("say.plus") + " "
		}
		groups := strings.FieldsFunc(h.whole(), func(c rune) bool { return !unicode.IsDigit(c) })
		for i, g := range groups {
			if i > 0 {
				said += ", "
			}
			said += spell(g)
		}
		return said
	})
}

func notDigit(c rune) rune {
	if unicode.IsDigit(c) {
		return -1
	}
	return c
}

// isPhone tells a telephone number from other runs of digits: a country code,
// a leading zero, a usual grouping with hyphens, or a word such as "call".
func (r *reader) isPhone(h hit) bool {
	text := h.whole()
	count, groups := 0, len(strings.FieldsFunc(text, func(c rune) bool { return !unicode.IsDigit(c) }))
	for _, c := range text {
		if unicode.IsDigit(c) {
			count++
		}
	}
	if prev := h.prev(); count < 6 || count > 15 || unicode.IsLetter(h.next()) || unicode.IsLetter(prev) || strings.ContainsRune("€$£.,:#", prev) {
		return false
	}
	if r.Lang == "fr" && groups == 5 && count == 10 {
		return false // read in pairs
	}
	if groups > 2 && r.Lang != "en" && dotGroups.MatchString(text) {
		return false
	}
	switch {
	case strings.HasPrefix(text, "+"), strings.HasPrefix(text, "00") && count > 9:
		return true
	case strings.HasPrefix(text, "0") && !strings.Contains(text, "."):
		return true
	case groups == 1 && count >= 9:
		return !strings.ContainsAny(text, ".,")
	case strings.Count(text, "-") == groups-1 && groups > 1 && count >= 7 && !strings.Contains(text, " "):
		return groups == 3 && count == 10 || groups == 2 && count == 7 && strings.Index(text, "-") == 3
	case strings.HasPrefix(text, "(") && groups > 1 && count >= 9:
		return true
	}
	return r.phoneWord(h.before())
}

// phoneWord looks for a word such as "call" among the last three.
func (r *reader) phoneWord(before string) bool {
	words := strings.FieldsFunc(strings.ToLower(before), func(c rune) bool { return !unicode.IsLetter(c) })
	for _, w := range words[max(0, len(words)-3):] {
		if r.In("say.phonewords", w) {
			return true
		}
	}
	return false
}

// spell puts a space between the characters.
func spell(s string) string { return strings.Join(strings.Split(s, ""), " ") }

// digits writes numbers in the grouping of the language, and network addresses
// part by part.
func (r *reader) digits(s string) string {
	dot := " " + r.Say("say.dot") + " "
	if !strings.ContainsAny(s, ".,' ") {
		return s
	}
	s = each(fourParts, s, func(h hit) string {
		if h.next() == '.' && strings.IndexFunc(h.after()[1:], unicode.IsDigit) == 0 || h.prev() == '.' {
			return ""
		}
		said := h.group(1) + dot + h.group(2) + dot + h.group(3) + dot + h.group(4)
		if port := h.group(5); port != "" {
			said += " " + r.Say("say.port") + " " + port[1:]
		}
		return said
	})
	mark := "."
	if r.Say("say.decimal") == "." {
		mark = ","
	}
	s = each(spaced, s, func(h hit) string {
		if unicode.IsLetter(h.prev()) || strings.ContainsRune(".,:/-", h.prev()) || h.next() == '-' {
			return ""
		}
		sign := mark
		if r.Lang == "fr" {
			sign = " "
		}
		return h.group(1) + strings.NewReplacer(" ", sign, "'", sign).Replace(h.group(2))
	})
	s = each(grouped, s, func(h hit) string {
		if r.Lang == "fr" {
			return strings.NewReplacer(".", " ", ",", " ").Replace(h.whole())
		}
		return strings.NewReplacer(".", mark, ",", mark).Replace(h.whole())
	})
	if r.Lang == "en" {
		s = each(enComma, s, func(h hit) string {
			if h.next() == ',' || h.prev() == ',' || h.prev() == '.' {
				return ""
			}
			return h.group(1) + "." + h.group(2)
		})
	}
	return enPoint.ReplaceAllString(s, "${1}0"+r.Say("say.decimal")+"$2")
}

// decimals reads more than four of them one by one, as espeak-ng takes the
// last four for a number of its own.
func (r *reader) decimals(s string) string {
	if r.Lang == "en" {
		return s
	}
	return each(longTail, s, func(h hit) string {
		return h.group(1) + " " + r.Say("say.point") + " " + spell(h.group(2))
	})
}

// decimal writes an amount before a unit with the mark of the language.
func (r *reader) decimal(n string) string {
	mark := r.Say("say.decimal")
	if dot, comma := strings.LastIndex(n, "."), strings.LastIndex(n, ","); dot >= 0 && comma >= 0 {
		if last := n[max(dot, comma) : max(dot, comma)+1]; last != mark && strings.Count(n, last) == 1 {
			return strings.NewReplacer(mark, last, last, mark).Replace(n)
		}
		return n
	}
	for _, other := range []string{".", ","} {
		if i := strings.Index(n, other); other != mark && i >= 0 && strings.Count(n, other) == 1 && len(n)-i-1 != 3 && !strings.Contains(n, mark) {
			return n[:i] + mark + n[i+1:]
		}
	}
	return n
}
