// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSpoken(t *testing.T) {
	tests := []struct{ name, lang, text, want string }{
		{"plain", "it", "Vuoi altro?", "Vuoi altro?"},
		{"bold", "en", "**Really** good, __yes__.", "Really good, yes."},
		{"bold inside a word", "en", "un**think**able", "unthinkable"},
		{"lone star", "en", "From 5* up.", "From 5 up."},
		{"star as a sign", "en", "2*3 is 6", "2 times 3 is 6"},
		{"underscores", "en", "Set max_size now.", "Set max size now."},
		{"heading", "en", "## Plan ##", "Plan"},
		{"list item", "it", "- latte", "latte"},
		{"task", "en", "- [x] wash up", "wash up"},
		{"numbered item", "en", "1. Open it", "1. Open it"},
		{"quote", "en", "> so it is", "so it is"},
		{"link", "en", "See [the page](https://example.org/a) now.", "See the page now."},
		{"link with an address", "it", "Vedi [https://example.org/a](https://example.org/a).", "Vedi example punto org."},
		{"image", "en", "![a cat](x.png)", "a cat"},
		{"web address", "it", "Vai su https://www.example.org/a?b=c.", "Vai su example punto org."},
		{"mail", "en", "Write to ann@example.org.", "Write to ann at example dot org."},
		{"code span", "en", "Type `make all` now.", "Type make all now."},
		{"stars in code", "en", "Type `a_b`.", "Type a b."},
		{"code block", "it", "```go\nx := 1\n```", "Il codice è sullo schermo."},
		{"code block in another language", "ja", "```go\nx := 1\n```", ""},
		{"table", "en", "| a | b |\n|---|---|\n| 1 | 2 |", "The table is on the screen."},
		{"one row", "en", "| salt | 2 g |", "salt, 2 g"},
		{"rule", "en", "---", ""},
		{"emoji", "en", "Anything else? 😊", "Anything else?"},
		{"only emoji", "en", "🎉👩‍💻", ""},
		{"only marks", "en", "** \u2014 **", ""},
		{"white space", "en", " \n\t", ""},
		{"lines", "en", "one\ntwo", "one two"},
		{"tag", "en", "one<br>two <b>three</b>", "one two three"},
		{"entity", "en", "Tom &amp; Ann", "Tom and Ann"},
		{"escape", "en", `\*no\*`, "no"},
		{"struck", "en", "It is ~~old~~ new.", "It is new."},
		{"footnote", "en", "So it is.[1]", "So it is."},
		{"guillemets", "fr", "« Oui », dit-il.", "Oui, dit-il."},
		{"decimal", "it", "Sono 22,1 gradi.", "Sono 22,1 gradi."},
		{"money in front", "it", "Costa € 12,50.", "Costa 12 euro e 50 centesimi."},
		{"one dollar", "en", "It is $1.", "It is 1 dollar."},
		{"millions", "en", "It is $1.5 million.", "It is 1.5 million dollars."},
		{"below zero", "it", "Fa -5 °C.", "Fa meno 5 gradi."},
		{"speed", "en", "At 90 km/h.", "At 90 kilometres per hour."},
		{"date", "it", "Il 2026-09-01.", "Il primo settembre 2026."},
		{"no date", "it", "Il 2026-19-01.", "Il 2026-19-01."},
		{"range", "en", "In 10-15 minutes.", "In 10 to 15 minutes."},
		{"title", "it", "L'avv. Neri e la sig.ra Verdi, ecc.", "L'avvocato Neri e la signora Verdi, eccetera."},
		{"number sign", "en", "Bus No. 5, no. Wait.", "Bus number 5, no. Wait."},
		{"two part abbreviation", "de", "Obst, z. B. Kirschen.", "Obst, zum Beispiel Kirschen."},
		{"Japanese", "ja", "今日は晴れです。", "今日は晴れです。"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Spoken(tt.text, tt.lang); got != tt.want {
				t.Errorf("Spoken(%q, %q) = %q, want %q", tt.text, tt.lang, got, tt.want)
			}
		})
	}
}

func FuzzSpoken(f *testing.F) {
	for _, s := range []string{"**a** _b_ `c`", "[x](y) <b> &lt;", "€ 5 -3 °C 10-12", "| a | b |", "```\nx", "\xff\ue000 dott. n. 5"} {
		f.Add(s, "it")
	}
	f.Fuzz(func(t *testing.T, text, lang string) {
		got := Spoken(text, lang)
		if strings.ContainsAny(got, "\n*`") || got != strings.TrimSpace(got) || utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Fatalf("Spoken(%q, %q) = %q", text, lang, got)
		}
	})
}

func BenchmarkSpoken(b *testing.B) {
	for b.Loop() {
		Spoken("**Domani** a Roma ci saranno 22,5 °C, dice [il meteo](https://example.org/x) del dott. Verdi.", "it")
	}
}
