// SPDX-License-Identifier: Apache-2.0

package kokoro

import (
	"math"
	"slices"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/services/ttsd/internal/synth"
)

// hum is a tone of that length and level.
func hum(frames int, level float64) []float32 {
	out := make([]float32, frames*hop)
	for i := range out {
		out[i] = float32(level * math.Sin(2*math.Pi*220*float64(i)/rate))
	}
	return out
}

func TestShapeCutsBothEnds(t *testing.T) {
	t.Parallel()
	tokens := tokensOf("ab.")
	// 0.2 s silence, 0.4 s sound, 0.5 s noise of the mark, 0.2 s silence.
	samples := slices.Concat(hum(8, 0), hum(16, 0.5), hum(20, 0.05), hum(8, 0))
	frames := []int{8, 8, 8, 20, 8}
	for name, c := range map[string]struct {
		frames []int
		want   time.Duration
		words  []synth.Word
	}{
		"with durations":    {frames, 50*time.Millisecond + 400*time.Millisecond + 100*time.Millisecond, []synth.Word{{At: 1200 + 8*hop, Text: 1}, {At: 1200 + 16*hop, Text: 2}, {At: 1200 + 20*hop, Text: 3}}},
		"without durations": {nil, 50*time.Millisecond + 900*time.Millisecond + 100*time.Millisecond, nil},
	} {
		got := shape(take{samples, c.frames}, part{tokens: tokens})
		if d := audio.Duration(len(got.Samples), rate); (d - c.want).Abs() > 20*time.Millisecond {
			t.Errorf("%s: it lasts %v, want %v", name, d, c.want)
		}
		if !slices.Equal(got.Words, c.words) {
			t.Errorf("%s: words %v, want %v", name, got.Words, c.words)
		}
	}
}

// No step anywhere: the fades are as long as they are to be, whatever comes in.
func TestShapeFades(t *testing.T) {
	t.Parallel()
	loud := make([]float32, rate)
	for i := range loud {
		loud[i] = 1
	}
	got := shape(take{samples: loud}, part{tokens: tokensOf("a"), pause: sentencePause})
	step := float32(0)
	for i := 1; i < len(got.Samples); i++ {
		step = max(step, got.Samples[i]-got.Samples[i-1], got.Samples[i-1]-got.Samples[i])
	}
	if limit := float32(1.01) / float32(audio.Samples(fadeTime, rate)); step > limit || got.Samples[0] != 0 {
		t.Errorf("a step of %v, want at most %v", step, limit)
	}
	if n := len(got.Samples); n != rate+audio.Samples(sentencePause, rate) || slices.ContainsFunc(got.Samples[rate:], func(v float32) bool { return v != 0 }) {
		t.Errorf("%d samples, or a pause that is not silent", n)
	}
	for _, odd := range [][]float32{nil, {0}, {1}, make([]float32, 5), hum(1, 1)} {
		shape(take{samples: odd}, part{tokens: tokensOf("a")})
		shape(take{samples: odd, frames: []int{9, 9, 9}}, part{tokens: tokensOf("a")})
	}
}

func TestSane(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		frames, tokens int
		speed          float64
		good           bool
	}{
		"as ever":          {120, 50, 1, true},
		"one word":         {60, 3, 1, true},
		"junk behind it":   {80, 3, 1, true},
		"fast":             {52, 50, 2, true},
		"slow":             {500, 50, 0.5, true},
		"nothing":          {0, 50, 1, false},
		"cut":              {20, 50, 1, false},
		"babble":           {800, 50, 1, false},
		"babble, one word": {400, 3, 1, false},
	} {
		if why := sane(take{samples: make([]float32, c.frames*hop)}, c.tokens, c.speed); (why == "") != c.good {
			t.Errorf("%s: %q", name, why)
		}
	}
}
