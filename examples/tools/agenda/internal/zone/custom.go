// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"slices"
	"sort"

	"example.org/desktop-assistant/examples/tools/agenda/internal/clock"
	"example.org/desktop-assistant/examples/tools/agenda/internal/rule"
)

// An Observance is a STANDARD or DAYLIGHT part of a VTIMEZONE: from its onsets
// on, the clock is To ahead of UTC, where it was From before.
type Observance struct {
	Start    int64 // wall time of the first onset, by From
	From, To int64 // seconds
	Rule     string
	Dates    []int64 // RDATE, wall times
}

// A Custom is a VTIMEZONE. The changes of the years that are asked for are
// worked out once.
type Custom struct {
	parts []part
	years map[int][]change
}

type part struct {
	Observance
	rule *rule.Rule
}

type change struct{ at, offset int64 }

// NewCustom makes a clock from the observances of a VTIMEZONE, of which there
// must be one at least. A rule that cannot be read leaves its first onset.
func NewCustom(observances []Observance) *Custom {
	c := &Custom{years: map[int][]change{}}
	for _, o := range observances {
		p := part{Observance: o}
		if r, err := rule.Parse(o.Rule); err == nil {
			p.rule = &r
		}
		c.parts = append(c.parts, p)
	}
	slices.SortStableFunc(c.parts, func(a, b part) int { return int(max(-1, min(1, a.Start-b.Start))) })
	return c
}

// Zone gives the clock itself.
func (c *Custom) Zone() *Zone { return &Zone{custom: c} }

func (c *Custom) offset(instant int64) int64 {
	year, _, _ := clock.Civil(clock.DayOf(instant))
	list, ok := c.years[year]
	if !ok {
		list = c.around(year)
		c.years[year] = list
	}
	n := sort.Search(len(list), func(i int) bool { return list[i].at > instant })
	if n == 0 {
		return c.parts[0].From
	}
	return list[n-1].offset
}

// around gives the changes of a year and its neighbours in order, and before
// them at least the last one of each observance.
func (c *Custom) around(year int) []change {
	low := clock.DayNumber(year-1, 1, 1) * clock.Day
	high := clock.DayNumber(year+2, 1, 1) * clock.Day
	var list []change
	for _, p := range c.parts {
		for _, wall := range p.onsets(low, high) {
			list = append(list, change{wall - p.From, p.To})
		}
	}
	slices.SortStableFunc(list, func(a, b change) int { return int(max(-1, min(1, a.at-b.at))) })
	return list
}

const (
	mostOnsets = 4000    // of an observance within three years
	mostDates  = 1 << 20 // looked at for one observance
)

func (p part) onsets(low, high int64) []int64 {
	var list []int64
	for _, wall := range append([]int64{p.Start}, p.Dates...) {
		if wall <= high {
			list = append(list, wall)
		}
	}
	if p.rule == nil {
		return list
	}
	end := high
	if u := p.rule.Until; u != nil {
		end = u.Wall
		if u.UTC {
			end += p.From
		}
		if u.Date {
			end += clock.Day - 1
		}
		low = min(low, end-370*clock.Day*p.rule.Interval)
	}
	if p.rule.Count > 0 {
		low = p.Start
	}
	low = min(low, high-370*clock.Day*p.rule.Interval)
	// What the budget does not pay for is left out, as it is with an event.
	_ = p.rule.Each(p.Start, false, low, min(high, end), &rule.Budget{Left: mostDates}, func(wall int64) bool {
		list = append(list, wall)
		return len(list) < mostOnsets
	})
	return list
}
