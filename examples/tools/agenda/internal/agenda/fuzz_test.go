// SPDX-License-Identifier: Apache-2.0

package agenda

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.org/desktop-assistant/examples/tools/agenda/internal/cache"
	"example.org/desktop-assistant/examples/tools/agenda/internal/zone"
)

// FuzzAgenda: whatever a calendar says, the agenda of some days ends, and its
// lines are on those days and in order.
func FuzzAgenda(f *testing.F) {
	paths, err := filepath.Glob("testdata/cases/*/cal/*.ics")
	if err != nil || len(paths) < 40 {
		f.Fatalf("%d calendars of the cases, %v", len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, int64(20500), int64(30))
		f.Add(data, int64(19000), int64(3))
	}
	rome, err := time.LoadLocation("Europe/Rome")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte, first, days int64) {
		if first < -719162 || first > 2932896 || days < 1 || days > 400 {
			return
		}
		table := &zone.Table{}
		var r fileReader
		content, err := r.ical.Read(bytes.NewReader(data), func(id string) bool { return table.Named(id) != nil }, r.add)
		if err != nil {
			t.Fatal(err)
		}
		files := []loaded{{Entry: cache.Entry{Path: "a.ics", Record: r.packer.Record(content)}}}
		if _, _, err := files[0].Record.Rest(); err != nil {
			t.Fatal(err)
		}
		lines := search(files, first, first+days, table, zone.In(rome), func(string, string) {})
		order(lines)
		for i, l := range lines {
			if l.day < first || l.day >= first+days || l.time < 0 || l.time >= 86400 || i > 0 && lines[i-1].day > l.day {
				t.Fatalf("line %d is %q", i, l)
			}
		}
	})
}
