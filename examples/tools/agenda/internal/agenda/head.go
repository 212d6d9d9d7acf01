// SPDX-License-Identifier: Apache-2.0

package agenda

import (
	"math"

	"example.org/desktop-assistant/examples/tools/agenda/internal/cache"
	"example.org/desktop-assistant/examples/tools/agenda/internal/clock"
	"example.org/desktop-assistant/examples/tools/agenda/internal/ical"
	"example.org/desktop-assistant/examples/tools/agenda/internal/rule"
)

// farZones is how many days two clocks on earth, or in a VTIMEZONE, can be
// apart, and one more for rounding.
const farZones = 3

// head gives the days between which an event can show itself in any zone: too
// many are harmless. An event without a time shows itself never.
func head(e *ical.Event) cache.Head {
	h := cache.Head{First: 1, Last: 0, UID: cache.Hash(e.UID)}
	if e.Start.Form == ical.None {
		return h
	}
	length := longest(e)
	first, last := clock.DayOf(e.Start.Wall), clock.DayOf(e.Start.Wall)
	for i := range e.Dates {
		d := &e.Dates[i]
		first, last = min(first, clock.DayOf(d.Start.Wall)), max(last, clock.DayOf(d.Start.Wall))
	}
	for _, text := range e.Rules {
		r, err := rule.Parse(text)
		if err != nil {
			continue
		}
		if end, bounded := r.Last(e.Start.Wall); bounded {
			last = max(last, clock.DayOf(end))
		} else {
			last = math.MaxInt32
		}
	}
	if e.Future {
		last = math.MaxInt32
	}
	h.First = int32(max(first-farZones, math.MinInt32))
	h.Last = int32(min(last+length+farZones, math.MaxInt32))
	return h
}

// longest gives the days that one occurrence of an event can last, rounded up,
// those that are periods of RDATE included.
func longest(e *ical.Event) int64 {
	days := ownLength(e)
	for i := range e.Dates {
		d := &e.Dates[i]
		if d.End.Form != ical.None {
			days = max(days, (d.End.Wall-d.Start.Wall)/clock.Day+2)
		}
		if d.Length != nil {
			days = max(days, d.Length.Days+d.Length.Seconds/clock.Day+2)
		}
	}
	return days
}

// ownLength is longest without RDATE.
func ownLength(e *ical.Event) int64 {
	days := int64(1)
	if e.Start.Form != ical.None && e.End.Form != ical.None {
		days = max(days, (e.End.Wall-e.Start.Wall)/clock.Day+2)
	}
	if e.Length != nil {
		days = max(days, e.Length.Days+e.Length.Seconds/clock.Day+2)
	}
	return days
}
