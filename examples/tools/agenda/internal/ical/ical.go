// SPDX-License-Identifier: Apache-2.0

// Package ical reads iCalendar files (RFC 5545): of each event what an agenda
// needs, and nothing else. It reads what real files hold, byte by byte and in
// little memory: a part that cannot be read is named and passed over, and what
// stands around it is kept.
package ical

import "example.org/desktop-assistant/examples/tools/agenda/internal/zone"

// An Event is a VEVENT whose END came.
type Event struct {
	UID        string // empty if it has none
	Summary    string // ready to be shown, empty if there is none
	Start, End Time
	Length     *Length // DURATION
	Rules      []string
	ExRules    []string // EXRULE of RFC 2445
	Dates      []Period // RDATE
	ExDates    []Time
	Override   bool // it has a RECURRENCE-ID
	ID         Time // that; its Form is None if it cannot be read
	Future     bool // RANGE=THISANDFUTURE
	Sequence   int64
	Modified   int64 // wall time of LAST-MODIFIED, else of DTSTAMP
	Cancelled  bool  // STATUS:CANCELLED, or METHOD:CANCEL of its calendar
	Index      int64 // which of the file's complete events it is
}

// A File is what was read of one beside its events.
type File struct {
	// Zones are the VTIMEZONEs by TZID, but not those that are known anyway.
	Zones map[string][]zone.Observance
	// Problems are what could not be read, ready to be shown.
	Problems []string
}
