// SPDX-License-Identifier: Apache-2.0

package clock

import (
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"20260302":         "2026-03-02 00:00:00 date",
		"20260302T101112":  "2026-03-02 10:11:12",
		"20260302T101112Z": "2026-03-02 10:11:12 utc",
		" 20260302t1011 ":  "",
		"20260302t101112z": "2026-03-02 10:11:12 utc",
		"20260302T240000":  "2026-03-03 00:00:00",
		"20260302T240001":  "",
		"20260302T235960Z": "2026-03-02 23:59:59 utc",
		"20260302T236000":  "",
		"20240229":         "2024-02-29 00:00:00 date",
		"20260229":         "",
		"20261301":         "",
		"00010101":         "0001-01-01 00:00:00 date",
		"00000101":         "",
		"99991231T235959":  "9999-12-31 23:59:59",
		"2026-03-02":       "",
		"20260302 101112":  "",
		"20260302T101112X": "",
		"+2026030":         "",
		"":                 "",
	} {
		r, ok := Parse(text)
		got := ""
		if ok {
			got = time.Unix(r.Wall, 0).UTC().Format(time.DateTime)
			if r.Date {
				got += " date"
			}
			if r.UTC {
				got += " utc"
			}
		}
		if got != want {
			t.Errorf("Parse(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestDays(t *testing.T) {
	for day := int64(-800_000); day < 3_000_000; day += 997 {
		y, m, d := Civil(day)
		if back := DayNumber(y, m, d); back != day {
			t.Fatalf("day %d is %d-%d-%d, which is day %d", day, y, m, d, back)
		}
		if want := int(time.Unix(day*Day, 0).UTC().Weekday()+6) % 7; Weekday(day) != want {
			t.Fatalf("day %d: weekday %d, want %d", day, Weekday(day), want)
		}
		if DayOf(day*Day) != day || DayOf(day*Day+Day-1) != day {
			t.Fatalf("day %d does not hold its seconds", day)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("20260302T101112Z")
	f.Add("20260229")
	f.Fuzz(func(t *testing.T, text string) {
		if r, ok := Parse(text); ok {
			if y, _, _ := Civil(DayOf(r.Wall)); y < 1 || y > 10000 {
				t.Fatalf("Parse(%q) is in the year %d", text, y)
			}
		}
	})
}
