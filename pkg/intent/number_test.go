// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"strconv"
	"strings"
	"testing"
)

func TestNumberWords(t *testing.T) {
	for lang, cases := range map[string]map[string]string{
		"en": {
			"twenty five": "25", "twenty-five": "25", "twenty": "20", "five": "5", "twenty ten": "20 10", "fifty fifty one": "50 51",
			"twenty zero": "20 0", "one hundred and five": "105", "a hundred": "100", "two thousand three hundred forty one": "2341",
			"nineteen ninety": "19 90", "two million": "2000000", "one two three": "1 2 3", "bread and butter": "bread and butter",
			"five and six": "5 and 6", "an apple": "an apple", "five hundred thousand": "500000", "twenty and five": "25",
			"hundred hundred": "100 100",
		},
		"it": {
			"ventuno": "21", "ventitré": "23", "trentotto": "38", "cinque": "5", "centoventi": "120", "duemilaventisei": "2026",
			"cento e uno": "101", "mille": "1000", "tremila": "3000", "duecentocinquanta": "250", "un milione": "1000000",
			"pane e acqua": "pane e acqua", "due e tre": "2 e 3", "trentun": "31", "sei": "6", "una luce": "una luce", "centotto": "centotto",
			"millenovecentottantaquattro": "millenovecentottantaquattro", "millenovecentoottantaquattro": "1984",
		},
		"de": {
			"fünfundzwanzig": "25", "einundzwanzig": "21", "hundert": "100", "zweihundertdreiunddreißig": "233", "eintausend": "1000",
			"zweitausendsechsundzwanzig": "2026", "ein": "ein", "zwölf": "12", "hunderteins": "101", "brot und butter": "brot und butter",
			"dreißig": "30", "neunzehn": "19", "fünf und sechs": "5 und 6",
		},
		"fr": {
			"vingt et un": "21", "quatre-vingt-dix-neuf": "99", "soixante-quinze": "75", "quatre-vingts": "80", "cent vingt": "120",
			"deux mille vingt-six": "2026", "septante": "70", "un": "un", "dix-sept": "17", "soixante et onze": "71", "trois cents": "300",
		},
		"es": {
			"treinta y cinco": "35", "veintidós": "22", "ciento uno": "101", "dos mil veintiséis": "2026", "quinientos": "500",
			"pan y agua": "pan y agua", "dieciséis": "16", "cien": "100", "treinta y un": "31",
		},
		"pt": {
			"trinta e cinco": "35", "cento e vinte e três": "123", "dois mil e vinte e seis": "2026", "duzentas": "200", "dezesseis": "16",
			"pão e água": "pao e agua", "vinte e uma": "21", "mil": "1000",
		},
		"xx": {"five": "five"},
	} {
		for text, want := range cases {
			if got := joined(parseWords(text, lang)); got != want {
				t.Errorf("%s %q: %q, want %q", lang, text, got, want)
			}
		}
	}
}

// Every number up to 9999 is read as it is spelled.
func TestEnglishNumbersBack(t *testing.T) {
	for n := range 10000 {
		if got := joined(parseWords(spellEnglish(n), "en")); got != strconv.Itoa(n) {
			t.Fatalf("%q is %q, want %d", spellEnglish(n), got, n)
		}
	}
}

func TestNumberParams(t *testing.T) {
	params := map[string]Param{"n": {Type: "integer", Required: true}, "x": {Type: "number"}, "day": {Type: "integer", Enum: []string{"1", "2", "3"}}, "what": {}}
	x, err := Compile([]Source{
		{Tool: "timer", Lang: "en", Params: params, Sentences: []string{"[set] [a] timer for {n} minute[s]", "timer {n} [called] {what}"}},
		{Tool: "heat", Lang: "en", Params: map[string]Param{"x": {Type: "number"}}, Sentences: []string{"set the heating to {x} [degrees]"}},
		{Tool: "text", Lang: "en", Params: map[string]Param{"what": {}}, Sentences: []string{"timer for {what}"}},
		{Tool: "forecast", Lang: "it", Params: map[string]Param{"day": {Type: "integer", Enum: []string{"1", "2", "3"}}}, Sentences: []string{"tempo tra {day} (giorno|giorni)"}},
		{Tool: "timer", Lang: "de", Params: params, Sentences: []string{"timer auf {n} (minute|minuten)"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ lang, text, tool, name, value string }{
		{"en", "set a timer for three minutes", "timer", "n", "3"},
		{"en", "Set a timer for 1,500 minutes!", "timer", "n", "1500"},
		{"en", "timer for a minute", "timer", "n", "1"},
		{"en", "timer for twenty-five minutes please", "timer", "n", "25"},
		{"en", "timer for minus five minutes", "timer", "n", "-5"},
		{"en", "timer for 007 minutes", "timer", "n", "7"},
		{"en", "timer for the eggs", "text", "what", "the eggs"},
		{"en", "timer for 2.5 minutes", "text", "what", "2.5 minutes"},
		{"en", "set the heating to 21.5 degrees", "heat", "x", "21.5"},
		{"en", "set the heating to twenty one", "heat", "x", "21"},
		{"en", "set the heating to warm", "", "", ""},
		{"it", "che? tempo tra tre giorni", "", "", ""},
		{"it", "tempo tra tre giorni", "forecast", "day", "3"},
		{"it", "tempo tra un giorno", "forecast", "day", "1"},
		{"it", "tempo tra sette giorni", "", "", ""},
		{"de", "Timer auf fünfundzwanzig Minuten", "timer", "n", "25"},
		{"de", "Timer auf eine Minute", "timer", "n", "1"},
	} {
		m, ok := x.Match(tt.text, tt.lang)
		if ok != (tt.tool != "") || m.Tool != tt.tool || m.Args[tt.name] != tt.value {
			t.Errorf("Match(%q) = %+v, want %q %s=%s", tt.text, m, tt.tool, tt.name, tt.value)
		}
	}
}

func FuzzNumbers(f *testing.F) {
	for _, s := range []string{"two hundred and five", "duecentoventi", "einhundertfünfundzwanzig", "quatre vingt dix", "and and a hundred", "minus a"} {
		f.Add(s, "it")
	}
	f.Fuzz(func(t *testing.T, text, lang string) {
		words := parseWords(text, lang)
		for i := range words {
			if digits, n := number(words[i:], lang, "number"); n > 0 {
				if _, err := strconv.ParseFloat(digits, 64); err != nil || n > len(words)-i || strings.HasPrefix(digits, "00") {
					t.Fatalf("number %q of %d words", digits, n)
				}
			}
		}
	})
}
