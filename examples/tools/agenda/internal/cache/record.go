// SPDX-License-Identifier: Apache-2.0

// Package cache keeps what was read of calendar files from one call to the next.
//
// A Record is one file, written so that the events of some days are found
// without reading the others; a Book is the records of a folder of calendars,
// as one file that checks itself.
package cache

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"

	"example.org/desktop-assistant/examples/tools/agenda/internal/ical"
	"example.org/desktop-assistant/examples/tools/agenda/internal/zone"
)

// A Record is an [ical.File] as text: how many events, where what is not about
// events begins, a head for each event, the events, then problems and zones.
// The zero Record has no events.
type Record string

// A Head is what is known of an event without reading it.
type Head struct {
	First, Last int32 // days from 1970-01-01 between which it can show itself
	UID         uint64
}

const (
	frontSize = 8
	headSize  = 20
)

// ErrRecord says that a record is not what a [Packer] made.
var ErrRecord = errors.New("read record: it is damaged")

// A Packer makes a record, event by event. The zero Packer is empty.
type Packer struct{ heads, events []byte }

// Add appends an event. The offset in its head counts from the first event.
func (p *Packer) Add(e *ical.Event, h Head) {
	p.heads = binary.LittleEndian.AppendUint32(p.heads, uint32(h.First))
	p.heads = binary.LittleEndian.AppendUint32(p.heads, uint32(h.Last))
	p.heads = binary.LittleEndian.AppendUint64(p.heads, h.UID)
	p.heads = binary.LittleEndian.AppendUint32(p.heads, uint32(len(p.events)))
	p.events = appendEvent(p.events, e)
}

// Record gives the record of the events that were added and of the rest of
// their file. The Packer is empty then, and may be used again.
func (p *Packer) Record(f ical.File) Record {
	rest := appendStrings(nil, f.Problems)
	rest = binary.AppendUvarint(rest, uint64(len(f.Zones)))
	for _, id := range slices.Sorted(maps.Keys(f.Zones)) {
		rest = appendString(rest, id)
		rest = binary.AppendUvarint(rest, uint64(len(f.Zones[id])))
		for _, o := range f.Zones[id] {
			rest = appendObservance(rest, o)
		}
	}
	var front [frontSize]byte
	binary.LittleEndian.PutUint32(front[:], uint32(len(p.heads)/headSize))
	binary.LittleEndian.PutUint32(front[4:], uint32(frontSize+len(p.heads)+len(p.events)))
	var b strings.Builder
	b.Grow(frontSize + len(p.heads) + len(p.events) + len(rest))
	for _, part := range [][]byte{front[:], p.heads, p.events, rest} {
		b.Write(part)
	}
	p.heads, p.events = p.heads[:0], p.events[:0]
	return Record(b.String())
}

// Hash gives the number that heads have for a UID: FNV-1a of 64 bits. Two UIDs
// of one hash cost a needless look, no more.
func Hash(uid string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(uid) {
		h = (h ^ uint64(uid[i])) * 1099511628211
	}
	return h
}

// Sound says whether the heads lie within the record.
func (r Record) Sound() bool {
	if r == "" {
		return true
	}
	if len(r) < frontSize {
		return false
	}
	n, rest := int(r.u32(0)), int(r.u32(4))
	return n <= (len(r)-frontSize)/headSize && rest >= frontSize+headSize*n && rest <= len(r)
}

// Events counts the events.
func (r Record) Events() int {
	if r == "" {
		return 0
	}
	return int(r.u32(0))
}

// Head gives the head of an event.
func (r Record) Head(i int) Head {
	at := frontSize + headSize*i
	return Head{int32(r.u32(at)), int32(r.u32(at + 4)), uint64(r.u32(at+8)) | uint64(r.u32(at+12))<<32}
}

func (r Record) u32(at int) uint32 {
	return uint32(r[at]) | uint32(r[at+1])<<8 | uint32(r[at+2])<<16 | uint32(r[at+3])<<24
}

// Event reads an event. Its texts are parts of the record.
func (r Record) Event(i int) (ical.Event, error) {
	in := input{text: string(r), at: frontSize + headSize*r.Events() + int(r.u32(frontSize+headSize*i+16))}
	e := in.event()
	if in.broken {
		return ical.Event{}, ErrRecord
	}
	return e, nil
}

// Rest reads the problems and the zones.
func (r Record) Rest() (problems []string, zones map[string][]zone.Observance, err error) {
	if r == "" {
		return nil, nil, nil
	}
	in := input{text: string(r), at: int(r.u32(4))}
	problems = in.strings()
	for range in.count(3) {
		id := in.string()
		list := make([]zone.Observance, in.count(5))
		for i := range list {
			list[i] = in.observance()
		}
		if zones == nil {
			zones = map[string][]zone.Observance{}
		}
		zones[id] = list
	}
	if in.broken {
		return nil, nil, ErrRecord
	}
	return problems, zones, nil
}
