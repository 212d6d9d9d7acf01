// SPDX-License-Identifier: Apache-2.0

package readout

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

var (
	isoDate   = regexp.MustCompile(`\b(\d{4})([-/.])(\d{1,2})([-/.])(\d{1,2})(T(\d{2}:\d{2})(?::\d{2})?(?:Z|\b))?`)
	fullDate  = regexp.MustCompile(`\b(\d{1,2})([/.-])(\d{1,2})([/.-])(\d{4}|\d{2})\b`)
	shortDate = regexp.MustCompile(`\b(\d{1,2})([/.])(\d{1,2})(\.)?`)
	firstDay  = regexp.MustCompile(`\b1[°º]? (\pL+)`)
)

// dates writes out 2026-09-15, 15/9/2026, 15.09.2026 and, where the word before
// tells a date from a fraction, 15/9.
func (r *reader) dates(s string) string {
	if strings.ContainsAny(s, "-/.") {
		s = r.numericDates(s)
	}
	if first := r.Say("say.first"); first != "" {
		s = each(firstDay, s, func(h hit) string {
			if h.prev() == ',' || h.prev() == '.' || !r.month(h.group(1)) {
				return ""
			}
			return first + " " + h.group(1)
		})
	}
	return s
}

func (r *reader) numericDates(s string) string {
	s = each(isoDate, s, func(h hit) string {
		if h.group(2) != h.group(4) || unicode.IsDigit(h.next()) {
			return ""
		}
		said := r.date(h.group(1), h.group(3), h.group(5))
		if said != "" && h.group(7) != "" {
			said += " " + h.group(7)
		}
		return said
	})
	s = each(fullDate, s, func(h hit) string {
		year := h.group(5)
		if h.group(2) != h.group(4) || unicode.IsDigit(h.next()) || len(year) == 2 && !r.shortYear(h) {
			return ""
		}
		if len(year) == 2 {
			year = "20" + year
		}
		day, month := r.order(h.group(1), h.group(3), h.group(2))
		return r.date(year, month, day)
	})
	return each(shortDate, s, func(h hit) string {
		dotted := h.group(2) == "."
		if dotted != (r.Lang == "de" && h.group(4) != "") || unicode.IsDigit(h.next()) || h.next() == '/' || h.prev() == '.' || h.prev() == '/' {
			return ""
		}
		if !r.In("say.datewords", h.wordBefore()) || r.In("say.partof", h.wordAfter()) {
			return ""
		}
		day, month := r.order(h.group(1), h.group(3), h.group(2))
		said := r.date("", month, day)
		if said != "" && !dotted {
			said += h.group(4)
		}
		return said
	})
}

// shortYear reports whether a date with a year of two digits is none of a
// version or a score.
func (r *reader) shortYear(h hit) bool {
	return h.group(2) == "/" || h.group(2) == "." && len(h.group(1)) == 2 && len(h.group(3)) == 2
}

// order tells the day from the month by the habit of the language, or by which
// of the two can be no month.
func (r *reader) order(a, b, mark string) (day, month string) {
	x, _ := strconv.Atoi(a)
	y, _ := strconv.Atoi(b)
	monthFirst := r.Say("say.monthfirst") != "" && mark != "."
	if x <= 12 && (monthFirst || y > 12) {
		return b, a
	}
	return a, b
}

func (r *reader) month(word string) bool {
	for _, m := range r.Months {
		if strings.EqualFold(m, word) {
			return true
		}
	}
	return false
}

// date says a date, without a year when year is empty; "" when it is none.
func (r *reader) date(year, month, day string) string {
	m, _ := strconv.Atoi(month)
	d, _ := strconv.Atoi(day)
	if m < 1 || m > len(r.Months) || d < 1 || d > 31 {
		return ""
	}
	key := "say.date"
	if year == "" {
		key = "say.shortdate"
	}
	said := strconv.Itoa(d)
	if first := r.Say("say.first"); d == 1 && first != "" {
		said = first
	}
	return r.fill(key, "d", said, "m", r.Months[m-1], "y", year)
}
