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
// not run is done from the start.
type Call struct {
	model.Call
	BusID       string // unique, where the model's own id may not be
	Spec        proto.ToolSpec
	Unconfirmed bool             // it did not run since nobody can be asked for a yes
	Start       time.Time        // when it began to run
	Result      proto.ToolResult // once it is done
	cancel      func()
	done        bool
}

// New takes calls, in their order, of tools that are offered.
func New(offer catalog.Offer, calls []model.Call) *Batch {
	b := &Batch{}
	for _, m := range calls {
		c := &Call{Call: m, BusID: rand.Text()}
		if kind, text := c.refuse(offer); kind != "" {
			c.End(proto.ToolResult{Call: c.BusID, Kind: kind, Result: text})
		}
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
	case c.Problem != "":
		return proto.KindInvalidArguments, c.Refusal(names)
	case c.Spec.Confirm == proto.ConfirmVoice:
		c.Unconfirmed = true
		return proto.KindNotAllowed, "error: " + c.Name + " needs a confirmation by voice, which cannot be asked for yet"
	}
	return "", ""
}

// Calls are all of them, in their order.
func (b *Batch) Calls() []*Call { return b.calls }

// Running are those that run.
func (b *Batch) Running() []*Call {
	return slices.DeleteFunc(slices.Clone(b.calls), func(c *Call) bool { return !c.running() })
}

// Next is the call to begin now, nil when there is none: calls begin in their
// order, and one whose tool runs already waits, with those behind it, unless
// that tool may run several times at once.
func (b *Batch) Next() *Call {
	i := slices.IndexFunc(b.calls, func(c *Call) bool { return !c.done && !c.running() })
	if i < 0 {
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
	return proto.ToolCalled{Call: c.BusID, Name: c.Name, Arguments: arguments}
}

// Finished is the event of what the call came to.
func (c *Call) Finished() proto.ToolFinished {
	return proto.ToolFinished{ToolResult: c.Result, Name: c.Name}
}
