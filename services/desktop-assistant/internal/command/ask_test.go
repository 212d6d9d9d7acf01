// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
)

// brain is a fake that hands over what it is asked.
type brain struct {
	*fake
	asked       chan proto.TurnAsk
	interrupted chan proto.TurnInterrupt
}

// newBrain answers every question with a ticket; then tells what happens.
func (r *rig) newBrain(then func(c *bus.Conn, q proto.TurnAsk)) *brain {
	r.t.Helper()
	b := &brain{asked: make(chan proto.TurnAsk, 1), interrupted: make(chan proto.TurnInterrupt, 1)}
	ready := make(chan struct{})
	b.fake = r.serve("brain",
		bus.Command(func(_ context.Context, q proto.TurnAsk) (proto.TurnTicket, error) {
			<-ready
			b.asked <- q
			if then != nil {
				then(b.Conn, q)
			}
			return proto.TurnTicket{Turn: q.Turn, Session: "s1"}, nil
		}),
		bus.Command(func(_ context.Context, q proto.TurnInterrupt) (proto.TurnsStopped, error) {
			b.interrupted <- q
			r.publish(b.Conn, q.Turn, proto.TurnEnded{End: proto.EndCancelled})
			return proto.TurnsStopped{Turns: []string{q.Turn}}, nil
		}))
	close(ready)
	return b
}

// answer publishes a whole turn, with another turn's events in between.
func (r *rig) answer(end proto.TurnEnded) func(*bus.Conn, proto.TurnAsk) {
	return func(c *bus.Conn, q proto.TurnAsk) {
		r.publish(c, "other", proto.TurnSentence{Text: "Not mine."}, proto.TurnEnded{End: proto.EndFailed})
		r.publish(c, q.Turn, proto.TurnStarted{Origin: proto.OriginText}, proto.TurnAsked{Text: q.Text})
		r.publish(c, "other", proto.TurnSentence{Text: "Not mine either."})
		r.publish(c, q.Turn, proto.TurnDelta{Text: "It is"}, proto.TurnAnnounced{Text: "One moment."},
			proto.TurnSentence{Text: "It is noon."}, proto.TurnSentence{Index: 1, Text: "Lunch is ready."}, end)
	}
}

func TestAsk(t *testing.T) {
	r := newRig(t)
	r.serve("ttsd")
	b := r.newBrain(r.answer(proto.TurnEnded{End: proto.EndSpoken}))
	got := run(t, "ask", "--session", "s7", "what", "time", "is it")
	got.want(t, 0)
	if got.out != "It is noon.\nLunch is ready.\n" || got.err != "" {
		t.Errorf("%+v", got)
	}
	if q := <-b.asked; q.Text != "what time is it" || q.Session != "s7" || !q.Speak || q.Turn == "" {
		t.Errorf("asked %+v", q)
	}
	run(t, "ask", "--no-speak", "x").want(t, 0)
	if q := <-b.asked; q.Speak {
		t.Errorf("asked %+v", q)
	}
}

func TestAskJSON(t *testing.T) {
	r := newRig(t)
	b := r.newBrain(r.answer(proto.TurnEnded{End: proto.EndSilent}))
	got := run(t, "ask", "--json", "x")
	got.want(t, 0)
	q := <-b.asked
	var all []string
	for _, env := range lines[proto.Envelope](t, got.out) {
		if env.Turn != q.Turn {
			t.Errorf("a foreign event: %+v", env)
		}
		if env.Type != "turn.delta" { // it comes on its own way, and may be late
			all = append(all, env.Type)
		}
	}
	if want := []string{"turn.started", "turn.asked", "turn.announced", "turn.sentence", "turn.sentence", "turn.ended"}; !slices.Equal(all, want) {
		t.Errorf("events %v", all)
	}
}

// Nobody sits here, so that the question of a tool is answered with no.
func TestAskQuestion(t *testing.T) {
	r := newRig(t)
	answers, turn := make(chan proto.TurnAnswer, 1), ""
	ready := make(chan struct{})
	var f *fake
	f = r.serve("brain",
		bus.Command(func(_ context.Context, q proto.TurnAsk) (proto.TurnTicket, error) {
			<-ready
			turn = q.Turn
			r.publish(f.Conn, turn, proto.TurnQuestion{Call: "c1", Text: "Shall I run lamp?", Language: "en"})
			return proto.TurnTicket{Turn: turn}, nil
		}),
		bus.Command(func(_ context.Context, a proto.TurnAnswer) (proto.Done, error) {
			answers <- a
			r.publish(f.Conn, turn, proto.TurnSentence{Text: "Well."}, proto.TurnEnded{End: proto.EndSilent})
			return proto.Done{}, nil
		}))
	close(ready)
	run(t, "ask", "--no-speak", "lamp").want(t, 0, "Well.", "!Shall I run lamp?")
	if a := <-answers; a.Call != "c1" || a.Yes {
		t.Errorf("answer %+v", a)
	}
}

func TestAskEndings(t *testing.T) {
	hinted := proto.Errorf(proto.CodeTimeout, "ask the chat server", "no token in 120 s").WithHint("look at the server")
	for name, c := range map[string]struct {
		end   proto.TurnEnded
		code  int
		words []string
	}{
		"spoken":     {proto.TurnEnded{End: proto.EndSpoken}, 0, nil},
		"silent":     {proto.TurnEnded{End: proto.EndSilent}, 0, nil},
		"failed":     {proto.TurnEnded{End: proto.EndFailed, Error: hinted}, ExitTimeout, []string{"!desktop-assistant: ask the chat server: no token in 120 s\n", "!  hint: look at the server\n"}},
		"denied":     {proto.TurnEnded{End: proto.EndFailed, Error: proto.Errorf(proto.CodeDenied, "x", "no")}, ExitDenied, []string{"!x: no"}},
		"unknown":    {proto.TurnEnded{End: proto.EndFailed}, ExitFailed, []string{"!the turn failed"}},
		"cancelled":  {proto.TurnEnded{End: proto.EndCancelled}, ExitFailed, []string{"!the turn was cancelled"}},
		"superseded": {proto.TurnEnded{End: proto.EndSuperseded}, ExitFailed, []string{"!the turn was superseded"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.serve("ttsd")
			b := r.newBrain(r.answer(c.end))
			got := run(t, "ask", "x")
			got.want(t, c.code, append(c.words, "It is noon.\n")...)
			<-b.asked
			got = run(t, "ask", "--json", "x")
			got.want(t, c.code, `"turn.ended"`)
			if got.err != "" {
				t.Errorf("with --json stderr says %q", got.err)
			}
		})
	}
}

// Ctrl-C cancels the turn, shows its end and exits as interrupted.
func TestAskInterrupted(t *testing.T) {
	r := newRig(t)
	b := r.newBrain(nil)
	j := started(t, "ask", "--json", "x")
	q := receive(t, "the question", b.asked)
	r.publish(b.Conn, q.Turn, proto.TurnStarted{Origin: proto.OriginText})
	eventually(t, "the start is shown", func() bool { return strings.Contains(j.out.String(), "turn.started") })
	j.interrupt()
	if i := receive(t, "the interrupt", b.interrupted); i.Turn != q.Turn {
		t.Errorf("interrupted %+v", i)
	}
	got := j.wait()
	got.want(t, ExitInterrupted)
	if all := types(lines[proto.Envelope](t, got.out)); !slices.Equal(all, []string{"turn.started", "turn.ended"}) || got.err != "" {
		t.Errorf("events %v, stderr %q", all, got.err)
	}
}

// Ctrl-C while the question is on its way: the turn may have begun.
func TestAskInterruptedEarly(t *testing.T) {
	r := newRig(t)
	inside, leave := make(chan struct{}), make(chan struct{})
	b := r.newBrain(func(*bus.Conn, proto.TurnAsk) { close(inside); <-leave })
	j := started(t, "ask", "x")
	receive(t, "the question", inside)
	j.interrupt()
	receive(t, "the interrupt", b.interrupted)
	close(leave)
	j.wait().want(t, ExitInterrupted)
}

func TestAskRefused(t *testing.T) {
	r := newRig(t)
	r.serve("brain", bus.Command(func(context.Context, proto.TurnAsk) (proto.TurnTicket, error) {
		return proto.TurnTicket{}, proto.Errorf(proto.CodeNotFound, "turn.ask", "no session %q", "s9").WithHint("list them")
	}))
	run(t, "ask", "x").want(t, ExitInvalid, `!turn.ask: no session "s9"`, "!hint: list them")
}

// Only the bus runs.
func TestAskNobody(t *testing.T) {
	newRig(t)
	run(t, "ask", "x").want(t, ExitUnavailable, "!ask: the bus runs, but of brain: nobody answers", "!hint: see what runs: desktop-assistant status")
}

// Whoever waits for a brain that is gone is told, also when another brain came.
func TestAskBrainGone(t *testing.T) {
	for name, successor := range map[string]bool{"for good": false, "with a successor": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			b := r.newBrain(nil)
			j := started(t, "ask", "x")
			receive(t, "the question", b.asked)
			b.stop()
			if successor {
				r.serve("brain")
			}
			j.wait().want(t, ExitUnavailable, "!follow the turn: brain is gone", "!desktop-assistant status")
		})
	}
}

// A brain that lives is waited for, however long it takes.
func TestAskPatience(t *testing.T) {
	r := newRig(t)
	pinged := make(chan struct{}, 64)
	b := r.newBrain(nil)
	j := started(t, "ask", "x")
	q := receive(t, "the question", b.asked)
	for range 3 * goneMisses { // looks that the follower makes meanwhile
		peers, err := b.Peers(t.Context(), "brain", 1)
		if err != nil || len(peers) != 1 {
			t.Fatalf("%v, %v", peers, err)
		}
		pinged <- struct{}{}
	}
	r.publish(b.Conn, q.Turn, proto.TurnEnded{End: proto.EndSpoken})
	j.wait().want(t, 0)
}

// Where ttsd has no loudspeaker, the answer is shown and the reason told.
func TestAskWithoutVoice(t *testing.T) {
	r := newRig(t)
	b := r.newBrain(r.answer(proto.TurnEnded{End: proto.EndSilent}))
	detail := json.RawMessage(`{"engine":"espeak","sink":""}`)
	voice := r.serveStatus("ttsd", proto.Status{Detail: detail, Problems: []proto.Problem{{What: "there is no sound server"}}})
	run(t, "ask", "x").want(t, 0, "It is noon.", "!(shown, not spoken: there is no sound server)")
	if q := <-b.asked; q.Speak {
		t.Errorf("asked %+v", q)
	}
	voice.stop()
	r.serveStatus("ttsd", proto.Status{Detail: json.RawMessage(`{"engine":"espeak","sink":"x"}`), Problems: []proto.Problem{{What: "the pitch is off"}}})
	run(t, "ask", "x").want(t, 0)
	if q := <-b.asked; !q.Speak {
		t.Errorf("asked %+v", q)
	}
}

// The output cannot be written: that ends the command.
func TestAskBrokenOutput(t *testing.T) {
	r := newRig(t)
	b := r.newBrain(r.answer(proto.TurnEnded{End: proto.EndSpoken}))
	var errs buffer
	code := Main(t.Context(), []string{"ask", "x"}, Streams{In: strings.NewReader(""), Out: broken{}, Err: &errs})
	<-b.asked
	if code != ExitFailed || !strings.Contains(errs.String(), "disk full") {
		t.Errorf("exit code %d, stderr %q", code, errs.String())
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }
