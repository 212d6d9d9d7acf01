// SPDX-License-Identifier: Apache-2.0

package conversation

import (
	"context"
	"io"
	"testing"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
)

var lamp = proto.TurnQuestion{Call: "c1", Text: "Shall I run lamp? Please say yes or no.", Language: "en"}

// answered serves a brain that takes answers.
func (s *stage) answered() <-chan proto.TurnAnswer {
	answers := make(chan proto.TurnAnswer, 4)
	s.serve("brain", proto.Status{}, bus.Command(func(_ context.Context, a proto.TurnAnswer) (proto.Done, error) {
		answers <- a
		if a.Call == "over" {
			return proto.Done{}, proto.Errorf(proto.CodeNotFound, "turn.answer", "no question is open")
		}
		return proto.Done{}, nil
	}))
	return answers
}

// Where nobody can be asked the answer is no; a question that is heard is left
// to who hears it.
func TestAnswersWithoutATerminal(t *testing.T) {
	for name, c := range map[string]struct {
		aloud, quiet bool
		shown        string
	}{
		"shown":       {false, false, lamp.Text + " (no: nobody can be asked here, ask at a terminal)\n"},
		"for scripts": {false, true, ""},
		"spoken":      {true, false, lamp.Text + " (answer aloud)\n"},
		"both":        {true, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			answers := s.answered()
			a := Answers{Conn: s.bus.Connect("ask"), Err: &s.screen, Aloud: c.aloud, Quiet: c.quiet}
			a.Take(t.Context(), lamp)
			if got := s.screen.take(); got != c.shown {
				t.Errorf("shown %q", got)
			}
			if !c.aloud {
				if got := <-answers; got.Yes || got.Call != "c1" {
					t.Errorf("answer %+v", got)
				}
			} else if len(answers) > 0 {
				t.Errorf("answered %+v", <-answers)
			}
		})
	}
}

func TestAnswersAtATerminal(t *testing.T) {
	s := newStage(t)
	answers := s.answered()
	in, keys := io.Pipe()
	a := Answers{Conn: s.bus.Connect("ask"), In: in, Err: &s.screen, Person: true}
	late := lamp
	late.Call = "over"
	for _, c := range []struct {
		question proto.TurnQuestion
		line     string
		yes      bool
	}{{lamp, "y\n", true}, {lamp, "Yes, please\n", true}, {lamp, "\n", false}, {lamp, "n\n", false}, {lamp, "what?\n", false}, {late, "y\n", true}} {
		a.Take(t.Context(), c.question)
		if got := s.screen.take(); got != lamp.Text+" [y/N] " {
			t.Errorf("shown %q", got)
		}
		if _, err := io.WriteString(keys, c.line); err != nil {
			t.Fatal(err)
		}
		if got := <-answers; got.Yes != c.yes || got.Call != c.question.Call {
			t.Errorf("%q: %+v", c.line, got)
		}
	}
	a.Take(t.Context(), lamp)
	if err := keys.Close(); err != nil { // Ctrl-D
		t.Fatal(err)
	}
	if got := <-answers; got.Yes || got.Call != lamp.Call {
		t.Errorf("at the end of the input: %+v", got)
	}
}
