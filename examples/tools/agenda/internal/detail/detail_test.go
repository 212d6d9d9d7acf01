// SPDX-License-Identifier: Apache-2.0

package detail

import (
	"reflect"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  Details
	}{
		{nil, Details{}},
		{[]string{`LOCATION;LANGUAGE="it":Via Roma 1\, Torino\nItalia`, "LOCATION:second"}, Details{Place: "Via Roma 1, Torino Italia"}},
		{[]string{`location:C:\\temp\\x "a"; b`}, Details{Place: `C:\temp\x "a"; b`}},
		{[]string{
			`ATTENDEE;CN="Verdi; Ada: Dr.=X";PARTSTAT=ACCEPTED:mailto:ada@example.org`, "ATTENDEE;PARTSTAT=DECLINED;CN=Hugo:mailto:hugo@example.org",
			"ATTENDEE:MAILTO:irma@example.org", "ATTENDEE;CN=Caf\xe8:x", "ATTENDEE;CN=\"\":", "DESCRIPTION:no", "nothing", `He said "no"`,
		}, Details{People: []string{"Verdi, Ada  Dr. X", "irma@example.org", "Cafè"}}},
		{[]string{"RRULE:FREQ=DAILY;INTERVAL=0", "GEO:x", "END:VEVENT", "LOCATION:here", "DTSTART:never", "CREATED:x"}, Details{Place: "here"}},
	} {
		if got, err := Of(c.lines); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %q, %v, want %q", c.lines, got, err, c.want)
		}
	}
	long := strings.Repeat("é", 100_000)
	d, err := Of([]string{"LOCATION:" + long, "ATTENDEE;CN=" + long + ":x"})
	if err != nil || len(d.Place) != longest || len(d.People) != 1 {
		t.Errorf("%d bytes of place, %d people, %v", len(d.Place), len(d.People), err)
	}
}

// FuzzOf: gocal is never given what it panics or hangs on.
func FuzzOf(f *testing.F) {
	f.Add("LOCATION:a\nATTENDEE;CN=\"x:y\";PARTSTAT=DECLINED:mailto:z")
	f.Add("LOCATION:\"\nATTENDEE:\"\nATTENDEE;CN=\":\":")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Of(strings.Split(text, "\n"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(d.Place+strings.Join(d.People, ""), "\n\r\x1b") {
			t.Fatalf("%q cannot be shown", d)
		}
	})
}
