// SPDX-License-Identifier: Apache-2.0

// Package clock counts on wall clocks.
//
// A wall time is an int64: the seconds from 1970-01-01 00:00:00 to what a clock
// on the wall shows, as if every day had 86400 of them. An instant is an int64
// too: Unix seconds. Package zone leads from one to the other.
package clock

import (
	"strings"
	"time"
)

// Day is the length of a day on the wall, in seconds.
const Day = 86400

// DayOf gives the day of a wall time, counted from 1970-01-01, also for times
// before that day.
func DayOf(wall int64) int64 { return Floor(wall, Day) }

// Floor divides and rounds down.
func Floor(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// Civil gives the date of a day counted from 1970-01-01.
func Civil(day int64) (year int, month time.Month, dayOfMonth int) {
	return time.Unix(day*Day, 0).UTC().Date()
}

// DayNumber counts a date in days from 1970-01-01; the month and the day of the
// month may lie outside their ranges, as in time.Date.
func DayNumber(year int, month time.Month, day int) int64 {
	return Floor(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix(), Day)
}

// Weekday gives the day of the week of a day: 0 is Monday.
func Weekday(day int64) int { return int(((day+3)%7 + 7) % 7) }

// A Reading is a DATE or DATE-TIME of RFC 5545 (3.3.4, 3.3.5) without its zone.
type Reading struct {
	Wall int64
	Date bool // only a day was given, Wall is its midnight
	UTC  bool // it ended in Z
}

// Parse reads YYYYMMDD, YYYYMMDDTHHMMSS and YYYYMMDDTHHMMSSZ. Blanks around it
// and small letters are let pass, 24:00:00 is the next midnight, and second 60
// is read as 59 (RFC 5545, 3.3.12). ok is false for anything else.
func Parse(text string) (r Reading, ok bool) {
	text = strings.TrimSpace(text)
	if n := len(text); n != 8 && n != 15 && n != 16 {
		return r, false
	}
	year, ok1 := digits(text[:4])
	month, ok2 := digits(text[4:6])
	day, ok3 := digits(text[6:8])
	if !ok1 || !ok2 || !ok3 || year < 1 || month < 1 || month > 12 || day < 1 || day > monthLength(year, month) {
		return r, false
	}
	r = Reading{Wall: DayNumber(year, time.Month(month), day) * Day, Date: len(text) == 8}
	if r.Date {
		return r, true
	}
	seconds, ok := timeOfDay(text[8:15])
	if !ok || len(text) == 16 && text[15] != 'Z' && text[15] != 'z' {
		return r, false
	}
	r.Wall += seconds
	r.UTC = len(text) == 16
	return r, true
}

func timeOfDay(text string) (seconds int64, ok bool) {
	hour, ok1 := digits(text[1:3])
	minute, ok2 := digits(text[3:5])
	second, ok3 := digits(text[5:7])
	if text[0] != 'T' && text[0] != 't' || !ok1 || !ok2 || !ok3 || minute > 59 || second > 60 {
		return 0, false
	}
	if hour > 24 || hour == 24 && (minute > 0 || second > 0) {
		return 0, false
	}
	return int64(hour*3600 + minute*60 + min(second, 59)), true
}

func monthLength(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func digits(text string) (n int, ok bool) {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = n*10 + int(text[i]-'0')
	}
	return n, true
}
