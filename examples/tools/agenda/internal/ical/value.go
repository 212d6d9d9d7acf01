// SPDX-License-Identifier: Apache-2.0

package ical

import (
	"bytes"
	"strconv"
	"strings"

	"example.org/desktop-assistant/examples/tools/agenda/internal/clock"
)

// A Form is how a time is given.
type Form byte

// The forms of a time.
const (
	None     Form = iota // no time, or none that can be read
	Date                 // a day
	Floating             // the clock of wherever it is looked at
	UTC                  // in UTC
	Zoned                // the clock of a zone
)

// A Time is a DATE or DATE-TIME with its TZID.
type Time struct {
	Form Form
	Wall int64
	Zone string // TZID, with Zoned
}

// A Length is a DURATION: days on the calendar, then seconds (RFC 5545, 3.3.6).
type Length struct{ Days, Seconds int64 }

// A Period is one value of RDATE: a start, and where VALUE=PERIOD gave one an
// end or a length.
type Period struct {
	Start, End Time
	Length     *Length
}

// property is a content line cut up, as slices of it.
type property struct {
	params, value []byte
}

// param gives a parameter without its quotes, or nil.
func (p property) param(name string) []byte {
	for rest := p.params; len(rest) > 0; {
		end := outsideQuotes(rest, ';')
		one := rest[:end]
		rest = rest[min(end+1, len(rest)):]
		key, value, found := bytes.Cut(one, []byte("="))
		if found && strings.EqualFold(string(bytes.TrimSpace(key)), name) {
			return bytes.Trim(bytes.TrimSpace(value), `"`)
		}
	}
	return nil
}

// A Line is one content line cut up.
type Line struct {
	Name, Value string // the name in capital letters

	params []byte
}

// Cut parts a content line. ok is false if it is none.
func Cut(text string) (l Line, ok bool) {
	name := nameOf([]byte(text))
	p, ok := cut([]byte(text)[len(name):])
	return Line{strings.ToUpper(string(name)), decode(p.value), p.params}, ok && len(name) > 0
}

// Param gives a parameter without its quotes.
func (l Line) Param(name string) string { return decode(property{params: l.params}.param(name)) }

// outsideQuotes finds a byte that is not in double quotes; the length of the
// text if there is none.
func outsideQuotes(text []byte, c byte) int {
	quoted := false
	for i, b := range text {
		if b == '"' {
			quoted = !quoted
		} else if b == c && !quoted {
			return i
		}
	}
	return len(text)
}

// cut parts what follows the name of a content line: parameters, a colon that
// is in no quotes, and the value.
func cut(rest []byte) (p property, ok bool) {
	colon := bytes.IndexByte(rest, ':')
	if colon < 0 {
		return p, false
	}
	if bytes.IndexByte(rest[:colon], '"') >= 0 {
		if colon = outsideQuotes(rest, ':'); colon == len(rest) {
			return p, false
		}
	}
	return property{rest[:colon], rest[colon+1:]}, true
}

// cutTime is cut for the properties whose values hold no colon: the last colon
// counts, so that a zone name may hold one without quotes, or a quote only.
func cutTime(rest []byte) (p property, ok bool) {
	colon := bytes.LastIndexByte(rest, ':')
	if colon < 0 {
		return p, false
	}
	return property{rest[:colon], rest[colon+1:]}, true
}

// zone gives the TZID; a backslash before a comma is what VTIMEZONE writes.
func (p property) zone() string {
	id := p.param("TZID")
	if id == nil {
		return ""
	}
	return zoneName(decode(id))
}

func zoneName(id string) string {
	if strings.IndexByte(id, '\\') >= 0 {
		id = strings.NewReplacer(`\,`, ",", `\;`, ";", `\\`, `\`).Replace(id)
	}
	return strings.Trim(strings.TrimSpace(id), `"`)
}

// times reads the times of a value, and says how many could not be read.
func (p property) times() (list []Time, bad int) {
	zone := p.zone()
	day := strings.EqualFold(string(p.param("VALUE")), "DATE")
	for item := range bytes.SplitSeq(p.value, []byte(",")) {
		if len(bytes.TrimSpace(item)) == 0 {
			continue
		}
		if t := readTime(string(item), zone, day); t.Form != None {
			list = append(list, t)
		} else {
			bad++
		}
	}
	return list, bad
}

// time reads the one time of a value.
func (p property) time() Time {
	return readTime(string(p.value), p.zone(), strings.EqualFold(string(p.param("VALUE")), "DATE"))
}

// readTime reads one time. What it looks like counts, not VALUE, but for a
// midnight that VALUE=DATE calls a day.
func readTime(text, zone string, day bool) Time {
	r, ok := clock.Parse(text)
	switch {
	case !ok:
		return Time{}
	case r.Date, day && r.Wall%clock.Day == 0:
		return Time{Form: Date, Wall: r.Wall}
	case r.UTC:
		return Time{Form: UTC, Wall: r.Wall}
	case zone == "":
		return Time{Form: Floating, Wall: r.Wall}
	}
	return Time{Form: Zoned, Wall: r.Wall, Zone: zone}
}

// periods reads the values of RDATE.
func (p property) periods() (list []Period, bad int) {
	zone := p.zone()
	day := strings.EqualFold(string(p.param("VALUE")), "DATE")
	for item := range bytes.SplitSeq(p.value, []byte(",")) {
		if len(bytes.TrimSpace(item)) == 0 {
			continue
		}
		first, second, _ := strings.Cut(string(item), "/")
		one := Period{Start: readTime(first, zone, day)}
		if one.Start.Form == None {
			bad++
			continue
		}
		if length, ok := ParseLength(second); ok {
			one.Length = &length
		} else {
			one.End = readTime(second, zone, false)
		}
		list = append(list, one)
	}
	return list, bad
}

// longestLength bounds each number of a duration, in its unit: 30,000 years of
// days, so that sums do not overflow.
const longestLength = 10_000_000

// ParseLength reads a DURATION: P1W, P1DT2H, -PT15M. ok is false for what is
// none, and for one too long to be meant.
func ParseLength(text string) (l Length, ok bool) {
	text = strings.ToUpper(strings.TrimSpace(text))
	sign := int64(1)
	if strings.HasPrefix(text, "-") {
		sign = -1
	}
	text, found := strings.CutPrefix(strings.TrimLeft(text, "+-"), "P")
	if !found || text == "" || text[len(text)-1] == 'T' {
		return l, false
	}
	units := map[byte]int64{'W': 7, 'D': 1}
	into, number := &l.Days, ""
	for i := range len(text) {
		c := text[i]
		size, known := units[c]
		switch {
		case c >= '0' && c <= '9':
			number += string(c)
			continue
		case c == 'T' && number == "" && into == &l.Days:
			units, into = map[byte]int64{'H': 3600, 'M': 60, 'S': 1}, &l.Seconds
			continue
		case !known || number == "":
			return Length{}, false
		}
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n > longestLength {
			return Length{}, false
		}
		*into += sign * n * size
		number = ""
	}
	return l, number == "" && l.Days < longestLength && l.Seconds < longestLength*clock.Day
}

// ParseOffset reads a UTC-OFFSET (RFC 5545, 3.3.14): +0100, -023020, in
// seconds. A missing sign is a plus, and a colon is let pass.
func ParseOffset(text string) (seconds int64, ok bool) {
	text = strings.ReplaceAll(strings.TrimSpace(text), ":", "")
	sign := int64(1)
	if strings.HasPrefix(text, "-") {
		sign = -1
	}
	text = strings.TrimLeft(text, "+-")
	if len(text) != 2 && len(text) != 4 && len(text) != 6 {
		return 0, false
	}
	for unit := int64(3600); text != ""; unit /= 60 {
		n, err := strconv.ParseUint(text[:2], 10, 8)
		if err != nil || n > 59 || unit == 3600 && n > 24 {
			return 0, false
		}
		seconds += int64(n) * unit
		text = text[2:]
	}
	return sign * seconds, true
}
