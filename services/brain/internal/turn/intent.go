// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"crypto/rand"
	"strings"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/batch"
	"example.org/desktop-assistant/services/brain/internal/model"
	"example.org/desktop-assistant/services/brain/internal/phrase"
	"example.org/desktop-assistant/services/brain/internal/voice"
)

// maxExamples is how many sentences that work are named: more cannot be kept in
// mind when they are heard.
const maxExamples = 3

// unreachable answers without a chat server: by a local intent, or by saying
// what can be asked.
func (r *run) unreachable(ctx context.Context, e *model.Error) {
	r.heardOf()
	if r.env.Settings.Intents == config.IntentsFallback && r.matchIntent(ctx) {
		return
	}
	var examples []string
	if r.env.Settings.Intents != config.IntentsOff {
		examples = r.offer.Examples(r.language, maxExamples)
	}
	if len(examples) == 0 {
		r.fail(ctx, phrase.NoExamples, asError(e))
		return
	}
	r.fail(ctx, phrase.Unreachable, asError(e), "examples", strings.Join(examples, "; "))
}

// matchIntent runs the tool that the question asks for in so many words. It
// reports whether there is one.
func (r *run) matchIntent(ctx context.Context) bool {
	in, ok := r.offer.Match(r.text, r.language)
	if !ok {
		return false
	}
	r.local = &in
	r.private = r.env.Settings.Route == config.RouteExternal && !in.Tool.External
	r.startBatch(ctx, r.offer, []model.Call{{ID: rand.Text(), Name: in.Tool.Name, Arguments: in.Arguments}})
	return true
}

// intentDone says what the tool of a local intent gave.
func (r *run) intentDone(ctx context.Context, c *batch.Call) {
	res := c.Result
	switch {
	case c.Denied: // the user knows why
		text, lang := phrase.Say(phrase.Unconfirmed, r.language)
		r.say(ctx, voice.Line{Text: text, Spoken: text, Language: lang, Answer: true})
		r.complete(ctx)
		return
	case !res.OK:
		r.intentFailed(ctx, res, c)
		return
	}
	text := strings.TrimSpace(r.local.Reply(res.Result))
	r.prior = r.local.Language
	r.publish(proto.TurnDelta{Text: text})
	for _, s := range append(r.splitter.Push(text), r.splitter.Flush()...) {
		r.sentence(ctx, s)
	}
	if !r.voice.Answered(0) { // a tool that printed nothing with a sound
		done, lang := phrase.Say(phrase.Done, r.language)
		r.say(ctx, voice.Line{Text: done, Spoken: done, Language: lang, Answer: true})
	}
	r.complete(ctx)
}

func (r *run) intentFailed(ctx context.Context, res proto.ToolResult, c *batch.Call) {
	reason := strings.TrimSuffix(strings.TrimPrefix(res.Result, "error: "), ".")
	err := proto.Errorf(res.Code(), "tool "+c.Name, "%s", reason)
	switch {
	case res.Kind == proto.KindUnavailable:
		r.fail(ctx, phrase.ToolGone, err.WithHint("see what runs: desktop-assistant status"))
	case res.Kind == proto.KindTimeout:
		r.fail(ctx, phrase.ToolLate, err)
	default:
		r.fail(ctx, phrase.ToolFailed, err, "reason", reason)
	}
}
