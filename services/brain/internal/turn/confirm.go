// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"time"

	"example.org/desktop-assistant/pkg/consent"
	"example.org/desktop-assistant/pkg/speech"
	"example.org/desktop-assistant/services/brain/internal/batch"
	"example.org/desktop-assistant/services/brain/internal/voice"
)

// answerWithin is how long the user has to begin an answer once a question was
// heard.
const answerWithin = 20 * time.Second

// Why a call was not allowed, for the model.
const (
	saidNo      = "the user said no"
	saidNothing = "the user was asked and did not answer"
	unclear     = "the user was asked and gave no clear yes"
)

// Question names a question that is open, for whoever brings the answer.
type Question struct {
	Call   string
	At     time.Time
	Spoken bool // so that it can be answered by voice
}

// Asking is the open question of the turn, nil when there is none.
func (t *Turn) Asking() *Question { return t.asking.Load() }

// Answer gives the answer to the question about a call, as a key press does.
func (t *Turn) Answer(call string, yes bool) {
	t.post(func(ctx context.Context, r *run) { r.answered(ctx, call, yes, saidNo) })
}

// Listen tells that someone begins to say what may be the answer; Reply or
// NoReply has to follow. handsFree says that nobody pressed a key for it, so that
// it may be the question itself, which the microphone hears.
func (t *Turn) Listen(call string, handsFree bool) {
	t.post(func(_ context.Context, r *run) {
		if q := r.openQuestion(call); q != nil {
			q.speaking, q.early = true, handsFree && !q.heard
		}
	})
}

// Reply gives what was said to the question about a call; "" is no answer and
// a no.
func (t *Turn) Reply(call, text string) {
	t.post(func(ctx context.Context, r *run) { r.reply(ctx, call, text) })
}

// NoReply tells that it was but a noise: the question stays open.
func (t *Turn) NoReply(call string) {
	t.post(func(ctx context.Context, r *run) { r.noReply(ctx, call) })
}

// question is one that is open.
type question struct {
	call           *batch.Call
	text, language string
	index          int  // of its line
	heard          bool // to its end, or it cannot be heard
	speaking       bool // someone says what may be the answer
	early          bool // and began while the question was still being said
	until          time.Time
	limit          *time.Timer
}

// openQuestion is the open question, if it is about that call.
func (r *run) openQuestion(call string) *question {
	if r.question == nil || r.question.call.BusID != call {
		return nil
	}
	return r.question
}

// confirm asks the user whether a call may run.
func (r *run) confirm(ctx context.Context, c *batch.Call) {
	c.Ask()
	text, lang := consent.Question(c.Name, r.language, c.Arguments)
	q := &question{call: c, text: text, language: lang, index: r.voice.Len(), heard: !r.voice.Heeded()}
	r.question = q
	// Before it is published: an answer may come at once.
	r.asking.Store(&Question{Call: c.BusID, At: time.Now(), Spoken: r.Speak})
	r.say(ctx, voice.Line{Text: text, Spoken: speech.Spoken(text, lang), Language: lang, Question: c.BusID})
	limit := answerWithin
	if !q.heard { // it is said behind what is being said now
		limit += r.voice.Quiet()
	}
	r.expect(q, limit)
}

// expect takes silence for a no after a time.
func (r *run) expect(q *question, d time.Duration) {
	stop(q.limit)
	q.until = time.Now().Add(d)
	q.limit = r.after(d, func(ctx context.Context, r *run) {
		if r.question == q && !q.speaking && !time.Now().Before(q.until) {
			r.answered(ctx, q.call.BusID, false, saidNothing)
		}
	})
}

// questionHeard is told that the line of a question was heard, or never will be.
func (r *run) questionHeard(q *question) {
	if q != nil && !q.heard {
		q.heard = true
		r.expect(q, answerWithin)
	}
}

func (r *run) reply(ctx context.Context, call, text string) {
	q := r.openQuestion(call)
	if q == nil {
		return
	}
	switch consent.Read(text, q.text, q.language) {
	case consent.Yes:
		r.answered(ctx, call, true, "")
	case consent.No:
		r.answered(ctx, call, false, saidNo)
	case consent.Unclear:
		if q.early && text != "" {
			r.noReply(ctx, call)
			return
		}
		r.answered(ctx, call, false, unclear)
	}
}

func (r *run) noReply(ctx context.Context, call string) {
	q := r.openQuestion(call)
	if q == nil {
		return
	}
	q.speaking = false
	if left := time.Until(q.until); left > 0 {
		r.expect(q, left)
		return
	}
	r.answered(ctx, call, false, saidNothing)
}

// answered ends the question: the call runs, or is answered without.
func (r *run) answered(ctx context.Context, call string, yes bool, why string) {
	q := r.openQuestion(call)
	if q == nil {
		return
	}
	r.closeQuestion()
	if yes {
		q.call.Allow()
	} else {
		q.call.Deny(why)
		if q.call.Start.IsZero() { // else toolrunner told of it
			r.publish(q.call.Called())
			r.publish(q.call.Finished())
		}
	}
	r.next(ctx)
}

func (r *run) closeQuestion() {
	if r.question != nil {
		stop(r.question.limit)
	}
	r.question = nil
	r.asking.Store(nil)
}
