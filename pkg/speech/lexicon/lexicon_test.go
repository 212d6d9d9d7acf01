// SPDX-License-Identifier: Apache-2.0

package lexicon

import "testing"

// Every language says the same things.
func TestLexiconComplete(t *testing.T) {
	english := For("en")
	for _, lang := range Languages() {
		table := For(lang)
		for _, key := range []string{"say.code", "say.table", "say.dot", "say.at", "say.minus", "say.times", "say.and", "say.date", "say.about", "say.coin", "say.hour", "say.decimal", "say.point", "say.fromto"} {
			if english.Say(key) == "" || table.Say(key) == "" {
				t.Errorf("%s: no %s", lang, key)
			}
		}
		if len(table.Months) != 12 || len(table.Words) < 150 || len(table.Common) < 100 {
			t.Errorf("%s: %d months, %d words, %d common", lang, len(table.Months), len(table.Words), len(table.Common))
		}
	}
}

func TestPrimary(t *testing.T) {
	for tag, want := range map[string]string{"en-US": "en", "pt_BR": "pt", "it": "it", "": ""} {
		if got := Primary(tag); got != want {
			t.Errorf("Primary(%q) = %q, want %q", tag, got, want)
		}
	}
	if For("xx").Say("say.dot") != "" {
		t.Error("an unknown language says something")
	}
}
