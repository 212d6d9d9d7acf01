// SPDX-License-Identifier: Apache-2.0

package soundtest

import (
	"os"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/audio"
)

const (
	// Rate is the sample rate of all sound here.
	Rate = 16000
	// Audible is the peak from which sound counts as heard: half a percent of full
	// scale. A sink that plays nothing records exact zeros.
	Audible = 164
	// Gap is the silence that separates two parts of a recording; pauses inside a
	// spoken sentence are shorter.
	Gap = 300 * time.Millisecond
)

// Samples is how many samples last d.
func Samples(d time.Duration) int { return audio.Samples(d, Rate) }

// Duration is how long n samples last.
func Duration(n int) time.Duration { return audio.Duration(n, Rate) }

// Peak is the largest amplitude, 0 to 32768.
func Peak(samples []int16) int {
	peak := 0
	for _, v := range samples {
		peak = max(peak, int(v), -int(v))
	}
	return peak
}

// Loud is how many samples are audible. Silence that a busy machine puts into a
// sound does not change it, unlike the length of the sound.
func Loud(samples []int16) int {
	n := 0
	for _, v := range samples {
		if max(int(v), -int(v)) >= Audible {
			n++
		}
	}
	return n
}

// A Part is a run of sound in a recording: the first sample and the one after the
// last.
type Part struct{ Start, End int }

// Parts finds what is audible, split where gap or more of silence lies between.
func Parts(samples []int16, gap time.Duration) []Part {
	var parts []Part
	for i, v := range samples {
		if max(int(v), -int(v)) < Audible {
			continue
		}
		if n := len(parts); n > 0 && i-parts[n-1].End < Samples(gap) {
			parts[n-1].End = i + 1
		} else {
			parts = append(parts, Part{i, i + 1})
		}
	}
	return parts
}

// Trim cuts silence off both ends; what is silent as a whole becomes empty.
func Trim(samples []int16) []int16 {
	parts := Parts(samples, Gap)
	if len(parts) == 0 {
		return nil
	}
	return samples[parts[0].Start:parts[len(parts)-1].End]
}

// Pad puts silence before and after.
func Pad(samples []int16, before, after time.Duration) []int16 {
	out := make([]int16, Samples(before), Samples(before)+len(samples)+Samples(after))
	out = append(out, samples...)
	return append(out, make([]int16, Samples(after))...)
}

// WriteWAV writes a WAV file.
func WriteWAV(tb testing.TB, path string, samples []int16) {
	tb.Helper()
	if err := os.WriteFile(path, audio.EncodeWAV(samples, Rate), 0o600); err != nil {
		tb.Fatalf("write recording: %v", err)
	}
}

// ReadWAV reads a sound file of any format sox knows.
func ReadWAV(tb testing.TB, path string) []int16 {
	tb.Helper()
	return samplesOf(tb, run(tb, nil, nil, "sox", "-q", path, "-t", "raw", "-r", "16000", "-c", "1", "-b", "16", "-e", "signed", "-"))
}

// samplesOf reads raw sound as the rig's programs write it.
func samplesOf(tb testing.TB, data []byte) []int16 {
	tb.Helper()
	samples, err := audio.DecodePCM(data)
	if err != nil {
		tb.Fatal(err)
	}
	return samples
}
