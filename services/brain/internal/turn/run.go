// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/speech"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/batch"
	"example.org/desktop-assistant/services/brain/internal/catalog"
	"example.org/desktop-assistant/services/brain/internal/phrase"
	"example.org/desktop-assistant/services/brain/internal/prompt"
	"example.org/desktop-assistant/services/brain/internal/session"
	"example.org/desktop-assistant/services/brain/internal/skill"
	"example.org/desktop-assistant/services/brain/internal/voice"
)

// run is the state of a turn. Only the turn's goroutine touches it.
type run struct {
	*Turn
	env    Env
	log    *slog.Logger
	work   sync.WaitGroup // goroutines that post their outcome
	timers []*time.Timer

	// The question.
	deadline *time.Timer // for the transcript
	asked    bool
	text     string // of it, once it is read; "" when it only loads skills
	language string // of it, before it the spec's

	// The answer.
	offer    catalog.Offer // all tools
	offered  bool          // they were known when the turn began
	shown    catalog.Offer // those the model may see now
	natives  int           // calls of built-in tools so far
	prompt   *prompt.Prompt
	shelf    skill.Shelf     // the skills there are
	given    map[string]bool // skills whose text the model has
	attempt  int             // counts requests, so that a stale reply is known
	stopChat func()          // ends the request under way
	written  bool            // this request gave text
	length   int             // bytes of all requests' text
	before   int             // lines there were before it
	again    bool            // a request was made twice because it gave nothing
	loading  *time.Timer     // until when a loading server is waited for
	splitter *speech.Splitter
	prior    string          // language of the last sentence
	batch    *batch.Batch    // calls of this round, nil when none run
	question *question       // about one of them
	local    *catalog.Intent // what they are for, nil when the model asked for them
	private  bool            // the answer must not reach an external server later

	// What is said.
	voice      voice.Voice
	quiet      *time.Timer
	held       string      // text without a sound, shown with the next sentence
	moment     *time.Timer // until something is said about the silence
	waited     bool        // that was said
	announcing *time.Timer
	announced  bool
	lossy      bool // what ttsd tells may not come through

	// The end.
	failing *proto.Error // its words are being said
	leaving *result      // the speech is being stopped
	result  *result

	clock clock
}

// result is an ending.
type result struct {
	end proto.End
	err *proto.Error
}

func newRun(t *Turn, env Env) *run {
	lang := t.Language
	if lang == "" {
		lang = env.Languages[0]
	}
	return &run{
		Turn: t, env: env, log: env.Log.With("turn", t.ID), language: lang, prior: lang,
		voice: voice.New(t.Speak), clock: clock{start: time.Now()},
	}
}

// live runs the steps until one of them ends the turn. A panic ends it too.
func (r *run) live(ctx context.Context) (res result) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("turn panicked", "panic", p, "stack", string(debug.Stack()))
			r.apologise(phrase.Internal)
			res = result{proto.EndFailed, proto.Errorf(proto.CodeInternal, "answer", "%v", p)}
		}
	}()
	if r.Origin == proto.OriginVoice {
		r.listen()
	}
	for r.result == nil {
		select {
		case s := <-r.inbox:
			s(ctx, r)
		case <-ctx.Done():
			r.apologise(phrase.Restarted)
			r.cancelCalls()
			r.conclude(proto.EndFailed, proto.Errorf(proto.CodeCancelled, "answer", "brain is stopping"))
		}
	}
	return *r.result
}

// conclude ends the turn; the first ending counts.
func (r *run) conclude(end proto.End, err *proto.Error) {
	if r.result == nil {
		r.result = &result{end, err}
	}
}

// ending says that the turn is over, or on its way there.
func (r *run) ending() bool { return r.result != nil || r.leaving != nil || r.failing != nil }

// answering says that the turn still works on its answer.
func (r *run) answering() bool { return r.asked && !r.ending() && !r.voice.Closed() }

// halt ends the model's stream and the tools.
func (r *run) halt() {
	r.attempt++
	if r.stopChat != nil {
		r.stopChat()
	}
	r.closeQuestion()
	r.cancelCalls()
}

// leave ends the turn at once because the user did something. What was heard is
// known only when the speech has stopped, which is waited for, but not for long.
func (r *run) leave(ctx context.Context, end proto.End, err *proto.Error) {
	if r.leaving != nil {
		return
	}
	r.leaving = &result{end, err}
	r.halt()
	if !r.voice.Audible() {
		r.conclude(end, err)
		return
	}
	r.spawn(func() {
		stopCtx, cancel := context.WithTimeout(ctx, stopPatience)
		defer cancel()
		// What it does not play any more the user silenced just now, as the
		// command line does: its word on that is on the way too.
		if err := r.env.Mouth.Stop(stopCtx, r.Device, r.ID); err != nil {
			r.post(func(_ context.Context, r *run) { r.left() })
		}
	})
	r.after(stopPatience, func(_ context.Context, r *run) { r.left() })
}

// left ends a turn that is being left: what was heard of it is known, or will not
// be.
func (r *run) left() { r.conclude(r.leaving.end, r.leaving.err) }

// stopPatience bounds the wait for ttsd to say what was heard.
const stopPatience = 500 * time.Millisecond

// fail ends the turn with words: they are said like an answer, then it ends.
func (r *run) fail(ctx context.Context, key phrase.Key, err *proto.Error, pairs ...string) {
	if r.ending() {
		return
	}
	r.failing = err
	r.halt()
	r.log.Info("turn fails", "error", err, "hint", err.Hint)
	r.phrase(ctx, key, false, pairs...)
	r.complete(ctx)
}

// apologise says something after the turn, when there is no way to say it in
// the turn.
func (r *run) apologise(key phrase.Key) {
	if r.Speak && r.leaving == nil {
		text, lang := phrase.Say(key, r.language)
		r.env.Notice(r.Device, text, lang)
	}
}

// busLost ends the turn: its stream of events is broken, and ttsd drops what it
// had. The words come when the bus is back.
func (r *run) busLost() {
	r.halt()
	r.apologise(phrase.BusLost)
	if r.leaving != nil {
		r.left()
	}
	r.conclude(proto.EndFailed, proto.Errorf(proto.CodeDisconnected, "answer", "the bus went away"))
}

// EndID is the id of the event that ends a turn: the same when it is told again.
func EndID(turn string) string { return "end-" + turn }

// publish tells of an event of this turn.
func (r *run) publish(ev proto.Event) {
	meta := bus.Meta{Device: r.Device, Session: r.Session, Turn: r.ID}
	if _, end := ev.(proto.TurnEnded); end {
		meta.ID = EndID(r.ID)
	}
	err := r.env.Bus.Publish(ev, meta)
	if err != nil {
		r.log.Error("publish event", "type", ev.EventType(), "error", err)
	}
}

// spawn runs what blocks beside the turn; it posts its outcome. A panic in it
// fails the turn.
func (r *run) spawn(f func()) {
	r.work.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				r.log.Error("part of a turn panicked", "panic", p, "stack", string(debug.Stack()))
				r.post(func(ctx context.Context, r *run) {
					r.fail(ctx, phrase.Internal, proto.Errorf(proto.CodeInternal, "answer", "%v", p))
				})
			}
		}()
		f()
	})
}

// after posts a step later. A step that comes after its timer was stopped finds
// the state it was for gone, and looks.
func (r *run) after(d time.Duration, s step) *time.Timer {
	timer := time.AfterFunc(d, func() { r.post(s) })
	r.timers = append(r.timers, timer)
	return timer
}

func (r *run) stopTimers() {
	for _, t := range r.timers {
		t.Stop()
	}
}

func stop(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}

// lost tells of a daemon that is gone or was replaced.
func (r *run) lost(ctx context.Context, service string) {
	gone := proto.Errorf(proto.CodeUnavailable, "answer", "%s is gone", service).WithHint("see what runs: desktop-assistant status")
	switch {
	case service == "toolrunner":
		r.toolsLost(ctx)
	case service == "ttsd":
		r.mouthLost(ctx, gone)
	case service == "micd" && !r.asked && r.clock.ended.IsZero():
		r.fail(ctx, phrase.MicLost, gone)
	case service == "sttd" && !r.asked && !r.clock.ended.IsZero():
		r.fail(ctx, phrase.NoSTT, gone)
	}
}

// Notes that stand in the history for an answer, so that user and assistant
// alternate. They are for the model, hence in one language.
const (
	noteNone    = "(no answer was given)"
	notePrivate = "(answered on this machine)"
)

// exchange is what the conversation remembers of this turn.
func (r *run) exchange() session.Exchange {
	answer := r.voice.Answer()
	switch {
	case r.private:
		answer = notePrivate
	case answer == "":
		answer = noteNone
	}
	return session.Exchange{Question: r.text, Answer: answer, Language: r.language}
}
