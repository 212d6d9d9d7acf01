// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/chattest"
	"example.org/desktop-assistant/pkg/testkit/soundtest"
	"example.org/desktop-assistant/proto"
)

// An inquiry is a question that is answered aloud; the model calls a tool for it, or none, and answers.
type inquiry struct {
	text      string
	tool      string
	arguments string
	result    string // of the tool
	language  string // of the announcement, "" when the tool works in silence
	answer    string
}

// TestSixQuestions: the example tools, as installed, behind a model: the time
// and the calendar come in silence, the weather and a search are announced in
// the language of the question, and what is known needs no tool.
func TestSixQuestions(t *testing.T) {
	t.Parallel()
	web := newWebsites(t)
	h := weatherHome(t, web, weatherFile)
	gym := time.Now().UTC().AddDate(0, 0, 2)
	h.write(t, "calendars/mine.ics", strings.ReplaceAll("BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//example.org//EN\nBEGIN:VEVENT\nUID:1@example.org\nDTSTAMP:20260101T000000Z\n"+
		"DTSTART:"+gym.Format("20060102")+"T180000\nDURATION:PT1H\nSUMMARY:Gym\nEND:VEVENT\nEND:VCALENDAR\n", "\n", "\r\n"))
	rome := cities["Rome"]
	questions := []inquiry{
		{"what time is it?", "now", `{}`, "", "", "It is getting late."},
		{"what do I have this week?", "calendar", `{"days":7}`, gym.Format(time.DateOnly) + " 18:00 Gym", "", "Gym, at six."},
		{"how is the weather?", "weather", `{"when":"now"}`, rainNow, "en", "Light rain."},
		{"domani piove a Roma?", "weather", `{"place":"Rome","when":"tomorrow"}`, forecastText(rome, rome.zone(), 1), "it", "Sì, la mattina."},
		{"how far is Milan from Rome?", "search", `{"query":"distance Rome Milan"}`, foundText, "en", "Some five hundred kilometres."},
		{"what is two plus two?", "", "", "", "", "Four."},
	}
	var rules []chattest.Rule
	for _, q := range questions {
		rules = append(rules, chattest.Rule{Match: q.text, Call: q.tool, Arguments: q.arguments, Say: q.answer})
	}
	chat := chattest.New(t, rules...)
	rig := soundtest.Start(t)
	h.env = append(h.env, rig.Env()...)
	h.write(t, "config/desktop-assistant/config.toml",
		"llm = \""+chat.URL+"\"\n[tts]\nannounce_after_ms = 0\n"+web.config(`WEATHER_ENV = "`+h.dir+`/weather.env"`, `CALENDAR_DIR = "`+h.dir+`/calendars"`))
	s := start(t, h)
	for _, daemon := range []string{"toolrunner", "ttsd", "brain"} {
		s.well(daemon)
	}
	phrases := s.examples()
	for _, q := range questions {
		s.answered(q, phrases, chat)
	}
	s.closedSet()
}

// examples checks how the example tools speak, and gives their announcements.
func (s *stack) examples() map[string]map[string][]string {
	s.t.Helper()
	list, err := bus.Request(s.t.Context(), s.conn, proto.ToolList{})
	if err != nil {
		s.t.Fatal(err)
	}
	phrases := map[string]map[string][]string{}
	for _, tool := range list.Tools {
		phrases[tool.Name] = tool.Announce
		for _, language := range []string{"en", "it"} {
			if len(tool.Sentences[language]) == 0 {
				s.t.Errorf("%s has no sentences in %s", tool.Name, language)
			}
			n := len(tool.Announce[language])
			switch silent := tool.Name == "now" || tool.Name == "calendar"; {
			case silent && len(tool.Announce) > 0:
				s.t.Errorf("%s announces %v", tool.Name, tool.Announce)
			case !silent && (n < 2 || n > 3):
				s.t.Errorf("%s has %d announcements in %s", tool.Name, n, language)
			}
		}
	}
	if names := slices.Sorted(maps.Keys(phrases)); !slices.Equal(names, []string{"calendar", "now", "search", "weather"}) {
		s.t.Fatalf("the tools are %v", names)
	}
	for name, ms := range map[string]int64{"calendar": 10_000, "search": 10_000, "weather": 12_000} {
		for _, tool := range list.Tools {
			if tool.Name == name && tool.TimeoutMS != ms {
				s.t.Errorf("%s may take %d ms", name, tool.TimeoutMS)
			}
		}
	}
	return phrases
}

// answered asks one question and checks all that follows from it.
func (s *stack) answered(q inquiry, phrases map[string]map[string][]string, chat *chattest.Server) {
	s.t.Helper()
	ticket, err := bus.Request(s.t.Context(), s.conn, proto.TurnAsk{Text: q.text, Speak: true})
	if err != nil {
		s.t.Fatal(err)
	}
	ended, _ := s.turnEnded(ticket.Turn)
	heard := q.answer
	var called []string
	for _, seen := range s.watch.All() {
		if seen.Turn != ticket.Turn {
			continue
		}
		switch e := seen.Event.(type) {
		case proto.ToolCalled:
			called = append(called, e.Name+" "+string(e.Arguments))
		case proto.TurnAnnounced:
			if q.language == "" || e.Language != q.language || !slices.Contains(phrases[q.tool][q.language], e.Text) {
				s.t.Errorf("%q: announced %q in %q", q.text, e.Text, e.Language)
			}
			heard = e.Text + " " + heard
		}
	}
	if q.language != "" && heard == q.answer {
		s.t.Errorf("%q: %s was not announced", q.text, q.tool)
	}
	if ended.End != proto.EndSpoken || ended.Heard != heard {
		s.t.Errorf("%q: it ended %+v, and should have said %q", q.text, ended, heard)
	}
	requests := chat.Requests()
	result, ok := requests[len(requests)-1].Result()
	switch {
	case q.tool == "":
		if len(called) > 0 || ok {
			s.t.Errorf("%q: called %v", q.text, called)
		}
	case !slices.Equal(called, []string{q.tool + " " + q.arguments}):
		s.t.Errorf("%q: called %v", q.text, called)
	case q.tool == "now" && !spokenTime("It is "+result+"."), q.tool != "now" && !strings.Contains(result, q.result):
		s.t.Errorf("%q: the model was told %q", q.text, result)
	}
}
