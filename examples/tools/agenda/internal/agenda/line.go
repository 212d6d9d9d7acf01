// SPDX-License-Identifier: Apache-2.0

package agenda

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"example.org/desktop-assistant/examples/tools/agenda/internal/clock"
	"example.org/desktop-assistant/examples/tools/agenda/internal/ical"
	"example.org/desktop-assistant/examples/tools/agenda/internal/zone"
)

// The kinds of lines, in the order in which a day lists them.
const (
	allDay = iota
	until
	starts
)

// A line is one event on one day.
type line struct {
	day  int64
	kind int
	time int64 // seconds of the day
	text string
	item item
}

func (l line) String() string {
	date := time.Unix(l.day*clock.Day, 0).UTC().Format(time.DateOnly)
	hour, minute := l.time/3600, l.time/60%60
	switch l.kind {
	case allDay:
		return date + " all day " + l.text
	case until:
		return fmt.Sprintf("%s until %02d:%02d %s", date, hour, minute, l.text)
	}
	return fmt.Sprintf("%s %02d:%02d %s", date, hour, minute, l.text)
}

// order sorts lines by day, kind, time and text.
func order(lines []line) {
	slices.SortStableFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.kind, b.kind), cmp.Compare(a.time/60, b.time/60), cmp.Compare(a.text, b.text))
	})
}

// show makes the lines of one occurrence that begins at a wall time of a zone.
// A period of RDATE may bring its own end or length.
func (f *finder) show(i item, z *zone.Zone, wall int64, period *ical.Period) {
	if i.Start.Form == ical.Date {
		first := clock.DayOf(wall)
		f.days(i, first, first+f.dayLength(i, period))
		return
	}
	start := z.Instant(wall)
	end := max(start, f.ending(i, z, wall, start, period))
	from, to := f.local.Wall(start), f.local.Wall(end)
	day := clock.DayOf(from)
	f.put(line{day, starts, from - day*clock.Day, i.Summary, i})
	f.days(i, day+1, clock.DayOf(to))
	if last := clock.DayOf(to); last > day && to > last*clock.Day {
		f.put(line{last, until, to - last*clock.Day, i.Summary, i})
	}
}

// days puts a line on each day from first to before end.
func (f *finder) days(i item, first, end int64) {
	for day := max(first, f.first); day < min(end, f.end); day++ {
		f.put(line{day, allDay, 0, i.Summary, i})
	}
}

func (f *finder) put(l line) {
	if l.day < f.first || l.day >= f.end || f.full {
		return
	}
	if len(f.lines) == mostLines {
		f.full = true
		f.problem(f.files[l.item.file].Path, fmt.Sprintf("more than %d lines, the rest is left out", mostLines))
		return
	}
	if l.text == "" {
		l.text = "(no title)"
	}
	f.lines = append(f.lines, l)
}

// ending gives the instant at which an occurrence ends that begins at a wall
// time, which is the instant start.
//
// A length counts days on the calendar and the rest as time that passes (RFC
// 5545, 3.3.6). An end in the zone of the start is as far from it on every
// clock of the series; one in another zone is as much time away.
func (f *finder) ending(i item, z *zone.Zone, wall, start int64, period *ical.Period) int64 {
	from, to, length := i.Start, i.End, i.Length
	if period != nil && (period.End.Form != ical.None || period.Length != nil) {
		from, to, length = period.Start, period.End, period.Length
	}
	switch {
	case to.Form == ical.Date || to.Form != ical.None && to.Form == from.Form && to.Zone == from.Zone:
		return z.Instant(wall + to.Wall - from.Wall)
	case to.Form != ical.None:
		return start + f.instant(to, i.file, z) - f.instant(from, i.file, z)
	case length != nil:
		return z.Instant(wall+length.Days*clock.Day) + length.Seconds
	}
	return start
}

// dayLength gives how many days an occurrence of an event of days takes.
func (f *finder) dayLength(i item, period *ical.Period) int64 {
	from, to, length := i.Start, i.End, i.Length
	if period != nil && (period.End.Form != ical.None || period.Length != nil) {
		from, to, length = period.Start, period.End, period.Length
	}
	seconds := int64(0)
	switch {
	case to.Form != ical.None:
		seconds = to.Wall - clock.DayOf(from.Wall)*clock.Day
	case length != nil:
		seconds = length.Days*clock.Day + length.Seconds
	}
	return max(1, clock.Floor(seconds+clock.Day-1, clock.Day))
}
