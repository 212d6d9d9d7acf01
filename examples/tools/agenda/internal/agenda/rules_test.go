// SPDX-License-Identifier: Apache-2.0

package agenda

import (
	"os"
	"strings"
	"testing"
)

// repeating makes an event of an hour in Rome.
func repeating(start, rule string, more ...string) string {
	return event(append([]string{"UID:" + rule, "DTSTART;TZID=Europe/Rome:" + start, "DURATION:PT1H", "RRULE:" + rule, "SUMMARY:x"}, more...)...)
}

func TestRules(t *testing.T) {
	runOwn(t, []own{
		{"weekdays only", "2026-03-05 5 Europe/Rome", one(repeating("20260302T090000", "FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR")),
			"2026-03-05 09:00 x\n2026-03-06 09:00 x\n2026-03-09 09:00 x", nil},
		{"last working day", "2026-01-01 120 Europe/Rome", one(repeating("20260130T170000", "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1")),
			"2026-01-30 17:00 x\n2026-02-27 17:00 x\n2026-03-31 17:00 x\n2026-04-30 17:00 x", nil},
		{"first and third", "2026-03-01 31 Europe/Rome", one(repeating("20260302T090000", "FREQ=MONTHLY;BYDAY=1MO,3MO")),
			"2026-03-02 09:00 x\n2026-03-16 09:00 x", nil},
		{"fifth Friday only where there is one", "2026-01-01 200 Europe/Rome", one(repeating("20260130T090000", "FREQ=MONTHLY;BYDAY=5FR")),
			"2026-01-30 09:00 x\n2026-05-29 09:00 x", nil},
		{"plain and numbered weekday", "2026-03-01 14 Europe/Rome", one(repeating("20260302T090000", "FREQ=MONTHLY;BYDAY=MO,1TU")),
			"2026-03-02 09:00 x\n2026-03-03 09:00 x\n2026-03-09 09:00 x", nil},
		{"the 31st", "2026-01-01 150 Europe/Rome", one(repeating("20260131T090000", "FREQ=MONTHLY")),
			"2026-01-31 09:00 x\n2026-03-31 09:00 x", nil},
		{"last day of the month", "2026-01-01 90 Europe/Rome", one(repeating("20260131T090000", "FREQ=MONTHLY;BYMONTHDAY=-1")),
			"2026-01-31 09:00 x\n2026-02-28 09:00 x\n2026-03-31 09:00 x", nil},
		{"Friday the 13th", "2026-01-01 365 Europe/Rome", one(repeating("20260213T090000", "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13")),
			"2026-02-13 09:00 x\n2026-03-13 09:00 x\n2026-11-13 09:00 x", nil},
		{"eleven is not one", "2026-01-01 365 Europe/Rome", one(repeating("20251103T090000", "FREQ=YEARLY;BYMONTH=11;BYMONTHDAY=3")),
			"2026-11-03 09:00 x", nil},
		{"every other year", "2027-01-01 800 Europe/Rome", one(repeating("20260304T090000", "FREQ=YEARLY;INTERVAL=2")),
			"2028-03-04 09:00 x", nil},
		{"week number with a day", "2026-12-28 400 Europe/Rome", one(repeating("20261228T090000", "FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO")),
			"2026-12-28 09:00 x", nil},
		{"times of the day", "2026-03-03 1 Europe/Rome", one(repeating("20260302T090000", "FREQ=DAILY;BYHOUR=9,17;BYMINUTE=0,30")),
			"2026-03-03 09:00 x\n2026-03-03 09:30 x\n2026-03-03 17:00 x\n2026-03-03 17:30 x", nil},
		{"doubled values", "2026-03-03 1 Europe/Rome", one(repeating("20260302T090000", "FREQ=DAILY;BYHOUR=9,9;BYDAY=TU,TU,MO")),
			"2026-03-03 09:00 x", nil},
		{"hourly", "2026-03-03 1 Europe/Rome", one(repeating("20150101T003000", "FREQ=HOURLY;INTERVAL=6")),
			"2026-03-03 00:30 x\n2026-03-03 06:30 x\n2026-03-03 12:30 x\n2026-03-03 18:30 x", nil},
		{"hourly over the clock change", "2026-03-29 1 Europe/Rome", one(repeating("20260329T000000", "FREQ=HOURLY;COUNT=4")),
			"2026-03-29 00:00 x\n2026-03-29 01:00 x\n2026-03-29 03:00 x", nil},
		{"secondly, counted in advance", "2026-03-03 1 Europe/Rome", one(repeating("20260303T000000", "FREQ=SECONDLY;INTERVAL=3600;COUNT=2")),
			"2026-03-03 00:00 x\n2026-03-03 01:00 x", nil},
		{"every second of years, on one", "2026-03-03 1 Europe/Rome", one(repeating("20000101T000000", "FREQ=SECONDLY;BYHOUR=23;BYMINUTE=59;BYSECOND=58")),
			"2026-03-03 until 00:59 x\n2026-03-03 23:59 x", nil},
		{"a count of millions", "2026-03-03 1 Europe/Rome", one(repeating("20000101T090000", "FREQ=DAILY;COUNT=20000000")),
			"2026-03-03 09:00 x", nil},
		{"count at its end", "2026-03-01 31 Europe/Rome", one(repeating("20260301T090000", "FREQ=WEEKLY;COUNT=2;BYDAY=SU,MO")),
			"2026-03-01 09:00 x\n2026-03-02 09:00 x", nil},
		{"minutes of days that never come", "2026-03-03 1 Europe/Rome", one(
			repeating("20200101T000000", "FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30"),
			repeating("20200101T000000", "FREQ=SECONDLY;COUNT=3;BYMONTH=4;BYMONTHDAY=31"),
			repeating("20200131T000000", "FREQ=YEARLY;COUNT=3;BYMONTH=2"),
			repeating("20200101T000000", "FREQ=MONTHLY;BYDAY=53MO"),
			repeating("20200101T000000", "FREQ=YEARLY;BYYEARDAY=366;BYMONTH=1"),
			repeating("20200101T000000", "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=300")), "no events", nil},
		{"no year known", "2026-06-01 10 Europe/Rome", one(event("UID:1", "DTSTART;VALUE=DATE:16040605", "RRULE:FREQ=YEARLY", "SUMMARY:Ada")),
			"2026-06-05 all day Ada", nil},
		{"no such interval or count", "2026-03-02 2 Europe/Rome", one(
			repeating("20260301T090000", "FREQ=DAILY;INTERVAL=0"), repeating("20260301T100000", "FREQ=DAILY;INTERVAL=-2;COUNT=0"),
			repeating("20260301T110000", "FREQ=WEEKLY;INTERVAL=99999999999999999999")),
			"2026-03-02 09:00 x\n2026-03-02 10:00 x\n2026-03-03 09:00 x\n2026-03-03 10:00 x", nil},
		{"sloppy writing", "2026-03-02 9 Europe/Rome", one(repeating("20260301T090000", "freq = weekly ; byday = mo, we ;INTERVAL=1;;X-OTHER=3;WKST=;")),
			"2026-03-02 09:00 x\n2026-03-04 09:00 x\n2026-03-09 09:00 x", nil},
		{"said twice", "2026-03-02 1 Europe/Rome", one(repeating("20260301T090000", "RRULE:FREQ=DAILY")), "2026-03-02 09:00 x", nil},
		{"values that are none", "2026-03-02 1 Europe/Rome", one(
			repeating("20260302T080000", "FREQ=DAILY;BYDAY=XX;COUNT=3"), repeating("20260302T090000", "FREQ=YEARLY;BYMONTH=13"),
			repeating("20260302T100000", "FREQ=DAILY;UNTIL=whenever"), repeating("20260302T110000", "FREQ=DAILY;INTERVAL=two"),
			repeating("20260302T120000", "RSCALE=HEBREW;FREQ=YEARLY"), repeating("20260302T130000", "BYDAY=MO")),
			"2026-03-02 08:00 x\n2026-03-02 09:00 x\n2026-03-02 10:00 x\n2026-03-02 11:00 x\n2026-03-02 12:00 x\n2026-03-02 13:00 x",
			[]string{"BYDAY=XX", "BYMONTH=13", "UNTIL=WHENEVER", "INTERVAL=TWO", "Gregorian", "no FREQ"}},
		{"two rules", "2026-03-02 4 Europe/Rome", one(repeating("20260302T090000", "FREQ=WEEKLY;BYDAY=MO", "RRULE:FREQ=WEEKLY;BYDAY=WE,MO")),
			"2026-03-02 09:00 x\n2026-03-04 09:00 x", nil},
		{"a rule against it", "2026-03-02 5 Europe/Rome", one(repeating("20260302T090000", "FREQ=DAILY", "EXRULE:FREQ=DAILY;INTERVAL=2")),
			"2026-03-03 09:00 x\n2026-03-05 09:00 x", nil},
		{"skip backward", "2026-02-01 60 Europe/Rome", one(repeating("20260131T090000", "RSCALE=GREGORIAN;FREQ=MONTHLY;SKIP=BACKWARD")),
			"2026-02-28 09:00 x\n2026-03-31 09:00 x", nil},
		{"skip forward", "2026-02-01 60 Europe/Rome", one(repeating("20240229T090000", "RSCALE=GREGORIAN;FREQ=YEARLY;SKIP=FORWARD")),
			"2026-03-01 09:00 x", nil},
		{"until equal to the last", "2026-03-01 31 Europe/Rome", one(repeating("20260302T090000", "FREQ=WEEKLY;UNTIL=20260309T080000Z")),
			"2026-03-02 09:00 x\n2026-03-09 09:00 x", nil},
		{"until a second before", "2026-03-01 31 Europe/Rome", one(repeating("20260302T090000", "FREQ=WEEKLY;UNTIL=20260309T075959Z")),
			"2026-03-02 09:00 x", nil},
		{"until in the clock of the start", "2026-03-01 31 America/New_York", one(repeating("20260302T090000", "FREQ=WEEKLY;UNTIL=20260309T090000")),
			"2026-03-02 03:00 x\n2026-03-09 04:00 x", nil},
		{"until a day", "2026-03-01 31 Europe/Rome", one(repeating("20260302T230000", "FREQ=WEEKLY;UNTIL=20260309")),
			"2026-03-02 23:00 x\n2026-03-09 23:00 x", nil},
		{"until of days", "2026-03-01 31 Europe/Rome", one(
			event("UID:1", "DTSTART;VALUE=DATE:20260302", "RRULE:FREQ=DAILY;UNTIL=20260303T235959Z", "SUMMARY:end of day"),
			event("UID:2", "DTSTART;VALUE=DATE:20260302", "RRULE:FREQ=DAILY;UNTIL=20260302T230000Z", "SUMMARY:midnight here"),
			event("UID:3", "DTSTART;VALUE=DATE:20260302", "RRULE:FREQ=DAILY;UNTIL=20260303", "SUMMARY:day"),
			event("UID:4", "DTSTART;VALUE=DATE:20260302", "RRULE:FREQ=DAILY;UNTIL=20260302T180000Z", "SUMMARY:afternoon")),
			"2026-03-02 all day afternoon\n2026-03-02 all day day\n2026-03-02 all day end of day\n2026-03-02 all day midnight here\n" +
				"2026-03-03 all day day\n2026-03-03 all day end of day\n2026-03-03 all day midnight here", nil},
	})
}

// TestTooMuch: what would take too long or too much is left, and told.
func TestTooMuch(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, events ...string) {
		t.Helper()
		if err := os.WriteFile(dir+"/"+name, []byte(calendar(events...)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a.ics", repeating("20200101T000000", "FREQ=SECONDLY"))
	got, stderr, err := run(t, dir, "", "Europe/Rome", "2026-03-03", "2")
	if n := strings.Count(got, "\n2026-03-03 "); err != nil || n < 86_399 || stderr != "" {
		t.Errorf("%d lines of a day, %q, %v", n, stderr, err)
	}
	got, stderr, err = run(t, dir, "", "Europe/Rome", "2026-03-03", "9")
	if n := strings.Count(got, "\n"); err != nil || n != mostLines || !strings.Contains(stderr, "the rest is left out") {
		t.Errorf("%d lines, %q, %v", n, stderr, err)
	}
	write("a.ics", repeating("00010101T000000", "FREQ=MINUTELY;COUNT=900000000;BYHOUR=3"), repeating("20260303T100000", "FREQ=DAILY"), repeating("20260303T110000", "FREQ=MINUTELY;BYHOUR=11"))
	got, stderr, err = run(t, dir, "", "Europe/Rome", "2026-03-03", "1")
	if err != nil || !strings.HasPrefix(got, "2026-03-03 10:00 x\n2026-03-03 11:00 x\n") || !strings.Contains(stderr, "too many dates") {
		t.Errorf("%q, %q, %v", got, stderr, err)
	}
}
