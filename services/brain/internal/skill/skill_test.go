// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// write puts a skill into a folder of skills.
func write(t testing.TB, dir, sub, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, sub, fileName), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func source(name, description, text string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n" + text
}

// shelf makes a shelf of skills that are nowhere.
func shelf(names ...string) Shelf {
	var s Shelf
	for _, n := range names {
		s.Skills = append(s.Skills, Skill{Name: n})
	}
	s.index = newIndex(s.Skills)
	return s
}

func TestChanges(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "skills")
	f := New(dir, slog.New(slog.DiscardHandler))
	if s := f.Shelf(); !errors.Is(s.Err, fs.ErrNotExist) || len(s.Skills) != 0 {
		t.Fatalf("no folder: %+v", s)
	}
	write(t, dir, "poet", source("poet", "Writes verse. Often.", "Rhyme."))
	s := f.Shelf()
	if s.Err != nil || !slices.Equal(s.Skills, []Skill{{"poet", "Writes verse."}}) {
		t.Fatalf("%+v", s)
	}
	if text, err := f.Text(s, "Poet"); err != nil || text != "Rhyme." {
		t.Errorf("%q, %v", text, err)
	}
	if &f.Shelf().Skills[0] != &s.Skills[0] {
		t.Error("made anew though nothing changed")
	}
	write(t, dir, "poet", source("poet", "Writes prose. Often.", "Do not."))
	if s := f.Shelf(); s.Skills[0].Description != "Writes prose." {
		t.Errorf("not read again: %+v", s)
	}
	write(t, dir, "poet", source("bard", "Writes prose. Often.", "Do not."))
	if _, err := f.Text(s, "poet"); !errors.Is(err, ErrUnknown) {
		t.Errorf("renamed: %v", err)
	}
	write(t, dir, "smith", source("smith", "Forges.", "Iron."))
	s = f.Shelf()
	if !slices.Equal(s.Names(), []string{"bard", "smith"}) {
		t.Errorf("%+v", s)
	}
	if err := os.RemoveAll(filepath.Join(dir, "smith")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Text(s, "smith"); !errors.Is(err, ErrUnknown) {
		t.Errorf("deleted: %v", err)
	}
	if s := f.Shelf(); !slices.Equal(s.Names(), []string{"bard"}) {
		t.Errorf("%+v", s)
	}
	if err := os.Remove(filepath.Join(dir, "bard", fileName)); err == nil {
		t.Fatal("there is no such folder")
	}
	if err := os.Remove(filepath.Join(dir, "poet", fileName)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Text(s, "bard"); !errors.Is(err, ErrUnknown) {
		t.Errorf("file deleted: %v", err)
	}
	write(t, dir, "poet", "no skill")
	if _, err := f.Text(s, "bard"); err == nil || errors.Is(err, ErrUnknown) {
		t.Errorf("file broken: %v", err)
	}
	if s := f.Shelf(); len(s.Skills) != 0 || len(s.Warnings) != 1 {
		t.Errorf("%+v", s)
	}
}

func TestMoreThanAreUsed(t *testing.T) {
	dir := t.TempDir()
	for i := range maxSkills + 2 {
		write(t, dir, fmt.Sprintf("s%04d", i), source(fmt.Sprintf("s%04d", i), strings.Repeat("x", 200), "x"))
	}
	f := New(dir, slog.New(slog.DiscardHandler))
	s := f.Shelf()
	if len(s.Skills) != maxSkills || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "only the first 1000") {
		t.Errorf("%d, %q", len(s.Skills), s.Warnings)
	}
	if d := s.Directory(); len(d) > maxDirectory+300+10*maxSkills || !strings.HasSuffix(d, "\ns0999") {
		t.Errorf("%d bytes, %.80q", len(d), d)
	}
}

func TestDirectory(t *testing.T) {
	s := Shelf{Skills: []Skill{{"bare", ""}, {"poet", "Writes verse."}}}
	if d := s.Directory(); d != "bare\npoet: Writes verse." {
		t.Errorf("%q", d)
	}
	if d := (Shelf{}).Directory(); d != "" {
		t.Errorf("%q", d)
	}
	if k, ok := s.Find("POET"); !ok || k.Name != "poet" {
		t.Error(k, ok)
	}
	if _, ok := s.Find("poe"); ok {
		t.Error("found")
	}
}

func TestSpoken(t *testing.T) {
	s := shelf("fire", "firefly-cli", "draw_it", "two words", "straße")
	for text, want := range map[string]string{
		"Open the firefly CLI, please.":  "firefly-cli",
		"open firefly-cli":               "firefly-cli",
		"open firefly - cli":             "firefly-cli",
		"Draw it. Then fire, two-words!": "draw_it fire two words",
		"DRAW-IT":                        "draw_it",
		"fireflies":                      "",
		"fire-fighting":                  "",
		"fireflycli":                     "",
		"STRASSE":                        "straße",
	} {
		names, rest := s.Match(text, true)
		if strings.Join(names, " ") != want || rest != text {
			t.Errorf("%q: %q, %q", text, names, rest)
		}
	}
	if names, _ := s.Match("firefly cli and draw it", false); names != nil {
		t.Errorf("typed: %q", names)
	}
}

func TestCallsAreTakenOut(t *testing.T) {
	s := shelf("poet")
	for text, want := range map[string]string{
		"write /poet a line\nand\n\n  this": "write a line\nand\n\n  this",
		"one\n/poet\ntwo":                   "one\ntwo",
		"one /poet\ntwo":                    "one \ntwo",
		"/poet\n\n  code":                   "code",
		"poet":                              "poet",
		"  no call ":                        "  no call ",
	} {
		if _, rest := s.Match(text, false); rest != want {
			t.Errorf("%q: %q, want %q", text, rest, want)
		}
	}
}

// A long message without a space costs no more than its length.
func TestLongMessage(t *testing.T) {
	s := shelf("a", "poet")
	for _, part := range []string{"a/", "/a", "a.", "poet+", "(/poet", "/", "a "} {
		text := strings.Repeat(part, 1<<15/len(part))
		s.Match(text, true)
		s.Match(text, false)
	}
}

func FuzzParseDocument(f *testing.F) {
	for _, s := range []string{source("a", "b. c", "d"), "---\na: &a [*a]\n---\n", "\uFEFF---\r\nname: [x\r\n---", "---\nname: a: b\n c\n---\n", "---\n? {a: b}\n: c\n---"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := parseDocument(s)
		if err != nil {
			if err.Error() == "" {
				t.Error("no reason")
			}
			return
		}
		if !utf8.ValidString(d.name + d.description + d.text) {
			t.Errorf("%+v", d)
		}
		if strings.ContainsAny(d.description, "\n\r") || utf8.RuneCountInString(d.description) > maxDescription {
			t.Errorf("%q", d.description)
		}
		if d.name != usable(d.name) {
			t.Errorf("name %q", d.name)
		}
	})
}

func FuzzMatch(f *testing.F) {
	for _, s := range []string{"/poet a", "a/poet", "Two  WORDS", "two-words", "poe\u0301t", "STRASSE\xff/poet", "/two\nwords\n"} {
		f.Add(s)
	}
	s := shelf("poet", "two words", "straße", "perché", "c++")
	f.Fuzz(func(t *testing.T, text string) {
		for _, spoken := range []bool{false, true} {
			names, rest := s.Match(text, spoken)
			for i, n := range names {
				if _, ok := s.Find(n); !ok || slices.Contains(names[:i], n) {
					t.Errorf("%q: %q", text, names)
				}
			}
			if len(rest) > len(text) || !strings.Contains(text, "/") && rest != text {
				t.Errorf("%q: %q", text, rest)
			}
		}
	})
}

func BenchmarkShelf(b *testing.B) {
	dir := b.TempDir()
	for i := range 100 {
		name := fmt.Sprintf("skill-%03d", i)
		write(b, dir, name, source(name, "Does something. Often.", strings.Repeat("text ", 1000)))
	}
	f := New(dir, slog.New(slog.DiscardHandler))
	s := f.Shelf()
	b.Run("unchanged", func(b *testing.B) {
		for b.Loop() {
			f.Shelf()
		}
	})
	b.Run("match", func(b *testing.B) {
		for b.Loop() {
			s.Match("please write me a line about the weather in the town where I live with skill 099", true)
		}
	})
}
