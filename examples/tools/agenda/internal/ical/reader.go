// SPDX-License-Identifier: Apache-2.0

package ical

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"example.org/desktop-assistant/examples/tools/agenda/internal/zone"
)

const (
	deepest      = 32      // components within each other
	mostProblems = 5       // of one file that are told one by one
	mostValues   = 100_000 // of one property of one event
	mostRules    = 50      // of one event
	mostOthers   = 300     // lines
)

// A Reader reads files one after the other; it keeps its buffers. It is used
// by one goroutine at a time.
type Reader struct {
	lines  lines
	line   []byte // the content line at hand, unfolded
	number int    // of its first physical line
	last   int    // physical lines so far

	known func(tzid string) bool
	each  func(*Event)
	stack []component
	file  File
	index int64
	bad   int  // problems that were not told one by one
	begun bool // any BEGIN was seen

	want map[int64]bool     // events of which the other lines are kept, or nil
	kept map[int64][]string // those, by the index of their event
}

// component is one that is open.
type component struct {
	name   string
	event  *Event // of a VEVENT
	line   int    // of its BEGIN
	cancel bool   // METHOD:CANCEL, of a VCALENDAR
	zone   string // TZID, of a VTIMEZONE
	parts  []zone.Observance
	has    [3]bool // of an observance: start, from, to
	others []string
}

// Read reads one file to its end and calls each with every event, in their
// order. VTIMEZONEs whose TZID is known are not kept. The error is that of
// from; what was read until then is given all the same.
func (r *Reader) Read(from io.Reader, known func(tzid string) bool, each func(*Event)) (File, error) {
	r.reset(from, known, each)
	for r.next() {
		r.content()
	}
	r.close(0)
	switch {
	case !r.begun:
		r.file.Problems = []string{"no calendar in it"}
	case r.bad > 0:
		r.file.Problems = append(r.file.Problems, fmt.Sprintf("%d more lines or parts cannot be read", r.bad))
	}
	if err := r.lines.err; err != nil && !errors.Is(err, io.EOF) {
		return r.file, err
	}
	return r.file, nil
}

func (r *Reader) reset(from io.Reader, known func(string) bool, each func(*Event)) {
	r.lines.reset(from)
	*r = Reader{lines: r.lines, line: r.line[:0], known: known, each: each, stack: r.stack[:0]}
}

// Others reads a file again and gives, for the events of these indexes, their
// lines of the properties that Read passes over, unfolded and otherwise as they
// are: no more than some hundred of each event.
func (r *Reader) Others(from io.Reader, events map[int64]bool) (map[int64][]string, error) {
	r.reset(from, func(string) bool { return true }, func(*Event) {})
	r.want, r.kept = events, map[int64][]string{}
	for r.next() {
		r.content()
	}
	if err := r.lines.err; err != nil && !errors.Is(err, io.EOF) {
		return r.kept, err
	}
	return r.kept, nil
}

func (r *Reader) problem(line int, what string) {
	if len(r.file.Problems) >= mostProblems {
		r.bad++
		return
	}
	r.file.Problems = append(r.file.Problems, fmt.Sprintf("line %d: %s", line, what))
}

// next brings the next content line that is not blank. One that is not wanted
// is not unfolded.
func (r *Reader) next() bool {
	for {
		line, more := r.lines.next()
		if !more {
			return false
		}
		r.last++
		r.number = r.last
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if !r.lines.folded() {
			r.line = append(r.line[:0], line...)
			return true
		}
		name := nameOf(line)
		keep := r.want != nil || wanted(name) != nothing || len(name) == len(line) // folded within the name
		r.line = append(r.line[:0], line...)
		for r.lines.folded() {
			rest, _ := r.lines.next()
			r.last++
			if keep && len(rest) > 0 && len(r.line) < longest {
				r.line = append(r.line, rest[1:]...)
			}
		}
		return true
	}
}

// nameOf gives the name at the start of a content line.
func nameOf(line []byte) []byte {
	for i, c := range line {
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if (c < '0' || c > '9') && c != '-' {
				return line[:i]
			}
		}
	}
	return line
}

// content takes in one content line.
func (r *Reader) content() {
	name := nameOf(r.line)
	rest := bytes.TrimLeft(r.line[len(name):], " \t")
	if len(name) == 0 || len(rest) == 0 || rest[0] != ':' && rest[0] != ';' {
		r.problem(r.number, "cannot be read")
		return
	}
	p := wanted(name)
	switch p {
	case begin:
		r.begin(componentName(rest))
	case end:
		r.end(componentName(rest))
	}
	if len(r.stack) == 0 {
		return
	}
	top := &r.stack[len(r.stack)-1]
	if p == nothing && top.event != nil && r.want[r.index] && len(top.others) < mostOthers {
		top.others = append(top.others, string(r.line))
	}
	if p == nothing || p == begin || p == end {
		return
	}
	ok := true
	switch {
	case top.event != nil:
		ok = top.event.take(p, rest)
	case top.name == "VCALENDAR" && p == method:
		top.cancel = strings.EqualFold(componentName(rest), "CANCEL")
	case top.name == "VTIMEZONE" && p == tzid:
		if line, found := cut(rest); found {
			top.zone = zoneName(decode(line.value))
		}
	case top.name == "STANDARD", top.name == "DAYLIGHT":
		ok = r.observe(top, p, rest)
	}
	if !ok {
		r.problem(r.number, strings.ToUpper(string(name))+" cannot be read")
	}
}

var componentNames = map[string]string{
	"VCALENDAR": "VCALENDAR", "VEVENT": "VEVENT", "VALARM": "VALARM",
	"VTIMEZONE": "VTIMEZONE", "STANDARD": "STANDARD", "DAYLIGHT": "DAYLIGHT",
}

// componentName gives the value of BEGIN, END and METHOD in capital letters.
func componentName(rest []byte) string {
	value := bytes.TrimSpace(rest[bytes.IndexByte(rest, ':')+1:])
	if name, usual := componentNames[string(value)]; usual { // without a copy
		return name
	}
	return strings.ToUpper(string(value[:min(len(value), 32)]))
}

// begin opens a component. Where too many are open, most of them lack their
// END: all but the outermost are given up.
func (r *Reader) begin(name string) {
	r.begun = true
	if len(r.stack) >= deepest {
		r.problem(r.number, "too many components within each other")
		r.close(1)
	}
	c := component{name: name, line: r.number}
	switch {
	case name == "VEVENT":
		c.event = &Event{}
	case (name == "STANDARD" || name == "DAYLIGHT") && len(r.stack) > 0 && r.stack[len(r.stack)-1].name == "VTIMEZONE":
		c.parts = make([]zone.Observance, 1)
	}
	r.stack = append(r.stack, c)
}

// end closes the innermost component of that name and drops those in it whose
// END is missing.
func (r *Reader) end(name string) {
	at := len(r.stack) - 1
	for at >= 0 && r.stack[at].name != name {
		at--
	}
	if at < 0 {
		r.problem(r.number, "END of something that did not begin")
		return
	}
	r.close(at + 1)
	c := r.stack[at]
	r.stack = r.stack[:at]
	switch {
	case c.event != nil:
		r.finish(c)
	case name == "VTIMEZONE":
		if c.zone != "" && len(c.parts) > 0 && !r.known(c.zone) {
			if r.file.Zones == nil {
				r.file.Zones = map[string][]zone.Observance{}
			}
			r.file.Zones[c.zone] = c.parts
		}
	case len(c.parts) == 1 && at > 0: // an observance
		if c.has != [3]bool{true, true, true} {
			r.problem(c.line, "part of a VTIMEZONE lacks its start or its offsets")
		} else if up := &r.stack[at-1]; len(up.parts) < mostValues {
			up.parts = append(up.parts, c.parts[0])
		}
	}
}

// close drops the open components from a depth on.
func (r *Reader) close(depth int) {
	for _, c := range r.stack[depth:] {
		if c.event != nil {
			r.problem(c.line, "event without its END, left out")
		}
	}
	r.stack = r.stack[:depth]
}

// finish hands an event on, unless it has no start and no other use.
func (r *Reader) finish(c component) {
	e := c.event
	e.Index = r.index
	if r.want[r.index] {
		r.kept[r.index] = c.others
	}
	r.index++
	for _, above := range r.stack {
		e.Cancelled = e.Cancelled || above.cancel
	}
	if e.Start.Form == None {
		e.Start = e.ID // of a cancelled occurrence that is no more to say
	}
	if e.Start.Form == None && !e.Cancelled {
		r.problem(c.line, "event without a DTSTART that can be read, left out")
		return
	}
	r.each(e)
}

// observe takes in a line of a STANDARD or DAYLIGHT.
func (r *Reader) observe(c *component, p kind, rest []byte) bool {
	if len(c.parts) != 1 {
		return true
	}
	line, ok := cutTime(rest)
	if !ok {
		return false
	}
	o := &c.parts[0]
	switch p {
	case dtstart:
		t := line.time()
		o.Start, c.has[0] = t.Wall, c.has[0] || t.Form != None
		return t.Form != None
	case tzoffsetfrom:
		o.From, ok = ParseOffset(string(line.value))
		c.has[1] = c.has[1] || ok
	case tzoffsetto:
		o.To, ok = ParseOffset(string(line.value))
		c.has[2] = c.has[2] || ok
	case rrule:
		o.Rule = string(line.value)
	case rdate:
		list, bad := line.periods()
		for _, d := range list {
			if len(o.Dates) < mostValues {
				o.Dates = append(o.Dates, d.Start.Wall)
			}
		}
		ok = bad == 0
	}
	return ok
}

// take takes in a property of an event, and says whether it could be read. Of
// one that should come once the first counts that can be read.
func (e *Event) take(p kind, rest []byte) bool {
	if p == summary || p == uid || p == status || p == sequence {
		line, ok := cut(rest)
		if ok {
			e.takeText(p, line)
		}
		return ok
	}
	line, ok := cutTime(rest)
	if !ok {
		return false
	}
	switch p {
	case dtstart:
		return first(&e.Start, line.time())
	case dtend:
		return first(&e.End, line.time())
	case duration:
		l, ok := ParseLength(string(line.value))
		if ok && e.Length == nil {
			e.Length = &l
		}
		return ok
	case recurrenceID:
		e.Override = true
		e.Future = e.Future || strings.EqualFold(string(line.param("RANGE")), "THISANDFUTURE")
		return first(&e.ID, line.time())
	case lastModified, dtstamp:
		if t := line.time(); p == lastModified && t.Form != None || e.Modified == 0 {
			e.Modified = t.Wall
		}
		return true
	}
	return e.takeList(p, line)
}

func (e *Event) takeList(p kind, line property) bool {
	bad := 0
	switch p {
	case rrule, exrule:
		list := &e.Rules
		if p == exrule {
			list = &e.ExRules
		}
		if rule := strings.TrimSpace(decode(line.value)); len(*list) < mostRules && !slices.Contains(*list, rule) {
			*list = append(*list, rule)
		}
	case rdate:
		var list []Period
		list, bad = line.periods()
		e.Dates = append(e.Dates, list[:min(len(list), mostValues-len(e.Dates))]...)
	case exdate:
		var list []Time
		list, bad = line.times()
		e.ExDates = append(e.ExDates, list[:min(len(list), mostValues-len(e.ExDates))]...)
	}
	return bad == 0
}

func (e *Event) takeText(p kind, line property) {
	switch p {
	case summary:
		if e.Summary == "" {
			e.Summary = Text(decode(line.value))
		}
	case uid:
		if e.UID == "" {
			e.UID = strings.TrimSpace(decode(line.value))
		}
	case status:
		value := strings.TrimSpace(string(line.value))
		e.Cancelled = strings.EqualFold(value, "CANCELLED") || strings.EqualFold(value, "CANCELED")
	case sequence:
		if n, err := strconv.ParseInt(strings.TrimSpace(string(line.value)), 10, 64); err == nil {
			e.Sequence = n
		}
	}
}

func first(to *Time, t Time) bool {
	if to.Form == None {
		*to = t
	}
	return t.Form != None
}
