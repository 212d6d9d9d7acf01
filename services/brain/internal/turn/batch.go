// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/model"
	"example.org/desktop-assistant/services/brain/internal/stream"
)

// callGrace is added to a tool's own timeout for the wait for its result: the
// call may queue behind others. toolrunner's death is noticed long before.
const callGrace = 30 * time.Second

// resultGone is what the model gets for a call whose toolrunner went away.
const resultGone = "error: the tool runner is gone"

// batch is the calls of one round.
type batch struct {
	calls []*call
}

// call is one tool call. It is pending, then running, then done.
type call struct {
	model.Call
	wire        string // its id on the bus, unique where the model's may not be
	spec        proto.ToolSpec
	start       time.Time
	cancel      func()
	done        bool
	unconfirmed bool
	result      proto.ToolResult
}

func (c *call) running() bool { return c.cancel != nil && !c.done }

// startBatch runs calls, in the order given.
func (r *run) startBatch(ctx context.Context, calls []model.Call) {
	r.batch = &batch{}
	for _, m := range calls {
		c := &call{Call: m, wire: rand.Text()}
		r.batch.calls = append(r.batch.calls, c)
		if refusal, kind := r.refuse(c); refusal != "" {
			r.refused(c, kind, refusal)
		}
	}
	r.pump(ctx)
}

// refuse says why a call must not run, "" when it may.
func (r *run) refuse(c *call) (text, kind string) {
	var names []string
	for _, s := range r.shown.Specs {
		names = append(names, s.Name)
	}
	from := r.shown
	if r.local != nil {
		from = r.offer
	}
	spec, known := from.Find(c.Name)
	if !known && c.Problem == "" {
		c.Problem = stream.ProblemTool
	}
	c.spec = spec
	switch {
	case !known:
		return c.Refusal(names), proto.KindUnknownTool
	case c.Problem != "":
		return c.Refusal(names), proto.KindInvalidArguments
	case spec.Confirm == "voice":
		c.unconfirmed = true
		return "error: " + c.Name + " needs a confirmation by voice, which cannot be asked for yet", proto.KindNotAllowed
	}
	return "", ""
}

// refused answers a call that never runs. toolrunner does not see it, so that
// its events come from here.
func (r *run) refused(c *call, kind, text string) {
	c.done = true
	c.result = proto.ToolResult{Call: c.wire, Kind: kind, Result: text}
	r.publish(proto.ToolCalled{Call: c.wire, Name: c.Name, Arguments: written(c.Call)})
	r.publish(proto.ToolFinished{ToolResult: c.result, Name: c.Name})
}

// written gives the arguments as the model wrote them: as JSON where they are.
func written(c model.Call) json.RawMessage {
	if c.Raw == "" || json.Valid([]byte(c.Raw)) && c.Raw[0] == '{' {
		return c.Arguments
	}
	text, err := json.Marshal(c.Raw)
	if err != nil { // a string always encodes
		return c.Arguments
	}
	return text
}

// pump starts what may start: calls start in their order, and one whose tool
// runs already waits unless that tool may run several times at once.
func (r *run) pump(ctx context.Context) {
	waiting := false
	for _, c := range r.batch.calls {
		switch {
		case c.done:
		case c.running():
			waiting = true
		case r.blocked(c):
			return
		default:
			waiting = true
			r.startCall(ctx, c)
		}
	}
	if !waiting {
		r.batchDone(ctx)
	}
}

func (r *run) blocked(c *call) bool {
	for _, other := range r.batch.calls {
		if other.running() && other.Name == c.Name && !c.spec.Parallel {
			return true
		}
	}
	return false
}

func (r *run) startCall(ctx context.Context, c *call) {
	c.start = time.Now()
	timeout := time.Duration(c.spec.TimeoutMS)*time.Millisecond + callGrace
	callCtx, cancel := context.WithTimeout(ctx, timeout)
	c.cancel = cancel
	route := r.env.Settings.Route
	if r.local != nil { // the result goes to the user alone
		route = config.RouteLocal
	}
	about := proto.ToolCall{
		Call: c.wire, Turn: r.ID, Session: r.Session, Device: r.Device, Route: route,
		Limit: r.env.Settings.CallLimit, Asker: r.env.Asker,
	}
	r.startAnnouncing(ctx)
	r.spawn(func() {
		defer cancel()
		res, err := r.env.Tools.Call(callCtx, c.Name, about, c.Arguments)
		r.post(func(ctx context.Context, r *run) { r.called(ctx, c, res, err) })
	})
}

// called takes the result of a call.
func (r *run) called(ctx context.Context, c *call, res proto.ToolResult, err error) {
	if c.done {
		return
	}
	if err == nil {
		r.finishCall(c, res)
		r.next(ctx)
		return
	}
	e := proto.AsError("tool "+c.Name, err)
	res = proto.ToolResult{Call: c.wire, Kind: proto.KindCannotRun, Result: "error: " + e.Text, TookMS: time.Since(c.start).Milliseconds()}
	switch e.Code {
	case proto.CodeUnavailable:
		r.publish(proto.ToolCalled{Call: c.wire, Name: c.Name, Arguments: written(c.Call)})
		res.Kind, res.Result = proto.KindUnavailable, resultGone
	case proto.CodeDisconnected:
		res.Kind, res.Result = proto.KindUnavailable, resultGone
	case proto.CodeTimeout:
		res.Kind, res.Result = proto.KindTimeout, "error: timed out"
		r.cancelTool(c)
	}
	r.publish(proto.ToolFinished{ToolResult: res, Name: c.Name})
	r.finishCall(c, res)
	r.next(ctx)
}

func (r *run) finishCall(c *call, res proto.ToolResult) {
	c.done, c.result = true, res
	r.clock.tools = append(r.clock.tools, toolTime{c.Name, c.start, time.Now()})
}

// next goes on with the batch unless the turn is over.
func (r *run) next(ctx context.Context) {
	if r.answering() && r.batch != nil {
		r.pump(ctx)
	}
}

// batchDone hands the results over, in the order of the calls.
func (r *run) batchDone(ctx context.Context) {
	calls := r.batch.calls
	r.batch = nil
	stop(r.announcing)
	r.announcing = nil
	if r.local != nil {
		r.intentDone(ctx, calls[0])
		return
	}
	for i, c := range calls {
		text := c.result.Result
		if i == len(calls)-1 && r.round+1 >= r.env.Settings.Rounds {
			text += lastNote
		}
		r.messages = append(r.messages, model.Message{Role: model.RoleTool, Content: text, CallID: c.ID})
	}
	r.round++
	r.chat(ctx)
}

// toolsLost ends the calls that a vanished toolrunner was running.
func (r *run) toolsLost(ctx context.Context) {
	if r.batch == nil {
		return
	}
	for _, c := range r.batch.calls {
		if !c.running() {
			continue
		}
		c.cancel()
		res := proto.ToolResult{Call: c.wire, Kind: proto.KindUnavailable, Result: resultGone, TookMS: time.Since(c.start).Milliseconds()}
		r.publish(proto.ToolFinished{ToolResult: res, Name: c.Name})
		r.finishCall(c, res)
	}
	r.next(ctx)
}

// cancelCalls ends the calls that run; toolrunner tells how they ended.
func (r *run) cancelCalls() {
	if r.batch == nil {
		return
	}
	for _, c := range r.batch.calls {
		if c.running() {
			r.cancelTool(c)
			c.cancel()
			r.finishCall(c, proto.ToolResult{Call: c.wire, Kind: proto.KindCancelled})
		}
	}
}

func (r *run) cancelTool(c *call) {
	if err := r.env.Tools.Cancel(c.wire); err != nil {
		r.log.Debug("cancel tool", "call", c.wire, "error", err)
	}
}
