// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"strings"
	"time"
	"unicode"

	"example.org/desktop-assistant/pkg/speech"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/phrase"
)

// listen waits for the end of the utterance. micd ends one at its own limit, so
// that this deadline is met only when micd is gone.
func (r *run) listen() {
	r.deadline = r.after(r.env.Settings.ListenLimit, func(ctx context.Context, r *run) {
		if !r.asked && r.clock.ended.IsZero() {
			r.fail(ctx, phrase.MicLost, proto.Errorf(proto.CodeTimeout, "listen", "the utterance did not end"))
		}
	})
}

// event takes an event that names this turn.
func (r *run) event(ctx context.Context, ev proto.Event) {
	switch ev := ev.(type) {
	case proto.UtteranceEnded:
		r.utteranceEnded(ctx, ev)
	case proto.STTFinal: // without words; others come by Ask
		r.notCaught(ctx, proto.RejectSilence)
	case proto.STTRejected:
		r.notCaught(ctx, ev.Reason)
	case proto.STTFailed:
		if !r.asked {
			r.fail(ctx, sttFailed(ev.Error), &ev.Error)
		}
	default:
		r.speechEvent(ctx, ev)
	}
}

// sttFailed picks the words for a recogniser that gave up.
func sttFailed(err proto.Error) phrase.Key {
	if err.Code == proto.CodeTimeout {
		return phrase.STTLate
	}
	return phrase.NoSTT
}

func (r *run) utteranceEnded(ctx context.Context, ev proto.UtteranceEnded) {
	if r.asked || !r.clock.ended.IsZero() {
		return
	}
	r.clock.ended = time.Now().Add(-time.Duration(max(0, ev.AgeMS)) * time.Millisecond)
	if ev.Reason == proto.UtteranceCancelled {
		r.leave(ctx, proto.EndCancelled, nil)
		return
	}
	stop(r.deadline)
	if ev.Reason == proto.UtteranceLost { // sttd gives up on it too, but cannot say why
		err := proto.Errorf(proto.CodeUnavailable, "listen", "the microphone was lost")
		r.fail(ctx, phrase.MicLost, err.WithHint("see what is wrong with it: desktop-assistant status"))
		return
	}
	r.deadline = r.after(r.env.Settings.STTDeadline, func(ctx context.Context, r *run) {
		if !r.asked {
			err := proto.Errorf(proto.CodeTimeout, "listen", "no transcript in %s", r.env.Settings.STTDeadline)
			r.fail(ctx, phrase.STTLate, err.WithHint("see what sttd does: desktop-assistant status"))
		}
	})
}

// notCaught ends a turn in which nothing was said that could be answered. Who
// pressed a key waits for something; a noise in the room does not.
func (r *run) notCaught(ctx context.Context, reason string) {
	switch {
	case r.asked:
	case r.Trigger == proto.TriggerKey || r.Trigger == proto.TriggerSwitch:
		r.fail(ctx, phrase.NotCaught, proto.Errorf(proto.CodeInvalid, "listen", "%s", reason))
	default:
		r.leave(ctx, proto.EndSilent, nil)
	}
}

// ask takes the question and begins the answer when the turns before are over.
func (r *run) ask(ctx context.Context, text, language string, after []*Turn) {
	if r.asked || r.ending() {
		return
	}
	r.asked = true
	r.clock.asked = time.Now()
	stop(r.deadline)
	r.spawn(func() {
		shelf := r.env.Skills.Shelf()
		names, rest := shelf.Match(text, r.Origin == proto.OriginVoice)
		r.post(func(ctx context.Context, r *run) {
			r.shelf = shelf
			r.read(ctx, rest, language, names, after)
		})
	})
}

// read goes on with a question of which is known what skills it asks for.
func (r *run) read(ctx context.Context, text, language string, skills []string, after []*Turn) {
	if r.ending() {
		return
	}
	for _, name := range skills {
		r.keepSkill(name, proto.ByUser)
	}
	only := len(skills) > 0 && !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
	if only { // a full stop behind a call is no question
		text = ""
	}
	r.text = text
	if language == "" {
		language = speech.Language(text, r.language, r.env.Languages)
	}
	r.language, r.prior = language, language
	r.publish(proto.TurnAsked{Text: text, Language: language})
	if only {
		r.skillsOnly(ctx, skills)
		return
	}
	offered, shelf := r.offered, r.shelf
	r.spawn(func() {
		if !offered { // toolrunner may have come meanwhile
			offer := r.env.Tools.Offer(ctx)
			r.post(func(_ context.Context, r *run) { r.offer = offer })
		}
		for _, t := range after {
			select {
			case <-t.Over():
			case <-ctx.Done():
				return
			}
		}
		loaded := r.loaded(shelf)
		r.post(func(ctx context.Context, r *run) { r.answer(ctx, loaded) })
	})
}
