// SPDX-License-Identifier: Apache-2.0

package agenda

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// own is a case of ours: what the program must print, and what the lines on
// stderr must hold (all of them in order; none when it is empty).
type own struct {
	name, args string
	files      map[string]string
	want       string
	stderr     []string
}

// calendar joins events, each given as its lines, to a file.
func calendar(events ...string) string {
	return "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n" + strings.Join(events, "") + "END:VCALENDAR\r\n"
}

// event makes a VEVENT of lines.
func event(lines ...string) string {
	return "BEGIN:VEVENT\r\n" + strings.Join(lines, "\r\n") + "\r\nEND:VEVENT\r\n"
}

// one is a calendar of one file.
func one(events ...string) map[string]string {
	return map[string]string{"a.ics": calendar(events...)}
}

func runOwn(t *testing.T, cases []own) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range c.files {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			args := strings.Fields(c.args)
			got, stderr, err := run(t, dir, "", args[2], args[0], args[1])
			want := strings.TrimSpace(c.want) + "\n"
			if err != nil || got != want {
				t.Errorf("error %v, stderr %q, got:\n%swant:\n%s", err, stderr, got, want)
			}
			lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
			if stderr == "" {
				lines = nil
			}
			if len(lines) != len(c.stderr) {
				t.Fatalf("stderr has %d lines, want %d: %q", len(lines), len(c.stderr), stderr)
			}
			for i, part := range c.stderr {
				if !strings.Contains(lines[i], part) {
					t.Errorf("line %d of stderr is %q, want something with %q", i+1, lines[i], part)
				}
			}
		})
	}
}
