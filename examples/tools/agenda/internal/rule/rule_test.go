// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"errors"
	"strings"
	"testing"

	"example.org/desktop-assistant/examples/tools/agenda/internal/clock"
)

// TestLast: no date lies behind the last one that a rule promises.
func TestLast(t *testing.T) {
	start := clock.DayNumber(2020, 1, 28) * clock.Day
	for _, text := range []string{
		"FREQ=DAILY;COUNT=10", "FREQ=DAILY;INTERVAL=3;COUNT=10", "FREQ=WEEKLY;COUNT=10;BYDAY=MO", "FREQ=WEEKLY;INTERVAL=2;COUNT=3;WKST=SU;BYDAY=SU",
		"FREQ=MONTHLY;COUNT=30", "FREQ=MONTHLY;COUNT=30;BYDAY=-1MO", "FREQ=YEARLY;COUNT=9;INTERVAL=2", "FREQ=MONTHLY;UNTIL=20210101",
	} {
		r, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		last, bounded := r.Last(start)
		if !bounded {
			t.Errorf("%s: no last date", text)
		}
		to := start + 50*366*clock.Day
		if r.Until != nil {
			to = r.Until.Wall
		}
		if err := r.Each(start, false, start, to, &Budget{1 << 30}, func(wall int64) bool {
			if wall > last {
				t.Errorf("%s: %s is later than the last, %s", text, show(wall), show(last))
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"FREQ=DAILY", "FREQ=MONTHLY;BYDAY=5MO;COUNT=3", "FREQ=DAILY;BYDAY=MO;COUNT=3", "FREQ=HOURLY;COUNT=3", "FREQ=YEARLY;BYSETPOS=1;COUNT=2"} {
		r, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, bounded := r.Last(start); bounded {
			t.Errorf("%s: has a last date", text)
		}
	}
}

// TestBudget: a rule that takes too long is left, and says so.
func TestBudget(t *testing.T) {
	start := clock.DayNumber(1, 1, 1) * clock.Day
	to := clock.DayNumber(2026, 1, 1) * clock.Day
	for _, text := range []string{"FREQ=SECONDLY;COUNT=900000000;BYSECOND=1,2,3", "FREQ=DAILY;COUNT=900000000", "FREQ=MINUTELY;BYSETPOS=9;COUNT=4"} {
		r, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		b := Budget{1_000_000}
		if err := r.Each(start, false, to, to+clock.Day, &b, func(int64) bool { return true }); !errors.Is(err, ErrBudget) {
			t.Errorf("%s: error %v with %d left, want %v", text, err, b.Left, ErrBudget)
		}
	}
}

// TestNever: what has no date is given up soon, in any century.
func TestNever(t *testing.T) {
	for _, year := range []int{1, 1604, 1970, 2026, 2200, 9998} {
		for _, text := range []string{
			"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=MONTHLY;BYMONTHDAY=31;BYMONTH=2,4", "FREQ=YEARLY;BYYEARDAY=366;BYMONTHDAY=1",
			"FREQ=DAILY;BYMONTH=2;BYMONTHDAY=-31", "FREQ=WEEKLY;BYSETPOS=300;BYDAY=MO,TU", "FREQ=HOURLY;INTERVAL=24;BYHOUR=5", "FREQ=YEARLY;BYWEEKNO=53;BYMONTH=6",
		} {
			r, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			start := clock.DayNumber(year, 1, 10) * clock.Day
			b := Budget{100_000}
			if err := r.Each(start, false, start, start+400*clock.Day, &b, func(wall int64) bool {
				t.Errorf("%s has a date: %s", text, show(wall))
				return false
			}); err != nil {
				t.Errorf("%s in %d: %v", text, year, err)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=MONTHLY;BYDAY=MO,TU,-1FR;BYSETPOS=-1;COUNT=3", "FREQ=SECONDLY;INTERVAL=7;BYHOUR=5",
		"FREQ=YEARLY;BYWEEKNO=53,-1;WKST=SU", "FREQ=WEEKLY;INTERVAL=999999999", "RSCALE=GREGORIAN;FREQ=YEARLY;SKIP=FORWARD;UNTIL=20260101T000000Z",
		"RRULE:freq=daily; count = 5 ;BYDAY=53MO,-53SU;", "FREQ=YEARLY;BYYEARDAY=366,-366;BYMONTH=12",
	} {
		f.Add(text, int64(0), int64(20000))
		f.Add(text, int64(-700000), int64(-600000))
		f.Add(text, int64(20500), int64(20512))
	}
	f.Fuzz(func(t *testing.T, text string, startDay, fromDay int64) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		const first, last = -719162, 2932896 // 0001-01-01, 9999-12-31
		if startDay < first || startDay > last || fromDay < first || fromDay > last {
			return
		}
		start, from := startDay*clock.Day+3600, fromDay*clock.Day
		before, n := int64(-1<<62), 0
		err = r.Each(start, len(text)%2 == 0, from, from+40*clock.Day, &Budget{300_000}, func(wall int64) bool {
			if wall <= before || wall < from || wall > from+40*clock.Day || wall < start-clock.Day {
				t.Fatalf("%s gives %s after %s", text, show(wall), show(before))
			}
			before = wall
			n++
			return n < 10_000
		})
		if err != nil && !errors.Is(err, ErrBudget) && !strings.Contains(err.Error(), "bysetpos") {
			t.Fatalf("%s: %v", text, err)
		}
	})
}
