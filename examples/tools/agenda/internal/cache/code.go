// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"encoding/binary"

	"example.org/desktop-assistant/examples/tools/agenda/internal/ical"
	"example.org/desktop-assistant/examples/tools/agenda/internal/zone"
)

// The flags of an event.
const (
	hasLength = 1 << iota
	isOverride
	isFuture
	isCancelled
)

func appendEvent(w []byte, e *ical.Event) []byte {
	flags := bit(hasLength, e.Length != nil) | bit(isOverride, e.Override) | bit(isFuture, e.Future) | bit(isCancelled, e.Cancelled)
	w = append(w, flags)
	w = appendString(w, e.UID)
	w = appendString(w, e.Summary)
	w = appendTime(w, e.Start)
	w = appendTime(w, e.End)
	w = appendLength(w, e.Length)
	w = appendTime(w, e.ID)
	w = appendStrings(w, e.Rules)
	w = appendStrings(w, e.ExRules)
	w = binary.AppendUvarint(w, uint64(len(e.Dates)))
	for _, d := range e.Dates {
		w = append(w, bit(hasLength, d.Length != nil))
		w = appendTime(w, d.Start)
		w = appendTime(w, d.End)
		w = appendLength(w, d.Length)
	}
	w = binary.AppendUvarint(w, uint64(len(e.ExDates)))
	for _, d := range e.ExDates {
		w = appendTime(w, d)
	}
	w = binary.AppendVarint(w, e.Sequence)
	w = binary.AppendVarint(w, e.Modified)
	return binary.AppendVarint(w, e.Index)
}

func appendObservance(w []byte, o zone.Observance) []byte {
	for _, n := range []int64{o.Start, o.From, o.To} {
		w = binary.AppendVarint(w, n)
	}
	w = binary.AppendUvarint(appendString(w, o.Rule), uint64(len(o.Dates)))
	for _, d := range o.Dates {
		w = binary.AppendVarint(w, d)
	}
	return w
}

func bit(b byte, set bool) byte {
	if set {
		return b
	}
	return 0
}

func appendString(w []byte, s string) []byte {
	return append(binary.AppendUvarint(w, uint64(len(s))), s...)
}

func appendStrings(w []byte, list []string) []byte {
	w = binary.AppendUvarint(w, uint64(len(list)))
	for _, s := range list {
		w = appendString(w, s)
	}
	return w
}

func appendTime(w []byte, t ical.Time) []byte {
	w = append(w, byte(t.Form))
	if t.Form == ical.None {
		return w
	}
	w = binary.AppendVarint(w, t.Wall)
	if t.Form == ical.Zoned {
		w = appendString(w, t.Zone)
	}
	return w
}

func appendLength(w []byte, l *ical.Length) []byte {
	if l == nil {
		return w
	}
	return binary.AppendVarint(binary.AppendVarint(w, l.Days), l.Seconds)
}

// input reads what was appended. It never reads past the text; when it would,
// it is broken and gives zeros.
type input struct {
	text   string
	at     int
	broken bool
}

func (in *input) event() ical.Event {
	flags := in.byte()
	e := ical.Event{
		Override: flags&isOverride != 0, Future: flags&isFuture != 0, Cancelled: flags&isCancelled != 0,
		UID: in.string(), Summary: in.string(), Start: in.time(), End: in.time(),
	}
	e.Length = in.length(flags&hasLength != 0)
	e.ID = in.time()
	e.Rules, e.ExRules = in.strings(), in.strings()
	for range in.count(3) {
		long := in.byte() == hasLength
		e.Dates = append(e.Dates, ical.Period{Start: in.time(), End: in.time(), Length: in.length(long)})
	}
	for range in.count(1) {
		e.ExDates = append(e.ExDates, in.time())
	}
	e.Sequence, e.Modified, e.Index = in.varint(), in.varint(), in.varint()
	return e
}

func (in *input) observance() zone.Observance {
	o := zone.Observance{Start: in.varint(), From: in.varint(), To: in.varint(), Rule: in.string()}
	for range in.count(1) {
		o.Dates = append(o.Dates, in.varint())
	}
	return o
}

func (in *input) byte() byte {
	if in.broken || in.at >= len(in.text) {
		in.broken = true
		return 0
	}
	in.at++
	return in.text[in.at-1]
}

func (in *input) uvarint() (n uint64) {
	for shift := 0; shift < 64; shift += 7 {
		b := in.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	in.broken = true
	return 0
}

func (in *input) varint() int64 {
	n := in.uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

// count reads how many things follow, each of at least so many bytes.
func (in *input) count(size int) int {
	n := in.uvarint()
	if in.broken || n > uint64(len(in.text)-in.at)/uint64(size) {
		in.broken = true
		return 0
	}
	return int(n)
}

func (in *input) string() string {
	n := in.count(1)
	if in.broken { // perhaps far behind the end
		return ""
	}
	in.at += n
	return in.text[in.at-n : in.at]
}

func (in *input) strings() []string {
	n := in.count(1)
	if n == 0 {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = in.string()
	}
	return list
}

func (in *input) time() ical.Time {
	t := ical.Time{Form: ical.Form(in.byte())}
	if t.Form == ical.None {
		return t
	}
	if t.Form > ical.Zoned {
		in.broken = true
		return ical.Time{}
	}
	t.Wall = in.varint()
	if t.Form == ical.Zoned {
		t.Zone = in.string()
	}
	return t
}

func (in *input) length(given bool) *ical.Length {
	if !given {
		return nil
	}
	return &ical.Length{Days: in.varint(), Seconds: in.varint()}
}
