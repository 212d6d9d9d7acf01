// SPDX-License-Identifier: Apache-2.0

package kokoro

import (
	"fmt"
	"math"
	"strings"
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/services/ttsd/internal/phoneme"
	"example.org/desktop-assistant/services/ttsd/internal/synth"
)

const (
	// What is left before the first and after the last sound. The model speaks its
	// marks of punctuation with a noise of up to 0.7 s, which is cut off.
	headTime, tailTime = 50 * time.Millisecond, 100 * time.Millisecond
	fadeTime           = 10 * time.Millisecond
	// quiet is how far below the loudest moment something counts as silence, as a
	// factor of the level: 60 dB. window is one moment.
	quiet  = 0.001
	window = rate / 50
	// A token lasts a frame at least, and 60 ms as a rule; the padding and the marks
	// last longer, which counts in a short text.
	briefest, longest = 20 * time.Millisecond, 300 * time.Millisecond
	spare             = 2 * time.Second
)

// marks are the symbols that are not spoken.
const marks = " ;:,.!?…\"()“”\u2014"

// sane says why what the model made of n tokens cannot be speech, "" when it can.
func sane(t take, n int, speed float64) string {
	for _, v := range t.samples {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return "it holds what is no number"
		}
	}
	lasts := audio.Duration(len(t.samples), rate)
	// A token has at least one frame, however fast.
	low := time.Duration(float64(n) * float64(briefest) / max(1, speed))
	high := time.Duration(float64(n)*float64(longest)/speed) + spare
	if lasts < low || lasts > high {
		return fmt.Sprintf("%d tokens last %v", n, lasts)
	}
	return ""
}

// shape makes the sound of a part out of what the model gave: cut at both ends,
// within bounds, rising from silence and falling to it, with the pause behind.
func shape(t take, p part) synth.Sound {
	from, to := span(t.samples)
	from = max(0, from-audio.Samples(headTime, rate))
	to = min(len(t.samples), to+audio.Samples(tailTime, rate))
	if end, ok := spokenEnd(t.frames, p.tokens); ok {
		to = max(from, min(to, end+audio.Samples(tailTime, rate)))
	}
	samples := make([]float32, to-from+audio.Samples(p.pause, rate))
	fade := audio.Samples(fadeTime, rate)
	for i, v := range t.samples[from:to] {
		v = max(-1, min(1, v))
		if edge := min(i, to-from-1-i); edge < fade {
			v *= float32(edge) / float32(fade)
		}
		samples[i] = v
	}
	return synth.Sound{Rate: rate, Samples: samples, Words: wordsOf(t.frames, p.tokens, from, to)}
}

// span finds the first and the last moment that is not silent.
func span(samples []float32) (from, to int) {
	level := make([]float64, (len(samples)+window-1)/window)
	top := 0.0
	for i := range level {
		sum := 0.0
		part := samples[i*window : min(len(samples), (i+1)*window)]
		for _, v := range part {
			sum += float64(v) * float64(v)
		}
		level[i] = math.Sqrt(sum / float64(len(part)))
		top = max(top, level[i])
	}
	first, last := -1, -1
	for i, v := range level {
		if top > 0 && v > top*quiet {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	if first < 0 {
		return 0, 0
	}
	return first * window, min(len(samples), (last+1)*window)
}

// spokenEnd is where the last token ends that is spoken.
func spokenEnd(frames []int, tokens []phoneme.Token) (at int, ok bool) {
	if frames == nil {
		return 0, false
	}
	sum := frames[0] // the padding
	for i, t := range tokens {
		sum += frames[i+1]
		if !strings.ContainsRune(marks, t.Rune) {
			at, ok = sum*hop, true
		}
	}
	return at, ok
}

// wordsOf says how far the text has come, where the model tells.
func wordsOf(frames []int, tokens []phoneme.Token, from, to int) []synth.Word {
	if frames == nil {
		return nil
	}
	var list []synth.Word
	sum, last := frames[0], 0
	for i, t := range tokens {
		sum += frames[i+1]
		if t.End > last {
			last = t.End
			list = append(list, synth.Word{At: max(0, min(sum*hop, to)-from), Text: last})
		}
	}
	return list
}
