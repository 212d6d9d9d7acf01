// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/examples/tools/agenda/internal/clock"
)

// plainly walks a rule as RFC 5545 words it, day by day and without regard to
// time: what Each is measured against.
func plainly(r Rule, start, to int64) (list []int64) {
	day := clock.DayOf(start)
	year, month, _ := clock.Civil(day)
	for step := int64(0); ; step += r.Interval {
		var first, end int64
		switch r.Freq {
		case Yearly:
			first, end = clock.DayNumber(year+int(step), 1, 1), clock.DayNumber(year+int(step)+1, 1, 1)
		case Monthly:
			first, end = clock.DayNumber(year, month+time.Month(step), 1), clock.DayNumber(year, month+time.Month(step)+1, 1)
		case Weekly:
			first = day - int64((clock.Weekday(day)-r.WeekDay+7)%7) + 7*step
			end = first + 7
		default:
			first = day + step
			end = first + 1
		}
		if first*clock.Day > to {
			return list
		}
		var set []int64
		for d := first; d < end; d++ {
			if plainDay(r, start, d) {
				set = append(set, plainTimes(r, start, d)...)
			}
		}
		for _, wall := range pick(set, r.Positions) {
			if wall < start || wall > to {
				continue
			}
			list = append(list, wall)
			if r.Count > 0 && len(list) == int(r.Count) {
				return list
			}
		}
	}
}

func plainTimes(r Rule, start, day int64) (list []int64) {
	of := start - clock.DayOf(start)*clock.Day
	fits := func(by []int, own, got int64) bool {
		return len(by) == 0 && own == got || slices.Contains(by, int(got))
	}
	for h := range int64(24) {
		for m := range int64(60) {
			for s := range int64(60) {
				if !fits(r.Hours, of/3600, h) || !fits(r.Minutes, of/60%60, m) {
					break
				}
				if fits(r.Seconds, of%60, s) {
					list = append(list, day*clock.Day+h*3600+m*60+s)
				}
			}
		}
	}
	return list
}

func plainDay(r Rule, start, d int64) bool {
	year, month, day := clock.Civil(d)
	_, startMonth, startDay := clock.Civil(clock.DayOf(start))
	inMonth := clock.DayNumber(year, month+1, 1) - clock.DayNumber(year, month, 1)
	inYear := clock.DayNumber(year+1, 1, 1) - clock.DayNumber(year, 1, 1)
	yearDay := int(d-clock.DayNumber(year, 1, 1)) + 1
	either := func(list []int, n, length int) bool {
		return slices.Contains(list, n) || slices.Contains(list, n-length-1)
	}
	if len(r.Months) > 0 && !slices.Contains(r.Months, int(month)) ||
		len(r.MonthDays) > 0 && !either(r.MonthDays, day, int(inMonth)) ||
		len(r.YearDays) > 0 && !either(r.YearDays, yearDay, int(inYear)) {
		return false
	}
	if r.Freq == Yearly && len(r.Weeks) > 0 {
		monday := d - int64((clock.Weekday(d)-r.WeekDay+7)%7) // begins the week
		of, _, _ := clock.Civil(monday + 3)                   // the year that has four days of it
		week := int(monday+3-clock.DayNumber(of, 1, 1))/7 + 1
		fourth := clock.DayNumber(of+1, 1, 4)
		next := fourth - int64((clock.Weekday(fourth)-r.WeekDay+7)%7)
		if !either(r.Weeks, week, week+int(next-monday)/7-1) {
			return false
		}
	}
	if len(r.Weekdays) > 0 {
		return slices.ContainsFunc(r.Weekdays, func(w Weekday) bool {
			nth, length := day, int(inMonth)
			if r.Freq == Yearly && len(r.Months) == 0 {
				nth, length = yearDay, int(inYear)
			}
			if w.Day != clock.Weekday(d) {
				return false
			}
			return w.N == 0 || r.Freq > Monthly || r.Freq == Yearly && len(r.Weeks) > 0 ||
				w.N == (nth-1)/7+1 || w.N == -((length-nth)/7+1)
		})
	}
	if len(r.MonthDays)+len(r.YearDays) > 0 {
		return true
	}
	switch {
	case r.Freq == Yearly && len(r.Weeks) > 0 || r.Freq == Weekly:
		return clock.Weekday(d) == clock.Weekday(clock.DayOf(start))
	case r.Freq == Yearly && len(r.Months) == 0:
		return month == startMonth && day == startDay
	case r.Freq <= Monthly:
		return day == startDay
	}
	return true
}

func randomRule(n *rand.Rand) string {
	parts := []string{"FREQ=" + freqNames[n.IntN(4)]}
	some := func(name string, chance float64, most, low, high int, signed bool) {
		if n.Float64() > chance {
			return
		}
		var list []string
		for range 1 + n.IntN(most) {
			v := low + n.IntN(high-low+1)
			if signed && n.IntN(3) == 0 {
				v = -v
			}
			list = append(list, fmt.Sprint(v))
		}
		parts = append(parts, name+"="+strings.Join(list, ","))
	}
	yearly := strings.HasSuffix(parts[0], "YEARLY")
	some("INTERVAL", 0.4, 1, 1, 4, false)
	some("COUNT", 0.3, 1, 1, 30, false)
	some("BYMONTH", 0.25, 3, 1, 12, false)
	some("BYMONTHDAY", 0.25, 3, 1, 31, true)
	if yearly {
		some("BYYEARDAY", 0.2, 3, 1, 366, true)
		some("BYWEEKNO", 0.2, 3, 1, 53, true)
	}
	if n.IntN(2) == 0 {
		var list []string
		for range 1 + n.IntN(3) {
			number := ""
			if n.IntN(3) == 0 && parts[0] < "FREQ=W" || yearly && n.IntN(4) == 0 {
				number = fmt.Sprint([]int{1, 2, 3, 4, 5, -1, -2, -5, 20, 53, -53}[n.IntN(11)])
			}
			list = append(list, number+dayNames[n.IntN(7)])
		}
		parts = append(parts, "BYDAY="+strings.Join(list, ","))
	}
	some("BYHOUR", 0.15, 2, 0, 23, false)
	some("BYMINUTE", 0.1, 2, 0, 59, false)
	if n.IntN(3) == 0 {
		parts = append(parts, "WKST="+dayNames[n.IntN(7)])
	}
	weeks := slices.ContainsFunc(parts, func(p string) bool { return strings.HasPrefix(p, "BYWEEKNO") })
	if len(parts) > 3 && !weeks { // BYWEEKNO with BYSETPOS is left to rrule-go
		some("BYSETPOS", 0.25, 2, 1, 5, true)
	}
	return strings.Join(parts, ";")
}

// TestOracle compares thousands of random rules with the plain walk, from the
// start and from within.
func TestOracle(t *testing.T) {
	n := rand.New(rand.NewPCG(5545, 1))
	for range 400 {
		text := randomRule(n)
		r, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		start := clock.DayNumber(1960+n.IntN(120), time.Month(1+n.IntN(12)), 1+n.IntN(31))*clock.Day + int64(n.IntN(24))*3600
		to := start + int64(200+n.IntN(2500))*clock.Day
		want := plainly(r, start, to)
		from := start - clock.Day
		if n.IntN(2) == 0 && len(want) > 0 {
			from = want[n.IntN(len(want))]
		}
		want = slices.DeleteFunc(want, func(wall int64) bool { return wall < from })
		var got []int64
		if err := r.Each(start, false, from, to, &Budget{1 << 40}, func(wall int64) bool {
			got = append(got, wall)
			return true
		}); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s from %s (shown from %s):\ngot  %s\nwant %s", text, show(start), show(from), show(got...), show(want...))
		}
	}
}

func show(walls ...int64) string {
	var list []string
	for _, w := range walls[:min(len(walls), 12)] {
		list = append(list, time.Unix(w, 0).UTC().Format("2006-01-02 15:04:05 Mon"))
	}
	return strings.Join(list, ", ")
}

// TestOracleOfTimes does the same with rules of hours, minutes and seconds.
func TestOracleOfTimes(t *testing.T) {
	n := rand.New(rand.NewPCG(5545, 2))
	for range 300 {
		r := Rule{Freq: Hourly + Freq(n.IntN(3)), Interval: int64(1 + n.IntN(50)), WeekDay: 0}
		some := func(to *[]int, chance, low, high int) {
			if n.IntN(chance) == 0 {
				*to = append(*to, low+n.IntN(high-low+1), low+n.IntN(high-low+1))
				slices.Sort(*to)
				*to = slices.Compact(*to)
			}
		}
		some(&r.Hours, 2, 0, 23)
		some(&r.Minutes, 2, 0, 59)
		some(&r.Seconds, 3, 0, 59)
		some(&r.Months, 4, 1, 12)
		some(&r.MonthDays, 5, 1, 28)
		some(&r.Positions, 6, 1, 3)
		if n.IntN(3) == 0 {
			r.Count = int64(1 + n.IntN(20))
		}
		start := clock.DayNumber(2026, time.Month(1+n.IntN(12)), 1)*clock.Day + int64(n.IntN(clock.Day))
		to := start + int64(n.IntN(4)+1)*clock.Day
		unit := []int64{3600, 60, 1}[r.Freq-Hourly]
		var want []int64
		for u := clock.Floor(start, unit); u*unit <= to && (r.Count == 0 || len(want) < int(r.Count)); u += r.Interval {
			if !plainDay(Rule{Freq: Daily, Months: r.Months, MonthDays: r.MonthDays}, start, clock.DayOf(u*unit)) {
				continue
			}
			var set []int64
			for wall := u * unit; wall < (u+1)*unit; wall++ {
				of := wall - clock.DayOf(wall)*clock.Day
				minute, second := r.Minutes, r.Seconds
				if len(minute) == 0 && r.Freq == Hourly {
					minute = []int{int(start / 60 % 60)}
				}
				if len(second) == 0 && r.Freq < Secondly {
					second = []int{int(start % 60)}
				}
				if holds(r.Hours, int(of/3600)) && holds(minute, int(of/60%60)) && holds(second, int(of%60)) {
					set = append(set, wall)
				}
			}
			for _, wall := range pick(set, r.Positions) {
				if wall >= start && wall <= to && (r.Count == 0 || len(want) < int(r.Count)) {
					want = append(want, wall)
				}
			}
		}
		var got []int64
		if err := r.Each(start, false, start, to, &Budget{1 << 40}, func(wall int64) bool {
			got = append(got, wall)
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%+v from %s:\ngot  %s\nwant %s", r, show(start), show(got...), show(want...))
		}
	}
}
