// SPDX-License-Identifier: Apache-2.0

package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/console"
)

type screen struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

// take gives what was shown since the last take.
func (s *screen) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.buf.String()
	s.buf.Reset()
	return text
}

// stage is a conversation on a bus with daemons that answer.
type stage struct {
	t      *testing.T
	bus    *bustest.Bus
	talk   *Conversation
	screen screen
	actor  *bus.Conn
}

func newStage(t *testing.T) *stage { return newStageOf(t, true) }

func newStageOf(t *testing.T, echoed bool) *stage {
	t.Helper()
	s := &stage{t: t, bus: bustest.New(t)}
	s.actor = s.bus.Connect("brain")
	conn := s.bus.Connect("cli")
	talk, err := New(t.Context(), console.New(&s.screen), conn, echoed)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.talk = talk
	return s
}

func (s *stage) serve(name string, status proto.Status, endpoints ...bus.Endpoint) {
	s.t.Helper()
	answer := bus.CommandOf(proto.StatusOf{Daemon: name}, func(context.Context, proto.StatusOf) (proto.Status, error) { return status, nil })
	service, err := s.bus.Connect(name).Serve(s.t.Context(), "fake", append(endpoints, answer)...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = service.Stop() })
}

// tell publishes events and waits until they were shown.
func (s *stage) tell(turn string, events ...proto.Event) string {
	s.t.Helper()
	for _, ev := range append(events, proto.TurnSentence{Text: "(end)"}) {
		if err := s.actor.Publish(ev, bus.Meta{Turn: turn}); err != nil {
			s.t.Fatal(err)
		}
	}
	limit := time.After(30 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	var text string
	for !strings.HasSuffix(text, "assistant: (end)\n") {
		select {
		case <-tick.C:
			text += s.screen.take()
		case <-limit:
			s.t.Fatalf("shown: %s", text)
		}
	}
	return strings.TrimSuffix(text, "assistant: (end)\n")
}

func TestShow(t *testing.T) {
	s := newStage(t)
	got := s.tell("t1",
		proto.TurnStarted{Origin: proto.OriginVoice},
		proto.SkillLoaded{Name: "poet", By: "user"},
		proto.TurnAsked{},
		proto.SkillUnloaded{Name: "poet", By: "user"},
		proto.TurnAsked{Text: "what 100% time"},
		proto.TurnAnnounced{Text: "Let me look."},
		proto.ToolCalled{Call: "c", Name: "now", Arguments: json.RawMessage(`{"a":1}`)},
		proto.ToolFinished{Name: "now", ToolResult: proto.ToolResult{Call: "c", OK: true, Result: "12:00\n" + strings.Repeat("é", 200)}},
		proto.TurnSentence{Text: "It is noon."},
		proto.TurnEnded{End: proto.EndSpoken},
		proto.STTRejected{Reason: proto.RejectOutOfGrammar},
		proto.TurnEnded{End: proto.EndFailed, Error: proto.Errorf(proto.CodeFailed, "ask", "no server").WithHint("start it")},
		proto.TurnEnded{End: proto.EndFailed},
	)
	want := `skill:     poet is loaded
skill:     poet is no longer loaded
you:       what 100% time
assistant: Let me look.
tool:      now {"a":1}: 12:00 ` + strings.Repeat("é", 114) + `...
assistant: It is noon.
(that was no question: out of grammar)
! ask: no server
  start it
`
	if got != want {
		t.Errorf("shown:\n%s\nwant:\n%s", got, want)
	}
}

// A problem is shown once, when it comes; then that it is solved.
func TestProblems(t *testing.T) {
	s := newStage(t)
	a, b := proto.Problem{What: "no engine", Hint: "install one"}, proto.Problem{What: "no sink"}
	state := func(p ...proto.Problem) proto.Event { return proto.ServiceState{Service: "ttsd", Problems: p} }
	got := s.tell("", state(a), state(a), state(a, b), state(b), state(), state())
	if want := "! ttsd: no engine\n  install one\n! ttsd: no sink\n(ttsd is well again)\n"; got != want {
		t.Errorf("shown:\n%s", got)
	}
}

func TestGreet(t *testing.T) {
	s := newStage(t)
	statuses := map[string]proto.Status{
		"brain": {Problems: []proto.Problem{{What: "no chat server", Hint: "start it"}}},
		"micd":  {Detail: json.RawMessage(`{"source":"mic"}`), Problems: []proto.Problem{{What: "no such gate"}}},
		"sttd":  {Detail: json.RawMessage(`{"engine":"pocketsphinx"}`)},
	}
	for _, name := range proto.Daemons() {
		s.serve(name, statuses[name])
	}
	s.talk.Greet(t.Context(), proto.Daemons())
	if got := s.screen.take(); got != "! brain: no chat server\n  start it\n! micd: no such gate\nType a question, for example: what time is it\nOr talk: press Enter, ask, press Enter again. From anywhere: desktop-assistant listen toggle\n" {
		t.Errorf("shown:\n%s", got)
	}
	// It was shown: the event that tells the same adds nothing.
	if got := s.tell("", proto.ServiceState{Service: "brain", Problems: []proto.Problem{{What: "no chat server", Hint: "start it"}}}); got != "" {
		t.Errorf("shown:\n%s", got)
	}
}

func TestGreetWithoutMicrophone(t *testing.T) {
	for name, there := range map[string]bool{"micd has a problem": true, "micd is gone": false} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			for _, d := range proto.Daemons() {
				if d != "micd" {
					s.serve(d, proto.Status{})
				} else if there {
					s.serve(d, proto.Status{Problems: []proto.Problem{{What: "no sound server"}}})
				}
			}
			s.talk.Greet(t.Context(), proto.Daemons())
			got := s.screen.take()
			if !strings.HasSuffix(got, "Type a question, for example: what time is it\nThere is no asking aloud for now: see above.\n") || !strings.Contains(got, "! micd") {
				t.Errorf("shown:\n%s", got)
			}
		})
	}
}

// Part of the daemons is no conversation; the others are not missed.
func TestGreetPart(t *testing.T) {
	s := newStage(t)
	s.serve("busd", proto.Status{})
	s.talk.Greet(t.Context(), []string{"busd", "toolrunner"})
	if got := s.screen.take(); got != "! toolrunner does not answer\n  look again: desktop-assistant status\n" {
		t.Errorf("shown:\n%s", got)
	}
}

func TestAct(t *testing.T) {
	s := newStage(t)
	asked := make(chan proto.TurnAsk, 4)
	s.serve("brain", proto.Status{}, bus.Command(func(_ context.Context, q proto.TurnAsk) (proto.TurnTicket, error) {
		asked <- q
		return proto.TurnTicket{}, nil
	}))
	states := []proto.MicState{{Talk: true}, {}, {Muted: true}}
	s.serve("micd", proto.Status{}, bus.Command(func(context.Context, proto.MicToggle) (proto.MicState, error) {
		if len(states) == 0 {
			return proto.MicState{}, proto.Errorf(proto.CodeDenied, "mic.toggle", "muted").WithHint("unmute")
		}
		state := states[0]
		states = states[1:]
		return state, nil
	}))
	s.serve("ttsd", proto.Status{})
	s.talk.Act(t.Context(), "what time is it")
	q := <-asked
	if q.Text != "what time is it" || !q.Speak || q.Turn == "" {
		t.Errorf("asked %+v", q)
	}
	// What was typed stands there already; what others ask does not.
	if got := s.tell(q.Turn, proto.TurnAsked{Text: q.Text}, proto.TurnEnded{End: proto.EndSpoken}); got != "" {
		t.Errorf("shown %q", got)
	}
	if got := s.tell("t2", proto.TurnAsked{Text: "by voice"}); got != "you:       by voice\n" {
		t.Errorf("shown %q", got)
	}
	for range 4 {
		s.talk.Act(t.Context(), "")
	}
	if got := s.screen.take(); got != "(listening)\n(not listening)\n(muted)\n! mic.toggle: muted\n  unmute\n" {
		t.Errorf("shown:\n%s", got)
	}
	// Told to end meanwhile, it says nothing.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.talk.Act(ctx, "late")
	if got := s.screen.take(); got != "" {
		t.Errorf("shown:\n%s", got)
	}
}

// A question of a tool is answered by the next line, which is then no question
// itself; one that is settled in another way is open no more.
func TestQuestion(t *testing.T) {
	s := newStage(t)
	asked, answered := make(chan proto.TurnAsk, 4), make(chan proto.TurnAnswer, 4)
	s.serve("brain", proto.Status{},
		bus.Command(func(_ context.Context, q proto.TurnAsk) (proto.TurnTicket, error) {
			asked <- q
			return proto.TurnTicket{}, nil
		}),
		bus.Command(func(_ context.Context, a proto.TurnAnswer) (proto.Done, error) {
			answered <- a
			return proto.Done{}, nil
		}))
	s.serve("ttsd", proto.Status{})
	q := proto.TurnQuestion{Call: "c1", Text: "Devo eseguire lamp? Rispondi sì o no.", Language: "it"}
	for line, yes := range map[string]bool{"s": true, "Sì": true, "no": false, "che ore sono?": false} {
		if got := s.tell("t1", q); got != "assistant: Devo eseguire lamp? Rispondi sì o no. [y/N]\n" {
			t.Errorf("shown %q", got)
		}
		s.talk.Act(t.Context(), line)
		if a := <-answered; a.Call != "c1" || a.Yes != yes {
			t.Errorf("%q: %+v", line, a)
		}
		if got := s.screen.take(); got != map[bool]string{true: "(yes)\n", false: "(no)\n"}[yes] {
			t.Errorf("shown %q", got)
		}
	}
	for _, over := range []proto.Event{proto.ToolCalled{Call: "c1", Name: "lamp"}, proto.TurnEnded{End: proto.EndCancelled}} {
		s.tell("t1", q, over)
		s.talk.Act(t.Context(), "yes")
		if a := <-asked; a.Text != "yes" {
			t.Errorf("asked %+v", a)
		}
	}
	s.tell("t1", q)
	s.tell("t2", proto.TurnEnded{End: proto.EndSpoken})
	s.talk.Act(t.Context(), "yes")
	if a := <-answered; !a.Yes {
		t.Errorf("answer %+v", a)
	}
}

func TestActWithoutBrain(t *testing.T) {
	s := newStage(t)
	s.talk.Act(t.Context(), "x")
	if got := s.screen.take(); got != "! turn.ask: nobody answers\n  see what runs: desktop-assistant status\n" {
		t.Errorf("shown:\n%s", got)
	}
}

// From a pipe nothing was seen before.
func TestNotEchoed(t *testing.T) {
	s := newStageOf(t, false)
	asked := make(chan proto.TurnAsk, 1)
	s.serve("brain", proto.Status{}, bus.Command(func(_ context.Context, q proto.TurnAsk) (proto.TurnTicket, error) {
		asked <- q
		return proto.TurnTicket{}, nil
	}))
	s.talk.Act(t.Context(), "x")
	if got := s.tell((<-asked).Turn, proto.TurnAsked{Text: "x"}); got != "you:       x\n" {
		t.Errorf("shown %q", got)
	}
}
