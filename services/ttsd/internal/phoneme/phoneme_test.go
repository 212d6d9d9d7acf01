// SPDX-License-Identifier: Apache-2.0

package phoneme

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// A book is a reader that knows the phonemes of a few texts, and spells others.
type book map[string]string

func (b book) Read(_ context.Context, voice, text string) (string, error) {
	if said, ok := b[voice+" "+text]; ok {
		return said, nil
	}
	return strings.ToLower(text), nil
}

func read(t *testing.T, b book, tag, text string) Line {
	t.Helper()
	l, err := Lookup(tag)
	if err != nil {
		t.Fatal(err)
	}
	line, err := Read(t.Context(), b, l, text)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func TestMarksAreKept(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ciao, come va?":                      "ciao, come va?",
		"  ciao ,come\tva\n?  ":               "ciao ,come va ?",
		"no.":                                 "no.",
		"costa 3,5 lire":                      "costa 3,5 lire",
		"1.234,56 e 10:30":                    "1.234,56 e 10:30",
		"it costs .5 now":                     "it costs .5 now",
		"a:b, c,d":                            "a:b, c,d",
		"finito.Poi altro":                    "finito.poi altro",
		"vedi example.com ora":                "vedi example.com ora",
		"wait... what":                        "wait… what",
		"yes - no -- or \u2013 so":            "yes \u2014 no \u2014 or \u2014 so",
		"10\u201312 ore":                      "1012 ore", // the hyphen is dropped after it was read
		"so-so":                               "soso",
		"¿qué tal? ¡hola!":                    "qué tal? hola!",
		"(detto) «così» e „cosà“":             "(detto) “così” e “cosà“",
		"**bold** _it_ # `x` [a](b) {c}":      "bold it x a (b) c",
		"eh!!! cosa??? ok?!":                  "eh! cosa? ok?!",
		"pizza \U0001F355 buona \u2764\ufe0f": "pizza buona",
		"non\u00a0so\u200b, d’accordo":        "non so, d'accordo",
		"l＇uno，due！":                          "l＇uno,due!",
		"नमस्ते।":                             "नमस्ते.",
		"\xff\xfea\x00b":                      "a b",
		"fine...":                             "fine…",
	} {
		if got := read(t, nil, "it", text).String(); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"", " ", "...", "?!", "- -", "\U0001F600", "** **", "\x00", "'", "\" \""} {
		if line := read(t, nil, "it", text); line != nil {
			t.Errorf("%q gives %q, want nothing", text, line)
		}
	}
}

func TestRewrites(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"it", "a^ɪ a^ʊ d^z d^ʒ e^ɪ o^ʊ ə^ʊ s^s t^s t^ʃ ɔ^ɪ", "I W ʣ ʤ A O Q S ʦ ʧ Y"},
		{"it", "kontrˈɔlla (^e^n)dˈɛsktɒp(^i^t) ts tʃ", "kontrˈɔlla dˈɛsktɒp ts tʃ"},
		{"fr-fr", "lə- mˈɔ̃d le-z amˈi", "lə mˈɔ̃d lez amˈi"},
		{"pt-br", "nˌã ç c\u0327 g", "nˌa\u0303 ç ç ɡ"},
		{"en-us", "bˈʌʔn\u0329 kˈɪʔˌn\u0329 lˈɪɾə^l wˈɔːɾɚ", "bˈʌtn kˈɪtn lˈɪTᵊl wˈɔTəɹ"},
		{"en-us", "həlˈo^ʊ wˈɜːld nˈɜːɹs ɪə e x ç ɐ ɬ ʲoʲəʲ r ã", "həlˈO wˈɜɹld nˈɜɹs iə A k k ə l jɔjə ɹ ã"},
		{"en-us", "l\u0329 s\u0329t", "ᵊl ᵊst"},
		{"en-gb", "hˈe^ə nˈi^ə nˈɜːs ɡˈə^ʊt de^ɪ iə", "hˈɛː nˈɪə nˈɜːs ɡˈQt dA ɪə"},
	} {
		l, err := Lookup(c[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := l.rewrite(unflag(c[1])); got != c[2] {
			t.Errorf("%s: %q becomes %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{"it": "it", "EN": "en-us", "en_GB": "en-gb", "fr": "fr-fr", "pt": "pt-br", "es-419": "es", "hi": "hi"} {
		if l, err := Lookup(tag); err != nil || l.Name != want {
			t.Errorf("%s is %q, %v, want %q", tag, l.Name, err, want)
		}
	}
	for tag, words := range map[string]string{"ja": "voices", "zh": "voices", "cmn": "voices", "zh-tw": "voices", "de": "does not speak", "": "does not speak"} {
		if _, err := Lookup(tag); err == nil || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), "en-us, en-gb, es, fr-fr, hi, it, pt-br") {
			t.Errorf("%q gives %v", tag, err)
		}
	}
}

// upto shows what was said when each symbol is over, where that grows.
func upto(text string, line Line) (list []string) {
	last := 0
	for _, s := range line {
		if s.End != last {
			list = append(list, text[last:s.End])
			last = s.End
		}
	}
	return list
}

func TestWordsAreFollowed(t *testing.T) {
	t.Parallel()
	b := book{"en-us in the house": "ɪnðə hˈaʊs", "en-us 12 apples": "twˈɛlv ˈapəlz", "en-us 2026": "twˈɛnti twˈɛnti sˈɪks"}
	for text, want := range map[string][]string{
		"one  two, three.": {"one", "  two", ",", " three", "."},
		"in the house":     {"in the", " house"},
		"12 apples!":       {"12", " apples", "!"},
		"2026":             {"2026"},
		"“Sì”, caffè…":     {"“", "Sì", "”", ",", " caffè", "…"},
		"a \U0001F355 b":   {"a", " \U0001F355 b"},
	} {
		if got := upto(text, read(t, b, "en-us", text)); !slices.Equal(got, want) {
			t.Errorf("%q is followed as %q, want %q", text, got, want)
		}
	}
}

func TestVocabularyIsTheModels(t *testing.T) {
	t.Parallel()
	v := Standard()
	if len(v) != 114 || v['\u2014'] != 9 || v['\u0303'] != 17 || v[' '] != 16 || v['ᵻ'] != 177 || v['g'] != 0 {
		t.Errorf("%d symbols: %v", len(v), v)
	}
	config := map[string]any{"n_token": 178, "vocab": map[string]int64{}}
	for r, id := range v {
		config["vocab"].(map[string]int64)[string(r)] = id
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParseVocabulary(text); err != nil || !maps.Equal(got, v) {
		t.Errorf("read back %d symbols, %v", len(got), err)
	}
	for _, bad := range []string{"", "{}", `{"vocab": 1}`, `{"vocab": {"a": -1}}`, `{"vocab": {"a": 99999}}`, `{"vocab": {"a": 1}}`} {
		if _, err := ParseVocabulary([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestUnknownSymbolsAreLeftOut(t *testing.T) {
	t.Parallel()
	tokens, dropped := Standard().Tokens(Line{{'a', 0}, {'\u032a', 3}, {'7', 4}, {'b', 5}})
	if want := []Token{{43, Symbol{'a', 4}}, {44, Symbol{'b', 5}}}; !slices.Equal(tokens, want) || string(dropped) != "\u032a7" {
		t.Errorf("tokens are %v, dropped %q", tokens, string(dropped))
	}
}

func TestReaderFails(t *testing.T) {
	t.Parallel()
	l, _ := Lookup("it")
	if _, err := Read(t.Context(), broken{}, l, "a, b"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("error is %v", err)
	}
}

type broken struct{}

func (broken) Read(context.Context, string, string) (string, error) { return "", os.ErrClosed }

func FuzzRead(f *testing.F) {
	for _, s := range []string{"Ciao, come stai?", "3,5 e 1.234.", "\xff(en)…", "- \U0001F600 (a", "नमस्ते।"} {
		f.Add(s)
	}
	l, _ := Lookup("it")
	f.Fuzz(func(t *testing.T, text string) {
		line, err := Read(t.Context(), book{}, l, text)
		if err != nil {
			t.Fatal(err)
		}
		last := 0
		for _, s := range line {
			if s.End < last || s.End > len(text) {
				t.Fatalf("%q: %v goes from %d to %d", text, line, last, s.End)
			}
			last = s.End
		}
		tokens, dropped := Standard().Tokens(line)
		if len(tokens)+len(dropped) != len(line) || !utf8.ValidString(line.String()) {
			t.Errorf("%q: %d tokens and %d dropped of %d", text, len(tokens), len(dropped), len(line))
		}
	})
}

func FuzzParseVocabulary(f *testing.F) {
	f.Add([]byte(`{"vocab": {"a": 43}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := ParseVocabulary(b); (v == nil) != (err != nil) {
			t.Errorf("%v with %v", v, err)
		}
	})
}
