// SPDX-License-Identifier: Apache-2.0

package readout

import (
	"strings"
	"testing"
	"unicode/utf8"

	"example.org/desktop-assistant/pkg/speech/lexicon"
)

func TestAloud(t *testing.T) {
	for _, tt := range []struct{ lang, text, want string }{
		{"it", "", ""},
		{"it", "Ciao a tutti.", "Ciao a tutti."},
		{"it", "Via Roma 5, interno 3.", "Via Roma 5, interno 3."},
		{"en", "No. 5 said no.", "number 5 said no."},
		{"en", "Call Max. Now.", "Call Max. Now."},
		{"en", "It cost 5 and 10.", "It cost 5 and 10."},
		{"de", "Das ist so. Gut.", "Das ist so. Gut."},
		{"ja", "5 kg です。", "5 kg です。"},
	} {
		if got := Aloud(tt.text, lexicon.For(tt.lang)); strings.Join(strings.Fields(got), " ") != tt.want {
			t.Errorf("%s %q: got %q, want %q", tt.lang, tt.text, got, tt.want)
		}
	}
}

// Every unit and coin of every language is said behind a number.
func TestUnitsAndCoins(t *testing.T) {
	for _, lang := range lexicon.Languages() {
		table := lexicon.For(lang)
		for _, symbol := range table.Units() {
			_, many := table.Unit(symbol)
			if symbol == "°" && lang == "it" || len(symbol) > 2 && strings.HasPrefix(many, symbol) {
				continue
			}
			if got := Aloud("xx 7 "+symbol+".", table); !strings.Contains(got, "7 "+many) {
				t.Errorf("%s: 7 %s is %q, want %q", lang, symbol, got, many)
			}
		}
		for _, coin := range []string{"€", "$", "£", "¥", "R$", "CHF", "EUR"} {
			names := table.Coin(coin)
			for _, text := range []string{"xx " + coin + "7.", "xx 7 " + coin + "."} {
				if got := Aloud(text, table); !strings.Contains(got, "7 "+names[1]) {
					t.Errorf("%s: %q is %q, want %q", lang, text, got, names[1])
				}
			}
		}
	}
}

func FuzzAloud(f *testing.F) {
	for _, s := range []string{"€ 5 -3 °C 10-12", "15/9/2026 18:30 Uhr", "XXe IV. 3. Mai", "½ 1/2 2x3x4=24", "+39 06 1234567", "dott. n. 5 ecc.", "1.000.000,5 mln €/kWh"} {
		f.Add(s, "it")
		f.Add(s, "de")
	}
	f.Fuzz(func(t *testing.T, text, lang string) {
		got := Aloud(text, lexicon.For(lang))
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Fatalf("Aloud(%q) = %q", text, got)
		}
		if len(got) > 40*len(text)+40 {
			t.Fatalf("Aloud(%q) has %d bytes", text, len(got))
		}
	})
}
