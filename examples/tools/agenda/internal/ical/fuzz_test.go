// SPDX-License-Identifier: Apache-2.0

package ical

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// cases are the calendars of the handed cases.
func cases(t testing.TB) (list [][]byte) {
	paths, err := filepath.Glob("../agenda/testdata/cases/*/cal/*.ics")
	if err != nil || len(paths) < 40 {
		t.Fatalf("%d calendars of the cases, %v", len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, data)
	}
	return list
}

// readAll reads a file whole.
func readAll(from io.Reader) (events []Event, f File, err error) {
	var r Reader
	f, err = r.Read(from, func(id string) bool { return id == "Europe/Rome" }, func(e *Event) { events = append(events, *e) })
	return events, f, err
}

// FuzzRead: whatever the bytes are, reading ends, gives no more than went in,
// and the same when the bytes come one by one.
func FuzzRead(f *testing.F) {
	for _, data := range cases(f) {
		f.Add(data)
	}
	f.Add([]byte("\xff\xfeB\x00E\x00G\x00I\x00N\x00:\x00V\x00E\x00V\x00E\x00N\x00T\x00\n\x00"))
	f.Add([]byte("BEGIN:VEVENT\rDTSTART:20260302\rSUMMARY:caf\xe9\\n\rEND:VEVENT\r"))
	f.Add([]byte("BEGIN:VEVENT\nBEGIN:VALARM\nDTSTART;TZID=\"a:20260302T101010\nRDATE;VALUE=PERIOD:20260302/P1W,x\nEND:VEVENT\nEND:VEVENT\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, got, err := readAll(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, e := range events {
			size += len(e.Summary) + len(e.UID)
			if !utf8.ValidString(e.Summary) || strings.ContainsAny(e.Summary, "\n\r\x1b\x00") {
				t.Fatalf("summary %q cannot be shown", e.Summary)
			}
		}
		if size > 4*len(data)+16 || len(got.Problems) > mostProblems+1 {
			t.Fatalf("%d bytes of text out of %d, %d problems", size, len(data), len(got.Problems))
		}
		again, slow, err := readAll(iotest.OneByteReader(bytes.NewReader(data)))
		if err != nil || len(again) != len(events) || strings.Join(slow.Problems, ";") != strings.Join(got.Problems, ";") {
			t.Fatalf("byte by byte: %d events and %q, at once %d and %q; %v", len(again), slow.Problems, len(events), got.Problems, err)
		}
		for i := range again {
			if again[i].Summary != events[i].Summary || again[i].Start != events[i].Start {
				t.Fatalf("byte by byte event %d is %+v, at once %+v", i, again[i], events[i])
			}
		}
	})
}

func FuzzValues(f *testing.F) {
	for _, text := range []string{"P1W", "-P1DT2H3M4S", "PT", "P1D2H", "+0100", "-023020", "9999999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if l, ok := ParseLength(text); ok && (l.Days > 10*longestLength || l.Days < -10*longestLength) {
			t.Fatalf("%q is %+v", text, l)
		}
		if s, ok := ParseOffset(text); ok && (s > 90000 || s < -90000) {
			t.Fatalf("%q is %d", text, s)
		}
		if shown := Text(text); strings.ContainsAny(shown, "\n\r") {
			t.Fatalf("%q is shown as %q", text, shown)
		}
	})
}

func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", 3*longest)
	text := "BEGIN:VEVENT\nDTSTART:20260302\nDESCRIPTION:" + long + "\n SUMMARY:no\nATTACH:" + strings.Repeat("y\n ", longest) + "\nSUMMARY:yes\nEND:VEVENT\n" +
		"BEGIN:VEVENT\nDTSTART:20260302\nSUMMARY:" + long + "\nEND:VEVENT\nBEGIN:VEVENT\nDTSTART:20260302\nSUMMARY:" + strings.Repeat("z\n ", 2*longest) + "\nEND:VEVENT\n"
	for _, from := range []io.Reader{strings.NewReader(text), iotest.HalfReader(strings.NewReader(text))} {
		var r Reader
		var events []Event
		f, err := r.Read(from, func(string) bool { return false }, func(e *Event) { events = append(events, *e) })
		if err != nil || len(events) != 3 || events[0].Summary != "yes" || len(events[1].Summary) > longest || len(events[2].Summary) > longest {
			t.Fatalf("%d events, %v, %v", len(events), f.Problems, err)
		}
		if cap(r.lines.buf) > 8*longest {
			t.Errorf("the buffer has %d bytes", cap(r.lines.buf))
		}
	}
}

func TestBrokenReading(t *testing.T) {
	text := "BEGIN:VEVENT\nDTSTART:20260302\nEND:VEVENT\nBEGIN:VEVENT\n"
	events, _, err := readAll(io.MultiReader(strings.NewReader(text), iotest.ErrReader(io.ErrClosedPipe)))
	if err != io.ErrClosedPipe || len(events) != 1 {
		t.Errorf("%d events, error %v", len(events), err)
	}
}
