// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"slices"
	"strings"
	"testing"
	"unicode"
)

// pieces cuts text into pieces of n bytes, also inside characters.
func pieces(text string, n int) []string {
	var out []string
	for b := range slices.Chunk([]byte(text), n) {
		out = append(out, string(b))
	}
	return out
}

func split(lang string, chunks ...string) []string {
	s := NewSplitter(lang)
	var out []string
	for _, c := range chunks {
		out = append(out, s.Push(c)...)
	}
	return append(out, s.Flush()...)
}

// bare joins what is no white space; pieces are taken one by one, lest two
// broken bytes at a seam make a character.
func bare(pieces ...string) string {
	var b strings.Builder
	for _, s := range pieces {
		for _, r := range s {
			if !unicode.IsSpace(r) {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

func TestSplit(t *testing.T) {
	tests := []struct {
		name, lang, text string
		want             []string
	}{
		{"two sentences", "en", "It rains. Take a coat.", []string{"It rains.", "Take a coat."}},
		{"decimal", "en", "It is 21.5 degrees. Warm.", []string{"It is 21.5 degrees.", "Warm."}},
		{"title", "it", "Chiama il dott. Verdi. Subito!", []string{"Chiama il dott. Verdi.", "Subito!"}},
		{"elision", "it", "È l'avv. Neri? No.", []string{"È l'avv. Neri?", "No."}},
		{"word like an abbreviation", "en", "The light is on. The door is shut.", []string{"The light is on.", "The door is shut."}},
		{"number only before digits", "en", "He said no. Ask again.", []string{"He said no.", "Ask again."}},
		{"number before digits", "en", "Bus No. 9 is late. Walk.", []string{"Bus No. 9 is late.", "Walk."}},
		{"dotted form goes on", "en", "At 7 a.m. sharp. Go.", []string{"At 7 a.m. sharp.", "Go."}},
		{"dotted form ends", "en", "At 7 p.m. Then we eat.", []string{"At 7 p.m.", "Then we eat."}},
		{"initial", "en", "Ask Ada B. Crane. Now.", []string{"Ask Ada B. Crane.", "Now."}},
		{"plan B", "en", "We need plan B. It is late.", []string{"We need plan B.", "It is late."}},
		{"ordinal", "de", "Am 3. Mai ist frei. Gut.", []string{"Am 3. Mai ist frei.", "Gut."}},
		{"two part abbreviation", "de", "Obst, z. B. Kirschen. Lecker.", []string{"Obst, z. B. Kirschen.", "Lecker."}},
		{"space before mark", "fr", "Tu viens ? Oui !", []string{"Tu viens ?", "Oui !"}},
		{"quote after stop", "en", "“Yes.” She left.", []string{"“Yes.”", "She left."}},
		{"address", "en", "See https://example.org/a.b?c=d. Bye.", []string{"See https://example.org/a.b?c=d.", "Bye."}},
		{"wide stops", "ja", "雨です。傘を持って。", []string{"雨です。", "傘を持って。"}},
		{"wide quotation", "ja", "「行こう。」と言った。はい。", []string{"「行こう。」と言った。", "はい。"}},
		{"list", "en", "Buy:\n- milk\n- bread\n", []string{"Buy:", "- milk", "- bread"}},
		{"numbered list", "en", "1. Open it\n2. Close it", []string{"1. Open it", "2. Close it"}},
		{"heading", "en", "## Plan\nWe go.", []string{"## Plan", "We go."}},
		{"bold heading", "en", "**Plan:**\nWe go.", []string{"**Plan:**", "We go."}},
		{"rule", "en", "One\n\n---\n\nTwo", []string{"One", "---", "Two"}},
		{"soft break", "en", "one\ntwo. Three", []string{"one\ntwo.", "Three"}},
		{"fence", "en", "Look:\n```go\na. B\n\n# c\n```\nDone.", []string{"Look:", "```go\na. B\n\n# c\n```", "Done."}},
		{"open fence", "en", "```\na. B", []string{"```\na. B"}},
		{"table", "en", "| a | b |\n|---|---|\n| 1. | X. Y |\nDone.", []string{"| a | b |\n|---|---|\n| 1. | X. Y |", "Done."}},
		{"code span", "en", "Type `a. B` now. Go.", []string{"Type `a. B` now.", "Go."}},
		{"emoji", "it", "Fatto! 😀 Ora dormo.", []string{"Fatto! 😀", "Ora dormo."}},
		{"negative number", "it", "-5 gradi. Freddo.", []string{"-5 gradi.", "Freddo."}},
		{"nothing", "en", " \n\n\t", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []int{1, 2, 3, 7, 1 << 20} {
				if got := split(tt.lang, pieces(tt.text, n)...); !slices.Equal(got, tt.want) {
					t.Fatalf("pieces of %d: got %q, want %q", n, got, tt.want)
				}
			}
		})
	}
}

func TestSplitAtOnce(t *testing.T) {
	s := NewSplitter("en")
	for _, step := range []struct {
		push string
		want []string
	}{
		{"It is 21", nil}, {".", nil}, {"5", nil}, {".", nil}, {" ", nil}, {"W", []string{"It is 21.5."}}, {"arm.", nil},
	} {
		if got := s.Push(step.push); !slices.Equal(got, step.want) {
			t.Fatalf("push %q: got %q, want %q", step.push, got, step.want)
		}
	}
	if got := s.Flush(); !slices.Equal(got, []string{"Warm."}) {
		t.Fatalf("flush: got %q", got)
	}
	if got := s.Flush(); got != nil {
		t.Fatalf("second flush: got %q", got)
	}
}

func TestLongRuns(t *testing.T) {
	clause := strings.Repeat("word ", 30) + "end, "
	for name, text := range map[string]string{
		"clauses":   strings.Repeat(clause, 20),
		"no marks":  strings.Repeat("word ", 400),
		"no spaces": strings.Repeat("x", 2000),
		"wide":      strings.Repeat("今日はいい天気です，", 100),
		"brackets":  strings.Repeat("(“*`[ ", 300),
	} {
		for _, n := range []int{1, 5, 1 << 20} {
			got := split("en", pieces(text, n)...)
			for i, p := range got {
				if len([]rune(p)) > maxRunes {
					t.Errorf("%s: piece of %d characters", name, len([]rune(p)))
				}
				if name == "clauses" && i < len(got)-1 && !strings.HasSuffix(p, ",") {
					t.Errorf("%s: piece ends in %q", name, p[len(p)-5:])
				}
			}
			if bare(got...) != bare(text) {
				t.Errorf("%s: text lost", name)
			}
		}
	}
}

func FuzzSplitter(f *testing.F) {
	for _, s := range []string{
		"It is 21.5. Warm. No. 5!", "1. a\n2. b\n\n```\nx\n````\n", "> - x\n| a |\n---\n* * *", "“。”と. … `a\n", "a\xff.\xe3\x80 B. [x](y z.) C",
		strings.Repeat("word, ", 120), "Wait!? *Yes.* (No.) Dr. B. U.S. Then 3. Mai",
	} {
		f.Add(s, uint8(3), "de")
	}
	f.Fuzz(func(t *testing.T, text string, n uint8, lang string) {
		whole := split(lang, text)
		got := split(lang, pieces(text, int(n)+1)...)
		if !slices.Equal(whole, got) {
			t.Fatalf("pieces of %d: %q, whole %q", n+1, got, whole)
		}
		if bare(whole...) != bare(text) {
			t.Fatalf("text lost: %q of %q", whole, text)
		}
	})
}
