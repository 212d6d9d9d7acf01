// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/chattest"
	"example.org/desktop-assistant/proto"
)

var lampSpec = proto.ToolSpec{Name: "lamp", Description: "the lamp", TimeoutMS: 10000, Confirm: proto.ConfirmVoice, Parameters: json.RawMessage(`{"type":"object","properties":{"on":{"type":"boolean"}}}`)}

// lamp serves a tool that has to ask, as toolrunner does.
func (r *rig) lamp() <-chan proto.ToolCall {
	r.t.Helper()
	began := make(chan proto.ToolCall, 4)
	f := r.fake("toolrunner",
		bus.Command(func(context.Context, proto.ToolList) (proto.Tools, error) {
			return proto.Tools{Revision: 1, Tools: []proto.ToolSpec{lampSpec}}, nil
		}),
		bus.Tool(lampSpec, func(_ context.Context, call proto.ToolCall, _ []byte) proto.ToolResult {
			began <- call
			return proto.ToolResult{Call: call.Call, OK: true, Result: "done"}
		}))
	if err := f.conn.Flush(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	return began
}

// promise: the question is heard, the next thing said answers it, and the tool
// runs after a yes, which toolrunner is told of.
func TestConfirmByVoice(t *testing.T) {
	for said, want := range map[string]string{"Yes, please.": "done", "No.": "error: lamp was not done: the user said no"} {
		t.Run(said, func(t *testing.T) {
			chat := chattest.New(t)
			chat.Script(chattest.CallTool("abc", "lamp", `{"on":true}`), chattest.Say("Very", " well."))
			r := newRig(t, bustest.New(t), chat.URL)
			speech := r.ttsd(false)
			began := r.lamp()
			r.start()
			id := r.ask("switch on the lamp").Turn
			q, _ := bustest.Expect[proto.TurnQuestion](r.seen, nil)
			const text = "Shall I run lamp with on yes? Please say yes or no."
			if q.Text != text || q.Language != "en" {
				t.Errorf("question %+v", q)
			}
			r.until("it is heard", speech.has(text))
			r.publish("v1", proto.UtteranceStarted{Turn: "v1", Stream: "s1", Trigger: proto.TriggerKey})
			r.publish("v1", proto.UtteranceEnded{Reason: proto.UtteranceReleased})
			r.publish("v1", proto.STTFinal{Text: said, Language: "en"})
			if e := r.ended(id); e.End != proto.EndSpoken || e.Heard != text+" Very well." {
				t.Errorf("end %+v", e)
			}
			r.until("the answer's own turn is over", func() bool { return strings.Contains(r.story("v1"), "turn.ended") })
			if got := r.story("v1"); strings.Contains(got, "turn.asked") || strings.Count(got, "turn.started") != 1 || strings.Count(got, "turn.ended") != 1 {
				t.Errorf("its story is %s", got)
			}
			if result, _ := chat.Requests()[1].Result(); result != want {
				t.Errorf("result %q", result)
			}
			if want == "done" {
				if c := <-began; !c.Confirmed || c.Call != q.Call {
					t.Errorf("call %+v", c)
				}
			} else if len(began) > 0 {
				t.Error("it ran")
			}
		})
	}
}

// promise: who types answers by turn.answer.
func TestConfirmByCommand(t *testing.T) {
	chat := chattest.New(t)
	chat.Script(chattest.CallTool("abc", "lamp", `{}`), chattest.Say("Very", " well."))
	r := newRig(t, bustest.New(t), chat.URL)
	began := r.lamp()
	r.start()
	ticket, err := bus.Request(t.Context(), r.user, proto.TurnAsk{Text: "switch on the lamp"})
	if err != nil {
		t.Fatal(err)
	}
	q, _ := bustest.Expect[proto.TurnQuestion](r.seen, nil)
	if _, err := bus.Request(t.Context(), r.user, proto.TurnAnswer{Call: q.Call, Yes: true}); err != nil {
		t.Fatal(err)
	}
	if c := <-began; !c.Confirmed {
		t.Errorf("call %+v", c)
	}
	if e := r.ended(ticket.Turn); e.End != proto.EndSilent || !strings.HasSuffix(e.Heard, "Very well.") {
		t.Errorf("end %+v", e)
	}
}

// What a chat server read of a conversation stays as it was, byte for byte, so
// that it need not read it again.
func TestRequestsBeginAlike(t *testing.T) {
	chat := chattest.New(t)
	r := newRig(t, bustest.New(t), chat.URL)
	r.ttsd(false)
	r.toolrunner(closed())
	r.start()
	r.ready("toolrunner")
	const turns = 4
	for range turns {
		chat.Script(chattest.CallTool("abc", "now", "{}"), chattest.Say("It", " is", " half", " past", " ten."))
		r.ended(r.ask("what is the time?").Turn)
	}
	parts := func(i int) (messages, tools string) {
		var body struct{ Messages, Tools json.RawMessage }
		if err := json.Unmarshal(chat.Requests()[i].Body, &body); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(string(body.Messages), "]"), string(body.Tools)
	}
	for i := range turns {
		first, tools := parts(2 * i)
		if len(tools) == 0 {
			t.Error("no tools")
		}
		// The second request of a turn, and the first of the next turn, go on from there.
		for _, j := range []int{2*i + 1, 2*i + 2} {
			if j == 2*turns {
				continue
			}
			if messages, t2 := parts(j); !strings.HasPrefix(messages, first) || t2 != tools {
				t.Errorf("request %d does not begin with request %d:\n%s\n%s", j, 2*i, messages, first)
			}
		}
	}
}
