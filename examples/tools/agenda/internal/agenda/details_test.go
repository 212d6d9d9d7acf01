// SPDX-License-Identifier: Apache-2.0

package agenda

import (
	"os"
	"strings"
	"testing"
)

func TestDetails(t *testing.T) {
	dir := t.TempDir()
	text := calendar(
		strings.Replace(simple("lost"), "END:VEVENT\r\n", "", 1),
		event("UID:1", "DTSTART:20260302T090000", "DTEND:20260303T100000", "SUMMARY:Dentist", "LOCATION:Main str\r\n eet 3", "RRULE:FREQ=YEARLY", "BEGIN:VALARM", "LOCATION:no", "END:VALARM"),
		event("UID:2", "DTSTART:20260302T110000", "SUMMARY:Plain"),
		event("UID:3", "DTSTART:20260302T120000", "ATTENDEE;CN=Ada:mailto:ada@example.org", "ATTENDEE;CN=Bruno:x", "SUMMARY:Lunch"))
	if err := os.WriteFile(dir+"/a.ics", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got, _, err := run(t, dir, "", "UTC", "-details", "2026-03-02", "2")
	want := "2026-03-02 09:00 Dentist\n    at Main street 3\n2026-03-02 11:00 Plain\n2026-03-02 12:00 Lunch\n    with Ada, Bruno\n2026-03-03 until 10:00 Dentist\n    at Main street 3\n"
	if err != nil || got != want {
		t.Errorf("error %v, got:\n%s", err, got)
	}
}
