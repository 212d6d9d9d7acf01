// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"cmp"
	"math"
	"os/exec"
	"slices"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/pkg/testkit/soundtest"
)

// matchRate is the rate at which a sound is looked for, in hertz: what is below
// 500 Hz tells one place from another, and little is left to add up.
const matchRate = 1000

const (
	window  = soundtest.Rate / 4   // a sound is compared by quarter seconds
	slack   = soundtest.Rate / 200 // how far one may lie from where the last one points
	longest = 2 * soundtest.Rate   // a gap that a starved sound server leaves
	alike   = 0.9                  // correlation of a window that is the same sound
)

// likeness says how well a recording holds a text as espeak-ng speaks it, 1 for
// the very sound. It is compared window by window, each looked for behind the
// one before; of all windows one in seven may be spoilt, and of the last three
// one, as happens where a busy machine leaves a gap. The voice of the tests'
// questions is another synthesiser.
func likeness(t *testing.T, recording []int16, voice, text string) float64 {
	t.Helper()
	like, _ := find(t, recording, voice, text)
	return like
}

// find is likeness, and where in the recording the text begins.
func find(t *testing.T, recording []int16, voice, text string) (like float64, at time.Duration) {
	t.Helper()
	sound := loud(espeak(t, voice, text))
	from := lay(sound[:min(len(sound), 2*window)], recording)
	var parts []float64
	for next, start := from, 0; start+window <= len(sound); start, next = start+window/2, next+window/2 {
		piece := sound[start : start+window]
		if soundtest.Peak(piece) < loudFrom {
			continue // a pause between two sentences is like nothing
		}
		part, where := near(piece, recording, next, slack)
		if part < alike && next < len(recording) {
			behind := recording[next:min(len(recording), next+longest)]
			if later, at := near(piece, recording, next+lay(piece, behind), slack); later > part {
				part, where = later, at
			}
		}
		if part >= alike {
			next = where
		}
		parts = append(parts, part)
	}
	if len(parts) < 3 {
		t.Fatalf("%q is too short to compare", text)
	}
	last := slices.Sorted(slices.Values(parts[len(parts)-3:]))[1]
	return min(slices.Sorted(slices.Values(parts))[len(parts)/7], last), audio.Duration(from, soundtest.Rate)
}

// near is how like a piece is to the recording around a position, and where most.
func near(piece, recording []int16, at, slack int) (best float64, where int) {
	where = at
	for shift := max(0, at-slack); shift <= at+slack && shift+len(piece) <= len(recording); shift++ {
		if c := correlation(piece, recording[shift:]); c > best {
			best, where = c, shift
		}
	}
	return best, where
}

// lay finds where a sound fits a recording best. At the lower rate a voice fits
// nearly as well one of its periods away, and may fit better there when the two
// were sampled at different instants: the best places are compared at the full
// rate.
func lay(sound, recording []int16) (where int) {
	want := audio.Resample(sound, soundtest.Rate, matchRate)
	got := audio.Resample(recording, soundtest.Rate, matchRate)
	type place struct {
		like float64
		at   int
	}
	var places []place
	for shift := 0; shift+len(want) <= len(got); shift++ {
		places = append(places, place{correlation(want, got[shift:]), shift * soundtest.Rate / matchRate})
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(b.like, a.like) })
	best := 0.0
	for _, p := range places[:min(16, len(places))] {
		if like, at := near(sound, recording, p.at, soundtest.Rate/matchRate); like > best {
			best, where = like, at
		}
	}
	return where
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
	gap := make([]int16, soundtest.Rate*7/10)
	starved := slices.Concat(gap, said[:soundtest.Rate], gap, said[soundtest.Rate:2*soundtest.Rate], gap, said[2*soundtest.Rate:], gap)
	if l := likeness(t, starved, "en-us", text); l < alike {
		t.Errorf("with gaps a sentence is like itself by %.2f", l)
	}
	if l := likeness(t, starved, "en-us", "It is Monday 30 November 2026, 09:42."); l > 0.8 {
		t.Errorf("with gaps it is like another minute by %.2f", l)
	}
	for _, other := range []string{"It is Monday 30 November 2026, 09:42.", "It is Tuesday 30 November 2026, 09:41.", "I cannot reach the chat server."} {
		if l := likeness(t, append(said, make([]int16, soundtest.Rate*3)...), "en-us", other); l > 0.8 {
			t.Errorf("a sentence is like %q by %.2f", other, l)
		} else {
			t.Logf("%.2f like %q", l, other)
		}
	}
}
