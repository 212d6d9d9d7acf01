// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"strings"

	"example.org/desktop-assistant/pkg/speech"
	"example.org/desktop-assistant/services/brain/internal/voice"
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
	if r.announced || !r.answering() {
		return
	}
	lang, _, _ := strings.Cut(r.language, "-")
	for _, c := range r.running() {
		phrases := c.Spec.Announce[lang]
		if len(phrases) == 0 {
			continue
		}
		text := r.env.Phrase(phrases)
		spoken := speech.Spoken(text, r.language)
		if spoken == "" {
			continue
		}
		r.announced = true
		r.say(ctx, voice.Line{Text: text, Spoken: spoken, Language: r.language, Announcement: true})
		return
	}
}
