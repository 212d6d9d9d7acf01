// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"example.org/desktop-assistant/examples/tools/agenda/internal/clock"
)

// TestWindows: every name of the table leads to a zone that there is.
func TestWindows(t *testing.T) {
	if len(windows) != 139 {
		t.Errorf("%d names", len(windows))
	}
	var table Table
	for name := range windows {
		if table.Named(name) == nil {
			t.Errorf("%q leads to %q, which is not known", name, windows[name])
		}
	}
}

// TestInstants compares with time.Date wherever the clock shows a time once.
func TestInstants(t *testing.T) {
	for _, name := range []string{"Europe/Rome", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca", "Pacific/Apia", "Europe/Dublin"} {
		place, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		z := In(place)
		for wall := clock.DayNumber(2010, 1, 1) * clock.Day; wall < clock.DayNumber(2014, 1, 1)*clock.Day; wall += 1800 {
			at := time.Unix(wall, 0).UTC()
			want := time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), 0, place)
			got := z.Instant(wall)
			exists := want.Format(time.DateTime) == at.Format(time.DateTime)
			if exists && got > want.Unix() || exists && z.Wall(got) != wall || !exists && z.Wall(got) <= wall {
				t.Fatalf("%s %v: %v, time.Date has %v", name, at, time.Unix(got, 0).In(place), want)
			}
		}
	}
}

// TestCustom: a VTIMEZONE with the rules of Rome is Rome.
func TestCustom(t *testing.T) {
	rome, err := time.LoadLocation("Europe/Rome")
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []int{1, 1601, 1996} {
		c := NewCustom([]Observance{
			{Start: clock.DayNumber(from, 3, 28)*clock.Day + 7200, From: 3600, To: 7200, Rule: "FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU"},
			{Start: clock.DayNumber(from, 10, 28)*clock.Day + 10800, From: 7200, To: 3600, Rule: "FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU"},
		}).Zone()
		for at := time.Date(1997, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2040; at = at.Add(37 * time.Hour) {
			if _, want := at.In(rome).Zone(); c.Offset(at.Unix()) != int64(want) {
				t.Fatalf("from %d: %v has %d, want %d", from, at, c.Offset(at.Unix()), want)
			}
		}
	}
}

// TestManyNames: looking for names that are none has an end.
func TestManyNames(t *testing.T) {
	var table Table
	var readers sync.WaitGroup
	for i := range 4 {
		readers.Go(func() {
			for n := range 3 * mostNames {
				if table.Named(fmt.Sprintf("Nowhere/%d-%d", i, n)) != nil || table.Implied(fmt.Sprint("Nowhere", n)) != nil {
					t.Error("a zone of nowhere")
				}
			}
		})
	}
	readers.Wait()
	if len(table.named) > mostNames || len(table.implied) > mostNames {
		t.Errorf("%d and %d names are remembered", len(table.named), len(table.implied))
	}
}
