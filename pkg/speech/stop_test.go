// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/speech/lexicon"
)

// Every row of every language's tables does what its section says.
func TestAbbreviations(t *testing.T) {
	for _, lang := range lexicon.Languages() {
		table := lexicon.For(lang)
		opener := "Yes"
		for _, w := range slices.Sorted(maps.Keys(table.Words)) {
			if len(w) > 2 && !strings.Contains(w, "'") {
				opener = strings.ToUpper(w[:1]) + w[1:]
				if w[0] < 0x80 {
					break
				}
			}
		}
		check := func(section, text string, want int) {
			t.Helper()
			if got := split(lang, text); len(got) != want {
				t.Errorf("%s %s: %q is %d sentences, want %d", lang, section, text, len(got), want)
			}
		}
		for w := range table.Never {
			w = strings.ReplaceAll(w, "_", ". ")
			check("never", "xx "+w+". Zorblax yy.", 1)
			check("never", "xx "+w+". "+opener+" yy.", 1)
		}
		for w := range table.Number {
			check("number", "xx "+w+". 12 yy.", 1)
		}
		for w := range table.May {
			w = strings.ReplaceAll(w, "_", ". ")
			check("may", "xx "+w+". Zorblax yy.", 1)
			check("may", "xx "+w+". "+opener+" yy.", 2)
		}
	}
}

// Lists are per language: what is short for something in one is a word in
// another.
func TestWordsThatLookShort(t *testing.T) {
	for lang, texts := range map[string][]string{
		"en": {"The light is on. The door is shut.", "I sat. Then I stood.", "He said no. Ask again.", "I am. Robert is not.", "I bought a TV. Ann was glad."},
		"it": {"Vado al mar. Poi torno.", "Aspetta al bar. Arrivo.", "È tardi ormai. Vado a letto.", "Costa 5. Va bene."},
		"de": {"Das ist rot. Gut so.", "Er ist 12. Sie ist 13.", "Es war 1989. Er gelang."},
	} {
		for _, text := range texts {
			if got := split(lang, text); len(got) != 2 {
				t.Errorf("%s: %q", lang, got)
			}
		}
	}
}

// answer is 3,000 characters of a usual answer in pieces of a token's size.
func answer() []string {
	text := strings.Repeat("Domani a Roma ci saranno 22,5 gradi. Il dott. Verdi arriva alle 18:30, ca. un'ora dopo. Vuoi altro? ", 30)
	return pieces(text, 4)
}

func BenchmarkPushToken(b *testing.B) {
	tokens := answer()
	s := NewSplitter("it")
	i := 0
	for b.Loop() {
		s.Push(tokens[i])
		if i++; i == len(tokens) {
			s.Flush()
			i = 0
		}
	}
}

func BenchmarkPushAnswer(b *testing.B) {
	tokens := answer()
	b.SetBytes(int64(len(strings.Join(tokens, ""))))
	for b.Loop() {
		split("it", tokens...)
	}
}

// A long text without a stop costs as much a byte as a kilobyte does, and no more
// than one piece is kept. Work is counted in the calls that the run makes.
func TestLongTextIsLinear(t *testing.T) {
	for name, unit := range map[string]string{
		"words": "parola ", "letters": "x", "marks": "(“*`[ ", "digits": "1.", "wide": "今日", "brackets": "[a. B ",
		"stops": ". ", "lines": "a\n", "fence": "```\nx\n", "table": "|a", "quotes": "\"", "links": "[a](", "emoji": "😀 ",
		"dots": "...", "abbreviations": "dott. ", "spaces": "      ", "bullets": "- ",
	} {
		text := strings.Repeat(unit, (1<<17)/len(unit))
		s := NewSplitter("it")
		emitted := 0
		for p := range pieceSeq(text, 4096) {
			for _, x := range s.Push(p) {
				emitted += len(x)
			}
			if block := s.kind == fence || s.kind == grid; !block && len(s.buf) > 8192 {
				t.Fatalf("%s: %d bytes kept", name, len(s.buf))
			}
		}
		for _, x := range s.Flush() {
			emitted += len(x)
		}
		if name != "spaces" && emitted < len(text)/2 {
			t.Errorf("%s: %d of %d bytes", name, emitted, len(text))
		}
	}
}

func pieceSeq(text string, n int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			k := min(n, len(text))
			if !yield(text[:k]) {
				return
			}
			text = text[k:]
		}
	}
}

func BenchmarkPushMegabyteWithoutStops(b *testing.B) {
	tokens := pieces(strings.Repeat("parola ", (1<<20)/7), 4)
	b.SetBytes(1 << 20)
	for b.Loop() {
		split("it", tokens...)
	}
}

func BenchmarkPushWithoutStops(b *testing.B) {
	tokens := pieces(strings.Repeat("parola ", 6000), 4)
	for b.Loop() {
		split("it", tokens...)
	}
}
