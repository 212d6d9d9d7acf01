// SPDX-License-Identifier: Apache-2.0

// Package turn answers one question: from the first sound of it, or its text,
// to the last word of the answer.
//
// One goroutine owns a turn. Whatever else happens (an event of the bus, a
// piece of the model's stream, a result of a tool, a timer) is posted to it as
// a step, so that the state of a turn needs no lock. That goroutine publishes
// the one turn.started as its first act and the one turn.ended as its last,
// and there is no other place that publishes either.
package turn

import (
	"context"
	"sync/atomic"
	"time"

	"example.org/desktop-assistant/proto"
)

// Spec is what a turn is about, fixed for its life.
type Spec struct {
	ID      string
	Session string
	Device  string
	Origin  proto.Origin
	Stream  string        // of a spoken question
	Trigger proto.Trigger // of a spoken question
	Speak   bool          // false: the answer is shown only
	// Language is what the device was last spoken to in: for words before the
	// question is known, and the prior for its language.
	Language string
}

// Result is how a turn ended.
type Result struct {
	ID    string
	End   proto.End
	Err   *proto.Error
	Asked bool // the question was known
}

// A Turn is the handle with which others post to a turn. Its methods do not
// wait for what they cause, may be called from any goroutine, and after the end
// do nothing.
type Turn struct {
	Spec
	inbox  chan step
	deaf   chan struct{} // closed: no step is taken any more
	over   chan struct{}
	done   chan struct{}
	asking atomic.Pointer[Question]
}

// A step changes the state of a turn. It runs on the turn's goroutine and does
// not block.
type step func(ctx context.Context, r *run)

// inboxSize is how many steps may wait. Steps take microseconds, so that only a
// burst fills it; who posts then waits.
const inboxSize = 256

// Start begins a turn: it is published at once, and lives until it has ended by
// itself or by one of the methods, or ctx ends.
func Start(ctx context.Context, spec Spec, env Env) *Turn {
	t := &Turn{Spec: spec, inbox: make(chan step, inboxSize), deaf: make(chan struct{}), over: make(chan struct{}), done: make(chan struct{})}
	go t.main(ctx, env)
	return t
}

// Over is closed when turn.ended is published and the exchange is recorded.
func (t *Turn) Over() <-chan struct{} { return t.over }

// Done is closed when everything that the turn started has ended too.
func (t *Turn) Done() <-chan struct{} { return t.done }

// Ask gives a turn its question. The answer begins once the turns in after are
// over, since it needs what they said.
func (t *Turn) Ask(text, language string, after ...*Turn) {
	t.post(func(ctx context.Context, r *run) { r.ask(ctx, text, language, after) })
}

// Event tells of an event that names this turn: utterance, stt and speech.
func (t *Turn) Event(ev proto.Event) {
	t.post(func(ctx context.Context, r *run) { r.event(ctx, ev) })
}

// Interrupt ends a turn as cancelled or superseded: its model stream, its tools
// and its speech.
func (t *Turn) Interrupt(end proto.End) {
	t.post(func(ctx context.Context, r *run) { r.leave(ctx, end, nil) })
}

// BargeIn supersedes a turn that is being heard; one that still thinks goes on.
func (t *Turn) BargeIn() {
	t.post(func(ctx context.Context, r *run) {
		if r.voice.Audible() {
			r.leave(ctx, proto.EndSuperseded, nil)
		}
	})
}

// Lost tells that a daemon is gone, or is another process than before.
func (t *Turn) Lost(service string) {
	t.post(func(ctx context.Context, r *run) { r.lost(ctx, service) })
}

// BusLost tells that the bus was away: what was under way on it is lost.
func (t *Turn) BusLost() {
	t.post(func(_ context.Context, r *run) { r.busLost() })
}

// EventsLost tells that events of this turn may not have come through: it does
// not take it for a failure any more when it hears nothing of its speech.
func (t *Turn) EventsLost() {
	t.post(func(_ context.Context, r *run) { r.lossy = true })
}

func (t *Turn) post(s step) {
	select {
	case t.inbox <- s:
	case <-t.deaf:
	}
}

// main is the whole life of a turn. It publishes the start and the end.
func (t *Turn) main(ctx context.Context, env Env) {
	defer close(t.done)
	ctx, cancel := context.WithCancel(ctx)
	r := newRun(t, env)
	r.offer, r.offered = env.Tools.Known() // fixed from here on
	r.publish(proto.TurnStarted{Origin: t.Origin, Stream: t.Stream, Route: env.Settings.Route})
	res := r.live(ctx)
	close(t.deaf)
	t.asking.Store(nil)
	if r.text != "" {
		env.Book.Record(t.Session, r.exchange())
	}
	result := Result{ID: t.ID, End: res.end, Err: res.err, Asked: r.asked}
	env.Ending(result)
	r.publish(proto.TurnEnded{End: res.end, Error: res.err, Heard: r.voice.Heard(), Marks: r.marks(time.Now())})
	close(t.over)
	cancel()
	r.stopTimers()
	env.Ended(result)
	r.work.Wait()
}
