// SPDX-License-Identifier: Apache-2.0

package batch

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/catalog"
	"example.org/desktop-assistant/services/brain/internal/model"
	"example.org/desktop-assistant/services/brain/internal/stream"
)

var offer = catalog.Offer{Specs: []proto.ToolSpec{
	{Name: "one"}, {Name: "many", Parallel: true}, {Name: "guarded", Confirm: "voice"},
}}

func of(names ...string) *Batch {
	var calls []model.Call
	for _, n := range names {
		calls = append(calls, model.Call{ID: "id", Name: n})
	}
	return New(offer, calls)
}

// begin lets everything begin that may, and gives the names.
func begin(b *Batch) string {
	var names []string
	for c := b.Next(); c != nil; c = b.Next() {
		c.Begin(time.Now(), func() {})
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

func TestTooManyIsNotAllowed(t *testing.T) {
	b := New(offer, []model.Call{{ID: "id", Name: "many", Problem: stream.ProblemTooMany}})
	if res := b.Calls()[0].Result; !b.Over() || res.Kind != proto.KindNotAllowed || !strings.Contains(res.Result, "did not run") {
		t.Errorf("got %+v", res)
	}
}

func TestOrder(t *testing.T) {
	b := of("one", "many", "many", "one", "many")
	if got := begin(b); got != "one many many" {
		t.Errorf("begin at once: %s", got)
	}
	b.Calls()[1].End(proto.ToolResult{})
	if got := begin(b); got != "" {
		t.Errorf("begin past one that waits: %s", got)
	}
	b.Calls()[0].End(proto.ToolResult{})
	if got := begin(b); got != "one many" {
		t.Errorf("begin then: %s", got)
	}
	if n := len(b.Running()); n != 3 || b.Over() {
		t.Errorf("%d run, over %v", n, b.Over())
	}
	for _, c := range b.Running() {
		c.End(proto.ToolResult{})
	}
	if !b.Over() || len(b.Running()) > 0 {
		t.Error("not over")
	}
}

func TestRefused(t *testing.T) {
	b := New(offer, []model.Call{
		{Name: "fly"}, {Name: "one", Problem: stream.ProblemArguments, Raw: `{"x":`}, {Name: "guarded"}, {Name: "one"},
	})
	for i, want := range []struct {
		kind, text string
	}{
		{proto.KindUnknownTool, "error: no tool named fly, use one of: one, many, guarded"},
		{proto.KindInvalidArguments, `error: arguments are not valid JSON: {"x":`},
		{},
		{},
	} {
		c := b.Calls()[i]
		if c.Done() != (want.kind != "") || c.Result.Kind != want.kind || c.Result.Result != want.text {
			t.Errorf("call %d: done %v, %+v", i, c.Done(), c.Result)
		}
		if c.Done() && c.Result.Call != c.BusID || c.Done() && c.Finished().Call != c.BusID {
			t.Errorf("call %d: result of another call", i)
		}
	}
	if c := b.Next(); c.Name != "guarded" || !c.Guarded() {
		t.Errorf("next %+v", c)
	}
	native := catalog.Offer{Specs: []proto.ToolSpec{{Name: "read_file", Native: true}}}
	b = New(native, []model.Call{
		{Name: "read_file", Problem: stream.ProblemArguments, Raw: `{"x":`, Arguments: json.RawMessage(`{}`)},
		{Name: "read_file", Problem: stream.ProblemTruncated, Raw: `{"x":`, Arguments: json.RawMessage(`{}`)},
	})
	if c := b.Calls()[0]; c.Done() || string(c.Sent()) != `{"x":` || !b.Calls()[1].Done() {
		t.Errorf("built-in tools: %+v, %+v", c, b.Calls()[1])
	}
}

// A call that needs a yes holds those behind it, not those before it.
func TestGuarded(t *testing.T) {
	for _, yes := range []bool{true, false} {
		b := of("many", "guarded", "many")
		b.Next().Begin(time.Now(), func() {})
		c := b.Next()
		if c.Name != "guarded" || !c.Guarded() {
			t.Fatalf("next %+v", c)
		}
		c.Ask()
		if b.Next() != nil || len(b.Running()) != 1 {
			t.Error("those behind it do not wait")
		}
		if yes {
			c.Allow()
			if b.Next() != c || c.Guarded() {
				t.Error("it does not begin after a yes")
			}
			c.Begin(time.Now(), func() {})
			if c.Back() {
				t.Error("asked about twice")
			}
		} else {
			c.Deny("the user said no")
			if !c.Done() || !c.Denied || c.Result.Kind != proto.KindNotAllowed || c.Result.Result != "error: guarded was not done: the user said no" || c.Result.Call != c.BusID {
				t.Errorf("denied %+v", c.Result)
			}
		}
		if next := b.Next(); next == nil || next.Name != "many" || next == c {
			t.Errorf("then %+v", next)
		}
	}
}

// toolrunner may send a call back because of its arguments.
func TestSentBack(t *testing.T) {
	b := of("one", "many")
	c := b.Next()
	c.Begin(time.Now(), func() {})
	if !c.Back() || !c.Guarded() || len(b.Running()) != 0 || b.Next() != c {
		t.Errorf("sent back: %+v", c)
	}
	c.Ask()
	c.Allow()
	if b.Next() != c || c.Guarded() {
		t.Errorf("allowed: %+v", c)
	}
}

func TestFailed(t *testing.T) {
	for code, want := range map[proto.Code]struct{ kind, text string }{
		proto.CodeUnavailable:  {proto.KindUnavailable, "error: the tool runner is gone"},
		proto.CodeDisconnected: {proto.KindUnavailable, "error: the tool runner is gone"},
		proto.CodeTimeout:      {proto.KindTimeout, "error: timed out"},
		proto.CodeFailed:       {proto.KindCannotRun, "error: why"},
	} {
		c := of("one").Next()
		c.Begin(time.UnixMilli(1000), func() {})
		res := c.Failed(time.UnixMilli(1250), proto.Errorf(code, "tool one", "why"))
		if res.OK || res.Call != c.BusID || res.Kind != want.kind || res.Result != want.text || res.TookMS != 250 {
			t.Errorf("%s: %+v", code, res)
		}
	}
}

func TestCalledShowsWhatTheModelWrote(t *testing.T) {
	for raw, want := range map[string]string{
		"": `{"a":1}`, `{"b":2}`: `{"a":1}`, `[1]`: `"[1]"`, `{"x":`: `"{\"x\":"`,
	} {
		c := New(offer, []model.Call{{Name: "one", Raw: raw, Arguments: json.RawMessage(`{"a":1}`)}}).Calls()[0]
		if got := c.Called(); string(got.Arguments) != want || got.Call != c.BusID || got.Name != "one" {
			t.Errorf("%s: called %s", raw, got.Arguments)
		}
	}
}

// TestCalledHides: of a built-in tool's call only the names of its arguments
// are told from here.
func TestCalledHides(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"url":"https://example.org/?key=1","body":"mine"}`: `{"body":"(hidden)","url":"(hidden)"}`,
		`"mine"`: `{}`,
	} {
		c := Call{Call: model.Call{Name: "http_request", Arguments: json.RawMessage(arguments)}, Spec: proto.ToolSpec{Native: true}}
		if got := string(c.Called().Arguments); got != want {
			t.Errorf("%s is told as %s", arguments, got)
		}
		c.Spec.Native = false
		if got := string(c.Called().Arguments); got != arguments {
			t.Errorf("%s is told as %s", arguments, got)
		}
	}
}
