// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/teambition/rrule-go"

	"example.org/desktop-assistant/examples/tools/agenda/internal/clock"
)

// A Budget is how many days and times may be looked at, for all rules of a
// run: a rule cannot be left alone with a clock, and neither can a thousand.
type Budget struct{ Left int64 }

// ErrBudget is the error of [Rule.Each] when the budget is used up.
var ErrBudget = errors.New("walk rule: too many dates to look at")

func (b *Budget) spend(n int64) error {
	if b.Left -= n; b.Left < 0 {
		return ErrBudget
	}
	return nil
}

// Each calls yield with the wall times of a rule that starts at start and lie
// within from and to (both included), in order, until it says false. With
// dates true these are days: their midnights, and BYHOUR and the like are
// ignored. UNTIL is not looked at: the caller, who knows the zone, has put it
// into to. A COUNT is counted from start.
func (r *Rule) Each(start int64, dates bool, from, to int64, b *Budget, yield func(wall int64) bool) error {
	if to < start {
		return nil
	}
	if dates {
		start = clock.DayOf(start) * clock.Day
	}
	if r.Freq >= Hourly {
		return r.eachTime(start, dates, from, to, b, yield)
	}
	return r.eachDay(start, dates, from, to, b, yield)
}

// eachDay walks a rule of days and longer.
//
// rrule-go is given the first day of the period in which the walk begins, so
// that the first week is like every other, and no COUNT: periods before from
// are stepped over unless a COUNT must be counted, and dates before start are
// passed over here.
func (r *Rule) eachDay(start int64, dates bool, from, to int64, b *Budget, yield func(int64) bool) (err error) {
	o, possible := r.option(start, dates)
	if !possible {
		return nil
	}
	begin := r.period(start, max(from, start))
	if r.Count > 0 {
		begin = r.period(start, start)
	}
	if err := b.spend((to-begin)/clock.Day/r.Interval + 10); err != nil {
		return err
	}
	away := shift(begin, to)
	o.Dtstart = time.Unix(begin+away, 0).UTC()
	o.Until = time.Unix(to+away, 0).UTC()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("walk rule: %v", p)
		}
	}()
	walker, err := rrule.NewRRule(o)
	if err != nil {
		return fmt.Errorf("walk rule: %w", err)
	}
	next := walker.Iterator()
	for left := r.Count; ; {
		at, more := next()
		wall := at.Unix() - away
		if !more || wall > to {
			return nil
		}
		if wall < start || !r.inWeek(wall) {
			continue
		}
		if wall >= from && !yield(wall) {
			return nil
		}
		if left--; left == 0 {
			return nil
		}
		if err := b.spend(1); err != nil {
			return err
		}
	}
}

// period gives the midnight of the first day of the last period of the rule
// that begins at or before wall.
func (r *Rule) period(start, wall int64) int64 {
	first, last := clock.DayOf(start), clock.DayOf(wall)
	year, month, _ := clock.Civil(first)
	toYear, toMonth, _ := clock.Civil(last)
	switch r.Freq {
	case Yearly:
		steps := int64(toYear-year) / r.Interval
		return clock.DayNumber(year+int(steps*r.Interval), 1, 1) * clock.Day
	case Monthly:
		steps := int64(toYear*12+int(toMonth)-year*12-int(month)) / r.Interval
		return clock.DayNumber(year, month+time.Month(steps*r.Interval), 1) * clock.Day
	case Weekly:
		first -= int64((clock.Weekday(first) - r.WeekDay + 7) % 7)
		return (first + (last-first)/(7*r.Interval)*7*r.Interval) * clock.Day
	}
	return (first + (last-first)/r.Interval*r.Interval) * clock.Day
}

const (
	fourHundred = 146097 * clock.Day // years: the Gregorian calendar begins anew
	twentyEight = 10227 * clock.Day  // years: so it does where no century is in between
	years8000   = 20 * fourHundred
)

// shift gives seconds by which a walk can be moved so that all weekdays, months
// and leap days stay the same, and it ends as late as possible. rrule-go looks
// for the next date until the year 9999, so a rule that has none is given up
// the sooner: 28 years on for dates of our time, 400 for others.
func shift(begin, to int64) int64 {
	first, _, _ := clock.Civil(clock.DayOf(begin))
	last, _, _ := clock.Civil(clock.DayOf(to))
	if first >= 1929 && last <= 2099 && last-first <= 70 {
		steps := int64((1999 - last) / 28)
		if last > 1999 {
			steps = -int64((last - 1999 + 27) / 28)
		}
		return years8000 + steps*twentyEight
	}
	return int64((9999-last)/400) * fourHundred
}

// option makes what rrule-go is given, and says false when the rule can have
// no date. Cleaned away is what it would read otherwise than RFC 5545, or not
// at all:
//
//   - Parts that are taken from the start are written out, since the walk may
//     begin elsewhere; BYWEEKNO without a day takes the start's weekday.
//   - Weekdays with and without a number beside each other (it asks for both at
//     once): those without get all their numbers.
//   - Numbers of weekdays that no month reaches (it reads past its tables).
//   - BYWEEKNO, where it takes the last week of a year from the wrong year:
//     inWeek looks at it instead, unless BYSETPOS counts after it.
//   - A month and day that never meet, such as 30 February.
func (r *Rule) option(start int64, dates bool) (rrule.ROption, bool) {
	o := rrule.ROption{
		Freq: rrule.Frequency(r.Freq), Interval: int(r.Interval), Wkst: weekday(Weekday{Day: r.WeekDay}),
		Bysetpos: r.Positions, Bymonth: r.Months, Byyearday: r.YearDays,
		Byhour: r.Hours, Byminute: r.Minutes,
	}
	for _, s := range r.Seconds {
		o.Bysecond = append(o.Bysecond, min(s, 59))
	}
	o.Bysecond = slices.Compact(o.Bysecond)
	if len(r.Positions) > 0 {
		o.Byweekno = r.Weeks
	}
	second := start - clock.DayOf(start)*clock.Day
	fill(&o.Byhour, second/3600, dates)
	fill(&o.Byminute, second/60%60, dates)
	fill(&o.Bysecond, second%60, dates)

	days, weekdays := r.days(start, &o)
	o.Bymonthday = days
	for _, w := range weekdays {
		o.Byweekday = append(o.Byweekday, weekday(w))
	}
	possible := len(weekdays) > 0 || len(r.Weekdays) == 0
	return o, possible && meet(o.Bymonth, days)
}

// fill writes out a part that comes from the start; a day has no time.
func fill(list *[]int, value int64, dates bool) {
	if dates {
		*list = []int{0}
	} else if len(*list) == 0 {
		*list = []int{int(value)}
	}
}

func weekday(w Weekday) rrule.Weekday {
	day := []rrule.Weekday{rrule.MO, rrule.TU, rrule.WE, rrule.TH, rrule.FR, rrule.SA, rrule.SU}[w.Day]
	return day.Nth(w.N)
}

// days gives the days of the month and the weekdays of a rule, those of the
// start where it names none, and may change the months and positions.
func (r *Rule) days(start int64, o *rrule.ROption) (monthDays []int, weekdays []Weekday) {
	at := clock.DayOf(start)
	_, month, day := clock.Civil(at)
	monthDays = r.MonthDays
	if len(r.Weekdays)+len(r.MonthDays)+len(r.YearDays) == 0 {
		switch {
		case r.Freq == Weekly || r.Freq == Yearly && len(r.Weeks) > 0:
			return nil, []Weekday{{Day: clock.Weekday(at)}}
		case r.Freq == Monthly || r.Freq == Yearly:
			monthDays = []int{day}
			if r.Freq == Yearly && len(r.Months) == 0 {
				o.Bymonth = []int{int(month)}
			}
		}
	}
	if len(monthDays) == 1 && monthDays[0] > 28 && len(r.Positions)+len(r.Weekdays) == 0 {
		monthDays = r.skip(monthDays, o)
	}
	return monthDays, r.weekdays()
}

// skip puts a day that a month lacks where SKIP of RFC 7529 says: on the last
// day of that month, or, for 29 February, on the day after.
func (r *Rule) skip(monthDays []int, o *rrule.ROption) []int {
	switch {
	case r.Backward && (r.Freq == Monthly || r.Freq == Yearly && len(o.Bymonth) == 1):
		o.Bysetpos = []int{-1}
		var all []int
		for d := 28; d <= monthDays[0]; d++ {
			all = append(all, d)
		}
		return all
	case r.Forward && r.Freq == Yearly && monthDays[0] == 29 && slices.Equal(o.Bymonth, []int{2}):
		o.Bymonth, o.Byyearday = nil, []int{60}
		return nil
	}
	return monthDays
}

// weekdays gives the weekdays with only numbers that can be, all of them or none.
func (r *Rule) weekdays() []Weekday {
	most := 0
	switch {
	case len(r.Weeks) > 0:
	case r.Freq == Yearly && len(r.Months) == 0:
		most = 53
	case r.Freq <= Monthly:
		most = 5
	}
	plain, numbered := []Weekday{}, []Weekday{}
	for _, w := range r.Weekdays {
		switch {
		case w.N == 0 || most == 0:
			plain = append(plain, Weekday{Day: w.Day})
		case w.N >= -most && w.N <= most:
			numbered = append(numbered, w)
		}
	}
	if len(numbered) == 0 {
		return plain
	}
	for _, w := range plain {
		for n := 1; n <= most; n++ {
			numbered = append(numbered, Weekday{n, w.Day})
		}
	}
	return numbered
}

// meet says whether one of the months has one of the days.
func meet(months, days []int) bool {
	if len(months) == 0 || len(days) == 0 {
		return true
	}
	for _, m := range months {
		length := time.Date(2024, time.Month(m)+1, 0, 0, 0, 0, 0, time.UTC).Day()
		if slices.ContainsFunc(days, func(d int) bool { return max(d, -d) <= length }) {
			return true
		}
	}
	return false
}

// inWeek says whether BYWEEKNO holds for a day, by the week that the day lies
// in: week 1 is the first with four days in the year, weeks begin on WKST.
func (r *Rule) inWeek(wall int64) bool {
	if len(r.Weeks) == 0 || r.Freq != Yearly || len(r.Positions) > 0 {
		return true
	}
	day := clock.DayOf(wall)
	year, _, _ := clock.Civil(day)
	first := r.weekOne(year + 1)
	if day < first {
		first = r.weekOne(year)
	} else {
		year++
	}
	if day < first {
		year--
		first = r.weekOne(year)
	}
	week := int((day-first)/7) + 1
	weeks := int((r.weekOne(year+1) - first) / 7)
	return slices.Contains(r.Weeks, week) || slices.Contains(r.Weeks, week-weeks-1)
}

// weekOne gives the day on which week 1 of a year begins.
func (r *Rule) weekOne(year int) int64 {
	fourth := clock.DayNumber(year, 1, 4)
	return fourth - int64((clock.Weekday(fourth)-r.WeekDay+7)%7)
}
