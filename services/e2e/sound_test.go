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
// 1 kHz tells one place from another, and little is left to add up.
const matchRate = 2000

// places is how many of the best places at that rate are looked at closely: a
// dozen periods of a voice.
const places = 200

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
	sound, recording := loud(voiced(espeak(t, voice, text))), voiced(recording)
	from := begins(sound, recording)
	var parts []float64
	for next, start := from, 0; start+window <= len(sound); start, next = start+window/2, next+window/2 {
		piece := sound[start : start+window]
		if soundtest.Peak(piece) < loudFrom {
			continue // a pause between two sentences is like nothing
		}
		part, where := near(piece, recording, next, slack)
		if part < alike && next < len(recording) {
			behind := recording[next:min(len(recording), next+longest)]
			if later, at := near(piece, recording, next+place(piece, behind), slack); later > part {
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

// voiced leaves what is below 2 kHz. Two samplings of the hiss of an "s" at
// instants less than a sample apart are not alike; of a vowel they are.
func voiced(samples []int16) []int16 {
	const rate = 4000
	return audio.Resample(audio.Resample(samples, soundtest.Rate, rate), rate, soundtest.Rate)
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

// toTheEnd gives a recording once all is quiet: the last word is heard some
// milliseconds after it is told to be over.
func toTheEnd(rec *soundtest.Recording) []int16 {
	rec.WaitSilence(rec.WaitSound(0, waitLimit), time.Second, waitLimit)
	return rec.Stop()
}

// begins finds where in a recording a sound begins: by its first half second,
// or, where a busy machine left a gap in that, by a later one.
func begins(sound, recording []int16) int {
	best, from := 0.0, 0
	for start := 0; start+2*window <= len(sound) && start <= 6*window && best < alike; start += window {
		if like, at := lay(sound[start:start+2*window], recording); like > best {
			best, from = like, max(0, at-start)
		}
	}
	return from
}

// place is where a sound fits a recording best.
func place(sound, recording []int16) int {
	_, where := lay(sound, recording)
	return where
}

// lay finds where a sound fits a recording best, and how well. At the lower rate a voice fits
// nearly as well one of its periods away, and may fit better there when the two
// were sampled at different instants: the best places are compared at the full
// rate.
func lay(sound, recording []int16) (best float64, where int) {
	want := audio.Resample(sound, soundtest.Rate, matchRate)
	got := audio.Resample(recording, soundtest.Rate, matchRate)
	type fit struct {
		like float64
		at   int
	}
	var found []fit
	for shift := 0; shift+len(want) <= len(got); shift++ {
		found = append(found, fit{correlation(want, got[shift:]), shift * soundtest.Rate / matchRate})
	}
	slices.SortFunc(found, func(a, b fit) int { return cmp.Compare(b.like, a.like) })
	for _, p := range found[:min(places, len(found))] {
		if like, at := near(sound, recording, p.at, soundtest.Rate/matchRate); like > best {
			best, where = like, at
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
	const hissing = "It is Monday 30 November 2026, 15:46."
	finer := audio.Resample(espeak(t, "en-us", hissing), soundtest.Rate, 3*soundtest.Rate)
	if l := likeness(t, audio.Resample(finer[1:], 3*soundtest.Rate, soundtest.Rate), "en-us", hissing); l < 0.97 {
		t.Errorf("sampled a third of a sample later, a sentence is like itself by %.2f", l)
	}
	gap := make([]int16, soundtest.Rate*7/10)
	starved := slices.Concat(gap, said[:soundtest.Rate/5], gap, said[soundtest.Rate/5:soundtest.Rate], gap, said[soundtest.Rate:2*soundtest.Rate], gap, said[2*soundtest.Rate:], gap)
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
