// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The loader gives a valid value or faults that all have a text, and a place
// inside the file; never both, never a panic.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.toml")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range append(files, "../../examples/config.toml") {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Decode("FILE", data)
		if err == nil {
			if found := c.check(); len(found) > 0 {
				t.Errorf("accepted, but not valid: %v", found)
			}
			if _, err := c.Show(); err != nil {
				t.Errorf("accepted, but not shown: %v", err)
			}
			return
		}
		faults := Faults(err)
		if len(faults) == 0 {
			t.Fatalf("an error without faults: %v", err)
		}
		lines := strings.Count(string(data), "\n") + 1
		for _, e := range faults {
			if e.Text == "" || e.Hint == "" || e.File != "FILE" || e.Line < 1 || e.Line > lines || e.Col < 1 {
				t.Errorf("fault %+v in a file of %d lines", e, lines)
			}
		}
	})
}
