// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"slices"
	"strings"
	"time"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/speech"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/catalog"
	"example.org/desktop-assistant/services/brain/internal/model"
	"example.org/desktop-assistant/services/brain/internal/phrase"
)

// momentAfter is how long nothing may be heard of an answer before the turn
// says that one is on its way.
const momentAfter = 4 * time.Second

// maxAnswer is how much of an answer is said and shown, in bytes: over an hour
// of speech, which only a model that repeats itself gets to. What turn.ended
// tells of it has to fit the bus.
const maxAnswer = 64 << 10

// lastNote goes to the model with the last tool result when no more tools are
// offered. It names no tool, and it is no message of its own: templates refuse
// a late system message, and an assistant one would be continued.
const lastNote = "\n\n(No more tools can be used for this question. Answer now with what is known.)"

// answer begins the answer: local intents or the model.
func (r *run) answer(ctx context.Context, offer catalog.Offer) {
	if !r.answering() {
		return
	}
	r.offer, r.shown = offer, offer
	if r.env.Settings.Route == config.RouteExternal {
		r.shown = offer.External()
	}
	r.splitter = speech.NewSplitter(r.language)
	if r.env.Settings.Intents == config.IntentsFirst && r.matchIntent(ctx) {
		return
	}
	r.messages = r.opening()
	r.moment = r.after(momentAfter, func(ctx context.Context, r *run) {
		if r.answering() && r.clock.token.IsZero() && r.batch == nil && r.loading == nil && r.Speak {
			r.phrase(ctx, phrase.OneMoment, true)
		}
	})
	r.chat(ctx)
}

// opening gives the messages of the first request.
func (r *run) opening() []model.Message {
	system := strings.TrimSpace(r.env.Settings.System)
	if dated(r.shown.Specs) && r.env.Settings.Rounds > 0 {
		system = strings.TrimSpace(system + "\n" + time.Now().Format("Today is Monday 2006-01-02."))
	}
	var list []model.Message
	if system != "" {
		list = append(list, model.Message{Role: model.RoleSystem, Content: system})
	}
	for _, e := range r.env.Book.History(r.Session, r.env.Settings.HistoryMessages) {
		list = append(list,
			model.Message{Role: model.RoleUser, Content: e.Question},
			model.Message{Role: model.RoleAssistant, Content: e.Answer})
		r.past += 2
	}
	return append(list, model.Message{Role: model.RoleUser, Content: r.question})
}

// dated says whether the model needs the date: it can search for news.
func dated(specs []proto.ToolSpec) bool {
	return slices.ContainsFunc(specs, func(s proto.ToolSpec) bool { return s.Name == "search" || s.Name == "web_search" })
}

// tools gives what this round offers: after the last round nothing, which makes
// the model answer.
func (r *run) tools() []model.Tool {
	if r.round >= r.env.Settings.Rounds || r.retried[bare] {
		return nil
	}
	var list []model.Tool
	for _, s := range r.shown.Specs {
		list = append(list, model.Tool{Name: s.Name, Description: s.Description, Parameters: s.Parameters})
	}
	return list
}

// chat sends one request. Its pieces and its reply are posted under the number
// of the attempt.
func (r *run) chat(ctx context.Context) {
	r.attempt++
	r.written, r.before = false, r.voice.Len()
	n := r.attempt
	req := model.Request{Messages: slices.Clone(r.messages), Tools: r.tools()}
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
	r.written = true
	stop(r.moment)
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
	if err != nil {
		r.chatFailed(ctx, err)
		return
	}
	stop(r.loading)
	r.loading = nil
	for _, s := range r.splitter.Flush() {
		r.sentence(ctx, s)
	}
	tools := r.tools()
	switch {
	case len(reply.Calls) > 0 && tools != nil:
		r.messages = append(r.messages, model.Message{Role: model.RoleAssistant, Content: reply.Text, Calls: reply.Calls})
		r.startBatch(ctx, reply.Calls)
	case !r.voice.Answered(r.before):
		r.chatFailed(ctx, &model.Error{Kind: model.KindEmpty, Text: "the answer has no words", Retry: model.RetryAgain})
	default:
		r.complete(ctx)
	}
}

// The retries of a turn; each is meant once.
const (
	again   = "again"
	shorter = "shorter"
	bare    = "bare"
)

// chatFailed asks once more where that helps and nothing was said in this round
// yet, answers locally when there is no server, and else ends with words.
func (r *run) chatFailed(ctx context.Context, err error) {
	e := asModelError(err)
	r.log.Debug("chat failed", "kind", e.Kind, "error", e, "retry", e.Retry)
	once := func(key string) bool {
		if r.written || r.retried[key] {
			return false
		}
		r.retried[key] = true
		return true
	}
	switch {
	case e.Kind == model.KindUnreachable && !r.voice.Answered(0) && r.round == 0:
		r.unreachable(ctx, e)
	case e.Retry == model.RetryAgain && once(again):
		r.chat(ctx)
	case e.Retry == model.RetryBare && once(bare):
		r.log.Warn("the chat server takes no tools", "error", e, "hint", e.Hint)
		r.chat(ctx)
	case e.Retry == model.RetryShorter && r.past > 0 && once(shorter):
		r.forget()
		r.chat(ctx)
	case e.Retry == model.RetryLater && !r.written:
		r.later(ctx, e)
	default:
		r.fail(ctx, phrase.Failure(e, r.written), asError(e))
	}
}

// forget drops the older half of the history from the request, whole exchanges.
func (r *run) forget() {
	drop := (r.past/2 + 1) / 2 * 2
	first := 0
	if r.messages[0].Role == model.RoleSystem {
		first = 1
	}
	r.messages = slices.Delete(r.messages, first, first+drop)
	r.past -= drop
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
		if r.Speak {
			r.phrase(ctx, words, true)
		}
	}
	n := r.attempt
	r.after(e.After, func(ctx context.Context, r *run) {
		if n == r.attempt && r.answering() {
			r.chat(ctx)
		}
	})
}
