// SPDX-License-Identifier: Apache-2.0

package readout

import (
	"regexp"
	"strings"
	"unicode"
)

var (
	degreesRange = `(?: ?(?:°|º) ?[CF]\b| ?[°℃℉])?`
	spanOf       = regexp.MustCompile(`(\d+(?:[.,]\d+)?)(` + degreesRange + `| ?%| ?€)( ?[-–\x{2014}−] ?)(\d+(?:[.,]\d+)?)`)
	quantity     = regexp.MustCompile(`(\d+(?:[.,]\d+)*) ?((?:[°º] ?[CF]\b|[°℃℉‰]|[\pLµΩ]+[²³]?)(?:/(?:[\pL]+[²³]?|\d+ ?\pL+))?)`)
	perUnit      = regexp.MustCompile(`(\pL)/(kWh|kg|km|m²|m³|h|s|min|l|L|g|GB|MB|ora|mese|giorno|anno|month|day|year|hour|week|Monat|Tag|Jahr|Stunde|mois|jour|an|mes|día|año|mês|dia|ano)\b`)
)

// ranges says "10 to 15" for 10-15, and minus where the text is a sum.
func (r *reader) ranges(s string) string {
	return each(spanOf, s, func(h hit) string {
		if unicode.IsLetter(h.prev()) || strings.ContainsRune("-–./:", h.prev()) || h.next() == '-' && !strings.HasPrefix(h.after(), "- ") || unicode.IsDigit(h.next()) {
			return ""
		}
		a, b := h.group(1)+h.group(2), h.group(4)
		if r.sum {
			return a + " " + r.Say("say.minus") + " " + b
		}
		if strings.TrimSpace(h.group(3)) == "−" {
			return ""
		}
		if a == b {
			return a + " " + b // 50-50
		}
		if from := r.Say("say.nofrom"); from != "" && r.In("say.nofrom", h.wordBefore()) {
			return a + " " + r.Say("say.to") + " " + b
		}
		return r.fill("say.fromto", "a", a, "b", b)
	})
}

// lone units are common words too; they count only at the end of a phrase.
const lone = " ha in CV Fr mo q "

// quantities writes out the units behind numbers.
func (r *reader) quantities(s string) string {
	s = each(quantity, s, func(h hit) string {
		symbol := strings.ReplaceAll(h.group(2), " ", "")
		if strings.Contains(h.group(2), "/") {
			symbol = h.group(2)
		}
		if isWord(h.next()) || unicode.IsDigit(h.next()) || unicode.IsLetter(h.prev()) && h.prev() != 'a' {
			return ""
		}
		if strings.Contains(lone, " "+symbol+" ") && h.wordAfter() != "" && !r.preposition(h.wordAfter()) {
			return ""
		}
		if symbol == "°" && (r.Lang == "it" || h.next() == 'C') {
			return "" // an ordinal, or read well
		}
		if said := r.unit(h.group(1), symbol); said != "" {
			return said
		}
		return ""
	})
	s = unitDot.ReplaceAllString(s, "$1$2")
	return each(perUnit, s, func(h hit) string {
		if said := r.perName(h.group(2)); said != "" {
			return h.group(1) + " " + said
		}
		return ""
	})
}

// unitDot is the dot of an abbreviated unit that was written out within a
// sentence: "30 minuti. a fuoco".
var unitDot = regexp.MustCompile(`(\d (?:minut[ie]s?|seconds?|secondi|Minuten|Stunden|Sekunden|minutos?|segundos?|hours?|libbre|pounds|ounces|feet|miles))\.( \p{Ll})`)

func (r *reader) preposition(word string) bool {
	switch word {
	case "di", "de", "of", "da", "d'", "e", "y", "and", "und", "et":
		return true
	}
	return false
}

// unit says an amount of a unit, also of one over another, or "".
func (r *reader) unit(n, symbol string) string {
	if one, many := r.Unit(symbol); one != "" {
		return r.amount(n, one, many)
	}
	base, per, ok := strings.Cut(symbol, "/")
	one, many := r.Unit(base)
	if !ok || one == "" {
		return ""
	}
	said := r.perName(per)
	if said == "" {
		return ""
	}
	return r.amount(n, one, many) + " " + said
}

// amount puts n in front of a noun. The number one agrees with it, where the
// phonemiser says "uno euro" or "eins Kilometer".
func (r *reader) amount(n, one, many string) string {
	if n != "1" {
		return r.decimal(n) + " " + many
	}
	first, _, _ := strings.Cut(one, " ")
	switch {
	case r.Say("say.one") == "":
		return "1 " + one
	case !hasSuffix(first, r.Say("say.she")) || hasSuffix(first, r.Say("say.he")):
		return r.Say("say.one") + " " + one
	case r.Lang == "it" && strings.ContainsRune("aeiou", rune(first[0])):
		return "un'" + one
	}
	return r.Say("say.one.f") + " " + one
}

// hasSuffix reports whether word ends with one of a list of endings.
func hasSuffix(word, endings string) bool {
	for end := range strings.FieldsSeq(endings) {
		if strings.HasSuffix(word, end) {
			return true
		}
	}
	return false
}

// perName says what stands under a bar: "per second", "al secondo".
func (r *reader) perName(unit string) string {
	if said := r.Say("say.per." + unit); said != "" {
		return said
	}
	if one, _ := r.Unit(unit); one != "" {
		return r.Say("say.per") + " " + one
	}
	amount := strings.TrimRightFunc(unit, func(c rune) bool { return !unicode.IsDigit(c) })
	if amount != "" && amount != unit {
		return r.Say("say.per") + " " + r.unit(amount, strings.TrimSpace(unit[len(amount):]))
	}
	if len(unit) > 2 {
		return r.Say("say.per") + " " + unit
	}
	return ""
}
