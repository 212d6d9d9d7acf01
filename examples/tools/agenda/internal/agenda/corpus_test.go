// SPDX-License-Identifier: Apache-2.0

package agenda

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// corpus makes the calendars of a family over ten years around a day: single
// events and days, birthdays, series with exceptions and moved occurrences, in
// several zones and with texts that an agenda does not need. The same seed makes
// the same bytes.
type corpus struct {
	*rand.Rand
	today time.Time
	n     int
}

var (
	corpusZones = []string{"Europe/Rome", "Europe/Rome", "Europe/Rome", "Europe/Rome", "America/New_York", "Europe/London", "W. Europe Standard Time", "UTC", ""}
	corpusWords = strings.Fields("budget call choir coffee dentist demo doctor garden lunch match parents party piano plan report review school train trip yoga")
	corpusNames = strings.Fields("Ada Bruno Carla Dario Elsa Fabio Gina Hugo Irma Luca")
)

const corpusDay = "2026-09-01"

func newCorpus() *corpus {
	today, _ := time.Parse(time.DateOnly, corpusDay) // a constant
	return &corpus{Rand: rand.New(rand.NewPCG(1, 2)), today: today}
}

func pick(c *corpus, list []string) string { return list[c.IntN(len(list))] }

func fold(line string) string {
	var b strings.Builder
	for len(line) > 75 {
		b.WriteString(line[:75] + "\r\n ")
		line = line[75:]
	}
	return b.String() + line + "\r\n"
}

// texts are what no agenda needs, and is most of a file.
func (c *corpus) texts() (lines []string) {
	if c.IntN(10) < 6 {
		lines = append(lines, "DESCRIPTION:"+strings.Repeat(pick(c, corpusWords)+" "+pick(c, corpusWords)+`\, `, 3+c.IntN(40))+`end\n`)
	}
	if c.IntN(2) == 0 {
		lines = append(lines, "LOCATION:"+pick(c, corpusWords)+fmt.Sprintf(" street %d", c.IntN(99)))
	}
	for range max(0, c.IntN(12)-6) {
		who := pick(c, corpusNames)
		lines = append(lines, fmt.Sprintf(`ATTENDEE;CN="%s, %s";CUTYPE=INDIVIDUAL;PARTSTAT=ACCEPTED;ROLE=REQ-PARTICIPANT:mailto:%s@example.org`, who, pick(c, corpusNames), strings.ToLower(who)))
	}
	lines = append(lines, "STATUS:CONFIRMED", fmt.Sprintf("SEQUENCE:%d", c.IntN(4)), "TRANSP:OPAQUE")
	if c.IntN(5) < 2 {
		lines = append(lines, "BEGIN:VALARM", "ACTION:DISPLAY", "TRIGGER:-PT15M", "DESCRIPTION:Reminder", "END:VALARM")
	}
	return lines
}

// next makes one event with its overrides.
func (c *corpus) next() (text, uid string) {
	c.n++
	uid = fmt.Sprintf("%08x-%d@example.org", c.Uint32(), c.n)
	title := fmt.Sprintf("SUMMARY:%s %s %s", pick(c, corpusWords), pick(c, corpusWords), pick(c, corpusNames))
	head := []string{"BEGIN:VEVENT", "UID:" + uid, "DTSTAMP:20260101T000000Z", "CREATED:20200101T000000Z", "LAST-MODIFIED:20260101T000000Z"}
	tail := append(append([]string{title}, c.texts()...), "END:VEVENT")
	day := c.today.AddDate(0, 0, c.IntN(3830)-3650)
	join := func(parts ...[]string) string {
		var b strings.Builder
		for _, line := range slices.Concat(parts...) {
			b.WriteString(fold(line))
		}
		return b.String()
	}
	switch kind := c.IntN(100); {
	case kind < 12:
		return join(head, []string{"DTSTART;VALUE=DATE:" + day.Format("20060102"), "DTEND;VALUE=DATE:" + day.AddDate(0, 0, 1+c.IntN(3)).Format("20060102")}, tail), uid
	case kind < 19:
		born := time.Date(1940+c.IntN(80), day.Month(), min(day.Day(), 28), 0, 0, 0, 0, time.UTC)
		return join(head, []string{"DTSTART;VALUE=DATE:" + born.Format("20060102"), "DURATION:P1D", "RRULE:FREQ=YEARLY"}, tail), uid
	case kind < 74:
		start := day.Add(time.Duration(28+c.IntN(60)) * 15 * time.Minute)
		times, _ := c.times(start, time.Duration(1+c.IntN(10))*15*time.Minute)
		return join(head, times, tail), uid
	}
	return c.series(head, tail, day, join), uid
}

// times gives DTSTART and DTEND in some zone, and how others are written there.
func (c *corpus) times(start time.Time, length time.Duration) (lines []string, stamp func(name string, t time.Time) string) {
	zone := pick(c, corpusZones)
	params, z := "", ""
	switch zone {
	case "":
	case "UTC":
		z = "Z"
	default:
		params = ";TZID=" + zone
	}
	stamp = func(name string, t time.Time) string { return name + params + ":" + t.Format("20060102T150405") + z }
	return []string{stamp("DTSTART", start), stamp("DTEND", start.Add(length))}, stamp
}

func (c *corpus) series(head, tail []string, day time.Time, join func(...[]string) string) string {
	start := day.Add(time.Duration(28+c.IntN(60)) * 15 * time.Minute)
	length := time.Duration(1+c.IntN(10)) * 15 * time.Minute
	times, stamp := c.times(start, length)
	weekday := strings.ToUpper(start.Weekday().String()[:2])
	nth := min((start.Day()-1)/7+1, 4)
	if (start.Day()-1)/7 == 4 {
		nth = -1
	}
	rule := []string{"FREQ=WEEKLY", "FREQ=WEEKLY;INTERVAL=2", "FREQ=WEEKLY;BYDAY=" + weekday, "FREQ=DAILY", fmt.Sprintf("FREQ=MONTHLY;BYDAY=%d%s", nth, weekday)}[c.IntN(5)]
	bound := ""
	switch c.IntN(20) {
	case 0:
	case 1, 2, 3, 4:
		bound = fmt.Sprintf(";COUNT=%d", 3+c.IntN(77))
	default:
		bound = ";UNTIL=" + start.AddDate(0, 0, 30+c.IntN(870)).Format("20060102T150405Z")
	}
	body := append(times, "RRULE:"+rule+bound)
	step := 7
	switch {
	case strings.HasPrefix(rule, "FREQ=DAILY"):
		step = 1
	case strings.Contains(rule, "INTERVAL"):
		step = 14
	case strings.HasPrefix(rule, "FREQ=MONTHLY"):
		return join(head, body, tail)
	}
	moved := ""
	for k := 1; k < 40; k += 1 + c.IntN(20) {
		at := start.AddDate(0, 0, step*k)
		if c.IntN(2) == 0 {
			body = append(body, stamp("EXDATE", at))
			continue
		}
		to := at.Add(time.Duration(c.IntN(5)-1) * time.Hour)
		moved += join(head, []string{stamp("RECURRENCE-ID", at), stamp("DTSTART", to), stamp("DTEND", to.Add(length)), tail[0] + " (moved)", "END:VEVENT"})
	}
	return join(head, body, tail) + moved
}

const corpusHead = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//corpus//EN\r\n"

// writeMany writes a corpus of a file an event, in four calendars.
func writeMany(b *testing.B, dir string, files int) {
	b.Helper()
	c := newCorpus()
	for i := range files {
		text, uid := c.next()
		folder := filepath.Join(dir, []string{"family", "personal", "school", "work"}[i%4])
		if i < 4 {
			if err := os.Mkdir(folder, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(folder, uid+".ics"), []byte(corpusHead+text+"END:VCALENDAR\r\n"), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// writeOne writes a corpus of one file of at least so many bytes. It does so
// bit by bit: what this process ever took would count as memory of those that
// it starts.
func writeOne(b *testing.B, dir string, size int) {
	b.Helper()
	f, err := os.Create(filepath.Join(dir, "archive.ics"))
	if err != nil {
		b.Fatal(err)
	}
	c := newCorpus()
	for _, err = f.WriteString(corpusHead); size > 0 && err == nil; {
		event, _ := c.next()
		size -= len(event)
		_, err = f.WriteString(event)
	}
	if err == nil {
		_, err = f.WriteString("END:VCALENDAR\r\n")
	}
	if err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}
