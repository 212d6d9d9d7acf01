// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/catalog"
	"example.org/desktop-assistant/services/brain/internal/model"
)

// asking asks for a tool that needs a yes, and waits until the user is asked.
func (d *desk) asking(id string, speak bool) (call string) {
	d.t.Helper()
	offer, err := catalog.NewOffer(proto.Tools{Tools: []proto.ToolSpec{{Name: "lamp", Confirm: proto.ConfirmVoice, TimeoutMS: 1000}}})
	if err != nil {
		d.t.Fatal(err)
	}
	d.offer, d.env.Settings.Rounds = offer, 2
	d.ask(proto.TurnAsk{Text: "lamp off", Speak: speak, Turn: id})
	for _, e := range d.turns {
		if q := e.Asking(); q != nil {
			return q.Call
		}
	}
	d.t.Fatalf("no question in %q", d.log)
	return ""
}

// caller asks for the lamp, and says then what it was told.
type caller struct{ *desk }

func (c caller) Chat(ctx context.Context, req model.Request, emit func(string)) (model.Reply, error) {
	last := req.Messages[len(req.Messages)-1]
	if last.Role == model.RoleTool {
		c.note("told %s", last.Content)
		<-ctx.Done()
		return model.Reply{}, &model.Error{Kind: model.KindCancelled}
	}
	return model.Reply{Calls: []model.Call{{ID: "id", Name: "lamp"}}, Finish: "tool_calls"}, nil
}

// promise: the next utterance of the device answers the question; it is no
// question of its own and takes nothing away from the turn that asked.
func TestUtteranceAnswersTheQuestion(t *testing.T) {
	const none = "error: lamp was not done: the user was asked and did not answer"
	for name, c := range map[string]struct {
		trigger proto.Trigger
		events  []proto.Event
		end     string // of the utterance's own turn
		told    string
	}{
		"yes":          {proto.TriggerKey, []proto.Event{proto.UtteranceEnded{Reason: proto.UtteranceReleased}, proto.STTFinal{Text: "Yes.", Language: "en"}}, "silent", "done"},
		"yes, no key":  {proto.TriggerVoice, []proto.Event{proto.STTFinal{Text: "yes please"}}, "silent", "done"},
		"no":           {proto.TriggerKey, []proto.Event{proto.STTFinal{Text: "No!"}}, "silent", "error: lamp was not done: the user said no"},
		"another":      {proto.TriggerKey, []proto.Event{proto.STTFinal{Text: "what time is it"}}, "silent", "error: lamp was not done: the user was asked and gave no clear yes"},
		"cancelled":    {proto.TriggerKey, []proto.Event{proto.UtteranceEnded{Reason: proto.UtteranceCancelled}}, "cancelled", "error: lamp was not done: the user was asked and gave no clear yes"},
		"not caught":   {proto.TriggerKey, []proto.Event{proto.STTRejected{Reason: proto.RejectSilence}}, "failed", "error: lamp was not done: the user was asked and gave no clear yes"},
		"no engine":    {proto.TriggerKey, []proto.Event{proto.STTFailed{Error: proto.Error{Code: proto.CodeUnavailable}}}, "failed", "error: lamp was not done: the user was asked and gave no clear yes"},
		"a cough":      {proto.TriggerVoice, []proto.Event{proto.STTRejected{Reason: proto.RejectNoise}}, "silent", none},
		"without end":  {proto.TriggerVoice, nil, "failed", "error: lamp was not done: the user was asked and gave no clear yes"},
		"micd is gone": {proto.TriggerKey, []proto.Event{proto.UtteranceEnded{Reason: proto.UtteranceLost}}, "failed", "error: lamp was not done: the user was asked and gave no clear yes"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(d *desk) {
				d.env.Model = caller{d}
				d.asking("a", true)
				d.tell("a", proto.SpeechFinished{Turn: "a", Index: 0})
				d.hear("x", c.trigger)
				d.want("x started")
				for _, ev := range c.events {
					d.tell("x", ev)
				}
				if c.events == nil {
					time.Sleep(2 * time.Minute)
				}
				d.want("x ended "+c.end, "resume local")
				if c.told == none {
					d.wantNot("told " + none)
					time.Sleep(time.Minute)
				}
				d.want("told " + c.told)
				d.wantNot("a ended superseded")
				if got := d.said(); strings.TrimSuffix(strings.Join(got, " "), " One moment.") != "Shall I run lamp? Please say yes or no." {
					t.Errorf("said %q", got)
				}
				for _, asked := range []string{"x asked Yes. in en", "x asked what time is it in en"} {
					d.wantNot(asked)
				}
				d.hear("y", proto.TriggerKey) // the next one is a question again
				d.want("a ended superseded")
			})
		})
	}
}

// What is only shown is not answered by voice, but by whoever reads it.
func TestAnswerByKey(t *testing.T) {
	for _, yes := range []bool{true, false} {
		in(t, func(d *desk) {
			d.env.Model = caller{d}
			call := d.asking("a", false)
			d.hear("x", proto.TriggerVoice)
			d.tell("x", proto.STTRejected{Reason: proto.RejectNoise})
			d.want("x ended silent")
			if err := d.Answer(d.t.Context(), proto.TurnAnswer{Call: "other", Yes: true}); !errors.Is(err, &proto.Error{Code: proto.CodeNotFound}) {
				t.Errorf("another call: %v", err)
			}
			if err := d.Answer(d.t.Context(), proto.TurnAnswer{Call: call, Yes: yes}); err != nil {
				t.Error(err)
			}
			want := "told done"
			if !yes {
				want = "told error: lamp was not done: the user said no"
			}
			d.want(want)
			if err := d.Answer(d.t.Context(), proto.TurnAnswer{Call: call, Yes: true}); !errors.Is(err, &proto.Error{Code: proto.CodeNotFound}) {
				t.Errorf("a second time: %v", err)
			}
		})
	}
}

// Of two questions the newest one is answered.
func TestNewestQuestionIsAnswered(t *testing.T) {
	in(t, func(d *desk) {
		d.env.Model = caller{d}
		d.asking("a", true)
		time.Sleep(time.Second)
		d.ask(proto.TurnAsk{Text: "lamp off", Speak: true, Turn: "b", Session: d.store.Begin("local").ID})
		d.hear("x", proto.TriggerKey)
		d.tell("x", proto.STTFinal{Text: "yes"})
		d.want("told done")
		synctest.Wait()
		if d.turns["a"].Asking() == nil || d.turns["b"].Asking() != nil {
			t.Error("the older one was answered")
		}
	})
}

// A brain that is killed while it tells how a turn ended leaves that, and the
// next one tells the same, and nothing of a restart.
func TestKilledWhileItEnds(t *testing.T) {
	in(t, func(d *desk) {
		for id, code := range map[string]proto.Code{"well": "", "ill": proto.CodeTimeout} {
			o := Orphan{ID: id, Device: "local", Started: true, At: time.Now(), Ending: proto.EndSpoken}
			if code != "" {
				o.Ending, o.Code = proto.EndFailed, code
			}
			if err := writeTraces(d.file, []Orphan{o}); err != nil {
				t.Fatal(err)
			}
			d.note("%s started", id) // by the brain before
			left, err := readTraces(d.file)
			if err != nil {
				t.Fatal(err)
			}
			d.Bury(left)
			synctest.Wait() // it writes the file anew
		}
		d.want("well ended spoken", "ill ended failed")
		d.wantNot("stop well")
		if got := d.said(); len(got) != 0 {
			t.Errorf("said %q", got)
		}
	})
}

// The end of a turn is in the file before it is published.
func TestEndIsKeptBeforeItIsTold(t *testing.T) {
	in(t, func(d *desk) {
		d.told = func(id string, e proto.TurnEnded) {
			open, err := readTraces(d.file)
			if err != nil || !slices.ContainsFunc(open, func(o Orphan) bool { return o.ID == id && o.Ending == e.End }) {
				t.Errorf("kept %+v, %v", open, err)
			}
		}
		d.speaking("a")
		if _, err := d.Interrupt(d.t.Context(), "local", "a"); err != nil {
			t.Fatal(err)
		}
		d.want("a ended cancelled")
		d.told = nil
	})
}
