// SPDX-License-Identifier: Apache-2.0

// Package conversation is the prompt of run: questions typed, answers and
// problems shown.
package conversation

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/console"
	"example.org/desktop-assistant/services/desktop-assistant/internal/health"
)

// answerLimit is how long the daemons may take to answer what was typed.
const answerLimit = 3 * time.Second

// Conversation is what a person at run's terminal sees and types.
type Conversation struct {
	*console.Console
	conn   *bus.Conn
	echoed bool // what is typed stands on the screen already

	mu       sync.Mutex
	typed    map[string]bool            // turns whose question was typed here
	calls    map[string]string          // arguments of the tool calls that run
	problems map[string][]proto.Problem // shown, by daemon
	open     *proto.TurnQuestion        // to be answered by the next line
	asker    string                     // the turn it is of
}

// New begins to show what happens on the console, until ctx ends. echoed says
// that what is typed stands there already, so that it is not shown again.
func New(ctx context.Context, c *console.Console, conn *bus.Conn, echoed bool) (*Conversation, error) {
	t := &Conversation{Console: c, conn: conn, echoed: echoed, typed: map[string]bool{}, calls: map[string]string{}, problems: map[string][]proto.Problem{}}
	lost := func() { c.Println("(some events were not shown: the output is too slow)") }
	if _, err := conn.Events(ctx, conn.Device(), bus.Fail(4096, lost), t.show, "turn", "tool", "skill", "stt", "service"); err != nil {
		return nil, err
	}
	return t, nil
}

// Greet says what works, what does not and why, and how to talk.
func (t *Conversation) Greet(ctx context.Context, daemons []string) {
	reports := health.Ask(ctx, t.conn)
	for _, s := range reports {
		switch {
		case s.Status != nil:
			t.state(s.Daemon, s.Status.Problems)
		case slices.Contains(daemons, s.Daemon):
			t.Problem(s.Daemon+" does not answer", "look again: desktop-assistant status")
		}
	}
	if len(daemons) < len(proto.Daemons()) {
		return
	}
	t.Println("Type a question, for example: what time is it")
	if health.Hears(reports) {
		t.Println("Or talk: press Enter, ask, press Enter again. From anywhere: desktop-assistant listen toggle")
	} else {
		t.Println("There is no asking aloud for now: see above.")
	}
}

// Act does what a typed line means.
func (t *Conversation) Act(ctx context.Context, line string) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	var err error
	if q := t.question(); q != nil && line != "" {
		yes := console.Agreed(line, q.Text, q.Language)
		t.Println("(%s)", map[bool]string{true: "yes", false: "no"}[yes])
		_, err = bus.Request(ctx, t.conn, proto.TurnAnswer{Call: q.Call, Yes: yes})
	} else if line == "" {
		var state proto.MicState
		if state, err = bus.Request(ctx, t.conn, proto.MicToggle{}); err == nil {
			t.Println("(%s)", Microphone(state))
		}
	} else {
		turn := bus.NewID()
		t.mu.Lock()
		t.typed[turn] = true
		t.mu.Unlock()
		able, _ := health.Voice(ctx, t.conn) // that it is not was shown when it began
		_, err = bus.Request(ctx, t.conn, proto.TurnAsk{Text: line, Speak: able, Turn: turn})
	}
	if err != nil && !errors.Is(err, &proto.Error{Code: proto.CodeCancelled}) {
		t.Problem(err.Error(), proto.HintOf(err))
	}
}

// question takes the open question of a tool, if there is one.
func (t *Conversation) question() *proto.TurnQuestion {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.open
	t.open = nil
	return q
}

// settled forgets the open question when that is over.
func (t *Conversation) settled(over bool) {
	if over {
		t.open = nil
	}
}

const resultShown = 120 // characters of a tool's result on its line

// show prints the events that a person at the terminal wants to follow.
func (t *Conversation) show(_ context.Context, env proto.Envelope, ev proto.Event) {
	switch e := ev.(type) {
	case proto.TurnAsked:
		t.mu.Lock()
		typed := t.typed[env.Turn]
		t.mu.Unlock()
		if e.Text != "" && (!typed || !t.echoed) { // without a text it only loads skills
			t.Println("you:       %s", e.Text)
		}
	case proto.SkillLoaded:
		t.Println("skill:     %s is loaded", e.Name)
	case proto.SkillUnloaded:
		t.Println("skill:     %s is no longer loaded", e.Name)
	case proto.STTRejected:
		t.Println("(that was no question: %s)", strings.ReplaceAll(e.Reason, "_", " "))
	case proto.TurnSentence:
		t.Println("assistant: %s", e.Text)
	case proto.TurnAnnounced:
		t.Println("assistant: %s", e.Text)
	case proto.TurnQuestion:
		t.mu.Lock()
		t.open, t.asker = &e, env.Turn
		t.mu.Unlock()
		t.Println("assistant: %s [y/N]", e.Text)
	case proto.ToolCalled:
		t.mu.Lock()
		t.settled(t.open != nil && t.open.Call == e.Call)
		t.calls[e.Call] = string(e.Arguments)
		t.mu.Unlock()
	case proto.ToolFinished:
		t.mu.Lock()
		arguments := t.calls[e.Call]
		delete(t.calls, e.Call)
		t.mu.Unlock()
		t.Println("tool:      %s %s: %s", e.Name, shorten(arguments, resultShown), shorten(e.Result, resultShown))
	case proto.TurnEnded:
		t.mu.Lock()
		delete(t.typed, env.Turn)
		t.settled(t.asker == env.Turn)
		t.mu.Unlock()
		if e.End == proto.EndFailed && e.Error != nil {
			t.Problem(e.Error.Error(), e.Error.Hint)
		}
	case proto.ServiceState:
		t.state(e.Service, e.Problems)
	}
}

// state prints the problems of a daemon that were not shown yet, and when the
// last is solved.
func (t *Conversation) state(daemon string, problems []proto.Problem) {
	t.mu.Lock()
	old := t.problems[daemon]
	t.problems[daemon] = problems
	hinted := map[string]bool{"": true} // by the others: one missing sound server is two daemons' problem
	for other, list := range t.problems {
		for _, p := range list {
			hinted[p.Hint] = hinted[p.Hint] || other != daemon
		}
	}
	t.mu.Unlock()
	for _, p := range problems {
		switch {
		case slices.Contains(old, p):
		case hinted[p.Hint]:
			t.Problem(daemon+": "+p.What, "")
		default:
			t.Problem(daemon+": "+p.What, p.Hint)
		}
	}
	if len(problems) == 0 && len(old) > 0 {
		t.Println("(%s is well again)", daemon)
	}
}

func shorten(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "..."
	}
	return s
}

// Microphone says in words what holds.
func Microphone(s proto.MicState) string {
	switch {
	case s.Muted:
		return "muted"
	case s.Talk:
		return "listening"
	}
	return "not listening"
}
