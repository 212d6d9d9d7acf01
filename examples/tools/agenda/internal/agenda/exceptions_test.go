// SPDX-License-Identifier: Apache-2.0

package agenda

import "testing"

// daily makes a series of five hours in Rome, days one of four days.
func daily(uid string, more ...string) string {
	return event(append([]string{"UID:" + uid, "DTSTART;TZID=Europe/Rome:20260302T090000", "DTEND;TZID=Europe/Rome:20260302T100000", "RRULE:FREQ=DAILY;COUNT=5", "SUMMARY:x"}, more...)...)
}

func days(uid string, more ...string) string {
	return event(append([]string{"UID:" + uid, "DTSTART;VALUE=DATE:20260302", "RRULE:FREQ=DAILY;COUNT=4", "SUMMARY:d"}, more...)...)
}

// instead makes an override of an occurrence.
func instead(uid, id, start, title string, more ...string) string {
	return event(append([]string{"UID:" + uid, "RECURRENCE-ID" + id, "DTSTART" + start, "SUMMARY:" + title}, more...)...)
}

func TestExceptions(t *testing.T) {
	const whole = "2026-03-02 09:00 x\n2026-03-03 09:00 x\n2026-03-04 09:00 x\n2026-03-05 09:00 x\n2026-03-06 09:00 x"
	runOwn(t, []own{
		{"none", "2026-03-01 9 Europe/Rome", one(daily("1")), whole, nil},
		{"in all forms", "2026-03-01 9 Europe/Rome", one(daily("1", "EXDATE;TZID=Europe/Rome:20260302T090000,20260303T090000", "EXDATE:20260304T080000Z", "EXDATE:20260305T090000")),
			"2026-03-06 09:00 x", nil},
		{"in another zone, twice", "2026-03-01 9 Europe/Rome", one(daily("1", "EXDATE;TZID=Asia/Tokyo:20260302T170000", "EXDATE;TZID=Asia/Tokyo:20260302T170000")),
			whole[20-1:], nil},
		{"a day of times", "2026-03-01 9 Europe/Rome", one(daily("1", "EXDATE;VALUE=DATE:20260303,20260304", "EXDATE:20260305")),
			"2026-03-02 09:00 x\n2026-03-06 09:00 x", nil},
		{"one that meets nothing", "2026-03-01 9 Europe/Rome", one(daily("1", "EXDATE;TZID=Europe/Rome:20260303T091500")), whole, nil},
		{"one that cannot be read", "2026-03-01 9 Europe/Rome", one(daily("1", "EXDATE;TZID=Europe/Rome:20260303T090000,soon")),
			"2026-03-02 09:00 x\n2026-03-04 09:00 x\n2026-03-05 09:00 x\n2026-03-06 09:00 x", []string{"EXDATE cannot be read"}},
		{"days in all forms", "2026-03-01 9 Europe/Rome", one(days("1", "EXDATE;VALUE=DATE:20260302", "EXDATE;TZID=Europe/Rome:20260303T000000", "EXDATE:20260303T230000Z")),
			"2026-03-05 all day d", nil},
		{"day by midnight of UTC", "2026-03-01 9 America/New_York", one(days("1", "EXDATE:20260303T000000Z,20260304T050000Z")),
			"2026-03-02 all day d\n2026-03-05 all day d", nil},
		{"day by midnight of here, far east", "2026-03-01 9 Pacific/Auckland", one(days("1", "EXDATE:20260302T110000Z,20260304T000000Z")),
			"2026-03-02 all day d\n2026-03-05 all day d", nil},
		{"alone", "2026-03-01 9 Europe/Rome", one(event("UID:1", "DTSTART:20260302T090000", "EXDATE:20260302T090000", "SUMMARY:x")), "no events", nil},
		{"added", "2026-03-01 9 Europe/Rome", one(daily("1", "RDATE:20260308T080000Z", "RDATE;TZID=Europe/Rome:20260309T090000,20260304T090000", "RDATE;VALUE=DATE:20260307", "RDATE:nonsense")),
			whole + "\n2026-03-07 09:00 x\n2026-03-08 09:00 x\n2026-03-09 09:00 x", []string{"RDATE cannot be read"}},
		{"added days", "2026-03-01 20 Europe/Rome", one(days("1", "RDATE;VALUE=DATE:20260310,20260311", "RDATE;VALUE=PERIOD:20260315T000000Z/P2D")),
			"2026-03-02 all day d\n2026-03-03 all day d\n2026-03-04 all day d\n2026-03-05 all day d\n2026-03-10 all day d\n2026-03-11 all day d\n2026-03-15 all day d\n2026-03-16 all day d", nil},
		{"period of the rule's own time", "2026-03-01 3 Europe/Rome", one(daily("1", "RDATE;VALUE=PERIOD:20260302T080000Z/PT16H")),
			"2026-03-02 09:00 x\n2026-03-03 until 01:00 x\n2026-03-03 09:00 x", nil},
		{"alone with added", "2026-03-01 9 Europe/Rome", one(event("UID:1", "DTSTART:20260302T090000", "RDATE:20260304T090000", "EXDATE:20260302T090000", "SUMMARY:x")),
			"2026-03-04 09:00 x", nil},
	})
}

func TestOverrides(t *testing.T) {
	const rest = "2026-03-04 09:00 x\n2026-03-05 09:00 x\n2026-03-06 09:00 x"
	rome := func(day string) string { return ";TZID=Europe/Rome:" + day + "T090000" }
	runOwn(t, []own{
		{"named in other zones", "2026-03-01 9 Europe/Rome", one(daily("1"),
			instead("1", ":20260302T080000Z", ":20260302T150000", "utc"), instead("1", ";TZID=Asia/Tokyo:20260303T170000", ":20260303T150000", "tokyo"),
			instead("1", ":20260304T090000", ":20260304T150000", "floating"), instead("1", ";VALUE=DATE:20260305", ":20260305T150000", "day")),
			"2026-03-02 15:00 utc\n2026-03-03 15:00 tokyo\n2026-03-04 15:00 floating\n2026-03-05 15:00 day\n2026-03-06 09:00 x", nil},
		{"moved out and moved in", "2026-03-03 1 Europe/Rome", one(daily("1"), instead("1", rome("20260303"), ":20260420T090000", "out"), instead("1", rome("20260306"), ":20260303T120000", "in")),
			"2026-03-03 12:00 in", nil},
		{"in another file", "2026-03-01 9 Europe/Rome", map[string]string{"b/series.ics": calendar(daily("1")), "a.ics": calendar(instead("1", rome("20260302"), ":20260302T070000", "early"))},
			"2026-03-02 07:00 early\n2026-03-03 09:00 x\n" + rest, nil},
		{"without series", "2026-03-01 9 Europe/Rome", one(instead("1", rome("20260302"), ":20260302T070000", "a"), instead("1", rome("20260303"), ":20260304T070000", "b"), instead("1", ";VALUE=DATE:20260303", ";VALUE=DATE:20260305", "c")),
			"2026-03-02 07:00 a\n2026-03-04 07:00 b\n2026-03-05 all day c", nil},
		{"the highest sequence", "2026-03-02 2 Europe/Rome", one(daily("1", "SEQUENCE:9"), instead("1", rome("20260302"), ":20260302T070000", "two", "SEQUENCE:2"),
			instead("1", ":20260302T080000Z", ":20260302T110000", "one", "SEQUENCE:1"), instead("1", rome("20260303"), ":20260303T070000", "newer", "LAST-MODIFIED:20260102T000000Z"),
			instead("1", rome("20260303"), ":20260303T110000", "older", "LAST-MODIFIED:20260101T000000Z")),
			"2026-03-02 07:00 two\n2026-03-03 07:00 newer", nil},
		{"cancelled", "2026-03-01 9 Europe/Rome", one(daily("1"), instead("1", rome("20260302"), rome("20260302"), "no", "STATUS:CANCELLED"),
			event("UID:1", "RECURRENCE-ID"+rome("20260303"), "STATUS:cancelled"), instead("1", rome("20260304"), ":20260304T110000", "yes", "STATUS:CONFIRMED")),
			"2026-03-04 11:00 yes\n2026-03-05 09:00 x\n2026-03-06 09:00 x", nil},
		{"all cancelled", "2026-03-01 9 Europe/Rome", map[string]string{"a.ics": calendar(daily("1", "STATUS:CANCELLED"), daily("2"), daily("3")),
			"b.ics": calendar(event("UID:2", "DTSTART:20260302T090000", "STATUS:CANCELLED", "SEQUENCE:1")), "c.ics": calendar("METHOD:CANCEL\r\n", event("UID:3", "SEQUENCE:4", "DTSTART:20260302T090000")),
			"d.ics": calendar(event("UID:4", "DTSTART:20260309T090000", "SUMMARY:tentative", "STATUS:TENTATIVE", "TRANSP:TRANSPARENT"))},
			"2026-03-09 09:00 tentative", nil},
		{"cancelled afterwards", "2026-03-01 9 Europe/Rome", one(daily("1", "STATUS:CANCELLED", "SEQUENCE:3"), instead("1", rome("20260302"), ":20260302T110000", "old", "SEQUENCE:2"),
			instead("1", rome("20260303"), ":20260303T110000", "new", "SEQUENCE:4")), "2026-03-03 11:00 new", nil},
		{"this and future", "2026-03-01 9 Europe/Rome", one(daily("1"), instead("1", ";RANGE=THISANDFUTURE;TZID=Europe/Rome:20260304T090000", ";TZID=Europe/Rome:20260304T113000", "later", "DURATION:PT14H"),
			instead("1", rome("20260306"), ":20260306T080000", "plain")),
			"2026-03-02 09:00 x\n2026-03-03 09:00 x\n2026-03-04 11:30 later\n2026-03-05 until 01:30 later\n2026-03-05 11:30 later\n2026-03-06 until 01:30 later\n2026-03-06 08:00 plain", nil},
		{"this and future, days ahead", "2026-03-07 9 Europe/Rome", one(daily("1"), instead("1", ";RANGE=THISANDFUTURE:20260303T080000Z", ";TZID=Asia/Tokyo:20260310T170000", "week")),
			"2026-03-10 09:00 week\n2026-03-11 09:00 week\n2026-03-12 09:00 week\n2026-03-13 09:00 week", nil},
		{"this and future, twice and cancelled", "2026-03-01 9 Europe/Rome", one(daily("1"), instead("1", ";RANGE=THISANDFUTURE:20260303T080000Z", ":20260303T120000Z", "first"),
			instead("1", ";RANGE=\"thisandfuture\":20260305T080000Z", ":20260305T080000Z", "second", "STATUS:CANCELLED")),
			"2026-03-02 09:00 x\n2026-03-03 13:00 first\n2026-03-04 13:00 first", nil},
		{"this and future of days", "2026-03-01 9 Europe/Rome", one(days("1"), instead("1", ";VALUE=DATE;RANGE=THISANDFUTURE:20260304", ";VALUE=DATE:20260305", "D"),
			days("2", "X-A:b"), instead("2", ";VALUE=DATE;RANGE=THISANDFUTURE:20260304", ":20260304T100000", "timed"),
			daily("3"), instead("3", ";RANGE=THISANDFUTURE:20260305T080000Z", ";VALUE=DATE:20260306", "whole")),
			"2026-03-02 all day d\n2026-03-02 all day d\n2026-03-02 09:00 x\n2026-03-03 all day d\n2026-03-03 all day d\n2026-03-03 09:00 x\n2026-03-04 09:00 x\n2026-03-04 10:00 timed\n" +
				"2026-03-05 all day D\n2026-03-05 10:00 timed\n2026-03-06 all day D\n2026-03-06 all day whole\n2026-03-07 all day whole", nil},
		{"cannot be read", "2026-03-01 9 Europe/Rome", one(daily("1"), instead("1", ":whenever", ":20260302T070000", "lost")),
			"2026-03-02 07:00 lost\n2026-03-02 09:00 x\n2026-03-03 09:00 x\n" + rest, []string{"RECURRENCE-ID cannot be read"}},
		{"days by a midnight", "2026-03-01 9 Europe/Rome", one(days("1"), instead("1", ":20260302T230000Z", ";VALUE=DATE:20260310", "utc"), instead("1", ";TZID=Europe/Rome:20260304T000000", ":20260304T100000", "timed"),
			instead("1", ":20260305T000000", ";VALUE=DATE:20260309", "floating")),
			"2026-03-02 all day d\n2026-03-04 10:00 timed\n2026-03-09 all day floating", nil},
		{"no UID", "2026-03-02 1 Europe/Rome", one(event("DTSTART:20260302T100000", "SUMMARY:a"), event("DTSTART:20260302T100000", "SUMMARY:b"), event("UID:", "DTSTART:20260302T100000", "SUMMARY:c")),
			"2026-03-02 10:00 a\n2026-03-02 10:00 b\n2026-03-02 10:00 c", nil},
	})
}
