// SPDX-License-Identifier: Apache-2.0

package agenda

import (
	"fmt"
	"strings"

	"example.org/desktop-assistant/examples/tools/agenda/internal/ical"
	"example.org/desktop-assistant/examples/tools/agenda/internal/zone"
)

// A finder looks for what takes place on some days.
type finder struct {
	first, end int64 // days from 1970-01-01; the end is not asked for
	files      []loaded
	table      *zone.Table
	local, utc *zone.Zone
	zones      map[int]map[string]*zone.Zone // of the files' own VTIMEZONEs
	strange    map[string]bool               // zones that were complained about
	work       int64                         // that is left of mostWork
	problem    func(path, what string)
	lines      []line
	full       bool
}

// What rules may cost, in dates and times looked at: all of a call some
// seconds, one rule a part of a second, and where the former are used up still
// so much that a sane rule is walked. A calendar of ten thousand files needs a
// hundredth.
const (
	mostWork  = 30_000_000
	ruleWork  = 3_000_000
	leastWork = 10_000
)

// mostLines is how many lines are made; the rest is left out.
const mostLines = 300_000

// item is an event with the file it is in.
type item struct {
	*ical.Event
	file int
}

// search makes the lines of the days from first to end.
func search(files []loaded, first, end int64, table *zone.Table, local *zone.Zone, problem func(path, what string)) []line {
	f := finder{
		first: first, end: end, files: files, table: table, local: local, utc: zone.UTC(),
		zones: map[int]map[string]*zone.Zone{}, strange: map[string]bool{},
		work: mostWork, problem: problem,
	}
	series, single := f.groups()
	for _, uid := range series.order {
		f.group(series.items[uid])
	}
	for _, one := range single {
		f.group([]item{one})
	}
	return f.lines
}

type byUID struct {
	order []string // in the order of their first event
	items map[string][]item
}

// groups reads the events that can show themselves on the days asked for, and
// whatever has the UID of one of them; those without a UID come by themselves.
func (f *finder) groups() (series byUID, single []item) {
	hot := map[uint64]bool{}
	for i := range f.files {
		record := f.files[i].Record
		for n := range record.Events() {
			if h := record.Head(n); int64(h.First) < f.end && int64(h.Last) >= f.first {
				hot[h.UID] = true
			}
		}
	}
	series.items = map[string][]item{}
	for i := range f.files {
		record := f.files[i].Record
		if f.files[i].repeated {
			continue
		}
		for n := range record.Events() {
			if !hot[record.Head(n).UID] {
				continue
			}
			e, err := record.Event(n)
			if err != nil {
				f.problem(f.files[i].Path, err.Error())
				continue
			}
			if e.UID == "" {
				single = append(single, item{&e, i})
				continue
			}
			if series.items[e.UID] == nil {
				series.order = append(series.order, e.UID)
			}
			series.items[e.UID] = append(series.items[e.UID], item{&e, i})
		}
	}
	return series, single
}

// zone gives the clock of a time of a file. One without a zone has the clock
// of the series it belongs to, by default the local one.
func (f *finder) zone(t ical.Time, file int, floating *zone.Zone) *zone.Zone {
	switch t.Form {
	case ical.UTC:
		return f.utc
	case ical.Zoned:
	default:
		return floating
	}
	if z := f.table.Named(t.Zone); z != nil {
		return z
	}
	if z := f.custom(file)[strings.ToLower(t.Zone)]; z != nil {
		return z
	}
	if z := f.table.Implied(t.Zone); z != nil {
		return z
	}
	path := f.files[file].Path
	if key := path + "\x00" + t.Zone; !f.strange[key] {
		f.strange[key] = true
		f.problem(path, fmt.Sprintf("time zone %q is not known, taken as local time", t.Zone))
	}
	return f.local
}

// custom gives the VTIMEZONEs of a file, by names in small letters.
func (f *finder) custom(file int) map[string]*zone.Zone {
	if zones, ok := f.zones[file]; ok {
		return zones
	}
	zones := map[string]*zone.Zone{}
	_, parts, err := f.files[file].Record.Rest()
	if err != nil {
		f.problem(f.files[file].Path, err.Error())
	}
	for id, list := range parts {
		if len(list) > 0 {
			zones[strings.ToLower(id)] = zone.NewCustom(list).Zone()
		}
	}
	f.zones[file] = zones
	return zones
}

// instant gives when a time is; a day is its midnight.
func (f *finder) instant(t ical.Time, file int, floating *zone.Zone) int64 {
	return f.zone(t, file, floating).Instant(t.Wall)
}
