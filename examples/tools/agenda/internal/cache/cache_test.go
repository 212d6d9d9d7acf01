// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/examples/tools/agenda/internal/ical"
	"example.org/desktop-assistant/examples/tools/agenda/internal/vdir"
	"example.org/desktop-assistant/examples/tools/agenda/internal/zone"
)

func events() []ical.Event {
	return []ical.Event{
		{UID: "1", Summary: "a", Start: ical.Time{Form: ical.Date, Wall: -86400}, Length: &ical.Length{Days: 2, Seconds: -1}, Index: 3},
		{
			UID: strings.Repeat("u", 300), Override: true, Future: true, Cancelled: true, Sequence: -4, Modified: 1 << 40,
			Start: ical.Time{Form: ical.Zoned, Wall: 1, Zone: "Europe/Rome"}, End: ical.Time{Form: ical.UTC, Wall: 2}, ID: ical.Time{Form: ical.Floating, Wall: 3},
			Rules: []string{"FREQ=DAILY", ""}, ExRules: []string{"x"},
			Dates:   []ical.Period{{Start: ical.Time{Form: ical.UTC, Wall: 5}, Length: &ical.Length{Days: 1}}, {Start: ical.Time{Form: ical.Date}, End: ical.Time{Form: ical.Date, Wall: 9}}},
			ExDates: []ical.Time{{Form: ical.Date, Wall: 7}, {}},
		},
	}
}

func sample() ical.File {
	return ical.File{
		Zones:    map[string][]zone.Observance{"Own": {{Start: 1, From: 2, To: -3, Rule: "r", Dates: []int64{4, 5}}, {}}, "Other": {{To: 1}}},
		Problems: []string{"line 1: cannot be read"},
	}
}

func heads(e *ical.Event) Head { return Head{First: -5, Last: 7, UID: Hash(e.UID)} }

func packed() Record {
	var p Packer
	for i := range 2 { // it can be used again
		p.Record(ical.File{})
		for _, e := range events()[i:] {
			p.Add(&e, heads(&e))
		}
	}
	p.Record(ical.File{})
	for _, e := range events() {
		p.Add(&e, heads(&e))
	}
	return p.Record(sample())
}

func TestRecord(t *testing.T) {
	want, list := sample(), events()
	r := packed()
	if !r.Sound() || r.Events() != 2 {
		t.Fatalf("record of %d events, sound: %v", r.Events(), r.Sound())
	}
	for i := range list {
		if got, err := r.Event(i); err != nil || !reflect.DeepEqual(got, list[i]) {
			t.Errorf("event %d is %+v, %v, want %+v", i, got, err, list[i])
		}
		if got := r.Head(i); got != heads(&list[i]) {
			t.Errorf("head %d is %+v", i, got)
		}
	}
	problems, zones, err := r.Rest()
	if err != nil || !reflect.DeepEqual(problems, want.Problems) || !reflect.DeepEqual(zones, want.Zones) {
		t.Errorf("rest is %v, %v, %v", problems, zones, err)
	}
	var none Record
	if _, _, err := none.Rest(); err != nil || none.Events() != 0 || !none.Sound() {
		t.Errorf("the zero record has %d events, %v", none.Events(), err)
	}
}

func entries() []Entry {
	return []Entry{{"/a.ics", vdir.Stat{Device: 1, Inode: 2, Size: 3, Modified: -4, Moved: 5}, packed()}, {Path: "/b.ics"}}
}

func TestBook(t *testing.T) {
	file := File(filepath.Join(t.TempDir(), "new/folder"), "/calendars")
	if err := Write(file, entries(), 7); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(file, 7); err != nil || !reflect.DeepEqual(got, entries()) {
		t.Errorf("read %+v, %v", got, err)
	}
	if _, err := Read(file, 8); err != ErrBook {
		t.Errorf("a book of another program: %v", err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data { // every byte matters
		bad := bytes.Clone(data)
		bad[i] ^= 0x20
		if _, err := Decode(bad, 7); err == nil {
			t.Errorf("byte %d may be any", i)
		}
		if _, err := Decode(data[:i], 7); err == nil {
			t.Errorf("the first %d bytes are a book", i)
		}
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may look into it: %v, %v", info, err)
	}
}

func TestTidy(t *testing.T) {
	dir := t.TempDir()
	past := time.Now().Add(-2 * leftovers)
	for i := range 12 {
		file := File(dir, string(rune('a'+i)))
		if err := Write(file, nil, 1); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, past, past.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	for name, at := range map[string]time.Time{"old.part": past, "new.part": time.Now()} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(File(dir, "a"), nil, 1); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(dir + "/*")
	if err != nil || len(found) != mostBooks+1 {
		t.Errorf("%d files are left: %v, %v", len(found), found, err)
	}
	for _, name := range []string{File(dir, "a"), File(dir, "l"), filepath.Join(dir, "new.part")} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

// FuzzDecode: damage is told, and what passes can be read to its end.
func FuzzDecode(f *testing.F) {
	whole := Encode(entries(), 7)
	f.Add(whole[fixedSize:])
	f.Add([]byte{1, 1, 'a', 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 8, 0, 0, 0})
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := Decode(body, 7); err == nil && !bytes.HasPrefix(body, []byte(magic)) {
			t.Fatal("a book without its head")
		}
		book := append(make([]byte, fixedSize), body...)
		seal(book, 7)
		list, err := Decode(book, 7)
		if err != nil {
			return
		}
		hashes := uint64(0) // heads are only to be read
		for _, e := range list {
			for i := range e.Record.Events() {
				hashes ^= e.Record.Head(i).UID
				if _, err := e.Record.Event(i); err != nil && err != ErrRecord {
					t.Fatal(err)
				}
			}
			if _, _, err := e.Record.Rest(); err != nil && err != ErrRecord {
				t.Fatal(err)
			}
		}
	})
}
