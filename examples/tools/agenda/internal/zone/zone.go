// SPDX-License-Identifier: Apache-2.0

// Package zone turns the time zone names of calendars into clocks.
package zone

import (
	"time"
	_ "time/tzdata" // for machines without a zone database

	"example.org/desktop-assistant/examples/tools/agenda/internal/clock"
)

// A Zone is a clock on the wall somewhere: a zone of the database, an offset,
// or the VTIMEZONE of a file. It is used by one goroutine at a time.
type Zone struct {
	place  *time.Location
	custom *Custom // instead of place
}

// In gives the zone of a place.
func In(place *time.Location) *Zone { return &Zone{place: place} }

// UTC is the zone of times that end in Z.
func UTC() *Zone { return In(time.UTC) }

// Offset gives how many seconds the clock is ahead of UTC at an instant.
func (z *Zone) Offset(instant int64) int64 {
	if z.custom != nil {
		return z.custom.offset(instant)
	}
	_, offset := time.Unix(instant, 0).In(z.place).Zone()
	return int64(offset)
}

// Wall gives what the clock shows at an instant.
func (z *Zone) Wall(instant int64) int64 { return instant + z.Offset(instant) }

// Instant gives when the clock shows a wall time, by RFC 5545, 3.3.5: of two
// instants the first, and of none (the clock was put forward over it) the one
// that the offset before the change gives.
func (z *Zone) Instant(wall int64) int64 {
	before, after := z.Offset(wall-clock.Day), z.Offset(wall+clock.Day)
	if first := wall - max(before, after); z.Wall(first) == wall {
		return first
	}
	if second := wall - min(before, after); z.Wall(second) == wall {
		return second
	}
	return wall - before
}
