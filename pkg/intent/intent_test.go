// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

var sources = []Source{
	{Tool: "now", Lang: "en", Sentences: []string{"what time is it", "(tell me|what is) the time", "what (day|date) is it [today]"}},
	{Tool: "now", Lang: "it", Sentences: []string{"che (ora|ore) (è|sono)", "dimmi l'ora", "che giorno è [oggi]"}},
	{Tool: "weather", Lang: "en", Params: map[string]Param{"place": {}, "when": {Enum: []string{"now", "today", "tomorrow"}}},
		Sentences: []string{"what is the weather [like] [{when}] [in {place}]", "weather in {place}", "will it rain {when}"}},
	{Tool: "weather", Lang: "it", Params: map[string]Param{"place": {}, "when": {Enum: []string{"oggi", "domani"}}},
		Sentences: []string{"che tempo fa [{when}] [a {place}]", "com'è il tempo [{when}]"}},
	{Tool: "light", Lang: "en", Params: map[string]Param{"room": {Enum: []string{"kitchen", "living room"}, Required: true}, "level": {Enum: []string{"20", "50"}}},
		Sentences: []string{"turn on the {room} light[s]", "set the {room} light to {level} [percent]"}},
	{Tool: "go", Lang: "it", Params: map[string]Param{"place": {}}, Sentences: []string{"portami all'{place}"}},
	{Tool: "go", Lang: "en", Params: map[string]Param{"place": {}}, Sentences: []string{"open {place}'s calendar", "wake me at 7 o'clock"}},
	{Tool: "play", Lang: "en", Params: map[string]Param{"song": {}, "room": {}},
		Sentences: []string{"play {song}", "play {song} in the {room}", "thank you"}},
}

func compiled(t testing.TB) *Intents {
	x, err := Compile(sources)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestMatch(t *testing.T) {
	tests := []struct {
		lang, text, tool string
		args             map[string]string
	}{
		{"en", "what time is it", "now", nil},
		{"en", "What time is it?", "now", nil},
		{"en-us", "Hey, um, what time is it, please?", "now", nil},
		{"en", "What's the time?", "now", nil},
		{"en", "whats the time", "now", nil},
		{"en", "What’s the time?", "now", nil},
		{"en", "ＷＨＡＴ time is it", "now", nil},
		{"en", "tell me please the time", "now", nil},
		{"en", "What's the weather?", "weather", nil},
		{"en", "what is the weather in New York?", "weather", map[string]string{"place": "New York"}},
		{"en", "what's the weather like tomorrow in São Paulo, please", "weather", map[string]string{"when": "tomorrow", "place": "São Paulo"}},
		{"en", "Weather in Rome", "weather", map[string]string{"place": "Rome"}},
		{"en", "turn on the living-room lights", "light", map[string]string{"room": "living room"}},
		{"en", "Set the kitchen light to twenty percent", "light", map[string]string{"room": "kitchen", "level": "20"}},
		{"en", "Set the kitchen light to 50", "light", map[string]string{"room": "kitchen", "level": "50"}},
		{"en", "play hey jude", "play", map[string]string{"song": "hey jude"}},
		{"en", "play jazz please", "play", map[string]string{"song": "jazz"}},
		{"en", "play jazz in the kitchen", "play", map[string]string{"song": "jazz", "room": "kitchen"}},
		{"en", "Thank you!", "play", nil},
		{"it", "Che ora è?", "now", nil},
		{"it", "che ora e'", "now", nil},
		{"it", "che ore sono", "now", nil},
		{"it", "Scusa, che ore sono per favore?", "now", nil},
		{"it", "dimmi l’ora", "now", nil},
		{"it", "Com'e il tempo domani?", "weather", map[string]string{"when": "domani"}},
		{"it", "che tempo fa a Reggio nell'Emilia", "weather", map[string]string{"place": "Reggio nell'Emilia"}},
		{"it", "portami all'Arena", "go", map[string]string{"place": "Arena"}},
		{"en", "open Anna’s calendar", "go", map[string]string{"place": "Anna"}},
		{"en", "wake me at seven o'clock", "go", nil},
		{"", "che tempo fa", "weather", nil},

		{"en", "what time is it in Tokyo", "", nil},
		{"en", "what time does it open", "", nil},
		{"en", "what is the weather in", "", nil},
		{"en", "what is the weather in please", "", nil},
		{"en", "what is the weather yesterday", "", nil},
		{"en", "turn on the bathroom light", "", nil},
		{"en", "set the kitchen light to thirty", "", nil},
		{"en", "time", "", nil},
		{"en", "please", "", nil},
		{"en", "", "", nil},
		{"en", "play", "", nil},
		{"en", "thank", "", nil},
		{"en", "play please", "", nil},
		{"en", "che ora è", "", nil},
		{"it", "what time is it", "", nil},
		{"it", "che ora è a Tokyo", "", nil},
		{"it", "a che ora è la riunione", "", nil},
		{"it", "che tempo fa a", "", nil},
		{"de", "what time is it", "", nil},
		{"en", strings.Repeat("play ", 200), "", nil},
	}
	x := compiled(t)
	for _, tt := range tests {
		m, ok := x.Match(tt.text, tt.lang)
		if ok != (tt.tool != "") || m.Tool != tt.tool || !maps.Equal(m.Args, tt.args) {
			t.Errorf("Match(%q, %q) = %+v, %v; want %q %v", tt.text, tt.lang, m, ok, tt.tool, tt.args)
		}
	}
}

func TestMatchBest(t *testing.T) {
	x, err := Compile([]Source{
		{Tool: "say", Lang: "en", Sentences: []string{"say {what}", "say {what}"}, Params: map[string]Param{"what": {}}},
		{Tool: "greet", Lang: "en", Sentences: []string{"say good morning"}},
		{Tool: "echo", Lang: "en", Sentences: []string{"say {what}"}, Params: map[string]Param{"what": {}}},
		{Tool: "late", Lang: "en", Sentences: []string{"say good morning"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"say good morning": "greet", "say good night": "say"} {
		for range 50 {
			if m, _ := x.Match(text, "en"); m.Tool != want {
				t.Fatalf("Match(%q) = %q, want %q", text, m.Tool, want)
			}
		}
	}
}

// Every sentence of a template without free text matches it.
func TestPhrasesMatch(t *testing.T) {
	x := compiled(t)
	for _, src := range sources {
		for _, s := range src.Sentences {
			tmpl, err := ParseTemplate(s, src.Params)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range tmpl.Phrases(100) {
				if m, ok := x.Match(p, src.Lang); !ok || m.Tool != src.Tool {
					t.Errorf("phrase %q of %q matches %+v", p, s, m)
				}
			}
		}
	}
}

func TestPhrases(t *testing.T) {
	params := map[string]Param{"room": {Enum: []string{"attic", "hall"}}, "x": {}}
	tmpl, err := ParseTemplate("[please] turn (on|off) the {room} light[s] [for {x}]", params)
	if err != nil {
		t.Fatal(err)
	}
	got := tmpl.Phrases(1000)
	if len(got) != 16 || !slices.Contains(got, "turn off the hall light") || !slices.Contains(got, "please turn on the attic lights") {
		t.Errorf("phrases: %q", got)
	}
	if got := tmpl.Phrases(3); len(got) != 3 {
		t.Errorf("three phrases: %q", got)
	}
}

func TestParseTemplateErrors(t *testing.T) {
	params := map[string]Param{"a": {}, "b": {}, "c": {}, "d": {}, "e": {Enum: []string{"x", "y"}}, "bad": {Enum: []string{"?"}}}
	tests := []struct {
		template, reason string
		column           int
	}{
		{"turn (on|off", "\"(\" is never closed", 6},
		{"turn [on", "\"[\" is never closed", 6},
		{"turn on)", "\")\" closes nothing", 8},
		{"turn (on]", "\"]\" where \")\" is wanted", 9},
		{"turn (on|)", "empty alternative", 6},
		{"turn ()", "empty alternative", 6},
		{"turn [ ]", "empty alternative", 6},
		{"on|off", "'|' outside brackets", 3},
		{"say {who}", "unknown param \"who\"", 5},
		{"say {", "'{' without a name", 5},
		{"say {}", "param without a name", 5},
		{"say }", "\"}\" has no meaning", 5},
		{"say <rule>", "\"<\" has no meaning", 5},
		{"è {a} {a} x", "param \"a\" twice", 7},
		{"say {a} to {a}", "param \"a\" twice", 12},
		{"say {a} {b}", "follows another", 9},
		{"say {a}, {b}", "follows another", 10},
		{"say x{a}", "inside a word", 6},
		{"say {a}x", "inside a word", 5},
		{"say {bad}", "has no word", 5},
		{"{a}", "without a word of its own", 1},
		{"[x] {a}", "without a word of its own", 1},
		{"", "without a word of its own", 1},
		{"?!", "without a word of its own", 1},
		{"{a} 1 {b} 2 {c} 3 {d}", "more than 3 free text", 1},
		{strings.Repeat("(a|b) ", 20), "more than 2000 forms", 0},
		{strings.Repeat("[", 20) + "a" + strings.Repeat("]", 20), "brackets inside each other", 9},
		{strings.Repeat("a ", 400), "longer than 500 characters", 501},
	}
	for _, tt := range tests {
		_, err := ParseTemplate(tt.template, params)
		var se *SyntaxError
		if !errors.As(err, &se) || !strings.Contains(err.Error(), tt.reason) || tt.column != 0 && se.Column != tt.column {
			t.Errorf("ParseTemplate(%.30q) = %v, want %q at %d", tt.template, err, tt.reason, tt.column)
		}
	}
}

func TestRequired(t *testing.T) {
	params := map[string]Param{"place": {Required: true}}
	if _, err := ParseTemplate("weather in {place}", params); err != nil {
		t.Error(err)
	}
	if _, err := ParseTemplate("weather [in {place}]", params); err == nil || !strings.Contains(err.Error(), "required") {
		t.Errorf("optional required param: %v", err)
	}
}

func TestCompileKeepsTheGood(t *testing.T) {
	x, err := Compile([]Source{{Tool: "a", Lang: "en", Sentences: []string{"one (", "two"}}})
	var se *SyntaxError
	if !errors.As(err, &se) || !strings.Contains(err.Error(), `tool "a"`) {
		t.Errorf("error: %v", err)
	}
	if m, ok := x.Match("two", "en"); !ok || m.Tool != "a" {
		t.Error("the good sentence does not match")
	}
}

func TestGrammar(t *testing.T) {
	var templates []Template
	for _, s := range []string{"what is the time", "set {level} [{free}]"} {
		tmpl, err := ParseTemplate(s, map[string]Param{"level": {Enum: []string{"20", "1250"}}, "free": {}})
		if err != nil {
			t.Fatal(err)
		}
		templates = append(templates, tmpl)
	}
	jsgf, words, err := Grammar(templates)
	if err != nil {
		t.Fatal(err)
	}
	want := `#JSGF V1.0;

grammar command;

public <command> =
    ( what is | what's ) the time
  | set one thousand two hundred fifty
  | set twenty
  ;
`
	if jsgf != want {
		t.Errorf("grammar:\n%s", jsgf)
	}
	if got := strings.Join(words, " "); got != "fifty hundred is one set the thousand time twenty two what what's" {
		t.Errorf("words: %s", got)
	}
}

func TestGrammarErrors(t *testing.T) {
	for s, want := range map[string]string{"set 50%": `"50%"`, "set 12345": `"12345"`, "вкл свет": "no word of letters", "say {x}": "no sentence without free text"} {
		tmpl, err := ParseTemplate(s, map[string]Param{"x": {}})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Grammar([]Template{tmpl}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Grammar(%q): %v", s, err)
		}
	}
}

func joined(words []word) string {
	var out []string
	for _, w := range words {
		out = append(out, w.text)
	}
	return strings.Join(out, " ")
}

func FuzzParseTemplate(f *testing.F) {
	for _, s := range []string{"what time is it", "turn (on|off) the {e} light[s]", "[a|b] ((c)) {f}", "dell'{f}", "(", "{", "a]", "\xff {e}"} {
		f.Add(s)
	}
	params := map[string]Param{"e": {Enum: []string{"x", "y z"}}, "f": {}}
	f.Fuzz(func(t *testing.T, s string) {
		tmpl, err := ParseTemplate(s, params)
		if err != nil {
			var se *SyntaxError
			if !errors.As(err, &se) || se.Column < 1 || se.Column > len([]rune(s))+1 || se.Reason == "" {
				t.Fatalf("error %#v", err)
			}
			return
		}
		x, err := Compile([]Source{{Tool: "t", Lang: "en", Sentences: []string{s}, Params: params}})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range tmpl.Phrases(20) {
			if len(parseWords(p, "en")) > maxWords {
				continue
			}
			if _, ok := x.Match(p, "en"); !ok {
				t.Fatalf("phrase %q of %q does not match", p, s)
			}
		}
	})
}

func FuzzMatch(f *testing.F) {
	x := compiled(f)
	f.Add("what's the weather in new york, please?", "en")
	f.Add("po' dell'\xff", "it")
	f.Fuzz(func(t *testing.T, text, lang string) {
		if m, ok := x.Match(text, lang); ok && (m.Tool == "" || m.Words == 0) {
			t.Fatalf("match %+v", m)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	x := compiled(b)
	for b.Loop() {
		x.Match("What's the weather like tomorrow in New York, please?", "en")
	}
}

func BenchmarkNoMatch(b *testing.B) {
	x := compiled(b)
	for b.Loop() {
		x.Match("Who wrote the book about the island with the tall trees?", "en")
	}
}
