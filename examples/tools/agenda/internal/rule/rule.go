// SPDX-License-Identifier: Apache-2.0

// Package rule reads recurrence rules (RRULE of RFC 5545, 3.3.10) and walks
// their dates, on the wall clock of the event and within bounds.
//
// The dates of DAILY, WEEKLY, MONTHLY and YEARLY rules are worked out by
// rrule-go, which sees only cleaned rules; how and why stands at option.
package rule

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.org/desktop-assistant/examples/tools/agenda/internal/clock"
)

// A Freq is how often a rule repeats.
type Freq int

// The frequencies, from the longest.
const (
	Yearly Freq = iota
	Monthly
	Weekly
	Daily
	Hourly
	Minutely
	Secondly
)

var freqNames = []string{"YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"}

var dayNames = []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}

// A Weekday is one value of BYDAY: every Monday (N is 0), the second (2) or the
// last one (-1). Day 0 is Monday.
type Weekday struct{ N, Day int }

// A Rule is one RRULE. Zero and nil mean that the part was not given, except
// that Interval is at least 1.
type Rule struct {
	Freq     Freq
	Interval int64
	Count    int64
	Until    *clock.Reading // nil: no end
	WeekDay  int            // WKST, 0 is Monday
	Backward bool           // SKIP=BACKWARD of RFC 7529
	Forward  bool           // SKIP=FORWARD

	Seconds, Minutes, Hours    []int
	Weekdays                   []Weekday
	MonthDays, YearDays, Weeks []int
	Months, Positions          []int
}

// limits of the numbers in lists (RFC 5545, 3.3.10).
var lists = map[string]struct {
	min, max int
	signed   bool
	of       func(*Rule) *[]int
}{
	"BYSECOND":   {0, 60, false, func(r *Rule) *[]int { return &r.Seconds }},
	"BYMINUTE":   {0, 59, false, func(r *Rule) *[]int { return &r.Minutes }},
	"BYHOUR":     {0, 23, false, func(r *Rule) *[]int { return &r.Hours }},
	"BYMONTHDAY": {1, 31, true, func(r *Rule) *[]int { return &r.MonthDays }},
	"BYYEARDAY":  {1, 366, true, func(r *Rule) *[]int { return &r.YearDays }},
	"BYWEEKNO":   {1, 53, true, func(r *Rule) *[]int { return &r.Weeks }},
	"BYMONTH":    {1, 12, false, func(r *Rule) *[]int { return &r.Months }},
	"BYSETPOS":   {1, 366, true, func(r *Rule) *[]int { return &r.Positions }},
}

// Parse reads the value of an RRULE. It lets pass what calendars really write:
// blanks, small letters, a last semicolon, parts nobody knows, empty parts, an
// INTERVAL or COUNT below 1 (as if it were not there), "RRULE:" said twice. An
// error means that the rule cannot be read and its event takes place once.
func Parse(text string) (Rule, error) {
	r := Rule{Freq: -1, Interval: 1}
	text = strings.ToUpper(strings.TrimSpace(text))
	text = strings.TrimPrefix(text, "RRULE:")
	for part := range strings.SplitSeq(text, ";") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		name, value, found := strings.Cut(part, "=")
		if !found {
			return r, fmt.Errorf("read rule part %q: no equals sign", part)
		}
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if value == "" {
			continue
		}
		if err := r.set(name, value); err != nil {
			return r, fmt.Errorf("read rule part %q: %w", part, err)
		}
	}
	if r.Freq < 0 {
		return r, errors.New("read rule: no FREQ")
	}
	return r, nil
}

var errValue = errors.New("no such value")

func (r *Rule) set(name, value string) error {
	if l, ok := lists[name]; ok {
		numbers, err := numbers(value, l.min, l.max, l.signed)
		*l.of(r) = numbers
		return err
	}
	switch name {
	case "FREQ":
		r.Freq = Freq(slices.Index(freqNames, value))
		if r.Freq < 0 {
			return errValue
		}
	case "INTERVAL", "COUNT":
		return r.setNumber(name, value)
	case "UNTIL":
		at, ok := clock.Parse(value)
		if !ok {
			return errValue
		}
		r.Until = &at
	case "WKST":
		r.WeekDay = slices.Index(dayNames, value)
		if r.WeekDay < 0 {
			return errValue
		}
	case "BYDAY":
		return r.setWeekdays(value)
	case "RSCALE":
		if value != "GREGORIAN" {
			return errors.New("only the Gregorian calendar is known")
		}
	case "SKIP":
		r.Backward, r.Forward = value == "BACKWARD", value == "FORWARD"
	}
	return nil
}

// most is the largest INTERVAL and COUNT that is told from larger ones: in
// days it is 2.7 million years.
const most = 999_999_999

func (r *Rule) setNumber(name, value string) error {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return errValue
	}
	switch n = min(n, most); {
	case n < 1:
	case name == "COUNT":
		r.Count = n
	default:
		r.Interval = n
	}
	return nil
}

func (r *Rule) setWeekdays(value string) error {
	r.Weekdays = nil
	for item := range strings.SplitSeq(value, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		at := max(0, len(item)-2)
		day := slices.Index(dayNames, item[at:])
		n := 0
		if number := strings.TrimSpace(item[:at]); number != "" {
			var err error
			if n, err = strconv.Atoi(number); err != nil || n < -53 || n > 53 {
				return errValue
			}
		}
		if day < 0 {
			return errValue
		}
		if w := (Weekday{n, day}); !slices.Contains(r.Weekdays, w) {
			r.Weekdays = append(r.Weekdays, w)
		}
	}
	return nil
}

// numbers reads a list, sorted and without doubles.
func numbers(value string, low, high int, signed bool) ([]int, error) {
	var list []int
	for item := range strings.SplitSeq(value, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		n, err := strconv.Atoi(item)
		size := n
		if signed && n < 0 {
			size = -n
		}
		if err != nil || size < low || size > high {
			return nil, errValue
		}
		list = append(list, n)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// Last gives a wall time after which a rule that starts at start has no date,
// and false when that cannot be told without walking it. The time may be too
// late, but never too early; a zone may move the end by a day more.
func (r *Rule) Last(start int64) (wall int64, bounded bool) {
	if r.Until != nil {
		return r.Until.Wall + clock.Day, true
	}
	plain := len(r.Positions)+len(r.MonthDays)+len(r.YearDays)+len(r.Weeks)+len(r.Months) == 0
	if r.Count == 0 || !plain {
		return 0, false
	}
	_, _, day := clock.Civil(clock.DayOf(start))
	var days int64
	switch {
	case r.Freq == Daily && len(r.Weekdays) == 0:
		days = 1
	case r.Freq == Weekly:
		days = 7
	case r.Freq == Monthly && (len(r.Weekdays) > 0 && r.everyMonth() || len(r.Weekdays) == 0 && day <= 28):
		days = 31
	case r.Freq == Yearly && len(r.Weekdays) == 0 && day <= 28:
		days = 366
	default:
		return 0, false
	}
	return start + (r.Count+1)*r.Interval*days*clock.Day, r.Count*r.Interval < most
}

// everyMonth says whether each month has one of the weekdays.
func (r *Rule) everyMonth() bool {
	return slices.ContainsFunc(r.Weekdays, func(w Weekday) bool { return w.N >= -4 && w.N <= 4 })
}
