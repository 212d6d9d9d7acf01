// SPDX-License-Identifier: Apache-2.0

package readout

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/desktop-assistant/pkg/speech/numeral"
)

var (
	roman       = regexp.MustCompile(`(\pL[\pL'’.-]*) ([IVXL]+)\b(\.)?`)
	romanFirst  = regexp.MustCompile(`\b([IVX]+|[IVX]*L[IVX]+)(e|er|re|ème|th|nd|st|rd)\b|\b([IVX]+)\. (\p{Lu}\pL+)`)
	dotOrdinal  = regexp.MustCompile(`\b(\d{1,3})\.([ºª]|er\b)`)
	frOrdinal   = regexp.MustCompile(`\b(\d{1,2})(e|ème|eme|nde?|re|ère)\b`)
	degreeFirst = regexp.MustCompile(`\b(\d{1,3})°`)
	deOrdinal   = regexp.MustCompile(`\b(\d{1,2})\. (\p{Lu}\pL+)`)
	decade      = regexp.MustCompile(`(?:\b(1[1-9]|20)|['’])(\d0)'?s\b`)
	roundth     = regexp.MustCompile(`\b([1-9]|1\d|[1-9],?0)00th\b`)
	deYear      = regexp.MustCompile(`\b1[1-9]\d{2}\b`)
	deDecade    = regexp.MustCompile(`\b(1[1-9]\d0)er\b`)
	deDays      = regexp.MustCompile(`\b(\d{1,2})\. ?(?:[-–]|bis) ?(\d{1,2})\. (\p{Lu}\pL+)`)
	enYear      = regexp.MustCompile(`\b(1\d)(\d{2})\b`)
)

// romans reads Roman numerals behind a name; Italian voices know them.
func (r *reader) romans(s string) string {
	if r.Lang == "it" || !strings.ContainsAny(s, "IVX") {
		return s
	}
	s = each(romanFirst, s, r.leadingRoman)
	return each(roman, s, func(h hit) string {
		name, low := h.group(1), strings.ToLower(h.group(1))
		n := numeral.Roman(h.group(2))
		single := len(h.group(2)) == 1
		chapter := r.In("say.romanwords", low)
		regnal := r.In("say.regnal", low)
		switch {
		case n == 0 || isWord(h.next()) || r.In("say.romanskip", low):
			return ""
		case name == strings.ToUpper(name) && utf8.RuneCountInString(name) > 1, strings.HasPrefix(h.group(2), "XL"), h.group(2) == "XXX":
			return "" // a text in capitals, or a size
		case single && h.group(3) != "" && unicode.IsUpper(firstOf(h.wordAfter())) && r.Lang != "de":
			return "" // Albert I. Jones
		case !unicode.IsUpper(firstOf(name)) && !chapter:
			return ""
		case single && !chapter && !regnal && (r.Lang == "en" || h.group(2) != "V" || r.Words[low]):
			return ""
		}
		return name + " " + r.regnal(n, h, regnal) + r.romanStop(h)
	})
}

func firstOf(s string) rune {
	c, _ := utf8.DecodeRuneInString(s)
	return c
}

// romanStop keeps a dot that ends the sentence, and drops that of an ordinal.
func (r *reader) romanStop(h hit) string {
	if h.group(3) != "" && (r.Lang != "de" || strings.Trim(h.after(), " )\"”»“«") == "") {
		return "."
	}
	return ""
}

// regnal says the number of a king, or of anything else behind a name.
func (r *reader) regnal(n int, h hit, king bool) string {
	limit, _ := strconv.Atoi(r.Say("say.ordinalsign"))
	switch {
	case king:
		return "the " + numeral.EnglishOrdinal(n)
	case r.Lang == "de" && h.group(3) != "" && !r.In("say.romanwords", strings.ToLower(h.group(1))) && deStem(r, n) != "":
		return "der " + capital(deStem(r, n)+"e")
	case n <= limit:
		return strconv.Itoa(n) + "º"
	}
	return strconv.Itoa(n)
}

// leadingRoman reads "XXe siècle" and "II. Weltkrieg".
func (r *reader) leadingRoman(h hit) string {
	if h.group(1) != "" && r.Lang == "fr" {
		if n := numeral.Roman(h.group(1)); n > 0 {
			return frOrdinalWord(r, n, h.group(2))
		}
	}
	if r.Lang != "de" || h.group(3) == "" || !r.deBefore(h.wordBefore()) {
		return ""
	}
	if n := numeral.Roman(h.group(3)); n > 0 && deStem(r, n) != "" {
		return capital(deStem(r, n)+r.deEnding(h.wordBefore())) + " " + h.group(4)
	}
	return ""
}

func capital(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[n:]
}

// ordinals reads those that the phonemiser breaks.
func (r *reader) ordinals(s string) string {
	switch r.Lang {
	case "it":
		return each(degreeFirst, s, r.italianDegree)
	case "es", "pt":
		return dotOrdinal.ReplaceAllStringFunc(s, func(m string) string { return strings.Replace(strings.Replace(m, ".er", "º", 1), ".", "", 1) })
	case "fr":
		return each(frOrdinal, s, func(h hit) string {
			n, _ := strconv.Atoi(h.group(1))
			return frOrdinalWord(r, n, h.group(2))
		})
	case "de":
		s = each(deDays, s, r.germanDays)
		return germanYears(r, each(deOrdinal, s, r.germanOrdinal))
	case "en":
		return englishYears(r, s)
	}
	return s
}

// italianDegree tells 3° piano from 21° di notte: 1° is nearly always the
// first, and a noun behind an article takes an ordinal.
func (r *reader) italianDegree(h hit) string {
	after := strings.ToLower(h.wordAfter())
	before := h.wordBefore()
	article := r.datelike(before)
	switch {
	case h.group(1) == "1", r.In("say.ranked", after), article && after != "" && !r.Words[after]:
		return h.group(1) + "º"
	case h.group(1) != "" && isWord(h.next()):
		return ""
	}
	return h.group(1) + " " + "gradi"
}

func (r *reader) datelike(word string) bool {
	switch word {
	case "il", "al", "del", "dal", "nel", "sul", "col", "un", "l", "all", "dell", "dall", "nell", "sull", "ogni", "suo", "mio", "tuo":
		return true
	}
	return false
}

func frOrdinalWord(r *reader, n int, ending string) string {
	words := strings.Fields(r.Say("say.ordinal"))
	switch {
	case n == 1 && (ending == "er" || ending == "e"):
		return "premier"
	case n == 1:
		return "première"
	case ending == "nd":
		return "second"
	case ending == "nde":
		return "seconde"
	case n < 1 || n > len(words):
		return strconv.Itoa(n) + "ème"
	}
	return words[n-1]
}

func deStem(r *reader, n int) string {
	stems := strings.Fields(r.Say("say.ordinal"))
	if n < 1 || n > len(stems) {
		return ""
	}
	return stems[n-1]
}

func (r *reader) deBefore(word string) bool {
	return r.In("say.ordinalen", word) || r.In("say.ordinale", word) || r.In("say.ordinaler", word)
}

func (r *reader) deEnding(before string) string {
	switch {
	case r.In("say.ordinalen", before):
		return "en"
	case r.In("say.ordinale", before):
		return "e"
	}
	return "er"
}

// germanOrdinal reads "am 3. Mai" and "der 3. Versuch". A number at the start
// of the text is that of a list item unless a month follows.
func (r *reader) germanOrdinal(h hit) string {
	n, _ := strconv.Atoi(h.group(1))
	before := h.wordBefore()
	month := r.month(h.group(2))
	if deStem(r, n) == "" || !month && (!r.deBefore(before) || r.Words[strings.ToLower(h.group(2))]) {
		return ""
	}
	return deStem(r, n) + r.deEnding(before) + " " + h.group(2)
}

// germanDays reads "vom 5. bis 7. Mai" and "5.-7. Mai".
func (r *reader) germanDays(h hit) string {
	a, b := deStem(r, atoi(h.group(1))), deStem(r, atoi(h.group(2)))
	if a == "" || b == "" || !r.month(h.group(3)) {
		return ""
	}
	ending := r.deEnding(h.wordBefore())
	return a + ending + " " + r.Say("say.to") + " " + b + ending + " " + h.group(3)
}

// decades reads the 1990s and the '80s, which English writes with an s.
func (r *reader) decades(s string) string {
	if r.Lang != "en" {
		return s
	}
	s = each(decade, s, func(h hit) string {
		century, tens := h.group(1), atoi(h.group(2))
		switch {
		case century == "" && tens == 0:
			return ""
		case century == "":
			return numeral.EnglishDecade(tens)
		case century == "20" && tens == 0:
			return "two thousands"
		}
		return numeral.English(atoi(century)) + " " + numeral.EnglishDecade(tens)
	})
	// The phonemiser says "one hundred t h".
	return each(roundth, s, func(h hit) string {
		if n := strings.ReplaceAll(h.group(1), ",", ""); strings.HasSuffix(n, "0") {
			return numeral.English(atoi(n)/10) + " thousandth"
		}
		return numeral.English(atoi(h.group(1))) + " hundredth"
	})
}

// englishYears reads years behind a word such as "in" in pairs.
func englishYears(r *reader, s string) string {
	return each(enYear, s, func(h hit) string {
		before := h.wordBefore()
		day := strings.TrimRight(h.before(), ", ")
		dated := day != "" && unicode.IsDigit(rune(day[len(day)-1])) && strings.HasSuffix(h.before(), ", ")
		if h.group(1) == "10" && h.group(2) < "10" {
			return ""
		}
		if !r.In("say.years", before) && !r.month(before) && !dated && !r.yearShape(h) || strings.ContainsRune(".,:-/$€£", h.prev()) ||
			h.next() == '%' || h.next() == '°' || h.next() == '-' || isUnitNext(r, h) {
			return ""
		}
		return numeral.EnglishYear(atoi(h.group(1)), atoi(h.group(2)))
	})
}

var yearEnd = regexp.MustCompile(`^ to 1\d{3}\b`)

// yearShape reports whether a number is a year by its place: the first of a
// pair in brackets, or the subject of the sentence, "1984 was a good year".
func (r *reader) yearShape(h hit) bool {
	return h.prev() == '(' && (yearEnd.MatchString(h.after()) || h.next() == ')') ||
		h.before() == "" && strings.HasPrefix(h.after(), " ") && r.In("say.yearverbs", strings.ToLower(h.wordAfter()))
}

// germanYears reads years as hundreds, "neunzehnhundert...". Behind one stands
// no noun, which would be what is counted.
func germanYears(r *reader, s string) string {
	s = each(deDecade, s, func(h hit) string { return numeral.GermanYear(atoi(h.group(1))) + "er" })
	return each(deYear, s, func(h hit) string {
		follows := strings.HasPrefix(h.after(), " ") && unicode.IsUpper(firstOf(h.wordAfter()))
		if strings.ContainsRune(".,:-/$€£", h.prev()) || unicode.IsLetter(h.prev()) || strings.ContainsRune("%°€$-:/", h.next()) ||
			!r.In("say.years", h.wordBefore()) && !r.month(h.wordBefore()) && (follows || !strings.HasPrefix(h.after(), " geboren")) || isUnitNext(r, h) {
			return ""
		}
		return numeral.GermanYear(atoi(h.whole()))
	})
}

// isUnitNext reports whether a plural noun or unit follows, "in 1500 cases".
func isUnitNext(r *reader, h hit) bool {
	if len(h.after()) > 1 && (h.after()[0] == '.' || h.after()[0] == ',') && unicode.IsDigit(rune(h.after()[1])) {
		return true
	}
	next := strings.ToLower(h.wordAfter())
	return strings.HasPrefix(h.after(), " ") && next != "" && !r.Words[next] && strings.HasSuffix(next, "s")
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
