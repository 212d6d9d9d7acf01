// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"time"

	"example.org/desktop-assistant/pkg/speech"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/phrase"
	"example.org/desktop-assistant/services/brain/internal/voice"
)

// mouthRetry is the pause before ttsd is asked again.
const mouthRetry = 100 * time.Millisecond

// sentence takes a sentence of the answer. One without a sound is kept for the
// next, since ttsd wants every index.
func (r *run) sentence(ctx context.Context, text string) {
	lang := speech.Language(text, r.prior, r.env.Languages)
	r.prior = lang
	spoken := speech.Spoken(text, lang)
	if r.held != "" {
		text = r.held + "\n" + text
		r.held = ""
	}
	if spoken == "" && r.Speak {
		r.held = text
		return
	}
	note(&r.clock.sentence)
	r.say(ctx, voice.Line{Text: text, Spoken: spoken, Language: lang, Answer: true})
}

// phrase says something of the assistant's own.
func (r *run) phrase(ctx context.Context, key phrase.Key, announcement bool, pairs ...string) {
	text, lang := phrase.Say(key, r.language, pairs...)
	r.say(ctx, voice.Line{Text: text, Spoken: text, Language: lang, Announcement: announcement})
}

// say queues a line and tells of it.
func (r *run) say(ctx context.Context, l voice.Line) {
	if r.voice.Closed() {
		return
	}
	r.publish(l.Record(r.voice.Add(l)))
	r.send(ctx)
}

// complete says that no more lines come. The turn ends when the last is heard.
func (r *run) complete(ctx context.Context) {
	r.heardOf()
	stop(r.loading)
	stop(r.deadline)
	if !r.Speak {
		r.conclude(r.outcome(proto.EndSilent))
		return
	}
	r.voice.Close()
	r.send(ctx)
	r.settle()
}

// outcome is the given ending, or failed while words about a failure are said.
func (r *run) outcome(end proto.End) (proto.End, *proto.Error) {
	if r.failing != nil {
		return proto.EndFailed, r.failing
	}
	return end, nil
}

// settle ends a turn whose speech is over.
func (r *run) settle() {
	state := r.voice.State()
	switch {
	case r.leaving != nil:
	case state == voice.Stopped:
		r.halt()
		r.conclude(proto.EndCancelled, nil)
	case state == voice.Said:
		r.conclude(r.outcome(proto.EndSpoken))
	case state == voice.Superseded:
		r.conclude(r.outcome(proto.EndSuperseded))
	case state == voice.Gone && r.failing == nil && r.Origin == proto.OriginText && r.voice.Dumb():
		r.conclude(proto.EndSilent, r.voice.Lost()) // a machine without sound answers whoever types
	case state == voice.Gone:
		if r.failing == nil { // shown, since it cannot be said
			r.failing = r.voice.Lost()
			text, lang := phrase.Say(phrase.NoVoice, r.language)
			l := voice.Line{Text: text, Spoken: text, Language: lang}
			r.publish(l.Record(r.voice.Add(l)))
		}
		r.conclude(r.outcome(proto.EndFailed))
	}
}

// send asks ttsd for the next thing: a line, or the end.
func (r *run) send(ctx context.Context) {
	if r.leaving != nil || r.result != nil {
		return
	}
	q, ok := r.voice.Next(time.Now())
	if !ok {
		return
	}
	r.spawn(func() {
		err := r.request(ctx, q)
		r.post(func(ctx context.Context, r *run) { r.acknowledged(ctx, q, err) })
	})
}

// request runs beside the turn and touches only what never changes.
func (r *run) request(ctx context.Context, q voice.Request) error {
	if q.Index < 0 {
		return r.env.Mouth.End(ctx, r.Device, proto.SpeechEnd{Turn: r.ID, Count: q.Count})
	}
	return r.env.Mouth.Say(ctx, r.Device, proto.SpeechSay{
		Turn: r.ID, Index: q.Index, Text: q.Line.Text, Spoken: q.Line.Spoken, Language: q.Line.Language, Owner: r.env.Asker,
		Fixed: !q.Line.Answer && q.Line.Question == "",
	})
}

// acknowledged takes the answer of ttsd.
func (r *run) acknowledged(ctx context.Context, q voice.Request, err error) {
	e := proto.AsError("speak", err)
	switch {
	case e == nil:
		r.voice.Acknowledged(q)
	case !r.voice.Passed(q, e):
		r.mouthFailed(ctx, e)
		return
	}
	r.watchQuiet()
	r.send(ctx)
	r.settle()
}

// mouthFailed waits for a ttsd that went away, and gives up one that refuses.
func (r *run) mouthFailed(ctx context.Context, err *proto.Error) {
	if r.voice.Failed(err, time.Now()) {
		r.after(mouthRetry, func(ctx context.Context, r *run) {
			r.voice.Retry()
			r.send(ctx)
		})
		return
	}
	if r.voice.Lost() != nil {
		r.log.Warn("speech failed", "error", r.voice.Lost())
		r.questionHeard(r.question)
	}
	r.settle()
}

// mouthLost is told that ttsd is another process now, or none.
func (r *run) mouthLost(ctx context.Context, err *proto.Error) {
	if r.leaving != nil { // its word on what was heard will not come
		r.left()
		return
	}
	if r.voice.Replaced() {
		r.mouthFailed(ctx, err)
	}
}

// watchQuiet expects to hear of the speech again in time.
func (r *run) watchQuiet() {
	stop(r.quiet)
	if !r.voice.Audible() {
		return
	}
	limit := r.voice.Quiet()
	r.quiet = r.after(limit, func(_ context.Context, r *run) {
		switch {
		case !r.voice.Closed() || !r.voice.Audible() || r.leaving != nil:
		case r.lossy:
			r.voice.Presume()
			r.settle()
		default:
			r.voice.GiveUp(proto.Errorf(proto.CodeTimeout, "", "nothing was heard of the speech for %s", limit))
			r.settle()
		}
	})
}

// speechEvent takes what ttsd tells of this turn.
func (r *run) speechEvent(ctx context.Context, ev proto.Event) {
	failed := r.voice.Event(ev)
	switch ev := ev.(type) {
	case proto.SpeechStarted:
		if r.clock.sample.IsZero() {
			r.clock.sample = r.voice.Sample(ev)
		}
	case proto.SpeechFinished:
		if q := r.question; q != nil && q.index == ev.Index {
			r.questionHeard(q)
		}
	case proto.SpeechStopped:
		if r.leaving != nil {
			r.left()
		}
	}
	if failed != nil && r.leaving == nil {
		r.mouthFailed(ctx, failed)
	}
	r.watchQuiet()
	r.settle()
}
