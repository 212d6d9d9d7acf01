// SPDX-License-Identifier: Apache-2.0

// Package detail reads where an event is and who is there, with gocal.
//
// gocal is given one plain event at a time, of lines written anew: no rule, no
// exception, no zone, no quotes and no long line, each of which it gets wrong,
// hangs or panics on; a UID and times of no meaning, without which it drops an
// event. What is listed, and when, it does not see.
package detail

import (
	"fmt"
	"strings"

	"github.com/apognu/gocal"

	"example.org/desktop-assistant/examples/tools/agenda/internal/ical"
)

// Details are of one event; empty where it does not say.
type Details struct {
	Place  string
	People []string // names, or addresses of those without
}

const (
	longest    = 500 // bytes of a value
	mostPeople = 50
)

// Of reads the content lines of an event, unfolded and without its times and
// rules.
func Of(lines []string) (d Details, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("read details: %v", p)
		}
	}()
	parser := gocal.NewParser(strings.NewReader(clean(lines)))
	parser.SkipBounds = true
	parser.Strict.Mode = gocal.StrictModeFailEvent
	parser.Duplicate.Mode = gocal.DuplicateModeKeepFirst
	if err := parser.Parse(); err != nil {
		return d, fmt.Errorf("read details: %w", err)
	}
	if len(parser.Events) == 0 {
		return d, nil
	}
	event := &parser.Events[0]
	d.Place = event.Location
	for _, a := range event.Attendees {
		if name := person(a.Cn, a.Value); name != "" && a.Status != "DECLINED" && len(d.People) < mostPeople {
			d.People = append(d.People, name)
		}
	}
	return d, nil
}

// person gives the name, else the address without "mailto:".
func person(name, address string) string {
	if name != "" {
		return name
	}
	if len(address) > 7 && strings.EqualFold(address[:7], "mailto:") {
		address = address[7:]
	}
	return address
}

// clean writes the event that gocal reads.
func clean(lines []string) string {
	var b strings.Builder
	b.WriteString("BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTAMP:20000101T000000Z\nDTSTART:20000101T000000Z\nDTEND:20000101T010000Z\n")
	for _, line := range lines {
		p, ok := ical.Cut(line)
		if !ok {
			continue
		}
		value := plain(p.Value)
		switch p.Name {
		case "LOCATION":
			if value != "" {
				b.WriteString("LOCATION:" + value + "\n")
			}
		case "ATTENDEE":
			b.WriteString("ATTENDEE")
			if cn := parameter(p.Param("CN")); cn != "" {
				b.WriteString(";CN=" + cn)
			}
			if strings.EqualFold(p.Param("PARTSTAT"), "DECLINED") {
				b.WriteString(";PARTSTAT=DECLINED")
			}
			b.WriteString(":" + value + "\n")
		}
	}
	b.WriteString("END:VEVENT\nEND:VCALENDAR\n")
	return b.String()
}

// plain gives a value without escapes, as gocal reads it back: a backslash is
// the only thing that it still takes for one.
func plain(value string) string {
	text := ical.Text(value)
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "")
	}
	return strings.ReplaceAll(text, `\`, `\\`)
}

// parameter gives a parameter without the signs at which gocal cuts, quoted or
// not.
func parameter(text string) string {
	return strings.TrimSpace(strings.NewReplacer(";", ",", "=", " ", ":", " ", `"`, "'", `\`, "/").Replace(plain(text)))
}
