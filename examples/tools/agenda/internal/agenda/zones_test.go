// SPDX-License-Identifier: Apache-2.0

package agenda

import (
	"strings"
	"testing"
)

// at makes an event of an hour at a time with the given parameters.
func at(params, start, title string, more ...string) string {
	return event(append([]string{"UID:" + params + start + title, "DTSTART" + params + ":" + start, "DURATION:PT1H", "SUMMARY:" + title}, more...)...)
}

const customZone = "BEGIN:VTIMEZONE\r\nTZID:Own\r\n" +
	"BEGIN:STANDARD\r\nDTSTART:19700101T000000\r\nTZOFFSETFROM:+0230\r\nTZOFFSETTO:+0300\r\nRDATE:20261101T030000\r\nEND:STANDARD\r\n" +
	"BEGIN:DAYLIGHT\r\nDTSTART:20260401T020000\r\nTZOFFSETFROM:+0300\r\nTZOFFSETTO:+043015\r\nEND:DAYLIGHT\r\nEND:VTIMEZONE\r\n"

func TestZones(t *testing.T) {
	runOwn(t, []own{
		{"vendor prefixes", "2026-07-15 1 UTC", one(
			at(";TZID=/freeassociation.sourceforge.net/Europe/Rome", "20260715T100000", "a"),
			at(";TZID=/mozilla.org/20050126_1/America/New_York", "20260715T100000", "b"),
			at(";TZID=/citadel.org/20210210_1/America/Argentina/Buenos_Aires", "20260715T100000", "c"),
			at(";TZID=tzone://Microsoft/Utc", "20260715T100000", "d"),
			at(";TZID=/softwarestudio.org/Olson_20011030_5/Asia/Calcutta", "20260715T100000", "e")),
			"2026-07-15 04:30 e\n2026-07-15 08:00 a\n2026-07-15 10:00 d\n2026-07-15 13:00 c\n2026-07-15 14:00 b", nil},
		{"other letters", "2026-07-15 1 UTC", one(
			at(";TZID=europe/rome", "20260715T100000", "a"), at(";tzid=EUROPE/ROME", "20260715T100000", "b"),
			at(";TZID=w. europe standard time", "20260715T100000", "c"), at(`;TZID="Europe/Rome"`, "20260715T100000", "d"),
			at(";TZID=america/port_of_spain", "20260715T100000", "e"), at(";TZID=utc", "20260715T100000", "f")),
			"2026-07-15 08:00 a\n2026-07-15 08:00 b\n2026-07-15 08:00 c\n2026-07-15 08:00 d\n2026-07-15 10:00 f\n2026-07-15 14:00 e", nil},
		{"numbered, of summer, in single quotes", "2026-07-15 1 UTC", one(
			at(";TZID=W. Europe Standard Time 1", "20260715T100000", "a"), at(";TZID=Eastern Daylight Time", "20260715T100000", "b"),
			at(";TZID='Asia/Tokyo'", "20260715T100000", "c"), at(";TZID=Nowhere Standard Time 2", "20260715T100000", "d")),
			"2026-07-15 01:00 c\n2026-07-15 08:00 a\n2026-07-15 10:00 d\n2026-07-15 14:00 b", []string{`"Nowhere Standard Time 2" is not known`}},
		{"old names", "2026-07-15 1 UTC", one(
			at(";TZID=US/Eastern", "20260715T100000", "a"), at(";TZID=EST5EDT", "20260715T100000", "b"), at(";TZID=Asia/Katmandu", "20260715T100000", "c")),
			"2026-07-15 04:15 c\n2026-07-15 14:00 a\n2026-07-15 14:00 b", nil},
		{"display names know summer", "2026-07-15 1 UTC", one(
			at(`;TZID="(UTC-05:00) Eastern Time (US & Canada)"`, "20260715T100000", "a"),
			at(`;TZID="(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna"`, "20260715T100000", "b"),
			at(`;TZID="(UTC+00:00) Dublin, Edinburgh, Lisbon, London"`, "20260715T100000", "c"),
			at(`;TZID="(GMT) Greenwich Mean Time: Dublin, Edinburgh, Lisbon, London"`, "20260715T100000", "d"),
			at(`;TZID="(UTC+05:30) Chennai, Kolkata, Mumbai, New Delhi"`, "20260715T100000", "e"),
			at(`;TZID="(GMT+01.00) Sarajevo/Skopje/Sofija/Vilnius/Warsaw/Zagreb"`, "20260715T100000", "f"),
			at(`;TZID="(UTC-10:00) Somewhere"`, "20260715T100000", "g"),
			at(`;TZID=(UTC+01:00) Amsterdam`, "20260715T110000", "h")),
			"2026-07-15 04:30 e\n2026-07-15 08:00 b\n2026-07-15 08:00 f\n2026-07-15 09:00 c\n2026-07-15 09:00 d\n2026-07-15 09:00 h\n2026-07-15 14:00 a\n2026-07-15 20:00 g", nil},
		{"offsets as names", "2026-07-15 1 UTC", one(
			at(";TZID=UTC+11", "20260715T210000", "a"), at(";TZID=GMT-0530", "20260715T040000", "b"), at(";TZID=+02:00", "20260715T040000", "c"),
			at(";TZID=Etc/GMT+5", "20260715T040000", "d"), at(";TZID=(UTC)", "20260715T040000", "e")),
			"2026-07-15 02:00 c\n2026-07-15 04:00 e\n2026-07-15 09:00 d\n2026-07-15 09:30 b\n2026-07-15 10:00 a", nil},
		{"names of this machine", "2026-07-15 1 Europe/Rome", one(
			at(";TZID=Local", "20260715T100000", "a"), at(";TZID=localtime", "20260715T110000", "b"), at(";TZID=", "20260715T120000", "c"),
			at(";TZID=../../etc/passwd", "20260715T130000", "d")),
			"2026-07-15 10:00 a\n2026-07-15 11:00 b\n2026-07-15 12:00 c\n2026-07-15 13:00 d",
			[]string{`zone "Local" is not known`, `zone "localtime" is not known`, `zone "../../etc/passwd" is not known`}},
		{"Z beside a zone", "2026-07-15 1 Europe/Rome", one(at(";TZID=Asia/Tokyo", "20260715T100000Z", "a")), "2026-07-15 12:00 a", nil},
		{"own zone, behind its event", "2026-03-31 250 UTC", map[string]string{"a.ics": calendar(
			at(";TZID=Own", "20260331T100000", "a"), at(";TZID=own", "20260401T080000", "small"),
			at(";TZID=Own", "20260402T100000", "b"), at(";TZID=Own", "20261102T100000", "c"), customZone)},
			"2026-03-31 07:00 a\n2026-04-01 03:29 small\n2026-04-02 05:29 b\n2026-11-02 07:00 c", nil},
		{"own zones are each file's", "2026-07-15 1 UTC", map[string]string{
			"a.ics": calendar(customZone, at(";TZID=Own", "20260715T103015", "a")),
			"b.ics": calendar(strings.ReplaceAll(customZone, "+043015", "-0500"), at(";TZID=Own", "20260715T100000", "b"))},
			"2026-07-15 06:00 a\n2026-07-15 15:00 b", nil},
		{"broken zones", "2026-07-15 1 UTC", map[string]string{"a.ics": calendar(
			"BEGIN:VTIMEZONE\r\nTZID:Half\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\nTZOFFSETFROM:+0100\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n",
			"BEGIN:VTIMEZONE\r\nTZID:Odd\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0100\r\n"+
				"RRULE:FREQ=SECONDLY\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n",
			at(";TZID=Half", "20260715T100000", "a"), at(";TZID=Odd", "20260715T100000", "b"))},
			"2026-07-15 09:00 b\n2026-07-15 10:00 a", []string{"VTIMEZONE lacks", `"Half" is not known`}},
		{"the hour that is not and the one that is twice", "2026-03-29 1 UTC", one(
			at(";TZID=Europe/Rome", "20260329T023000", "gap"), at(";TZID=America/New_York", "20260329T023000", "plain")),
			"2026-03-29 01:30 gap\n2026-03-29 06:30 plain", nil},
		{"gap in America", "2026-03-08 1 UTC", one(at(";TZID=America/New_York", "20260308T023000", "gap")), "2026-03-08 07:30 gap", nil},
		{"twice, east and west", "2026-10-25 8 UTC", one(
			at(";TZID=Europe/Rome", "20261025T023000", "east"), at(";TZID=America/New_York", "20261101T013000", "west")),
			"2026-10-25 00:30 east\n2026-11-01 05:30 west", nil},
		{"no midnight in Santiago", "2026-09-05 3 America/Santiago", one(
			event("UID:1", "DTSTART;VALUE=DATE:20260905", "RRULE:FREQ=DAILY;COUNT=3", "SUMMARY:day"),
			at("", "20260905T233000", "late"), at("", "20260906T000000", "midnight")),
			"2026-09-05 all day day\n2026-09-05 23:30 late\n2026-09-06 all day day\n2026-09-06 until 01:30 late\n2026-09-06 01:00 midnight\n2026-09-07 all day day", nil},
		{"floating is local", "2026-07-15 1 Asia/Tokyo", one(at("", "20260715T100000", "a")), "2026-07-15 10:00 a", nil},
		{"day with a zone", "2026-07-15 1 Asia/Tokyo", one(at(";VALUE=DATE;TZID=America/New_York", "20260715", "a")), "2026-07-15 all day a", nil},
	})
}

func TestLengths(t *testing.T) {
	length := func(uid, start, length string) string {
		return event("UID:"+uid, "DTSTART"+start, length, "SUMMARY:"+uid)
	}
	runOwn(t, []own{
		{"durations", "2026-03-02 9 Europe/Rome", one(
			length("a", ":20260302T220000", "DURATION:P1W"), length("b", ":20260302T220000", "DURATION:P1DT2H30M"),
			length("c", ":20260302T220000", "DURATION:+PT150M"), length("d", ":20260302T220000", "DURATION:-PT3H"),
			length("e", ":20260302T220000", "DURATION:PT0S"), length("f", ":20260302T220000", "DURATION:soon"), length("g", ":20260302T220000", "DURATION:pt7200s")),
			"2026-03-02 22:00 a\n2026-03-02 22:00 b\n2026-03-02 22:00 c\n2026-03-02 22:00 d\n2026-03-02 22:00 e\n2026-03-02 22:00 f\n2026-03-02 22:00 g\n" +
				"2026-03-03 all day a\n2026-03-03 all day b\n2026-03-03 until 00:30 c\n2026-03-04 all day a\n2026-03-04 until 00:30 b\n" +
				"2026-03-05 all day a\n2026-03-06 all day a\n2026-03-07 all day a\n2026-03-08 all day a\n2026-03-09 until 22:00 a",
			[]string{"line 36: DURATION cannot be read"}},
		{"days", "2026-03-02 4 Europe/Rome", one(
			length("a", ";VALUE=DATE:20260302", "DURATION:P2D"), length("b", ";VALUE=DATE:20260302", "DURATION:PT24H"), length("c", ";VALUE=DATE:20260302", "DURATION:PT36H"),
			length("d", ";VALUE=DATE:20260302", "DTEND;VALUE=DATE:20260302"), length("e", ";VALUE=DATE:20260302", "DTEND;VALUE=DATE:20260225"),
			length("f", ":20260302", "DTEND:20260304"), length("g", ";VALUE=DATE:20260302T000000", "X-A:b"), length("h", ";VALUE=DATE:20260302", "DTEND:20260303T000000Z")),
			"2026-03-02 all day a\n2026-03-02 all day b\n2026-03-02 all day c\n2026-03-02 all day d\n2026-03-02 all day e\n2026-03-02 all day f\n2026-03-02 all day g\n2026-03-02 all day h\n" +
				"2026-03-03 all day a\n2026-03-03 all day c\n2026-03-03 all day f", nil},
		{"odd ends", "2026-03-02 2 Europe/Rome", one(
			length("a", ":20260302T100000", "DTEND:20260302T090000"), length("b", ":20260302T100000", "DTEND:20260302T100000"), length("c", ":20260302T100000", "DTEND:never"),
			length("d", ":20260302T100000", "DTEND;VALUE=DATE:20260303"), length("e", ":20260302T100000", "DTEND;VALUE=DATE:20260302"), length("f", ":20260302T100000Z", "DTEND;TZID=Asia/Tokyo:20260302T180000"),
			length("g", ":20260302T000000", "DTEND:20260303T000000"), length("h", ":20260302T000000", "DTEND:20260302T240000")),
			"2026-03-02 00:00 g\n2026-03-02 00:00 h\n2026-03-02 10:00 a\n2026-03-02 10:00 b\n2026-03-02 10:00 c\n2026-03-02 10:00 d\n2026-03-02 10:00 e\n2026-03-02 11:00 f",
			[]string{"line 18: DTEND cannot be read"}},
		{"a night twice as long", "2026-10-24 3 Europe/Rome", one(
			event("UID:1", "DTSTART;TZID=Europe/Rome:20261023T220000", "DTEND;TZID=Europe/Rome:20261024T070000", "RRULE:FREQ=DAILY;COUNT=3", "SUMMARY:shift"),
			event("UID:2", "DTSTART;TZID=Europe/Rome:20261024T230000", "DURATION:PT9H", "SUMMARY:hours")),
			"2026-10-24 until 07:00 shift\n2026-10-24 22:00 shift\n2026-10-24 23:00 hours\n2026-10-25 until 07:00 hours\n2026-10-25 until 07:00 shift\n2026-10-25 22:00 shift\n2026-10-26 until 07:00 shift", nil},
		{"years", "2026-03-02 1 Europe/Rome", one(
			length("a", ";VALUE=DATE:00010101", "DTEND;VALUE=DATE:99991231"), length("b", ":00010101T000000Z", "DTEND:99991231T235959Z"),
			length("c", ":19000101T000000Z", "DURATION:P9999999999999W"), length("d", ":20260302T100000", "DURATION:P1000000W"), length("e", ";VALUE=DATE:99991231", "RRULE:FREQ=YEARLY")),
			"2026-03-02 all day a\n2026-03-02 all day b\n2026-03-02 10:00 d", []string{"DURATION cannot be read"}},
	})
}
