// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
)

var lampQuestion = proto.TurnQuestion{Call: "c1", Text: "Shall I run lamp? Please say yes or no.", Language: "en"}

// answers is a brain that takes answers to questions.
func (r *rig) answers(q func(*bus.Conn, proto.TurnAsk)) <-chan proto.TurnAnswer {
	r.t.Helper()
	answers := make(chan proto.TurnAnswer, 4)
	var f *fake
	var turn string
	ready := make(chan struct{})
	f = r.serve("brain",
		bus.Command(func(_ context.Context, ask proto.TurnAsk) (proto.TurnTicket, error) {
			<-ready
			turn = ask.Turn
			q(f.Conn, ask)
			return proto.TurnTicket{Turn: ask.Turn}, nil
		}),
		bus.Command(func(_ context.Context, a proto.TurnAnswer) (proto.Done, error) {
			answers <- a
			r.publish(f.Conn, turn, proto.TurnSentence{Text: "Well."}, proto.TurnEnded{End: proto.EndSilent})
			return proto.Done{}, nil
		}))
	close(ready)
	return answers
}

// Where nobody can be asked the answer is no; a question that is heard is left
// to who hears it.
func TestQuestionWithoutATerminal(t *testing.T) {
	for _, json := range []bool{false, true} {
		r := newRig(t)
		answers := r.answers(func(c *bus.Conn, q proto.TurnAsk) { r.publish(c, q.Turn, lampQuestion) })
		args := []string{"ask", "--no-speak", "lamp"}
		if json {
			args = []string{"ask", "--json", "--no-speak", "lamp"}
		}
		got := run(t, args...)
		got.want(t, 0, "Well.")
		if a := <-answers; a.Call != "c1" || a.Yes {
			t.Errorf("answer %+v", a)
		}
		if json != (got.err == "") || !json && !strings.Contains(got.err, "Shall I run lamp?") {
			t.Errorf("said %q", got.err)
		}
	}
	r := newRig(t)
	r.serve("ttsd")
	answers := r.answers(func(c *bus.Conn, q proto.TurnAsk) {
		r.publish(c, q.Turn, lampQuestion, proto.TurnSentence{Text: "Done."}, proto.TurnEnded{End: proto.EndSpoken})
	})
	run(t, "ask", "lamp").want(t, 0, "Done.", "!Shall I run lamp?")
	if len(answers) > 0 {
		t.Errorf("answered %+v", <-answers)
	}
}

func TestQuestionAtATerminal(t *testing.T) {
	for line, yes := range map[string]bool{"y\n": true, "yes please\n": true, "\n": false, "n\n": false, "what?\n": false} {
		r := newRig(t)
		answers := r.answers(nil)
		in, keys := io.Pipe()
		var errs bytes.Buffer
		a := newApp(Streams{In: in, Out: io.Discard, Err: &errs})
		taker := a.answering(r.bus.Connect("cli"), false)
		taker.person = true
		taker.take(t.Context(), lampQuestion)
		if _, err := io.WriteString(keys, line); err != nil {
			t.Fatal(err)
		}
		if got := <-answers; got.Yes != yes || got.Call != "c1" {
			t.Errorf("%q: %+v", line, got)
		}
		if err := keys.Close(); err != nil {
			t.Fatal(err)
		}
		if errs.String() != lampQuestion.Text+" [y/N] " {
			t.Errorf("shown %q", errs.String())
		}
	}
}
