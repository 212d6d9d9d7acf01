// SPDX-License-Identifier: Apache-2.0

package consent

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestQuestion(t *testing.T) {
	for _, c := range []struct{ tool, lang, arguments, text, language string }{
		{"turn_off", "en-us", `{}`, "Shall I run turn off? Please say yes or no.", "en-us"},
		{"lights", "en", `{"room":"kitchen","level":40}`, `Shall I run lights with level 40 and room "kitchen"? Please say yes or no.`, "en"},
		{"lights", "it", `{"room":"cucina","on":true,"dim":false}`, `Devo eseguire lights con dim no, on sì e room "cucina"? Rispondi sì o no.`, "it"},
		{"lights", "de", `{"rooms":["Bad","Flur"]}`, `Soll ich lights mit rooms "Bad" und "Flur" ausführen? Bitte sag ja oder nein.`, "de"},
		{"lights", "fr", `{"a":null,"b":""}`, "Dois-je exécuter lights ? Réponds oui ou non.", "fr"},
		{"send-mail", "es", `{"to":{"last_name":"x"}}`, `¿Ejecuto send mail con to last name "x"? Responde sí o no.`, "es"},
		{"lights", "pt-BR", `not json`, "Devo executar lights? Responde sim ou não.", "pt-BR"},
		{"lights", "ja", `{"n":1}`, "Shall I run lights with n 1? Please say yes or no.", "en"},
		{"move", "en", `{"path":"a","path":"b"}`, `Shall I run move with path "b"? Please say yes or no.`, "en"},
	} {
		text, language := Question(c.tool, c.lang, json.RawMessage(c.arguments))
		if text != c.text || language != c.language {
			t.Errorf("%s %s in %s: %q in %q", c.tool, c.arguments, c.lang, text, language)
		}
	}
	long, _ := Question("x", "en", json.RawMessage(`{"a":"`+strings.Repeat("é", 5000)+`"}`))
	if n := utf8.RuneCountInString(long); n > 300 || !strings.Contains(long, "…") {
		t.Errorf("%d runes", n)
	}
	many := map[string]int{}
	for r := 'a'; r < 'z'; r++ {
		many[string(r)] = 1
	}
	body, _ := json.Marshal(many)
	if text, _ := Question("x", "en", body); !strings.Contains(text, "h 1 and …?") {
		t.Error(text)
	}
}

func TestTableIsComplete(t *testing.T) {
	if got := Languages(); !slices.Equal(got, []string{"de", "en", "es", "fr", "it", "pt"}) {
		t.Errorf("languages %q", got)
	}
	for lang, w := range table {
		if !strings.Contains(w.question, "{tool}") || !strings.Contains(w.questionWith, "{tool}") || !strings.Contains(w.questionWith, "{arguments}") || w.and == "" {
			t.Errorf("%s: %+v", lang, w)
		}
		for _, no := range w.no {
			if c := compiled()[lang]; begins(split(no), c.yes) > 0 || begins(split(no), c.filler) > 0 {
				t.Errorf("%s: %q is a yes or nothing too", lang, no)
			}
		}
	}
}

// Every word of the table alone, and what people say.
func TestRead(t *testing.T) {
	for lang, w := range table {
		question, _ := Question("lights", lang, json.RawMessage(`{"room":"kitchen"}`))
		for _, yes := range w.yes {
			for _, said := range []string{yes, strings.ToUpper(yes) + "!", yes + ", " + w.filler[0] + "."} {
				if got := Read(said, question, lang); got != Yes {
					t.Errorf("%s: %q is %d", lang, said, got)
				}
			}
			for _, no := range w.no {
				if got := Read(yes+" "+no, question, lang); got != No {
					t.Errorf("%s: %q is %d", lang, yes+" "+no, got)
				}
			}
		}
		for _, no := range w.no {
			if got := Read(no+".", question, lang); got != No {
				t.Errorf("%s: %q is %d", lang, no, got)
			}
		}
		for _, said := range []string{"", "…", question, strings.TrimSuffix(question, ".") + "?", w.filler[0], "xyzzy", w.yes[0] + " xyzzy"} {
			if got := Read(said, question, lang); got != Unclear {
				t.Errorf("%s: %q is %d", lang, said, got)
			}
		}
		if got := Read("xyzzy "+w.no[0], question, lang); got != No {
			t.Errorf("%s: a late no is %d", lang, got)
		}
	}
}

func TestReadWhatPeopleSay(t *testing.T) {
	for lang, said := range map[string]map[string]Answer{
		"en": {"Yes, please do it.": Yes, "OK, go ahead, thank you!": Yes, "yes yes yes": Yes, "Don’t.": No, "yes, but not the kitchen": No, "what time is it": Unclear,
			"please say yes": Unclear, "yes or": Unclear, "I guess so": Unclear, "sì": Unclear},
		"it": {"Sì grazie.": Yes, "Si, vai pure": Yes, "Certo che no": No, "meglio di no": No, "che ore sono?": Unclear, "rispondi sì": Unclear},
		"de": {"Ja bitte": Yes, "Na klar, mach das!": Yes, "Lieber nicht.": No, "Wie spät ist es?": Unclear, "sag ja": Unclear},
		"fr": {"Oui, s'il te plaît.": Yes, "Bien sûr, vas-y": Yes, "Surtout pas !": No, "quelle heure est-il": Unclear},
		"es": {"Sí, por favor": Yes, "claro que sí": Yes, "Claro que no": No, "¿qué hora es?": Unclear},
		"pt": {"Sim, por favor": Yes, "pode, obrigado": Yes, "Claro que não.": No, "que horas são?": Unclear},
	} {
		question, _ := Question("lights", lang, nil)
		for text, want := range said {
			if got := Read(text, question, lang); got != want {
				t.Errorf("%s: %q is %d, want %d", lang, text, got, want)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("yes please", "en")
	f.Add("no", "it")
	f.Fuzz(func(t *testing.T, text, lang string) {
		if Read(text, "", lang) == Yes && Read(text+" no", "", "en") != No && lang == "en" {
			t.Errorf("%q with a no behind it is a yes", text)
		}
	})
}
