// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"time"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/batch"
	"example.org/desktop-assistant/services/brain/internal/catalog"
	"example.org/desktop-assistant/services/brain/internal/model"
)

// callGrace is added to a tool's own timeout for the wait for its result: the
// call may queue behind others. toolrunner's death is noticed long before.
const callGrace = 30 * time.Second

// startBatch runs calls of tools that are offered. Of those that must not run
// toolrunner knows nothing, so that their events come from here.
func (r *run) startBatch(ctx context.Context, offer catalog.Offer, calls []model.Call) {
	r.batch = batch.New(offer, calls)
	for _, c := range r.batch.Calls() {
		if c.Done() {
			r.publish(c.Called())
			r.publish(c.Finished())
		}
	}
	r.pump(ctx)
}

// pump begins what may begin, and ends the batch when all is done.
func (r *run) pump(ctx context.Context) {
	for c := r.batch.Next(); c != nil; c = r.batch.Next() {
		if c.Guarded() {
			r.confirm(ctx, c)
			continue
		}
		if r.isSkill(c) {
			r.startSkill(c)
			continue
		}
		r.startCall(ctx, c)
	}
	if r.batch.Over() {
		r.batchDone(ctx)
	}
}

func (r *run) startCall(ctx context.Context, c *batch.Call) {
	timeout := time.Duration(c.Spec.TimeoutMS)*time.Millisecond + callGrace
	callCtx, cancel := context.WithTimeout(ctx, timeout)
	c.Begin(time.Now(), cancel)
	route := r.env.Settings.Route
	if r.local != nil { // the result goes to the user alone
		route = config.RouteLocal
	}
	about := proto.ToolCall{
		Call: c.BusID, Turn: r.ID, Session: r.Session, Device: r.Device, Route: route,
		Limit: r.offer.CallLimit, Asker: r.env.Asker, Confirmed: c.Confirmed,
	}
	r.startAnnouncing(ctx)
	r.spawn(func() {
		defer cancel()
		res, err := r.env.Tools.Call(callCtx, c.Name, about, c.Sent())
		r.post(func(ctx context.Context, r *run) { r.called(ctx, c, res, err) })
	})
}

// called takes the result of a call.
func (r *run) called(ctx context.Context, c *batch.Call, res proto.ToolResult, err error) {
	switch {
	case c.Done():
		return
	case err == nil && res.Kind == proto.KindUnconfirmed && c.Back():
	case err == nil:
		r.endCall(c, res)
	default:
		r.callFailed(c, proto.AsError("tool "+c.Name, err))
	}
	r.next(ctx)
}

// callFailed ends a call of which toolrunner tells nothing more.
func (r *run) callFailed(c *batch.Call, err *proto.Error) {
	switch err.Code {
	case proto.CodeUnavailable: // it never came to toolrunner
		r.publish(c.Called())
	case proto.CodeTimeout:
		r.cancelTool(c)
	}
	r.endCall(c, c.Failed(time.Now(), err))
	r.publish(c.Finished())
}

func (r *run) endCall(c *batch.Call, res proto.ToolResult) {
	c.End(res)
	r.clock.tools = append(r.clock.tools, toolTime{c.Name, c.Start, time.Now()})
}

// next goes on with the batch unless the turn is over.
func (r *run) next(ctx context.Context) {
	if r.answering() && r.batch != nil {
		r.pump(ctx)
	}
}

// batchDone hands the results over, in the order of the calls.
func (r *run) batchDone(ctx context.Context) {
	calls := r.batch.Calls()
	r.batch = nil
	stop(r.announcing)
	r.announcing = nil
	if r.local != nil {
		r.intentDone(ctx, calls[0])
		return
	}
	var results []string
	for _, c := range calls {
		results = append(results, c.Result.Result)
		if c.Spec.Native && !c.Start.IsZero() && !c.Denied {
			r.natives++
		}
	}
	if limit := r.offer.CallLimit; limit > 0 && r.natives >= limit {
		r.shown = r.shown.Spent()
		r.prompt.Offer(r.shown.Specs)
	}
	r.prompt.Results(results)
	r.chat(ctx)
}

// toolsLost ends the calls that a vanished toolrunner was running.
func (r *run) toolsLost(ctx context.Context) {
	for _, c := range r.running() {
		if r.isSkill(c) {
			continue
		}
		c.Cancel()
		r.callFailed(c, proto.Errorf(proto.CodeDisconnected, "tool "+c.Name, "toolrunner is gone"))
	}
	r.next(ctx)
}

// cancelCalls ends the calls that run; toolrunner tells how its own ended.
func (r *run) cancelCalls() {
	for _, c := range r.running() {
		c.Cancel()
		r.endCall(c, proto.ToolResult{Call: c.BusID, Kind: proto.KindCancelled, Result: "error: cancelled"})
		if r.isSkill(c) {
			r.publish(c.Finished())
			continue
		}
		r.cancelTool(c)
	}
}

// running are the calls that run now.
func (r *run) running() []*batch.Call {
	if r.batch == nil {
		return nil
	}
	return r.batch.Running()
}

func (r *run) cancelTool(c *batch.Call) {
	if err := r.env.Tools.Cancel(c.BusID); err != nil {
		r.log.Debug("cancel tool", "call", c.BusID, "error", err)
	}
}
