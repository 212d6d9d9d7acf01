// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"slices"
	"sync"
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/services/ttsd/internal/synth"
)

// A Clip is the sound of one sentence while it is being made. One goroutine
// appends, the player reads.
type Clip struct {
	key int64

	mu      sync.Mutex
	rate    int
	samples []float32
	words   []synth.Word // At counts from the clip's first sample
	whole   bool
	err     error
	changed chan struct{} // closed and replaced when there is more
}

// NewClip makes an empty one. key is not 0.
func NewClip(key int64) *Clip { return &Clip{key: key, changed: make(chan struct{})} }

// Append adds sound, which the clip keeps. The rate of the first counts.
func (c *Clip) Append(s synth.Sound) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rate == 0 {
		c.rate = s.Rate
	}
	for _, w := range s.Words {
		c.words = append(c.words, synth.Word{At: len(c.samples) + w.At, Text: w.Text})
	}
	c.samples = append(c.samples, s.Samples...)
	c.signal()
}

// End says that nothing follows: the sentence is whole, or err is why not. The
// first call counts.
func (c *Clip) End(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.whole {
		c.whole, c.err = true, err
		c.signal()
	}
}

func (c *Clip) signal() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// sound is what there is of a clip at one moment.
type sound struct {
	rate    int // 0 before the first sample
	samples []float32
	words   []synth.Word
	whole   bool
	err     error
	changed <-chan struct{}
}

func (c *Clip) sound() sound {
	c.mu.Lock()
	defer c.mu.Unlock()
	return sound{c.rate, c.samples, c.words, c.whole, c.err, c.changed}
}

func (s sound) duration(samples int) time.Duration { return audio.Duration(samples, s.rate) }

// A track is a clip on its way to the ear.
type track struct {
	clip    *Clip
	base    int64 // position of its first sample on the stream's time line
	placed  bool  // base is known
	pause   int   // samples of silence still to be written before it
	sent    int   // samples given to the stream
	heard   int   // samples heard
	fadeAt  int   // where the sound rises from silence: at the start, or after a gap
	started bool  // reported
}

func (t *track) extent() Extent {
	s := t.clip.sound()
	return Extent{
		Key: t.clip.key, Played: s.duration(t.heard), Total: s.duration(len(s.samples)), Whole: s.whole && s.err == nil,
		Timed: len(s.words) > 0, Said: said(s.words, t.heard),
	}
}

// said is how much of the text was said after so many samples.
func said(words []synth.Word, heard int) int {
	n, _ := slices.BinarySearchFunc(words, heard+1, func(w synth.Word, at int) int { return w.At - at })
	if n == 0 {
		return 0
	}
	return words[n-1].Text
}

// next makes the samples to write next, at most room. dry says that the listener
// is about to hear the end of what was written: then the last samples of a clip
// that is still growing, which are otherwise held back, go out too, falling to
// silence.
func (t *track) next(s sound, room int, dry bool, volume float32) []float32 {
	fade := audio.Samples(fadeTime, s.rate)
	until := len(s.samples)
	fallAt := -1 // where the fall to silence ends
	switch {
	case s.whole || dry:
		fallAt = until
	default:
		until -= fade
	}
	n := min(room, until-t.sent)
	if n <= 0 {
		return nil
	}
	out := make([]float32, n)
	for i := range out {
		at := t.sent + i
		v := s.samples[at] * volume
		if rise := at - t.fadeAt; rise < fade {
			v *= float32(rise+1) / float32(fade)
		}
		if left := fallAt - at - 1; fallAt >= 0 && left < fade {
			v *= float32(left) / float32(fade)
		}
		out[i] = v
	}
	t.sent += n
	if dry && !s.whole && t.sent == until {
		t.fadeAt = t.sent
	}
	return out
}
