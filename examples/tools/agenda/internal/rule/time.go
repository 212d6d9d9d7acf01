// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"slices"

	"example.org/desktop-assistant/examples/tools/agenda/internal/clock"
)

// eachTime walks a rule of hours, minutes or seconds day by day, over the days
// that its day parts leave, and counts out the times of each. It is ours since
// rrule-go walks such rules from their start, time by time, and loops for ever
// over an hour that is never reached.
func (r *Rule) eachTime(start int64, dates bool, from, to int64, b *Budget, yield func(int64) bool) error {
	t := r.ticks(start)
	counted := r.Count > 0
	if counted && r.unlimited() { // the last one can be reckoned
		to = min(to, start+(r.Count-1)*r.Interval*t.unit)
		counted = false
	}
	first := start
	if !counted {
		first = max(start, from)
	}
	last, left := int64(-1<<62), r.Count
	var spent error
	times := func(midnight int64) bool {
		for wall := range t.of(clock.DayOf(midnight), first, b, &spent) {
			if wall < start {
				continue
			}
			if wall > to {
				return false
			}
			shown := wall
			if dates {
				shown = clock.DayOf(wall) * clock.Day
			}
			if wall >= from && shown != last && !yield(shown) {
				return false
			}
			last = shown
			if left--; counted && left == 0 {
				return false
			}
		}
		return spent == nil
	}
	err := r.eachDate(start, first, to, b, times)
	if spent != nil {
		return spent
	}
	return err
}

// unlimited says whether every time of the frequency counts.
func (r *Rule) unlimited() bool {
	return len(r.Seconds)+len(r.Minutes)+len(r.Hours)+len(r.Weekdays)+len(r.MonthDays)+
		len(r.YearDays)+len(r.Weeks)+len(r.Months)+len(r.Positions) == 0
}

// eachDate walks the days from first to the last that the day parts leave.
func (r *Rule) eachDate(start, first, to int64, b *Budget, yield func(midnight int64) bool) error {
	if len(r.Weekdays)+len(r.MonthDays)+len(r.YearDays)+len(r.Months) > 0 {
		day := Rule{Freq: Daily, Interval: 1, Weekdays: r.Weekdays, MonthDays: r.MonthDays, YearDays: r.YearDays, Months: r.Months}
		return day.Each(start, true, clock.DayOf(first)*clock.Day, to, b, yield)
	}
	for day := clock.DayOf(first); day <= clock.DayOf(to); day++ {
		if err := b.spend(1); err != nil {
			return err
		}
		if !yield(day * clock.Day) {
			return nil
		}
	}
	return nil
}

// ticks are the times of day of a rule of hours, minutes or seconds.
type ticks struct {
	rule           *Rule
	unit           int64 // seconds of the frequency
	origin         int64 // the start, counted in units
	minute, second []int // of a time within its unit
}

func (r *Rule) ticks(start int64) ticks {
	t := ticks{rule: r, unit: []int64{3600, 60, 1}[r.Freq-Hourly], minute: r.Minutes, second: r.Seconds}
	t.origin = clock.Floor(start, t.unit)
	second := start - clock.DayOf(start)*clock.Day
	if len(t.minute) == 0 {
		t.minute = []int{int(second / 60 % 60)}
	}
	if len(t.second) == 0 {
		t.second = []int{int(second % 60)}
	}
	return t
}

// of gives the times of a day in order; the units before the wall time first
// are stepped over. Each unit looked at is paid from the budget, and *spent is
// set when that is used up.
func (t ticks) of(day, first int64, b *Budget, spent *error) func(func(int64) bool) {
	return func(yield func(int64) bool) {
		step := t.rule.Interval
		unit := max(clock.Floor(max(day*clock.Day, first), t.unit), t.origin)
		unit += (step - (unit-t.origin)%step) % step
		for ; unit < (day+1)*clock.Day/t.unit; unit += step {
			if *spent = b.spend(1); *spent != nil {
				return
			}
			for _, wall := range t.within(unit * t.unit) {
				if !yield(wall) {
					return
				}
			}
		}
	}
}

// within gives the times of one hour, minute or second.
func (t ticks) within(begin int64) []int64 {
	second := begin - clock.DayOf(begin)*clock.Day
	hour, minute := int(second/3600), int(second/60%60)
	r := t.rule
	if !holds(r.Hours, hour) || r.Freq >= Minutely && !holds(r.Minutes, minute) || r.Freq == Secondly && !holds(r.Seconds, int(second%60)) {
		return nil
	}
	var list []int64
	switch r.Freq {
	case Hourly:
		for _, m := range t.minute {
			for _, s := range t.second {
				list = append(list, begin+int64(m*60+min(s, 59)))
			}
		}
	case Minutely:
		for _, s := range t.second {
			list = append(list, begin+int64(min(s, 59)))
		}
	default:
		list = []int64{begin}
	}
	return pick(slices.Compact(list), r.Positions)
}

func holds(list []int, n int) bool { return len(list) == 0 || slices.Contains(list, n) }

// pick keeps those at the positions, which count from 1, or from the end.
func pick(list []int64, positions []int) []int64 {
	if len(positions) == 0 {
		return list
	}
	var kept []int64
	for i := range list {
		if slices.Contains(positions, i+1) || slices.Contains(positions, i-len(list)) {
			kept = append(kept, list[i])
		}
	}
	return kept
}
