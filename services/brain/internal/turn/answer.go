// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"strings"
	"time"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/speech"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/model"
	"example.org/desktop-assistant/services/brain/internal/phrase"
	"example.org/desktop-assistant/services/brain/internal/prompt"
)

// momentAfter is how long nothing may be heard of an answer before the turn
// says that one is on its way.
const momentAfter = 4 * time.Second

// maxAnswer is how much of an answer is said and shown, in bytes: over an hour
// of speech, which only a model that repeats itself gets to. What turn.ended
// tells of it has to fit the bus.
const maxAnswer = 64 << 10

// answer begins the answer: local intents or the model, which gets the texts of
// the loaded skills.
func (r *run) answer(ctx context.Context, loaded []skillText) {
	if !r.answering() {
		return
	}
	r.shown = r.offer
	if r.env.Settings.Route == config.RouteExternal {
		r.shown = r.offer.External()
	}
	r.splitter = speech.NewSplitter(r.language)
	if r.env.Settings.Intents == config.IntentsFirst && r.matchIntent(ctx) {
		return
	}
	r.shown = r.withSkills(r.shown)
	r.prompt = prompt.New(prompt.Opening{
		System: r.env.Settings.System, Skills: r.give(loaded), Question: r.text, Tools: r.shown.Specs,
		Past:   r.env.Book.History(r.Session, r.env.Settings.HistoryMessages),
		Rounds: r.env.Settings.Rounds, Today: time.Now(),
	})
	r.chat(ctx)
}

// waitForWord says once in a turn that the answer takes its time, when nothing
// comes from the chat server for a while.
func (r *run) waitForWord() {
	if r.moment != nil || r.waited || !r.Speak {
		return
	}
	var own *time.Timer
	own = r.after(momentAfter, func(ctx context.Context, r *run) {
		if r.moment == own && r.answering() && r.loading == nil {
			r.waited = true
			r.phrase(ctx, phrase.OneMoment, true)
		}
	})
	r.moment = own
}

// heardOf ends that wait.
func (r *run) heardOf() {
	stop(r.moment)
	r.moment = nil
}

// chat sends one request. Its pieces and its reply are posted under the number
// of the attempt.
func (r *run) chat(ctx context.Context) {
	r.attempt++
	r.written, r.before = false, r.voice.Len()
	r.waitForWord()
	n := r.attempt
	req := r.prompt.Request()
	ctx, r.stopChat = context.WithCancel(ctx)
	r.spawn(func() {
		reply, err := r.env.Model.Chat(ctx, req, func(text string) {
			r.post(func(ctx context.Context, r *run) { r.wrote(ctx, n, text) })
		})
		r.post(func(ctx context.Context, r *run) { r.replied(ctx, n, reply, err) })
	})
}

// wrote takes a piece of the answer.
func (r *run) wrote(ctx context.Context, n int, text string) {
	if n != r.attempt || !r.answering() {
		return
	}
	if strings.TrimSpace(text) != "" {
		r.written = true
	}
	r.heardOf()
	note(&r.clock.token)
	text = speech.Plain(text)
	if room := maxAnswer - r.length; len(text) > room {
		text = strings.ToValidUTF8(text[:room], "") // the cut may have parted a rune
		defer r.cutOff(ctx)
	}
	r.length += len(text)
	r.publish(proto.TurnDelta{Text: text})
	for _, s := range r.splitter.Push(text) {
		r.sentence(ctx, s)
	}
}

// cutOff ends an answer that is too long.
func (r *run) cutOff(ctx context.Context) {
	r.log.Warn("the answer is too long, its rest is dropped", "limit", maxAnswer)
	r.halt()
	for _, s := range r.splitter.Flush() {
		r.sentence(ctx, s)
	}
	r.complete(ctx)
}

// replied takes the end of a request.
func (r *run) replied(ctx context.Context, n int, reply model.Reply, err error) {
	if n != r.attempt || !r.answering() {
		return
	}
	r.stopChat()
	r.clock.used(reply.Usage)
	if err != nil {
		r.chatFailed(ctx, err)
		return
	}
	stop(r.loading)
	r.loading = nil
	for _, s := range r.splitter.Flush() {
		r.sentence(ctx, s)
	}
	switch {
	case len(reply.Calls) > 0 && r.prompt.Offers():
		r.heardOf()
		r.prompt.Called(reply)
		r.startBatch(ctx, r.shown, reply.Calls)
	case !r.voice.Answered(r.before):
		r.written = false // nothing of it can be said
		r.chatFailed(ctx, &model.Error{Kind: model.KindEmpty, Text: "the answer has no words", Retry: model.RetryAgain})
	default:
		r.complete(ctx)
	}
}

// chatFailed asks once more where that helps and nothing was said in this round
// yet, answers locally when there is no server, and else ends with words.
func (r *run) chatFailed(ctx context.Context, err error) {
	e := asModelError(err)
	r.log.Debug("chat failed", "kind", e.Kind, "error", e, "retry", e.Retry)
	switch {
	case e.Kind == model.KindUnreachable && !r.voice.Answered(0) && r.prompt.Round() == 0:
		r.unreachable(ctx, e)
	case e.Retry == model.RetryAgain && !r.written && !r.again:
		r.again = true
		r.chat(ctx)
	case e.Retry == model.RetryAdapted && !r.written:
		r.chat(ctx)
	case e.Retry == model.RetryBare && !r.written && r.prompt.Bare():
		r.log.Warn("the chat server takes no tools", "error", e, "hint", e.Hint)
		r.chat(ctx)
	case e.Retry == model.RetryShorter && !r.written && r.prompt.Shorten():
		r.chat(ctx)
	case e.Retry == model.RetryLater && !r.written:
		r.later(ctx, e)
	default:
		if e.Kind == model.KindContextFull { // else the next turn would fail as this one
			r.env.Book.Trim(r.Session, r.prompt.Past()/2)
		}
		r.fail(ctx, phrase.Failure(e, r.written), asError(e))
	}
}

// busyLimit is how long a turn waits for a server that has too much to do.
const busyLimit = 30 * time.Second

// later asks again after a pause, says once why it takes so long, and gives up
// at the limit.
func (r *run) later(ctx context.Context, e *model.Error) {
	if r.loading == nil {
		limit, words := r.env.Settings.LoadingLimit, phrase.Loading
		if e.Kind == model.KindBusy {
			limit, words = min(limit, busyLimit), phrase.OneMoment
		}
		r.loading = r.after(limit, func(ctx context.Context, r *run) {
			if r.answering() && r.loading != nil {
				r.fail(ctx, phrase.Failure(e, r.written), asError(e))
			}
		})
		if r.Speak && !(words == phrase.OneMoment && r.waited) {
			r.phrase(ctx, words, true)
		}
		r.waited = true
	}
	n := r.attempt
	r.after(e.After, func(ctx context.Context, r *run) {
		if n == r.attempt && r.answering() {
			r.chat(ctx)
		}
	})
}
