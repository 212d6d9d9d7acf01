// SPDX-License-Identifier: Apache-2.0

package agenda

import (
	"slices"

	"example.org/desktop-assistant/examples/tools/agenda/internal/clock"
	"example.org/desktop-assistant/examples/tools/agenda/internal/ical"
	"example.org/desktop-assistant/examples/tools/agenda/internal/rule"
	"example.org/desktop-assistant/examples/tools/agenda/internal/zone"
)

// A series is one event with its repetitions and what replaces some of them.
//
// An occurrence is known by its key: of a series of days the day, else the
// instant at which it would begin.
type series struct {
	*finder
	item
	clock     *zone.Zone
	dates     bool // a series of days
	overrides map[int64]*override
	onDay     map[int64]*override // by a day only, in a series of times
	future    []*override         // RANGE=THISANDFUTURE, by key
	lost      []*override         // whose RECURRENCE-ID cannot be read
}

// override replaces one occurrence, or that and all later ones.
type override struct {
	item
	key int64
}

// group shows the events of one UID.
func (f *finder) group(items []item) {
	s := series{finder: f, overrides: map[int64]*override{}, onDay: map[int64]*override{}}
	for _, i := range items {
		if !i.Override && (s.Event == nil || newer(i.Event, s.Event)) {
			s.item = i
		}
	}
	s.clock = f.local
	if s.Event != nil && s.Start.Form != ical.None {
		s.clock = f.zone(s.Start, s.file, f.local)
		s.dates = s.Start.Form == ical.Date
	}
	for _, i := range items {
		if i.Override {
			s.add(&override{item: i})
		}
	}
	for _, o := range s.overrides {
		if o.Future {
			s.future = append(s.future, o)
		}
	}
	slices.SortFunc(s.future, func(a, b *override) int { return int(max(-1, min(1, a.key-b.key))) })
	if s.Event != nil && !s.Cancelled {
		s.walk()
	}
	s.replacements()
}

// newer says whether a is another, later version of b. Of equal ones the one
// that is read later counts.
func newer(a, b *ical.Event) bool {
	if a.Sequence != b.Sequence {
		return a.Sequence > b.Sequence
	}
	return a.Modified >= b.Modified
}

// add files an override under its key; the newest of a key counts.
func (s *series) add(o *override) {
	list := s.overrides
	switch {
	case o.ID.Form == ical.None:
		s.lost = append(s.lost, o)
		return
	case s.Event == nil && o.ID.Form == ical.Date:
		list, o.key = s.onDay, clock.DayOf(o.ID.Wall)
	case s.dates:
		o.key = s.dayOf(o.ID)
	case o.ID.Form == ical.Date && o.Future:
		o.key = s.clock.Instant(o.ID.Wall)
	case o.ID.Form == ical.Date:
		list, o.key = s.onDay, clock.DayOf(o.ID.Wall)
	default:
		o.key = s.instant(o.ID, o.file, s.clock)
	}
	if there := list[o.key]; there == nil || newer(o.Event, there.Event) {
		list[o.key] = o
	}
}

// dayOf gives the day that a time names in a series of days. Exchange writes
// midnight there, of a zone or of UTC. One told in UTC that is midnight here
// means the day that begins here; any other the nearest midnight of UTC, since
// nothing says which zone it was.
func (s *series) dayOf(t ical.Time) int64 {
	if t.Form != ical.UTC {
		return clock.DayOf(t.Wall)
	}
	if here := s.local.Wall(t.Wall); here%clock.Day == 0 {
		return clock.DayOf(here)
	}
	return clock.DayOf(t.Wall + clock.Day/2 - 1)
}

// replacements shows the overrides.
func (s *series) replacements() {
	list := s.lost
	for _, o := range s.overrides {
		list = append(list, o)
	}
	for _, o := range s.onDay {
		list = append(list, o)
	}
	for _, o := range list {
		if o.Cancelled || s.Event != nil && s.Cancelled && s.Sequence > o.Sequence {
			continue
		}
		z := s.zone(o.Start, o.file, s.clock)
		if o.Start.Form == ical.Date || o.Start.Form == ical.Floating {
			z = s.local
		}
		s.show(o.item, z, o.Start.Wall, nil)
	}
}

// walk shows the occurrences of the series that are not replaced.
func (s *series) walk() {
	if s.Start.Form == ical.None {
		return
	}
	excluded := s.exclusions()
	shown := map[int64]bool{}
	one := func(wall int64, length *ical.Period) {
		key := wall
		if s.dates {
			key = clock.DayOf(wall)
		} else {
			key = s.clock.Instant(wall)
		}
		if shown[key] || excluded.has(s, key, wall) || s.overrides[key] != nil {
			return
		}
		if !s.dates && s.onDay[clock.DayOf(wall)] != nil {
			return
		}
		shown[key] = true
		s.occurrence(key, wall, length)
	}
	for i := range s.Dates { // before the rules: a period has its own length
		d := &s.Dates[i]
		one(s.wall(d.Start), d)
	}
	low, high := s.window()
	if !s.rules(s.Rules, low, high, func(wall int64) { one(wall, nil) }) {
		one(s.Start.Wall, nil)
	}
}

// window gives the wall times of the series between which occurrences of its
// rules can show themselves on the days asked for.
func (s *series) window() (low, high int64) {
	length, moved := ownLength(s.Event), int64(0)
	for _, o := range s.future {
		length = max(length, ownLength(o.Event))
		moved = max(moved, (o.Start.Wall-o.ID.Wall)/clock.Day+2, (o.ID.Wall-o.Start.Wall)/clock.Day+2)
	}
	return (s.first - farZones - length - moved) * clock.Day, (s.end + farZones + moved) * clock.Day
}

// wall gives what the clock of the series shows at a time.
func (s *series) wall(t ical.Time) int64 {
	switch {
	case s.dates:
		return s.dayOf(t) * clock.Day
	case t.Form == ical.Date: // the time of day of the start
		return t.Wall + s.Start.Wall - clock.DayOf(s.Start.Wall)*clock.Day
	case t.Form == ical.Floating:
		return t.Wall
	}
	if z := s.zone(t, s.file, s.clock); z != s.clock {
		return s.clock.Wall(z.Instant(t.Wall))
	}
	return t.Wall
}

// rules walks rules between two wall times, and says whether there was any
// that could be read.
func (s *series) rules(texts []string, low, high int64, one func(wall int64)) (any bool) {
	for _, text := range texts {
		r, err := rule.Parse(text)
		if err != nil {
			s.problem(s.files[s.file].Path, err.Error()+", the event is taken once")
			continue
		}
		any = true
		may := max(leastWork, min(ruleWork, s.work))
		budget := rule.Budget{Left: may}
		err = r.Each(s.Start.Wall, s.dates, low, min(high, s.until(r.Until)), &budget, func(wall int64) bool {
			one(wall)
			return !s.full
		})
		s.work -= may - max(0, budget.Left)
		if err != nil {
			s.problem(s.files[s.file].Path, err.Error()+", some dates are missing")
		}
	}
	return any
}

// until gives the last wall time that UNTIL allows. A day is meant whole. In a
// series of days a time of UTC is the day that begins with it here, or the day
// it is on.
func (s *series) until(u *clock.Reading) int64 {
	switch {
	case u == nil:
		return 1 << 50
	case u.Date:
		return u.Wall + clock.Day - 1
	case !u.UTC:
		return u.Wall
	case !s.dates:
		return s.clock.Wall(u.Wall)
	}
	if here := s.local.Wall(u.Wall); here%clock.Day == 0 {
		return here
	}
	return u.Wall
}

// exclusions are what EXDATE and EXRULE take away.
type exclusions struct {
	keys, days map[int64]bool
}

func (s *series) exclusions() exclusions {
	x := exclusions{map[int64]bool{}, map[int64]bool{}}
	for _, t := range s.ExDates {
		switch {
		case s.dates:
			x.keys[s.dayOf(t)] = true
		case t.Form == ical.Date:
			x.days[clock.DayOf(t.Wall)] = true
		default:
			x.keys[s.instant(t, s.file, s.clock)] = true
		}
	}
	if len(s.ExRules) > 0 {
		low, high := s.window()
		s.rules(s.ExRules, low, high, func(wall int64) {
			if s.dates {
				x.keys[clock.DayOf(wall)] = true
			} else {
				x.keys[s.clock.Instant(wall)] = true
			}
		})
	}
	return x
}

func (x exclusions) has(s *series, key, wall int64) bool {
	return x.keys[key] || !s.dates && x.days[clock.DayOf(wall)]
}

// occurrence shows one occurrence, as its series says or as the last override
// for it and all later ones does: moved as far as that one was.
func (s *series) occurrence(key, wall int64, length *ical.Period) {
	n := len(s.future)
	for n > 0 && s.future[n-1].key > key {
		n--
	}
	if n == 0 {
		s.show(s.item, s.clock, wall, length)
		return
	}
	o := s.future[n-1]
	if o.Cancelled || o.Start.Form == ical.None {
		return
	}
	z := s.zone(o.Start, o.file, s.clock)
	if o.Start.Form == ical.Date {
		z = s.local
	}
	switch {
	case s.dates:
		wall = o.Start.Wall + (key-o.key)*clock.Day
	case o.Start.Form == ical.Date:
		wall = o.Start.Wall + (clock.DayOf(wall)-clock.DayOf(s.clock.Wall(o.key)))*clock.Day
	default:
		wall = o.Start.Wall + z.Wall(key) - z.Wall(o.key)
	}
	s.show(o.item, z, wall, nil)
}
