// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/model"
)

// lamp has to ask.
var lamp = proto.ToolSpec{Name: "lamp", TimeoutMS: 10000, Confirm: proto.ConfirmVoice,
	Sentences: map[string][]string{"en": {"lamp off"}, "it": {"spegni la lampada"}}}

// asks waits for the open question of the turn.
func (w *world) asks() string {
	w.t.Helper()
	for range 1000 {
		synctest.Wait()
		if q := w.turn.Asking(); q != nil {
			return q.Call
		}
		time.Sleep(10 * time.Millisecond)
	}
	w.t.Fatalf("no question: %s", w.story())
	return ""
}

const (
	asked  = `question0(Shall I run lamp with on no? Please say yes or no.) `
	denied = "called(lamp) finished(lamp error: lamp was not done: "
)

// promise: a tool that says so runs only after a clear yes to a question that
// names it and its arguments.
func TestConfirm(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(w *world, call string)
		after  string // of the story
	}{
		"yes": {func(w *world, call string) {
			w.turn.Listen(call, false)
			time.Sleep(time.Minute) // who speaks is waited for
			w.turn.Reply(call, "Yes, please!")
		}, "say1(Well.) spoken"},
		"no":       {func(w *world, call string) { w.turn.Reply(call, "no thanks") }, denied + saidNo + ") say1(Well.) spoken"},
		"unclear":  {func(w *world, call string) { w.turn.Reply(call, "what time is it") }, denied + unclear + ") say1(Well.) spoken"},
		"nothing":  {func(w *world, call string) { w.turn.Reply(call, "") }, denied + unclear + ") say1(Well.) spoken"},
		"silence":  {func(*world, string) {}, denied + saidNothing + ") say1(Well.) spoken"},
		"key yes":  {func(w *world, call string) { w.turn.Answer(call, true) }, "say1(Well.) spoken"},
		"key no":   {func(w *world, call string) { w.turn.Answer(call, false) }, denied + saidNo + ") say1(Well.) spoken"},
		"stale":    {func(w *world, call string) { w.turn.Answer("other", true) }, denied + saidNothing + ") say1(Well.) spoken"},
		"too late": {func(w *world, call string) { time.Sleep(21 * time.Second); w.turn.Answer(call, true) }, denied + saidNothing + ") say1(Well.) spoken"},
		"a cough": {func(w *world, call string) {
			w.turn.Listen(call, true)
			time.Sleep(2 * time.Second)
			w.turn.NoReply(call)
			time.Sleep(2 * time.Second)
			w.turn.Reply(call, "yes")
		}, "say1(Well.) spoken"},
		"coughs for ever": {func(w *world, call string) {
			for range 30 {
				w.turn.Listen(call, true)
				time.Sleep(time.Second)
				w.turn.NoReply(call)
			}
			w.turn.Reply(call, "yes")
		}, denied + saidNothing + ") say1(Well.) spoken"},
		"stopped": {func(w *world, _ string) { w.turn.Interrupt(proto.EndCancelled) }, "cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.tools.specs = []proto.ToolSpec{lamp}
				w.model.scripts = []script{calls("", `lamp {"on":false}`), says("Well.")}
				w.start().Ask("lamp off please", "en")
				call := w.asks()
				if n := len(w.tools.calls); n > 0 {
					t.Error("it runs before it was asked for")
				}
				time.Sleep(time.Second) // it was heard
				c.answer(w, call)
				w.end()
				w.want(asked + c.after)
				ran := len(w.tools.calls) == 1
				if yes := !strings.Contains(c.after, "error") && c.after != "cancelled"; ran != yes || ran && !w.tools.calls[0].Confirmed {
					t.Errorf("calls %+v", w.tools.calls)
				}
				if reqs := w.model.requests(); strings.Contains(c.after, "error") {
					if m := reqs[1].Messages; m[len(m)-1].Role != model.RoleTool || !strings.HasPrefix(m[len(m)-1].Content, "error: lamp was not done: ") {
						t.Errorf("the model is not told: %+v", m)
					}
				}
				if h := w.book.History(w.spec.Session, 2); strings.Contains(h[0].Answer, "Shall I") {
					t.Errorf("the question is in the history: %+v", h)
				}
				if w.turn.Asking() != nil {
					t.Error("the question is still open")
				}
			})
		})
	}
}

// The time to answer runs from when the question was heard.
func TestConfirmIsHeardFirst(t *testing.T) {
	in(t, func(w *world) {
		w.tools.specs = []proto.ToolSpec{lamp}
		w.model.scripts = []script{calls("One. Two. Three. Four. Five. Six. Seven. Eight. Nine. Ten. ", `lamp {"on":false}`), says("Well.")}
		w.start().Ask("lamp off please", "en")
		call := w.asks()
		time.Sleep(11*lineTime + answerWithin - time.Second)
		w.turn.Answer(call, true)
		w.end()
		if len(w.tools.calls) != 1 {
			t.Error(w.story())
		}
	})
	in(t, func(w *world) { // the microphone hears the question
		w.tools.specs = []proto.ToolSpec{lamp}
		w.model.scripts = []script{calls("", `lamp {"on":false}`), says("Well.")}
		w.start().Ask("lamp off please", "en")
		call := w.asks()
		for range 3 {
			w.turn.Listen(call, true)
			w.turn.Reply(call, "I run lamp with on no")
		}
		w.turn.Reply(call, "yes")
		w.end()
		if len(w.tools.calls) != 1 {
			t.Error(w.story())
		}
	})
}

// A turn that is only shown asks too, for who types.
func TestConfirmInATurnThatIsShown(t *testing.T) {
	in(t, func(w *world) {
		w.spec.Speak = false
		w.tools.specs = []proto.ToolSpec{lamp}
		w.model.scripts = []script{calls("", `lamp {"on":false}`), says("Well.")}
		w.start().Ask("lamp off please", "en")
		call := w.asks()
		if w.turn.Asking().Spoken {
			t.Error("it is said to be spoken")
		}
		w.turn.Answer(call, true)
		w.end()
		w.want(asked + "say1(Well.) silent")
	})
}

// Without a chat server a local command asks too, in the user's language.
func TestConfirmLocally(t *testing.T) {
	for said, story := range map[string]string{
		"sì":  `question0(Devo eseguire lamp? Rispondi sì o no.) say1(lamp {}) spoken`,
		"yes": `question0(Devo eseguire lamp? Rispondi sì o no.) called(lamp) finished(lamp error: lamp was not done: ` + unclear + `) say1(Va bene, non lo faccio.) spoken`,
	} {
		in(t, func(w *world) {
			w.tools.specs = []proto.ToolSpec{lamp}
			w.start().Ask("spegni la lampada", "it")
			w.turn.Reply(w.asks(), said)
			w.end()
			w.want(story)
		})
	}
}

// Two questions of one round come one after the other, and what needs none and
// stands before them does not wait.
func TestConfirmInOrder(t *testing.T) {
	in(t, func(w *world) {
		w.spec.Speak = false
		w.tools.specs, w.tools.took = []proto.ToolSpec{lamp, search}, map[string]time.Duration{"search": time.Hour / 4}
		w.model.scripts = []script{calls("", "search", `lamp {"n":1}`, `lamp {"n":2}`, "search"), says("Well.")}
		w.start().Ask("lamp off please", "en")
		first := w.asks()
		if got := strings.Join(w.tools.order, " "); got != "start search" {
			t.Errorf("began %s", got)
		}
		w.turn.Answer(first, false)
		second := w.asks()
		if second == first {
			t.Fatal("asked twice about one")
		}
		w.turn.Answer(first, true) // stale
		w.turn.Answer(second, true)
		synctest.Wait()
		if got := strings.Join(w.tools.order, " "); got != "start search start search start lamp end lamp" && got != "start search start lamp end lamp start search" && got != "start search start lamp start search end lamp" {
			t.Errorf("began %s", got)
		}
		w.turn.Interrupt(proto.EndCancelled)
		w.end()
	})
}

// toolrunner sends a call back when its arguments want a yes.
func TestConfirmWhatIsSentBack(t *testing.T) {
	for _, yes := range []bool{true, false} {
		in(t, func(w *world) {
			w.spec.Speak = false
			native := proto.ToolSpec{Name: "http_request", Native: true, TimeoutMS: 10000}
			w.tools.specs, w.tools.limit = []proto.ToolSpec{native}, 1
			w.tools.results = map[string]proto.ToolResult{"http_request": {Kind: proto.KindUnconfirmed, Result: "error: ask first"}}
			w.model.scripts = []script{calls("", "http_request"), says("Well.")}
			w.start().Ask("post it", "en")
			call := w.asks()
			w.turn.Answer(call, yes)
			w.end()
			w.want("question0(Shall I run http request? Please say yes or no.) say1(Well.) silent")
			if c := w.tools.calls; len(c) != map[bool]int{true: 2, false: 1}[yes] || c[0].Confirmed || c[len(c)-1].Confirmed != yes || c[len(c)-1].Call != call {
				t.Errorf("calls %+v", c)
			}
			m := w.model.requests()[1]
			got := m.Messages[len(m.Messages)-1].Content
			if yes && (!strings.HasPrefix(got, "http_request confirmed") || m.Tools != nil) || !yes && (!strings.Contains(got, saidNo) || len(m.Tools) != 1) {
				t.Errorf("after %v: %q, tools %v", yes, got, m.Tools)
			}
		})
	}
}
