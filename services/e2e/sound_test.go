// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"math"
	"os/exec"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/pkg/testkit/soundtest"
)

// matchRate is the rate at which recordings are compared, in hertz: what is
// below 1.5 kHz tells one sentence from another, and little is left to add up.
const matchRate = 3000

// likeness says how well a recording holds a text as espeak-ng speaks it: laid
// over each other where they fit best, the correlation of the quarter second
// in which they differ most; 1 for the very sound. The voice of the tests'
// questions is another synthesiser.
func likeness(t *testing.T, recording []int16, voice, text string) float64 {
	t.Helper()
	like, _ := find(t, recording, voice, text)
	return like
}

// find is likeness, and where in the recording the text begins.
func find(t *testing.T, recording []int16, voice, text string) (like float64, at time.Duration) {
	t.Helper()
	fine := loud(espeak(t, voice, text))
	_, where := lay(fine, recording)
	// Then part by part, at the full rate: half a sample of the lower one is a
	// good part of a sibilant's wave.
	const window, slack = soundtest.Rate / 4, soundtest.Rate / 200
	where = where * soundtest.Rate / matchRate
	worst := 1.0
	for start := len(fine) - window; start >= 0; start -= window / 2 { // from the end: that is where times differ
		if soundtest.Peak(fine[start:start+window]) < loudFrom {
			continue // a pause between two sentences is like nothing
		}
		part := 0.0
		for shift := max(0, where+start-slack); shift <= where+start+slack && shift+window <= len(recording); shift++ {
			part = max(part, correlation(fine[start:start+window], recording[shift:]))
		}
		worst = min(worst, part)
	}
	return worst, audio.Duration(where, soundtest.Rate)
}

// overall says how well a recording holds a text where it fits best, taken as a
// whole: a moment in which a busy machine lost the thread costs little.
func overall(t *testing.T, recording []int16, voice, text string) float64 {
	t.Helper()
	best, _ := lay(loud(espeak(t, voice, text)), recording)
	return best
}

// lay finds where a sound fits a recording best at the lower rate.
func lay(sound, recording []int16) (best float64, where int) {
	want := audio.Resample(sound, soundtest.Rate, matchRate)
	got := audio.Resample(recording, soundtest.Rate, matchRate)
	for shift := 0; shift+len(want) <= len(got); shift++ {
		if c := correlation(want, got[shift:]); c > best {
			best, where = c, shift
		}
	}
	return best, where
}

// correlation is the normalised one of a with as much of b.
func correlation(a, b []int16) float64 {
	var dot, ea, eb float64
	for i, s := range a {
		x, y := float64(s), float64(b[i])
		dot, ea, eb = dot+x*y, ea+x*x, eb+y*y
	}
	if ea == 0 || eb == 0 {
		return 0
	}
	return dot / math.Sqrt(ea*eb)
}

// loudFrom is the amplitude from which sound is speech and no pause.
const loudFrom = 300

// loud cuts the silence at both ends.
func loud(samples []int16) []int16 {
	first, last := len(samples), 0
	for i, s := range samples {
		if s >= loudFrom || s <= -loudFrom {
			first, last = min(first, i), i
		}
	}
	if first > last {
		return nil
	}
	return samples[first : last+1]
}

// espeak speaks a text by itself, not through the assistant.
func espeak(t *testing.T, voice, text string) []int16 {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "espeak-ng", "-v", voice, "--stdin", "--stdout")
	cmd.Stdin = bytes.NewReader([]byte(text))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("espeak-ng: %v", err)
	}
	samples, rate, err := audio.DecodeWAV(out)
	if err != nil {
		t.Fatal(err)
	}
	return audio.Resample(samples, rate, soundtest.Rate)
}

// TestLikeness: the measure tells a sentence from its neighbours.
func TestLikeness(t *testing.T) {
	const text = "It is Monday 30 November 2026, 09:41."
	said := espeak(t, "en-us", text)
	if l := likeness(t, said, "en-us", text); l < 0.99 {
		t.Errorf("a sentence is like itself by %.2f", l)
	}
	for _, other := range []string{"It is Monday 30 November 2026, 09:42.", "It is Tuesday 30 November 2026, 09:41.", "I cannot reach the chat server."} {
		if l := likeness(t, append(said, make([]int16, soundtest.Rate*3)...), "en-us", other); l > 0.8 {
			t.Errorf("a sentence is like %q by %.2f", other, l)
		} else {
			t.Logf("%.2f like %q", l, other)
		}
	}
}
