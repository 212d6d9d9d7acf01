// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"time"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/model"
)

// clock holds the moments of a turn on this process's monotonic clock; zero
// when they did not come.
type clock struct {
	start    time.Time // the turn was seen
	ended    time.Time // the speech ended, as micd reports it
	asked    time.Time // the question was known
	token    time.Time
	sentence time.Time
	sample   time.Time
	tools    []toolTime
	model    []proto.ModelMark
}

type toolTime struct {
	name       string
	start, end time.Time
}

// zero is what marks count from: the end of speech, else the question, else the
// start.
func (r *run) zero() time.Time {
	switch {
	case !r.clock.ended.IsZero():
		return r.clock.ended
	case !r.clock.asked.IsZero():
		return r.clock.asked
	}
	return r.clock.start
}

func (r *run) marks(now time.Time) proto.Marks {
	zero := r.zero()
	since := func(t time.Time) *int64 {
		if t.IsZero() {
			return nil
		}
		ms := t.Sub(zero).Milliseconds()
		return &ms
	}
	m := proto.Marks{
		Model:      r.clock.model,
		FirstToken: since(r.clock.token), FirstSentence: since(r.clock.sentence),
		FirstSample: since(r.clock.sample), Total: now.Sub(zero).Milliseconds(),
	}
	if r.Origin == proto.OriginVoice {
		m.STTFinal = since(r.clock.asked)
	}
	for _, t := range r.clock.tools {
		m.Tools = append(m.Tools, proto.ToolMark{Name: t.name, Start: *since(t.start), End: *since(t.end)})
	}
	return m
}

// used keeps what the chat server said about a request.
func (c *clock) used(u model.Usage) {
	if u == (model.Usage{}) {
		return
	}
	c.model = append(c.model, proto.ModelMark{
		Prompt: u.Prompt, Cached: u.Cached, Completion: u.Completion, PromptMS: int64(u.PromptMS), CompletionMS: int64(u.CompletionMS),
	})
}

// note keeps the first time of a moment.
func note(moment *time.Time) {
	if moment.IsZero() {
		*moment = time.Now()
	}
}
