// SPDX-License-Identifier: Apache-2.0

package language

import (
	"testing"
)

var six = []string{"it", "en", "de", "fr", "es", "pt"}

func TestIdentify(t *testing.T) {
	both := []string{"it", "en"}
	tests := []struct {
		text, prior string
		configured  []string
		want        string
	}{
		{"Che tempo fa domani?", "en", both, "it"},
		{"What is the weather like?", "it", both, "en"},
		{"Accendi la luce in cucina.", "en", both, "it"},
		{"Il browser è aperto.", "en", both, "it"},
		{"**Fatto**: `the file is here` è pronto.", "en", both, "it"},
		{"Grazie.", "en", both, "it"},
		{"Thanks!", "it", both, "en"},
		{"Wie spät ist es?", "", six, "de"},
		{"Quelle heure est-il ?", "", six, "fr"},
		{"¿Qué hora es?", "", six, "es"},
		{"Que horas são?", "", six, "pt"},
		{"J'ai ajouté du lait à la liste.", "it", six, "fr"},
		{"L'appuntamento è alle nove.", "fr", six, "it"},
		{"No hay reuniones hoy.", "pt", six, "es"},
		{"Não há reuniões hoje.", "es", six, "pt"},

		{"Ok.", "en", both, "en"},
		{"Ok.", "it", both, "it"},
		{"Ok.", "", both, "it"},
		{"Taxi.", "en", both, "en"},
		{"18:30", "en", both, "en"},
		{"https://example.org/the/page", "it", both, "it"},
		{"ann@example.org", "it", both, "it"},
		{"🎉", "en", both, "en"},
		{"", "en", both, "en"},
		{"USB, HDMI.", "it", both, "it"},

		{"This is English.", "it", []string{"it"}, "it"},
		{"This is English.", "it", nil, "it"},
		{"This is English.", "de", both, "en"},
		{"What is the time?", "it-IT", []string{"it", "en-us"}, "en-us"},
		{"今日はいい天気です。", "it", []string{"it", "ja", "zh"}, "ja"},
		{"今天天气很好。", "ja", []string{"it", "ja", "zh"}, "zh"},
		{"北京", "ja", []string{"it", "ja", "zh"}, "ja"},
		{"北京", "it", both, "it"},
		{"Ecco: 你好 vuol dire ciao.", "it", []string{"it", "zh"}, "it"},
	}
	for _, tt := range tests {
		if got := Identify(tt.text, tt.prior, tt.configured); got != tt.want {
			t.Errorf("Identify(%q, %q, %v) = %q, want %q", tt.text, tt.prior, tt.configured, got, tt.want)
		}
	}
}

// A clear sentence keeps its language whatever came before.
func TestIdentifyAgainstAnyPrior(t *testing.T) {
	for want, texts := range map[string][]string{
		"it": {"Non ho trovato nessun appuntamento per domani.", "Ricordami di comprare il pane questa sera."},
		"en": {"I could not find any meeting for tomorrow.", "Remind me to buy some bread this evening."},
		"de": {"Ich habe morgen keinen Termin gefunden.", "Erinnere mich heute Abend an das Brot."},
		"fr": {"Je n'ai trouvé aucun rendez-vous pour demain.", "Rappelle-moi d'acheter du pain ce soir."},
		"es": {"No he encontrado ninguna cita para mañana.", "Recuérdame comprar el pan esta noche."},
		"pt": {"Não encontrei nenhuma reunião para amanhã.", "Lembra-me de comprar o pão esta noite."},
	} {
		for _, text := range texts {
			for _, prior := range append(six, "") {
				if got := Identify(text, prior, six); got != want {
					t.Errorf("Identify(%q, %q) = %q, want %q", text, prior, got, want)
				}
			}
		}
	}
}

func FuzzIdentify(f *testing.F) {
	f.Add("What's the time? `x` 你好", "en")
	f.Fuzz(func(t *testing.T, text, prior string) {
		for _, c := range six {
			if Identify(text, prior, six) == c {
				return
			}
		}
		t.Fatal("not a configured language")
	})
}

func BenchmarkIdentify(b *testing.B) {
	for b.Loop() {
		Identify("Non ho trovato nessun appuntamento per domani.", "en", six)
	}
}

func TestForms(t *testing.T) {
	for _, tt := range []struct {
		lang, word string
		want       bool
	}{
		{"it", "ottima", true},
		{"it", "spiegami", true},
		{"es", "espérame", true},
		{"pt", "prontas", true},
		{"it", "xyzzy", false},
		{"it", "io", false},
	} {
		if got := related(tt.lang, tt.word); got != tt.want {
			t.Errorf("related(%q, %q) = %v, want %v", tt.lang, tt.word, got, tt.want)
		}
	}
	for in, want := range map[string]string{"perche'": "perché", "e'": "è", "po'": "", "'": "", "l'": "", "citta'": "città"} {
		if got := accented(in); got != want {
			t.Errorf("accented(%q) = %q, want %q", in, got, want)
		}
	}
}
