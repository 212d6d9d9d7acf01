// SPDX-License-Identifier: Apache-2.0

package audio_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/pkg/testkit/soundtest"
)

// make3s fills three seconds with a function of the sample's number.
func make3s(value func(i int) float64) []int16 {
	samples := make([]int16, 3*rate)
	for i := range samples {
		samples[i] = int16(math.Round(max(-1, min(1, value(i))) * math.MaxInt16))
	}
	return samples
}

func TestSpeechOfSoundsThatAreNone(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	sine := func(freq float64, i int) float64 { return math.Sin(2 * math.Pi * freq * float64(i) / rate) }
	for name, value := range map[string]func(i int) float64{
		"nothing":       func(int) float64 { return 0 },
		"an offset":     func(int) float64 { return 0.4 },
		"hiss":          func(int) float64 { return 0.002 * random.NormFloat64() },
		"loud noise":    func(int) float64 { return 0.2 * random.NormFloat64() },
		"hum":           func(i int) float64 { return 0.3 * sine(50, i) },
		"a steady tone": func(i int) float64 { return 0.3 * sine(440, i) },
		"noise between digital silence": func(i int) float64 {
			if i < rate || i > 2*rate {
				return 0
			}
			return 0.01 * random.NormFloat64()
		},
		"clicks": func(i int) float64 {
			if i%6400 < 160 {
				return 0.7 * random.NormFloat64()
			}
			return 0.001 * random.NormFloat64()
		},
		"next to nothing, in bursts": func(i int) float64 {
			if i%8000 < 4000 {
				return 0.0005 * sine(300, i)
			}
			return 0
		},
	} {
		if got := audio.Speech(make3s(value), rate); got > 60*time.Millisecond {
			t.Errorf("%s: %v of speech", name, got)
		}
	}
	if audio.Speech(nil, rate) != 0 || audio.Speech([]int16{1, 2}, 0) != 0 || audio.Speech(make([]int16, 10), -5) != 0 {
		t.Error("speech out of nothing")
	}
}

// Every voice's shortest words pass the bound of sttd's gate, 120 ms, also in a
// quiet recording with a hissing microphone.
func TestSpeechOfWords(t *testing.T) {
	least := time.Hour
	for _, voice := range []string{soundtest.Slt, soundtest.Kal16, soundtest.Awb, soundtest.Rms, "espeak:en-us", "espeak:en-gb", "espeak:it"} {
		for _, text := range []string{"no", "yes", "stop", "what time is it"} {
			samples := soundtest.Pad(soundtest.Synthesize(t, voice, text), 300*time.Millisecond, 500*time.Millisecond)
			random := rand.New(rand.NewPCG(1, uint64(len(samples))))
			for i, s := range samples {
				samples[i] = int16(float64(s)*0.05 + 8*random.NormFloat64()) // a peak of -32 dBFS, hiss at -72
			}
			got := audio.Speech(samples, rate)
			if least = min(least, got); got < 160*time.Millisecond {
				t.Errorf("%s, %q: %v of speech", voice, text, got)
			}
			if whole := audio.Duration(len(samples), rate); got > whole-700*time.Millisecond {
				t.Errorf("%s, %q: %v of speech in %v, of which 800 ms are hiss", voice, text, got, whole)
			}
		}
	}
	t.Logf("the shortest word has %v", least)
}

func BenchmarkSpeech(b *testing.B) {
	samples := make3s(func(i int) float64 { return 0.2 * math.Sin(float64(i)/7) })
	for b.Loop() {
		audio.Speech(samples, rate)
	}
}

func BenchmarkResample(b *testing.B) {
	samples := make3s(func(i int) float64 { return 0.2 * math.Sin(float64(i)/7) })
	for b.Loop() {
		audio.Resample(samples, 3*rate, rate)
	}
}
