// SPDX-License-Identifier: Apache-2.0

// Package native is the built-in tools as the rest of toolrunner sees them: what
// is offered to whom, how many calls a turn may make, what needs a yes.
package native

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/toolrunner/internal/native/argument"
	"example.org/desktop-assistant/services/toolrunner/internal/native/catalog"
	"example.org/desktop-assistant/services/toolrunner/internal/native/engine"
	"example.org/desktop-assistant/services/toolrunner/internal/native/fault"
)

// Runner runs calls that were found to be allowed. Run may be called at the
// same time; when ctx ends it returns within a tenth of a second.
type Runner interface {
	Run(ctx context.Context, c engine.Call) engine.Result
}

// Tools decides about the calls of built-in tools. Its methods may be called at
// the same time.
type Tools struct {
	mu     sync.Mutex
	plan   Plan
	runner Runner
	turns  turns
}

// New makes the tools of a plan.
func New(p Plan, r Runner) *Tools { return &Tools{plan: p, runner: r} }

// Replace puts another plan into force for calls from now on, and gives back
// the runner of the old one, whose calls go on.
func (t *Tools) Replace(p Plan, r Runner) (old Runner) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old, t.plan, t.runner = t.runner, p, r
	return old
}

// Plan gives what is in force.
func (t *Tools) Plan() Plan {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.plan
}

// Names lists the built-in tools, whether they are on or off.
func Names() []string {
	var names []string
	for _, r := range catalog.Records() {
		names = append(names, r.Name)
	}
	return names
}

// Offered lists the tools that a turn on a route may call.
func (t *Tools) Offered(external bool) []string {
	p := t.Plan()
	return slices.DeleteFunc(Names(), func(name string) bool { return p.Check(name, external) != nil })
}

// Specs describes the tools that are on, for tool.list.
func (t *Tools) Specs() []proto.ToolSpec {
	p := t.Plan()
	var specs []proto.ToolSpec
	for _, r := range catalog.Records() {
		if p.Check(r.Name, false) == nil {
			specs = append(specs, p.spec(r))
		}
	}
	return specs
}

// All describes every tool, those that are off too, so that a call of one is
// answered with the reason.
func (t *Tools) All() []proto.ToolSpec {
	p := t.Plan()
	var specs []proto.ToolSpec
	for _, r := range catalog.Records() {
		specs = append(specs, p.spec(r))
	}
	return specs
}

func (p Plan) spec(r catalog.Record) proto.ToolSpec {
	s := proto.ToolSpec{
		Name: r.Name, Description: r.Description, Parameters: r.Schema(), TimeoutMS: p.Timeout.Milliseconds(),
		External: p.Check(r.Name, true) == nil, Confirm: proto.ConfirmNever, Parallel: true, Native: true,
	}
	switch {
	case s.External:
	case r.External:
		s.Held = "[native_tools] does not say external = true"
	default:
		s.Held = "one never gets this tool"
	}
	return s
}

// Shown is what events and logs show of the arguments of a call.
func Shown(name string, arguments []byte) json.RawMessage {
	r, _ := catalog.Find(name)
	return r.Shown(arguments)
}

// Call decides about a call and runs it. The call counts before anything of it
// is looked at.
func (t *Tools) Call(ctx context.Context, name string, head proto.ToolCall, arguments []byte) engine.Result {
	t.mu.Lock()
	plan, runner := t.plan, t.runner
	t.mu.Unlock()
	turn := t.turns.of(head.Turn)
	if f := turn.count(plan.CallLimit, head.Limit); f != nil {
		return engine.Failed(f)
	}
	external := head.Route == config.RouteExternal
	if f := plan.Check(name, external); f != nil {
		return engine.Failed(f)
	}
	record, _ := catalog.Find(name) // it was checked
	v, err := record.Decode(arguments)
	if err != nil {
		return engine.Failed(fault.Of(err))
	}
	if !head.Confirmed && plan.asks(record, v, turn.private()) {
		turn.uncount()
		return engine.Result{Kind: proto.KindUnconfirmed, Text: errUnconfirmed, Label: errUnconfirmed}
	}
	result := runner.Run(ctx, engine.Call{Tool: name, Arguments: string(arguments), External: external, Timeout: head.Timeout})
	if result.OK && record.Private {
		turn.read()
	}
	return result
}

const errUnconfirmed = "error: the user must allow this request first"

// asks says whether a call needs a yes: one that could carry away what the turn
// read, and one with a body when the configuration wants to be asked.
func (p Plan) asks(r catalog.Record, v argument.Values, private bool) bool {
	if r.Asks == nil {
		return false
	}
	carries, body := r.Asks(v)
	return carries && private || body && p.Confirm
}

// maxTurns is how many turns are remembered: many times those that can run.
const maxTurns = 1024

// turns are the accounts of the turns that made calls. The zero value has none.
type turns struct {
	mu    sync.Mutex
	known map[string]*account
	order []string // oldest first
}

// account is what a turn did with built-in tools.
type account struct {
	mu      sync.Mutex
	limit   int // fixed by its first call
	spent   int
	hasRead bool
}

// of gives the account of a turn. A call without a turn is one of its own.
func (t *turns) of(turn string) *account {
	if turn == "" {
		return &account{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.known[turn]; a != nil {
		return a
	}
	if t.known == nil {
		t.known = map[string]*account{}
	}
	if len(t.order) == maxTurns {
		delete(t.known, t.order[0])
		t.order = t.order[1:]
	}
	t.known[turn] = &account{}
	t.order = append(t.order, turn)
	return t.known[turn]
}

// count takes one call off the limit, which is the configuration's at the first
// call of the turn. What the asker says can only lower it.
func (a *account) count(limit, asked int) *fault.Fault {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.limit = cmp.Or(a.limit, limit)
	if asked > 0 {
		a.limit = min(a.limit, asked)
	}
	if a.spent >= a.limit {
		return fault.NotAllowed("this turn has made all the calls of built-in tools that it may make: answer with what is known")
	}
	a.spent++
	return nil
}

func (a *account) uncount() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spent--
}

func (a *account) read() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hasRead = true
}

func (a *account) private() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.hasRead
}
