// SPDX-License-Identifier: Apache-2.0

package kokoro

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/pkg/testkit/onnxtest"
	"example.org/desktop-assistant/services/ttsd/internal/phoneme"
	"example.org/desktop-assistant/services/ttsd/internal/synth"
	"example.org/desktop-assistant/services/ttsd/internal/synth/kokoro/kokorotest"
	"example.org/desktop-assistant/services/ttsd/internal/synth/kokoro/voice"
)

const sentence = "Domani mattina il cielo sarà sereno, con vento debole da nord e una temperatura di dodici gradi."

// Everything beside the model's own run, for one sentence: the aim is 5 ms.
func BenchmarkBesideRun(b *testing.B) {
	e := open(b, config(b, kokorotest.Timed()))
	language, err := phoneme.Lookup("it")
	if err != nil {
		b.Fatal(err)
	}
	table, err := e.set.Table(voice.Blend{"if_sara": 1})
	if err != nil {
		b.Fatal(err)
	}
	line, err := phoneme.Read(b.Context(), e.reader, language, sentence)
	if err != nil {
		b.Fatal(err)
	}
	tokens, _ := e.model.vocabulary.Tokens(line)
	made, err := e.model.run(b.Context(), tokens, table.Row(len(tokens)), 1)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		line, err := phoneme.Read(b.Context(), e.reader, language, sentence)
		if err != nil {
			b.Fatal(err)
		}
		tokens, _ := e.model.vocabulary.Tokens(line)
		parts := pack(tokens, true)
		table.Row(len(parts[0].tokens))
		if why := sane(made, len(tokens), 1); why != "" {
			b.Fatal(why)
		}
		shape(made, part{tokens: tokens})
	}
	b.ReportMetric(audio.Duration(len(made.samples), rate).Seconds(), "s-of-sound")
}

// A sentence with a model that costs nothing.
func BenchmarkSentence(b *testing.B) {
	e := open(b, config(b, kokorotest.Timed()))
	for b.Loop() {
		if err := e.Synthesize(b.Context(), synth.Sentence{Text: sentence, Language: "it"}, func(synth.Sound) {}); err != nil {
			b.Fatal(err)
		}
	}
}

// The real model, where KOKORO_MODEL and KOKORO_VOICES name it. A sample to listen
// to goes into KOKORO_SAMPLES.
func BenchmarkRealModel(b *testing.B) {
	model, voices := os.Getenv("KOKORO_MODEL"), os.Getenv("KOKORO_VOICES")
	if model == "" || voices == "" {
		b.Skip("KOKORO_MODEL and KOKORO_VOICES name no files")
	}
	c := config(b, kokorotest.Timed())
	c.Model, c.Voices = model, voices
	c.Languages = map[string]Language{"it": {"it", voice.Blend{"if_sara": 0.8, "af_bella": 0.2}}, "en": {"en-us", voice.Blend{"af_heart": 1}}}
	byThreads(b, c, os.Getenv("KOKORO_SAMPLES"))
}

// A model of the test that works a quarter as hard as the real one, for which the
// facts estimate 25 thousand million multiplications for a second of sound.
func BenchmarkHardModel(b *testing.B) {
	v := kokorotest.Timed()
	v.Layers = 38
	byThreads(b, config(b, v), "")
}

// byThreads measures how long the first sound and the whole take for each second of
// sound.
func byThreads(b *testing.B, c Config, samplesTo string) {
	for threads := 1; threads <= 2*runtime.NumCPU(); threads *= 2 {
		b.Run(fmt.Sprint(threads, "-threads"), func(b *testing.B) {
			c.Threads = threads
			e := open(b, c)
			var samples []float32
			var first, whole, made time.Duration
			for b.Loop() {
				samples = samples[:0]
				began := time.Now()
				err := e.Synthesize(b.Context(), synth.Sentence{Text: sentence + " " + sentence, Language: "it", Soon: true}, func(s synth.Sound) {
					if len(samples) == 0 {
						first += time.Since(began)
					}
					samples = append(samples, s.Samples...)
				})
				if err != nil {
					b.Fatal(err)
				}
				whole += time.Since(began)
				made += audio.Duration(len(samples), rate)
			}
			b.ReportMetric(whole.Seconds()/made.Seconds(), "s/s-of-sound")
			b.ReportMetric(first.Seconds()/whole.Seconds(), "first/whole")
			if samplesTo == "" {
				return
			}
			pcm := make([]int16, len(samples))
			for i, v := range samples {
				pcm[i] = int16(v * 32767)
			}
			if err := os.WriteFile(filepath.Join(samplesTo, fmt.Sprintf("kokoro-%d.wav", threads)), audio.EncodeWAV(pcm, rate), 0o644); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// resident is the memory of this process in bytes.
func resident(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(b))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// Sentences of all lengths leave no memory behind. SOAK says how many.
func TestMemoryIsFlat(t *testing.T) {
	e := open(t, config(t, kokorotest.Timed()))
	count := 150
	if n, err := strconv.Atoi(os.Getenv("SOAK")); err == nil {
		count = n
	}
	words := strings.Fields(strings.ReplaceAll(story, ",", " "))
	r := rand.New(rand.NewPCG(1, 1))
	speak := func(n int) {
		for range n {
			text := strings.Join(words[:1+r.IntN(len(words)-1)], " ")
			if err := e.Synthesize(t.Context(), synth.Sentence{Text: text, Language: "en", Soon: r.IntN(2) == 0}, func(synth.Sound) {}); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
	}
	speak(count / 3) // the arena has its size now
	before := resident(t)
	speak(count)
	after := resident(t)
	t.Logf("%d MB, after %d more sentences %d MB", before>>20, count, after>>20)
	if grown := after - before; grown > 64<<20 {
		t.Errorf("it grew by %d MB", grown>>20)
	}
}

// The voices of Kokoro's makers with a model of the test: what the configuration
// has by default can be mixed and spoken.
func TestRealVoicesSpeak(t *testing.T) {
	t.Parallel()
	c := config(t, kokorotest.Timed())
	c.Voices = onnxtest.Voices(t)
	c.Languages = map[string]Language{"it": {"it", voice.Blend{"if_sara": 0.8, "af_bella": 0.2}}, "en": {"en-us", voice.Blend{"af_heart": 1}}}
	e := open(t, c)
	if n := len(e.Voices()); n != 54 || len(e.Warnings()) > 0 {
		t.Errorf("%d voices, warnings %v", n, e.Warnings())
	}
	italian, _ := say(t, e, synth.Sentence{Text: sentence, Language: "it"})
	english, _ := say(t, e, synth.Sentence{Text: sentence, Language: "it", Voice: "af_heart"})
	if len(italian.Samples) == 0 || len(english.Samples) == len(italian.Samples) && tone(italian.Samples) == tone(english.Samples) {
		t.Error("all voices sound the same")
	}
}
