// SPDX-License-Identifier: Apache-2.0

package ical

// kind is a property that is looked at.
type kind byte

const (
	nothing kind = iota
	begin
	end
	uid
	dtstart
	dtend
	duration
	summary
	rrule
	exrule
	rdate
	exdate
	recurrenceID
	sequence
	status
	lastModified
	dtstamp
	method
	tzid
	tzoffsetfrom
	tzoffsetto
)

// wanted says what property a name is, in any case of its letters.
func wanted(name []byte) kind {
	var upper [13]byte
	if len(name) > len(upper) || len(name) < 3 {
		return nothing
	}
	for i, c := range name {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		upper[i] = c
	}
	switch string(upper[:len(name)]) {
	case "BEGIN":
		return begin
	case "END":
		return end
	case "UID":
		return uid
	case "DTSTART":
		return dtstart
	case "DTEND":
		return dtend
	case "DURATION":
		return duration
	case "SUMMARY":
		return summary
	case "RRULE":
		return rrule
	case "EXRULE":
		return exrule
	case "RDATE":
		return rdate
	case "EXDATE":
		return exdate
	case "RECURRENCE-ID":
		return recurrenceID
	case "SEQUENCE":
		return sequence
	case "STATUS":
		return status
	case "LAST-MODIFIED":
		return lastModified
	case "DTSTAMP":
		return dtstamp
	case "METHOD":
		return method
	case "TZID":
		return tzid
	case "TZOFFSETFROM":
		return tzoffsetfrom
	case "TZOFFSETTO":
		return tzoffsetto
	}
	return nothing
}
