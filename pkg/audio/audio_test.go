// SPDX-License-Identifier: Apache-2.0

package audio_test

import (
	"math"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/audio"
)

// rate is that of the microphone audio on the bus, proto.Rate.
const rate = 16000

// tone is a sine of the given frequency and peak level (0 to 1).
func tone(freq, level float64, d time.Duration, rate int) []int16 {
	samples := make([]int16, audio.Samples(d, rate))
	for i := range samples {
		samples[i] = int16(math.Round(level * 32767 * math.Sin(2*math.Pi*freq*float64(i)/float64(rate))))
	}
	return samples
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within {
		t.Errorf("%s = %.4f, want %.4f within %.4f", what, got, want, within)
	}
}

func TestLevels(t *testing.T) {
	sine := tone(1000, 1, time.Second, rate)
	near(t, "RMS of a full-scale sine", audio.RMS(sine), math.Sqrt2/2, 0.001)
	near(t, "dBFS of a full-scale sine", audio.DBFS(audio.RMS(sine)), -3.01, 0.01)
	near(t, "Peak of a full-scale sine", audio.Peak(sine), 1, 0.001)
	near(t, "Peak of the most negative sample", audio.Peak([]int16{1, math.MinInt16, 2}), 1, 0)
	near(t, "dBFS of a half", audio.DBFS(0.5), -6.02, 0.01)
	for _, level := range []float64{0, -1, 1e-9} {
		near(t, "dBFS of next to nothing", audio.DBFS(level), audio.Silence, 0)
	}
	if audio.RMS(nil) != 0 || audio.Peak(nil) != 0 {
		t.Error("no samples have a level")
	}
}

func TestDuration(t *testing.T) {
	if got := audio.Duration(24000, rate); got != 1500*time.Millisecond {
		t.Errorf("Duration = %v", got)
	}
	if got := audio.Duration(1, 0); got != 0 {
		t.Errorf("Duration at rate 0 = %v", got)
	}
	if got := audio.Samples(800*time.Millisecond, rate); got != 12800 {
		t.Errorf("Samples = %d", got)
	}
}

func TestRingKeepsTheNewest(t *testing.T) {
	for _, size := range []int{0, 1, 5, 7, 64} {
		for _, chunk := range []int{1, 2, 3, 7, 100} {
			ring := audio.NewRing(size)
			var all []int16
			for len(all) < 150 {
				piece := make([]int16, chunk)
				for i := range piece {
					piece[i] = int16(len(all) + i)
				}
				all = append(all, piece...)
				ring.Write(piece)
				want := all[max(0, len(all)-size):]
				if ring.Len() != len(want) {
					t.Fatalf("size %d chunk %d: Len = %d, want %d", size, chunk, ring.Len(), len(want))
				}
			}
			want := all[max(0, len(all)-size):]
			got := ring.Take()
			if len(got) != len(want) {
				t.Fatalf("size %d chunk %d: took %d samples, want %d", size, chunk, len(got), len(want))
			}
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("size %d chunk %d: sample %d = %d, want %d", size, chunk, i, got[i], want[i])
				}
			}
			if ring.Len() != 0 || len(ring.Take()) != 0 {
				t.Fatalf("size %d: ring not empty after Take", size)
			}
		}
	}
}

// level of a tone after resampling, leaving out the ends.
func resampledLevel(freq float64, from, to int) float64 {
	out := audio.Resample(tone(freq, 0.5, time.Second, from), from, to)
	return audio.DBFS(audio.RMS(out[len(out)/10:len(out)*9/10])) - audio.DBFS(0.5*math.Sqrt2/2)
}

func TestResample(t *testing.T) {
	for _, rates := range [][2]int{{48000, 16000}, {22050, 16000}, {8000, 16000}, {44100, 16000}, {16000, 48000}} {
		near(t, "level of 1 kHz", resampledLevel(1000, rates[0], rates[1]), 0, 0.1)
		if got, want := len(audio.Resample(make([]int16, rates[0]), rates[0], rates[1])), rates[1]; got != want {
			t.Errorf("%v: one second became %d samples", rates, got)
		}
	}
	for _, freq := range []float64{9500, 12000, 20000} {
		if got := resampledLevel(freq, 48000, 16000); got > -55 {
			t.Errorf("%v Hz left at %.1f dB after 48000 to 16000 Hz, want under -55", freq, got)
		}
	}
	same := []int16{1, 2, 3}
	got := audio.Resample(same, 16000, 16000)
	if got[0] = 9; same[0] != 1 {
		t.Error("equal rates share memory")
	}
	if audio.Resample(same, 0, 16000) != nil || audio.Resample(same, 16000, -1) != nil {
		t.Error("a rate that is not positive gives samples")
	}
	// Overshoot at full scale is limited and does not wrap to the other sign.
	loud := make([]int16, 800)
	for i := range loud {
		loud[i] = math.MaxInt16
	}
	for i, v := range audio.Resample(loud, 8000, 16000)[100:1500] {
		if v < 30000 {
			t.Fatalf("sample %d of a constant full scale is %d", i+100, v)
		}
	}
}
