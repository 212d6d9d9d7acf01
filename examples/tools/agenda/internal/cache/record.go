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

// ErrRecord says that a record is not what [Pack] made.
var ErrRecord = errors.New("read record: it is damaged")

// Pack writes a file; head gives the head of an event.
func Pack(f ical.File, head func(*ical.Event) Head) Record {
	w := make([]byte, frontSize+headSize*len(f.Events), frontSize+(headSize+200)*len(f.Events)+64)
	for i := range f.Events {
		e := &f.Events[i]
		h := head(e)
		at := w[frontSize+headSize*i:]
		binary.LittleEndian.PutUint32(at, uint32(h.First))
		binary.LittleEndian.PutUint32(at[4:], uint32(h.Last))
		binary.LittleEndian.PutUint64(at[8:], h.UID)
		binary.LittleEndian.PutUint32(at[16:], uint32(len(w)))
		w = appendEvent(w, e)
	}
	binary.LittleEndian.PutUint32(w, uint32(len(f.Events)))
	binary.LittleEndian.PutUint32(w[4:], uint32(len(w)))
	w = appendStrings(w, f.Problems)
	w = binary.AppendUvarint(w, uint64(len(f.Zones)))
	for _, id := range slices.Sorted(maps.Keys(f.Zones)) {
		w = appendString(w, id)
		w = binary.AppendUvarint(w, uint64(len(f.Zones[id])))
		for _, o := range f.Zones[id] {
			w = binary.AppendVarint(w, o.Start)
			w = binary.AppendVarint(w, o.From)
			w = binary.AppendVarint(w, o.To)
			w = appendString(w, o.Rule)
			w = binary.AppendUvarint(w, uint64(len(o.Dates)))
			for _, d := range o.Dates {
				w = binary.AppendVarint(w, d)
			}
		}
	}
	return Record(w)
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
	in := input{text: string(r), at: int(r.u32(frontSize + headSize*i + 16))}
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
			list[i] = zone.Observance{Start: in.varint(), From: in.varint(), To: in.varint(), Rule: in.string()}
			for range in.count(1) {
				list[i].Dates = append(list[i].Dates, in.varint())
			}
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
