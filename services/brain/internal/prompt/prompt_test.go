// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/model"
	"example.org/desktop-assistant/services/brain/internal/session"
)

// show is a request in short: the messages, then the tools.
func show(req model.Request) string {
	var s []string
	for _, m := range req.Messages {
		text := string(m.Role) + ":" + strings.Replace(m.Content, lastNote, "+note", 1)
		for _, c := range m.Calls {
			text += " call " + c.ID
		}
		if m.CallID != "" {
			text += " for " + m.CallID
		}
		s = append(s, text)
	}
	for _, t := range req.Tools {
		s = append(s, "tool "+t.Name)
	}
	for _, t := range req.Spent {
		s = append(s, "spent "+t.Name)
	}
	return strings.Join(s, " | ")
}

func want(t *testing.T, p *Prompt, text string) {
	t.Helper()
	if got := show(p.Request()); got != text {
		t.Errorf("request\n got %s\nwant %s", got, text)
	}
}

func opening(tools ...string) Opening {
	o := Opening{System: " Be brief.\n", Question: "q", Rounds: 2, Today: time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)}
	for _, name := range tools {
		o.Tools = append(o.Tools, proto.ToolSpec{Name: name})
	}
	return o
}

func TestOpening(t *testing.T) {
	o := opening("now")
	o.Past = []session.Exchange{{Question: "q0", Answer: "a0"}}
	want(t, New(o), "system:Be brief. | user:q0 | assistant:a0 | user:q | tool now")
	o = opening("now", "search")
	want(t, New(o), "system:Be brief.\nToday is Monday 2026-11-30. | user:q | tool now | tool search")
	o.System = ""
	want(t, New(o), "system:Today is Monday 2026-11-30. | user:q | tool now | tool search")
	o.Rounds = 0
	want(t, New(o), "user:q | spent now | spent search")
	for native, date := range map[bool]string{true: "\nToday is Monday 2026-11-30.", false: ""} {
		o = opening()
		o.Tools = []proto.ToolSpec{{Name: "web_search", Native: native}}
		want(t, New(o), "system:Be brief."+date+" | user:q | tool web_search")
	}
}

// What the model saw stays as it was, so that the server need not read it again:
// the next turn begins with all of it but the rounds of tool calls, and the same
// tools, and each round with all of the one before.
func TestWhatWasReadStays(t *testing.T) {
	o := opening("now", "search")
	said := func(p *Prompt) string {
		req := p.Request()
		req.Tools, req.Spent = nil, nil
		return show(req)
	}
	for turn := range 10 {
		o.Question = fmt.Sprint("q", turn)
		p := New(o)
		first := said(p)
		tools := fmt.Sprint(p.Request().Tools)
		p.Called(model.Reply{Calls: []model.Call{{ID: "a"}}})
		p.Results([]string{"r"})
		if second := said(p); !strings.HasPrefix(second, first) || fmt.Sprint(p.Request().Tools) != tools {
			t.Errorf("a round changes what was read:\n%s\n%s", first, second)
		}
		o.Past = append(o.Past, session.Exchange{Question: o.Question, Answer: fmt.Sprint("a", turn)})
		o.Question = "next"
		if next := New(o); !strings.HasPrefix(said(next), first) || fmt.Sprint(next.Request().Tools) != tools {
			t.Errorf("turn %d changes what was read:\n%s\n%s", turn+1, first, said(next))
		}
	}
}

// A turn that has spent its built-in calls is told so where nothing is left.
func TestToolsThatAreSpent(t *testing.T) {
	p := New(opening("now", "read_file"))
	p.Called(model.Reply{Calls: []model.Call{{ID: "a"}}})
	p.Offer([]proto.ToolSpec{{Name: "now"}})
	p.Results([]string{"r"})
	want(t, p, "system:Be brief. | user:q | assistant: call a | tool:r for a | tool now | spent read_file")
	p = New(opening("read_file"))
	p.Called(model.Reply{Calls: []model.Call{{ID: "a"}}})
	p.Offer(nil)
	p.Results([]string{"r"})
	want(t, p, "system:Be brief. | user:q | assistant: call a | tool:r+note for a | spent read_file")
}

func TestRounds(t *testing.T) {
	p := New(opening("now"))
	for round := range 2 {
		if p.Round() != round || !p.Offers() {
			t.Errorf("round %d offers %v", p.Round(), p.Offers())
		}
		a, b := fmt.Sprint("a", round), fmt.Sprint("b", round)
		p.Called(model.Reply{Text: "t", Calls: []model.Call{{ID: a}, {ID: b}}})
		p.Results([]string{"r", "r"})
	}
	want(t, p, "system:Be brief. | user:q | assistant:t call a0 call b0 | tool:r for a0 | tool:r for b0"+
		" | assistant:t call a1 call b1 | tool:r for a1 | tool:r+note for b1 | spent now")
}

func TestBare(t *testing.T) {
	p := New(opening("now"))
	if !p.Bare() || p.Bare() || p.Offers() {
		t.Error("tools are not left out once")
	}
	want(t, p, "system:Be brief. | user:q")
}

func TestShorten(t *testing.T) {
	for past, left := range []string{"", "", "q1", "q2", "q2", "q3"} {
		o := opening()
		for i := range past {
			o.Past = append(o.Past, session.Exchange{Question: fmt.Sprint("q", i), Answer: "a"})
		}
		p := New(o)
		if did := p.Shorten(); did != (past > 0) || p.Shorten() {
			t.Errorf("%d exchanges: shortened %v", past, did)
		}
		m := p.Request().Messages
		if m[0].Role != model.RoleSystem || m[1].Role != model.RoleUser || m[len(m)-1].Content != "q" {
			t.Errorf("%d exchanges leave %s", past, show(p.Request()))
		}
		if left != "" && m[1].Content != left {
			t.Errorf("%d exchanges leave %s", past, show(p.Request()))
		}
	}
}

// Skills stand behind the date, in load order, whatever comes before them.
func TestSkillsInThePrompt(t *testing.T) {
	o := opening("now", "search")
	o.Skills = []string{"[skill: b]\nB.", "[skill: a]\nA."}
	const both = "[skill: b]\nB.\n\n[skill: a]\nA. | user:q"
	want(t, New(o), "system:Be brief.\nToday is Monday 2026-11-30.\n\n"+both+" | tool now | tool search")
	o.Tools = nil
	want(t, New(o), "system:Be brief.\n\n"+both)
	o.System = ""
	want(t, New(o), "system:"+both)
}

// One long exchange is what fills a context: it goes with all before it.
func TestShortenByLength(t *testing.T) {
	for long, left := range map[int]string{0: "q1", 1: "q2", 3: "q"} {
		o := opening()
		for i := range 4 {
			e := session.Exchange{Question: fmt.Sprint("q", i), Answer: "a"}
			if i == long {
				e.Answer = strings.Repeat("a", 1000)
			}
			o.Past = append(o.Past, e)
		}
		p := New(o)
		p.Shorten()
		if m := p.Request().Messages; m[1].Content != left {
			t.Errorf("long %d leaves %.200s", long, show(p.Request()))
		}
	}
}

// A request is the caller's: what it does to it and what is added later are two
// things.
func TestRequestIsACopy(t *testing.T) {
	p := New(opening("now"))
	req := p.Request()
	req.Messages[0].Content, req.Tools[0].Name = "x", "x"
	want(t, p, "system:Be brief. | user:q | tool now")
}
