// SPDX-License-Identifier: Apache-2.0

// Package batch keeps the account of the tool calls of one round: which must
// not run, which may run now, and what each came to. It is pure: the turn makes
// the calls and tells of them.
package batch

import (
	"crypto/rand"
	"encoding/json"
	"slices"
	"time"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/catalog"
	"example.org/desktop-assistant/services/brain/internal/model"
	"example.org/desktop-assistant/services/brain/internal/stream"
)

// Batch is the calls of one round.
type Batch struct{ calls []*Call }

// Call is one tool call. It is pending, then running, then done; one that must
// not run is done from the start. Where the user has to be asked it is asked
// about before it runs, or, if only toolrunner knows, after it came back.
type Call struct {
	model.Call
	BusID     string // unique, where the model's own id may not be
	Spec      proto.ToolSpec
	Confirmed bool             // the user said yes
	Denied    bool             // the user did not
	Start     time.Time        // when it began to run
	Result    proto.ToolResult // once it is done
	cancel    func()
	done      bool
	guarded   bool // it needs a yes
	asked     bool // and the user is being asked for it
}

// New takes calls, in their order, of tools that are offered.
func New(offer catalog.Offer, calls []model.Call) *Batch {
	b := &Batch{}
	for _, m := range calls {
		c := &Call{Call: m, BusID: rand.Text()}
		if kind, text := c.refuse(offer); kind != "" {
			c.End(proto.ToolResult{Call: c.BusID, Kind: kind, Result: text})
		}
		c.guarded = c.Spec.Confirm == proto.ConfirmVoice
		b.calls = append(b.calls, c)
	}
	return b
}

// refuse looks up the tool. It says why the call must not run, "" when it may.
func (c *Call) refuse(offer catalog.Offer) (kind, text string) {
	var known bool
	if c.Spec, known = offer.Find(c.Name); !known && c.Problem == "" {
		c.Problem = stream.ProblemTool
	}
	var names []string
	for _, s := range offer.Specs {
		names = append(names, s.Name)
	}
	switch {
	case !known:
		return proto.KindUnknownTool, c.Refusal(names)
	case c.Problem == stream.ProblemTooMany:
		return proto.KindNotAllowed, c.Refusal(names)
	case c.Problem == stream.ProblemArguments && c.Spec.Native:
		return "", "" // toolrunner counts it and refuses it, as it does all others
	case c.Problem != "":
		return proto.KindInvalidArguments, c.Refusal(names)
	}
	return "", ""
}

// Sent is what toolrunner gets as the arguments: a JSON object or, of a built-in
// tool, whatever the model wrote in its place.
func (c *Call) Sent() []byte {
	if c.Problem == stream.ProblemArguments {
		return []byte(c.Raw)
	}
	return c.Arguments
}

// Calls are all of them, in their order.
func (b *Batch) Calls() []*Call { return b.calls }

// Running are those that run.
func (b *Batch) Running() []*Call {
	return slices.DeleteFunc(slices.Clone(b.calls), func(c *Call) bool { return !c.running() })
}

// Next is the call to begin now, or to ask the user about ([Call.Guarded]); nil
// when there is none: calls begin in their order, and one whose tool runs already
// waits, with those behind it, unless that tool may run several times at once.
// While the user is asked about one, those behind it wait too.
func (b *Batch) Next() *Call {
	i := slices.IndexFunc(b.calls, func(c *Call) bool { return !c.done && !c.running() })
	if i < 0 || b.calls[i].asked {
		return nil
	}
	next := b.calls[i]
	if !next.Spec.Parallel && slices.ContainsFunc(b.calls, func(c *Call) bool { return c.running() && c.Name == next.Name }) {
		return nil
	}
	return next
}

// Over says that all are done.
func (b *Batch) Over() bool {
	return !slices.ContainsFunc(b.calls, func(c *Call) bool { return !c.done })
}

// Begin says that the call runs from now on, and how the wait for it is ended.
func (c *Call) Begin(now time.Time, cancel func()) { c.Start, c.cancel = now, cancel }

// Guarded says that the user has to be asked before the call begins.
func (c *Call) Guarded() bool { return c.guarded && !c.Confirmed }

// Ask says that the user is being asked.
func (c *Call) Ask() { c.asked = true }

// Back says that toolrunner sent the call back, since it wants a yes of the user
// for it. It reports false when the user said it already.
func (c *Call) Back() bool {
	if c.Confirmed {
		return false
	}
	c.guarded, c.cancel = true, nil
	return true
}

// Allow says that the user said yes: the call may begin.
func (c *Call) Allow() { c.asked, c.Confirmed = false, true }

// Deny ends a call to which the user did not say yes; why is for the model.
func (c *Call) Deny(why string) {
	c.Denied = true
	c.End(proto.ToolResult{Call: c.BusID, Kind: proto.KindNotAllowed, Result: "error: " + c.Name + " was not done: " + why})
}

// Cancel ends the wait for the result of a call that runs.
func (c *Call) Cancel() { c.cancel() }

// End says what the call came to.
func (c *Call) End(res proto.ToolResult) { c.done, c.Result = true, res }

// Done says whether that is known.
func (c *Call) Done() bool { return c.done }

func (c *Call) running() bool { return c.cancel != nil && !c.done }

// Failed makes the result of a call that toolrunner gave none for.
func (c *Call) Failed(now time.Time, err *proto.Error) proto.ToolResult {
	res := proto.ToolResult{Call: c.BusID, Kind: proto.KindCannotRun, Result: "error: " + err.Text, TookMS: now.Sub(c.Start).Milliseconds()}
	switch err.Code {
	case proto.CodeUnavailable, proto.CodeDisconnected:
		res.Kind, res.Result = proto.KindUnavailable, "error: the tool runner is gone"
	case proto.CodeTimeout:
		res.Kind, res.Result = proto.KindTimeout, "error: timed out"
	}
	return res
}

// Called is the event of a call that toolrunner has not told of: with the
// arguments as the model wrote them, as JSON where they are.
func (c *Call) Called() proto.ToolCalled {
	arguments := c.Arguments
	if c.Raw != "" && (!json.Valid([]byte(c.Raw)) || c.Raw[0] != '{') {
		if text, err := json.Marshal(c.Raw); err == nil { // a string always encodes
			arguments = text
		}
	}
	if c.Spec.Native {
		arguments = hidden(arguments)
	}
	return proto.ToolCalled{Call: c.BusID, Name: c.Name, Arguments: arguments}
}

// hidden keeps the names of arguments and none of their values: what may be
// shown of a built-in tool's only toolrunner knows.
func hidden(arguments json.RawMessage) json.RawMessage {
	var values map[string]json.RawMessage
	if json.Unmarshal(arguments, &values) != nil {
		return json.RawMessage(`{}`)
	}
	names := map[string]string{}
	for name := range values {
		names[name] = "(hidden)"
	}
	text, err := json.Marshal(names)
	if err != nil { // strings always encode
		return json.RawMessage(`{}`)
	}
	return text
}

// Finished is the event of what the call came to.
func (c *Call) Finished() proto.ToolFinished {
	return proto.ToolFinished{ToolResult: c.Result, Name: c.Name}
}
