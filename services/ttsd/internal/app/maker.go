// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/sink"
	"example.org/desktop-assistant/services/ttsd/internal/synth"
)

// A job is one sentence to synthesise into its clip.
type job struct {
	clip     *sink.Clip
	engine   synth.Engine
	sentence synth.Sentence
}

// A maker synthesises one sentence after the other. add, clear and gone are for
// any goroutine.
type maker struct {
	mu     sync.Mutex
	jobs   []job
	cancel context.CancelFunc // of the job that runs, nil when none does
	woken  chan struct{}
	lost   atomic.Bool
}

func newMaker() *maker { return &maker{woken: make(chan struct{}, 1)} }

func (m *maker) add(j job) {
	m.mu.Lock()
	m.jobs = append(m.jobs, j)
	m.mu.Unlock()
	select {
	case m.woken <- struct{}{}:
	default:
	}
}

// clear forgets every job and cancels the one that runs.
func (m *maker) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.jobs = nil
	if m.cancel != nil {
		m.cancel()
	}
}

// gone says, once, that the engine told that it is not there any more.
func (m *maker) gone() bool { return m.lost.Swap(false) }

func (m *maker) run(ctx context.Context) {
	for {
		j, jobCtx, done := m.take(ctx)
		if done != nil {
			if k, ok := m.partner(j); ok {
				m.together(jobCtx, j, k)
			} else {
				j.clip.End(m.make(jobCtx, j))
			}
			done()
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-m.woken:
		}
	}
}

// take begins the next job; done ends it, and is nil when there is none.
func (m *maker) take(ctx context.Context) (j job, jobCtx context.Context, done func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.jobs) == 0 || ctx.Err() != nil {
		return j, nil, nil
	}
	j, m.jobs = m.jobs[0], m.jobs[1:]
	jobCtx, m.cancel = context.WithCancel(ctx)
	cancel := m.cancel
	return j, jobCtx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		cancel()
		m.cancel = nil
	}
}

// make synthesises; what gave no sound at all is tried once more.
func (m *maker) make(ctx context.Context, j job) error {
	if j.sentence.Text == "" {
		return nil
	}
	some, err := j.attempt(ctx)
	if err != nil && !some {
		_, err = j.attempt(ctx)
	}
	if errors.Is(err, &proto.Error{Code: proto.CodeUnavailable}) {
		m.lost.Store(true)
	}
	return err
}

// attempt says whether some sound was made, also when not all of it was.
func (j job) attempt(ctx context.Context) (some bool, err error) {
	err = j.engine.Synthesize(ctx, j.sentence, func(sound synth.Sound) {
		some = true
		j.clip.Append(sound)
	})
	return some, err
}

// shortest is how many letters are said well alone: models babble behind a word or
// two.
const shortest = 12

// partner takes the next job too when it belongs to a sentence that is too short to
// be said alone.
func (m *maker) partner(j job) (k job, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.jobs) == 0 || utf8.RuneCountInString(j.sentence.Text) >= shortest {
		return k, false
	}
	k = m.jobs[0]
	a, b := j.sentence, k.sentence
	if j.engine != k.engine || !j.engine.Timed() || a.Text == "" || b.Text == "" || a.Language != b.Language || a.Voice != b.Voice || a.Fixed || b.Fixed {
		return k, false
	}
	m.jobs = m.jobs[1:]
	return k, true
}

// together says two sentences in one go, and parts the sound where the first ends.
func (m *maker) together(ctx context.Context, j, k job) {
	both := j
	both.sentence.Text += " " + k.sentence.Text
	first := len(j.sentence.Text)
	some, over := false, false
	err := both.engine.Synthesize(ctx, both.sentence, func(sound synth.Sound) {
		some = true
		if over {
			k.clip.Append(shift(sound, first+1))
			return
		}
		n := slices.IndexFunc(sound.Words, func(w synth.Word) bool { return w.Text >= first })
		if n < 0 {
			j.clip.Append(sound)
			return
		}
		over = true
		at := sound.Words[n].At
		j.clip.Append(synth.Sound{Rate: sound.Rate, Samples: sound.Samples[:at:at], Words: sound.Words[:n+1]})
		j.clip.End(nil)
		rest := synth.Sound{Rate: sound.Rate, Samples: sound.Samples[at:]}
		for _, w := range sound.Words[n+1:] {
			rest.Words = append(rest.Words, synth.Word{At: w.At - at, Text: w.Text})
		}
		k.clip.Append(shift(rest, first+1))
	})
	if err != nil && !some { // each alone, then
		j.clip.End(m.make(ctx, j))
		err = m.make(ctx, k)
	}
	j.clip.End(err)
	k.clip.End(err)
}

// shift makes words of the second sentence count from its own beginning.
func shift(s synth.Sound, by int) synth.Sound {
	for i := range s.Words {
		s.Words[i].Text = max(0, s.Words[i].Text-by)
	}
	return s
}
