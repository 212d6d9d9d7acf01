// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/phrase"
)

// startAnnouncing starts the timer with the first tool's start.
func (r *run) startAnnouncing(ctx context.Context) {
	if r.announced || r.announcing != nil || !r.Speak {
		return
	}
	if r.env.Settings.AnnounceAfter <= 0 {
		r.announceTool(ctx)
		return
	}
	r.announcing = r.after(r.env.Settings.AnnounceAfter, func(ctx context.Context, r *run) {
		if r.announcing != nil {
			r.announcing = nil
			r.announceTool(ctx)
		}
	})
}

// announceTool says a phrase of a tool that runs, once a turn, in the language
// of the question. It is queued like a sentence, so that the answer does not
// cut it.
func (r *run) announceTool(ctx context.Context) {
	if r.announced || !r.answering() || r.batch == nil {
		return
	}
	for _, c := range r.batch.calls {
		phrases := c.spec.Announce[primary(r.language)]
		if !c.running() || len(phrases) == 0 {
			continue
		}
		r.announced = true
		text := r.env.Phrase(phrases)
		r.say(ctx, line{text: text, spoken: spokenForm(text, r.language), language: r.language, announcement: true})
		return
	}
}

// announce says something of the assistant's own while the answer is on its
// way.
func (r *run) announce(ctx context.Context, key phrase.Key) {
	text, lang := phrase.Say(key, r.language)
	r.say(ctx, line{text: text, spoken: text, language: lang, announcement: true})
}

// record is the event for a line.
func (l line) record(index int) proto.Event {
	if l.announcement {
		return proto.TurnAnnounced{Index: index, Text: l.text, Language: l.language}
	}
	return proto.TurnSentence{Index: index, Text: l.text, Spoken: l.spoken, Language: l.language}
}
