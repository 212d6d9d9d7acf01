// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"example.org/desktop-assistant/pkg/speech"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/phrase"
	"example.org/desktop-assistant/services/brain/internal/session"
)

const (
	// mouthPatience is how long a turn waits for ttsd to come back.
	mouthPatience = 2 * time.Second
	mouthRetry    = 100 * time.Millisecond
	// A spoken turn of which nothing is heard for so long is stuck: a pause for
	// synthesis, and twice the time that slow speech takes for a character.
	quietBase    = 30 * time.Second
	quietPerRune = 250 * time.Millisecond
	// pausedLimit bounds a pause: as long as an utterance may take.
	pausedLimit = 150 * time.Second
)

// line is one piece to be said, or shown where nothing is said.
type line struct {
	text         string
	spoken       string
	language     string
	answer       bool // part of the answer, for the history
	announcement bool

	sent  time.Time // first asked for
	heard string    // what was heard of it
	over  bool      // heard to its end
}

// voice is the speech of a turn: lines are asked for one after the other, each
// when the one before was acknowledged.
type voice struct {
	lines  []line
	next   int  // line to ask for
	busy   bool // a request is under way, or a pause before the next
	rewind bool // begin again with the first unheard line after it
	closed bool // no more lines come
	ended  bool // speech.end was acknowledged

	away       time.Time    // since when ttsd does not answer
	gone       *proto.Error // ttsd is given up: the rest is shown only
	superseded bool         // a newer turn has the loudspeaker: the rest is shown only
	paused     bool
	quiet      *time.Timer
}

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
	r.say(ctx, line{text: text, spoken: spoken, language: lang, answer: true})
}

// spoke says whether a line of the answer came after the first so many lines.
func (r *run) spoke(before int) bool {
	for _, l := range r.voice.lines[before:] {
		if l.answer {
			return true
		}
	}
	return false
}

// say queues a line and tells of it.
func (r *run) say(ctx context.Context, l line) {
	if r.voice.closed {
		return
	}
	r.voice.lines = append(r.voice.lines, l)
	r.publish(l.record(len(r.voice.lines) - 1))
	r.send(ctx)
}

// complete says that no more lines come. The turn ends when the last is heard.
func (r *run) complete(ctx context.Context) {
	stop(r.moment)
	stop(r.loading)
	stop(r.deadline)
	r.voice.closed = true
	if !r.Speak {
		r.conclude(r.ending(proto.EndSilent))
		return
	}
	r.send(ctx)
	r.settle()
}

// ending is the given one, or failed while words about a failure are said.
func (r *run) ending(end proto.End) (proto.End, *proto.Error) {
	if r.failing != nil {
		return proto.EndFailed, r.failing
	}
	return end, nil
}

// settle ends a turn of which everything was said.
func (r *run) settle() {
	v := &r.voice
	switch {
	case !v.closed || r.leaving != nil:
	case v.superseded:
		r.conclude(r.ending(proto.EndSuperseded))
	case v.gone != nil:
		if r.failing == nil {
			r.failing = v.gone
			text, lang := phrase.Say(phrase.NoVoice, r.language)
			v.lines = append(v.lines, line{text: text, spoken: text, language: lang})
			r.publish(v.lines[len(v.lines)-1].record(len(v.lines) - 1))
		}
		r.conclude(r.ending(proto.EndFailed))
	case v.ended && r.allHeard():
		r.conclude(r.ending(proto.EndSpoken))
	}
}

// allHeard goes by the last line: lines are played in order.
func (r *run) allHeard() bool {
	n := len(r.voice.lines)
	return n == 0 || r.voice.lines[n-1].over
}

// audible says whether ttsd has something of this turn to say or to forget.
func (r *run) audible() bool {
	v := &r.voice
	return r.Speak && v.gone == nil && !v.superseded && len(v.lines) > 0 && !v.lines[0].sent.IsZero() && !(v.closed && r.allHeard())
}

// send asks ttsd for the next thing: a line, or the end.
func (r *run) send(ctx context.Context) {
	v := &r.voice
	if !r.Speak || v.busy || v.gone != nil || v.superseded || r.leaving != nil || r.result != nil {
		return
	}
	var ask func() error
	switch {
	case v.next < len(v.lines):
		l := &v.lines[v.next]
		note(&l.sent)
		say := proto.SpeechSay{Turn: r.ID, Index: v.next, Text: l.text, Spoken: l.spoken, Language: l.language, Owner: r.env.Asker}
		ask = func() error { return r.env.Mouth.Say(ctx, r.Device, say) }
	case v.closed && !v.ended:
		end := proto.SpeechEnd{Turn: r.ID, Count: len(v.lines)}
		ask = func() error { return r.env.Mouth.End(ctx, r.Device, end) }
	default:
		return
	}
	v.busy = true
	isLine := v.next < len(v.lines)
	r.spawn(func() {
		err := ask()
		r.post(func(ctx context.Context, r *run) { r.acknowledged(ctx, isLine, err) })
	})
}

// acknowledged takes the answer of ttsd.
func (r *run) acknowledged(ctx context.Context, isLine bool, err error) {
	v := &r.voice
	v.busy = false
	switch {
	case v.gone != nil || v.superseded:
		return
	case err != nil:
		r.mouthFailed(ctx, asBusError(err))
		return
	case v.rewind:
		r.beginAgain()
	case isLine:
		v.next++
	default:
		v.ended = true
	}
	v.away = time.Time{}
	r.watchQuiet()
	r.send(ctx)
	r.settle()
}

// mouthFailed waits for a ttsd that went away, and gives up one that refuses.
func (r *run) mouthFailed(ctx context.Context, err *proto.Error) {
	v := &r.voice
	note(&v.away)
	switch {
	case v.closed && r.allHeard(): // only its end was not taken
		v.ended = true
		r.settle()
		return
	case !isAway(err) || time.Since(v.away) >= mouthPatience:
		r.mouthGone(err)
		return
	}
	r.beginAgain()
	v.busy = true
	r.after(mouthRetry, func(ctx context.Context, r *run) {
		r.voice.busy = false
		r.send(ctx)
	})
}

func isAway(err *proto.Error) bool {
	return err.Code == proto.CodeUnavailable || err.Code == proto.CodeTimeout || err.Code == proto.CodeDisconnected
}

// beginAgain goes back to the first line that was not heard to its end.
func (r *run) beginAgain() {
	v := &r.voice
	v.rewind, v.ended = false, false
	v.next = 0
	for v.next < len(v.lines) && v.lines[v.next].over {
		v.next++
	}
}

// mouthLost is told that ttsd is another process now, or none.
func (r *run) mouthLost(ctx context.Context, err *proto.Error) {
	v := &r.voice
	switch {
	case r.leaving != nil: // its word on what was heard will not come
		r.conclude(r.leaving.end, r.leaving.err)
	case v.busy:
		v.rewind = true
	case r.audible():
		v.paused = false
		r.mouthFailed(ctx, err)
	}
}

// mouthGone gives the speech up: what else comes is shown.
func (r *run) mouthGone(err *proto.Error) {
	e := *err
	e.Op = "speak through ttsd"
	r.voice.gone = &e
	stop(r.voice.quiet)
	r.log.Warn("speech failed", "error", &e)
	if r.leaving != nil {
		r.conclude(r.leaving.end, r.leaving.err)
	}
	r.settle()
}

// watchQuiet expects to hear of the speech again in time.
func (r *run) watchQuiet() {
	v := &r.voice
	stop(v.quiet)
	if !r.audible() {
		return
	}
	limit := pausedLimit
	if !v.paused {
		limit = quietBase
		for _, l := range v.lines {
			if !l.over {
				limit += time.Duration(utf8.RuneCountInString(l.spoken)) * quietPerRune
			}
		}
	}
	v.quiet = r.after(limit, func(_ context.Context, r *run) {
		if v.closed && r.audible() && r.leaving == nil {
			r.mouthGone(proto.Errorf(proto.CodeTimeout, "", "nothing was heard of the speech for %s", limit))
		}
	})
}

// speechEvent takes what ttsd tells of this turn.
func (r *run) speechEvent(ctx context.Context, ev proto.Event) {
	v := &r.voice
	switch ev := ev.(type) {
	case proto.SpeechStarted:
		v.paused = false
		if l := r.line(ev.Index); l != nil && r.clock.sample.IsZero() && !l.sent.IsZero() {
			r.clock.sample = l.sent.Add(time.Duration(ev.DelayMS) * time.Millisecond)
		}
	case proto.SpeechPaused:
		v.paused = true
	case proto.SpeechResumed:
		v.paused = false
	case proto.SpeechFinished:
		if l := r.line(ev.Index); l != nil {
			l.over, l.heard = true, l.text
		}
	case proto.SpeechStopped:
		r.speechStopped(ev)
	default:
		return
	}
	r.watchQuiet()
	r.settle()
}

func (r *run) line(index int) *line {
	if index < 0 || index >= len(r.voice.lines) {
		return nil
	}
	return &r.voice.lines[index]
}

// speechStopped ends the speech before its time.
func (r *run) speechStopped(ev proto.SpeechStopped) {
	if l := r.line(ev.Index); l != nil && !l.over {
		l.heard = ev.Heard
	}
	switch {
	case r.leaving != nil:
		r.conclude(r.leaving.end, r.leaving.err)
	case ev.Reason == proto.StopSuperseded:
		r.voice.superseded = true
	case ev.Reason == proto.StopFailed:
		err := ev.Error
		if err == nil {
			err = proto.Errorf(proto.CodeFailed, "", "the speech failed")
		}
		r.mouthGone(err)
	default:
		r.halt()
		r.conclude(proto.EndTurnCancelled, nil)
	}
}

// heard is the text that was really played; of a turn that is not spoken, what
// was shown.
func (r *run) heard() string {
	return r.join(func(l line) string {
		if !r.Speak {
			return l.text
		}
		return l.heard
	})
}

// said is the answer as the user knows it.
func (r *run) said() string {
	return r.join(func(l line) string {
		switch {
		case !l.answer:
			return ""
		case !r.Speak || r.voice.gone != nil || r.voice.superseded && r.voice.closed:
			return l.text // read on the screen
		}
		return l.heard
	})
}

func (r *run) join(of func(line) string) string {
	var parts []string
	for _, l := range r.voice.lines {
		if text := of(l); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " ")
}

// Notes that stand in the history for an answer, so that user and assistant
// alternate. They are for the model, hence in one language.
const (
	noteNone    = "(no answer was given)"
	notePrivate = "(answered on this machine)"
)

// exchange is what the conversation remembers of this turn.
func (r *run) exchange() session.Exchange {
	answer := r.said()
	switch {
	case r.private:
		answer = notePrivate
	case answer == "":
		answer = noteNone
	}
	return session.Exchange{Question: r.question, Answer: answer, Language: r.language}
}

func primary(lang string) string {
	p, _, _ := strings.Cut(lang, "-")
	return p
}

// spokenForm is what to say for a text, the text itself when that is nothing.
func spokenForm(text, lang string) string {
	if s := speech.Spoken(text, lang); s != "" {
		return s
	}
	return text
}
