// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/toolrunner/internal/native"
	"example.org/desktop-assistant/services/toolrunner/internal/run"
)

// call runs one call from the bus and tells what happens to it.
func (a *App) call(ctx context.Context, name string, c proto.ToolCall, arguments []byte) proto.ToolResult {
	if c.Call == "" {
		c.Call = bus.NewID()
	}
	if c.Device == "" {
		c.Device = a.env.Bus.Device()
	}
	if len(arguments) == 0 { // a plain request without a body
		arguments = []byte("{}")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Before anything is told of it: a flood of calls is not to become one of events.
	if refused := a.calls.add(c.Call, cancel); refused != nil {
		refused.Call = c.Call
		return *refused
	}
	defer a.calls.remove(c.Call)
	meta := bus.Meta{Device: c.Device, Session: c.Session, Turn: c.Turn}
	start := time.Now()
	shown := asJSON(arguments)
	if slices.Contains(native.Names(), name) {
		shown = native.Shown(name, arguments)
	}
	a.publish(proto.ToolCalled{Call: c.Call, Name: name, Arguments: shown}, meta)
	result, told := a.bounded(ctx, cancel, name, c, arguments)
	result.Call = c.Call
	result.TookMS = time.Since(start).Milliseconds()
	finished := proto.ToolFinished{ToolResult: result, Name: name}
	finished.Result = told
	a.publish(finished, meta)
	return result
}

// bounded runs a call until it ends, is cancelled, or its asker is gone. Told
// is what the event tells of the result.
func (a *App) bounded(ctx context.Context, cancel func(), name string, c proto.ToolCall, arguments []byte) (result proto.ToolResult, told string) {
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel() // before the wait
	if service, instance, ok := proto.SplitAsker(c.Asker); ok {
		watching.Go(func() { a.watchAsker(ctx, cancel, service, instance) })
	}
	if slices.Contains(native.Names(), name) {
		r := a.Builtin.tools.Call(ctx, name, c, arguments)
		return proto.ToolResult{OK: r.OK, Kind: r.Kind, Result: r.Text}, r.Label
	}
	r := a.runner.Call(ctx, name, arguments, run.Options{Timeout: c.Timeout, External: c.Route == config.RouteExternal, Confirmed: c.Confirmed})
	return proto.ToolResult{OK: r.OK, Kind: r.Kind, Result: r.Text}, r.Text
}

// watchAsker cancels a call whose asker did not answer twice in a row: nobody
// waits for the result any more.
func (a *App) watchAsker(ctx context.Context, cancel func(), service, instance string) {
	missed := 0
	ticker := time.NewTicker(askerEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !a.env.Bus.Connected() { // the bus went, not the asker
			continue
		}
		limit, done := context.WithTimeout(ctx, askerAnswer)
		alive := a.env.Bus.Alive(limit, service, instance)
		done()
		if alive {
			missed = 0
			continue
		}
		if missed++; missed == 2 {
			a.env.Log.Warn("whoever asked for a tool is gone, cancelling it", "asker", service)
			cancel()
			return
		}
	}
}

// asJSON shows arguments as they came: as JSON when they are, else as text.
func asJSON(arguments []byte) json.RawMessage {
	if json.Valid(arguments) {
		return arguments
	}
	text, err := json.Marshal(string(arguments))
	if err != nil { // a string always has a JSON form
		return json.RawMessage("null")
	}
	return text
}

// calls are the calls that run, by their id.
type calls struct {
	mu   sync.Mutex
	list map[string]func()
}

// add gives nil, or the result of a call that cannot be taken.
func (c *calls) add(call string, cancel func()) *proto.ToolResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list == nil {
		c.list = map[string]func(){}
	}
	if _, taken := c.list[call]; taken {
		return &proto.ToolResult{Kind: proto.KindInvalidArguments, Result: "error: a call with this id runs already"}
	}
	if len(c.list) >= maxCalls {
		return &proto.ToolResult{Kind: proto.KindUnavailable, Result: "error: too many tools run at once"}
	}
	c.list[call] = cancel
	return nil
}

func (c *calls) remove(call string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.list, call)
}

func (c *calls) cancel(call string) {
	c.mu.Lock()
	cancel := c.list[call]
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// cancelAll ends every call.
func (c *calls) cancelAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cancel := range c.list {
		cancel()
	}
}

func (c *calls) running() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.list)
}
