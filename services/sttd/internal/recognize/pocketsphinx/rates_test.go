// SPDX-License-Identifier: Apache-2.0

package pocketsphinx

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/pkg/testkit/soundtest"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/sttd/internal/recognize"
)

// Voices. The bounds of decide were picked with slt, kal16, en-us and en-us+f3
// only; awb, rms, en-gb and en-us+m3 were held out, and so were all sentences
// below but those of smallGrammar.
var (
	flite  = []string{"slt", "kal16", "awb", "rms"}
	espeak = []string{"espeak:en-us", "espeak:en-gb", "espeak:en-us+f3", "espeak:en-us+m3"}
)

// voices takes both kinds in turn.
var voices = []string{flite[0], espeak[0], flite[1], espeak[1], flite[2], espeak[2], flite[3], espeak[3]}

// smallGrammar is what a fresh machine has.
var smallGrammar = []string{
	"what time is it", "what is the time", "tell me the time", "what is the date", "what day is it today", "what is the date today",
}

// mediumGrammar is a machine with a handful of tools.
var mediumGrammar = append(slices.Clone(smallGrammar),
	"set the volume to half", "mute the speakers", "pause the music", "continue playing", "take a picture of the screen",
	"how full is the disk", "is the printer working", "show me my appointments", "start the web browser", "close all windows",
	"who is logged in", "what is my address on the network", "check for updates", "read the latest message",
)

// largeGrammar has about forty words in some two hundred sentences.
var largeGrammar = []string{
	"what time is it", "what is the date ( today | tomorrow | monday | friday )", "what is on my calendar ( today | tomorrow | monday | friday )",
	"what is the weather in ( berlin | london | paris | rome )", "how much is ( two | five | eight ) ( plus | minus | times ) ( three | seven | ten )",
	"tell me a joke", "turn ( up | down ) the volume", "open the ( terminal | browser | editor )", "set a timer for ( two | five | ten ) ( minutes | hours )",
}

// largeSpoken are sentences of largeGrammar.
var largeSpoken = []string{
	"what time is it", "what is the date tomorrow", "what is on my calendar friday", "what is the weather in london", "what is the weather in rome",
	"how much is two plus seven", "how much is eight minus three", "tell me a joke", "turn up the volume", "turn down the volume",
	"open the terminal", "open the browser", "set a timer for ten minutes", "set a timer for two hours",
}

// others are in no grammar.
var others = []string{
	"the cat is sleeping on the sofa", "please bring me a glass of water", "how tall is mount everest", "my bicycle has a flat tire",
	"they will arrive on the evening train", "which languages do you speak", "i forgot to buy onions", "what a beautiful morning",
	"can we talk about this later", "when was the telephone invented", "the soup needs more salt", "write an email to my boss",
	"give the dog a bath", "our neighbours are very noisy", "do you believe in ghosts", "how do i get to the museum",
	"there is a spider in the kitchen", "she plays the violin", "add milk to the shopping list", "what is the meaning of life",
	"the rain stopped an hour ago", "who painted the mona lisa", "it does not matter", "remember to lock the front door",
	"how many legs does an ant have", "i will be there in five minutes", "tell my wife that i am late", "why are you laughing",
	"the museum is closed on mondays", "no way", "hello", "good night", "yes please", "what did you say", "that is enough",
	"the exam was harder than expected", "nobody answered the phone", "could you spell that", "his car broke down again", "we should paint the wall green",
}

// nearby share words with the small grammar, the hardest there are.
var nearby = []string{
	"what time does the bank open", "what is the date of your birthday", "what day was the party", "tell me the name of that bird", "is it time for lunch",
	"what is the matter", "what is the title", "today is my day off",
}

// A trial is one utterance and what came of it.
type trial struct {
	voice, text string
	samples     func(t *testing.T) []int16
	heard       string
	reason      recognize.Reason
	took        time.Duration
}

// attempt lets an engine hear every trial, as many at once as there are
// processors.
func attempt(t *testing.T, e *Engine, trials []*trial) {
	t.Run("hear", func(t *testing.T) {
		for _, tr := range trials {
			t.Run(tr.voice+" "+tr.text, func(t *testing.T) {
				t.Parallel()
				u := recognize.Utterance{PCM: tr.samples(t), Rate: proto.Rate}
				start := time.Now()
				got, err := e.Recognize(t.Context(), u)
				tr.took = time.Since(start)
				var rejection *recognize.Rejection
				switch {
				case errors.As(err, &rejection):
					tr.reason = rejection.Reason
				case err != nil:
					t.Error(err)
				}
				tr.heard = got.Text
			})
		}
	})
}

// spoken makes trials of sentences: each by so many of the voices, in turn.
func spoken(sentences, voices []string, each int) []*trial {
	var trials []*trial
	for i, text := range sentences {
		for n := range each {
			voice := voices[(i+n*len(voices)/each)%len(voices)]
			trials = append(trials, &trial{voice: voice, text: text, samples: func(t *testing.T) []int16 { return say(t, voice, text) }})
		}
	}
	return trials
}

// said keeps what say made.
var said = struct {
	sync.Mutex
	samples map[string][]int16
}{samples: map[string][]int16{}}

// say speaks a sentence, once for all tests.
func say(t *testing.T, voice, text string) []int16 {
	key := voice + "|" + text
	said.Lock()
	samples, ok := said.samples[key]
	said.Unlock()
	if !ok {
		samples = soundtest.Synthesize(t, voice, text)
		said.Lock()
		said.samples[key] = samples
		said.Unlock()
	}
	return samples
}

// count counts trials.
func count(trials []*trial, want func(*trial) bool) int {
	n := 0
	for _, tr := range trials {
		if want(tr) {
			n++
		}
	}
	return n
}

func right(tr *trial) bool    { return tr.heard == tr.text }
func wrong(tr *trial) bool    { return tr.heard != "" && tr.heard != tr.text }
func accepted(tr *trial) bool { return tr.heard != "" }

func engineFor(sentences []string) *Engine {
	seen := map[string]bool{}
	for _, s := range sentences {
		for _, w := range strings.Fields(s) {
			if !strings.ContainsAny(w, "()|") {
				seen[w] = true
			}
		}
	}
	var words []string
	for w := range seen {
		words = append(words, w)
	}
	e := New()
	e.SetGrammar("#JSGF V1.0;\ngrammar command;\npublic <command> =\n    "+strings.Join(sentences, "\n  | ")+"\n  ;\n", words)
	return e
}

// TestRates prints how often each grammar hears its own sentences and refuses
// others. Its limits are what was measured with some room: they catch a change
// that breaks the decision, they are not a promise about people's voices.
func TestRates(t *testing.T) {
	for _, c := range []struct {
		name            string
		grammar, in     []string
		out             []string
		each            int // voices of each kind that say a sentence
		fliteRight      float64
		espeakRight     float64
		falseAccept     float64
		nearFalseAccept float64
	}{
		{"small", smallGrammar, smallGrammar, others, 4, 0.95, 0.85, 0.03, 0.2},
		{"medium", mediumGrammar, mediumGrammar, others, 2, 0.95, 0.85, 0.05, 0.2},
		{"large", largeGrammar, largeSpoken, others[:20], 2, 0.95, 0.75, 0.05, 0.2},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := engineFor(c.grammar)
			good, robots := spoken(c.in, flite, c.each), spoken(c.in, espeak, c.each)
			bad, near := spoken(c.out, voices, 1), spoken(nearby, voices, 2)
			attempt(t, e, slices.Concat(good, robots, bad, near))
			for _, tr := range slices.Concat(good, robots) {
				if !right(tr) {
					t.Logf("in grammar, %s: %q heard as %q %s", tr.voice, tr.text, tr.heard, tr.reason)
				}
			}
			for _, tr := range slices.Concat(bad, near) {
				if accepted(tr) {
					t.Logf("not in grammar, %s: %q heard as %q", tr.voice, tr.text, tr.heard)
				}
			}
			t.Logf("%s grammar: flite right %d wrong %d of %d; espeak-ng right %d wrong %d of %d; others taken %d of %d; near misses taken %d of %d; median %v",
				c.name, count(good, right), count(good, wrong), len(good), count(robots, right), count(robots, wrong), len(robots),
				count(bad, accepted), len(bad), count(near, accepted), len(near), median(slices.Concat(good, robots)).Round(time.Millisecond))
			atLeast(t, "flite right", good, right, c.fliteRight)
			atLeast(t, "espeak-ng right", robots, right, c.espeakRight)
			atMost(t, "others taken", bad, accepted, c.falseAccept)
			atMost(t, "near misses taken", near, accepted, c.nearFalseAccept)
		})
	}
}

func median(trials []*trial) time.Duration {
	var all []time.Duration
	for _, tr := range trials {
		all = append(all, tr.took)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func atLeast(t *testing.T, what string, trials []*trial, want func(*trial) bool, share float64) {
	t.Helper()
	if got := float64(count(trials, want)) / float64(len(trials)); got < share {
		t.Errorf("%s: %.2f, want at least %.2f", what, got, share)
	}
}

func atMost(t *testing.T, what string, trials []*trial, want func(*trial) bool, share float64) {
	t.Helper()
	if got := float64(count(trials, want)) / float64(len(trials)); got > share {
		t.Errorf("%s: %.2f, want at most %.2f", what, got, share)
	}
}

// TestRatesInNoise speaks the small grammar and other sentences as a room and
// a microphone would bend them.
func TestRatesInNoise(t *testing.T) {
	e := engineFor(smallGrammar)
	for _, c := range []struct {
		name  string
		bend  func(samples []int16) []int16
		right float64
		wrong float64 // another sentence of the grammar
	}{
		{"noise 20 dB below", func(s []int16) []int16 { return noisy(s, 20) }, 0.9, 0.05},
		{"noise 10 dB below", func(s []int16) []int16 { return noisy(s, 10) }, 0.4, 0.4},
		{"30 dB quieter", func(s []int16) []int16 { return scaled(s, -30) }, 0.9, 0.05},
		{"clipped", func(s []int16) []int16 { return scaled(s, 15) }, 0.8, 0.05},
		{"long silence around", func(s []int16) []int16 { return soundtest.Pad(s, 2*time.Second, 3*time.Second) }, 0.9, 0.05},
	} {
		t.Run(c.name, func(t *testing.T) {
			good, bad := spoken(smallGrammar, flite, 2), spoken(others[:10], flite, 1)
			for _, tr := range slices.Concat(good, bad) {
				plain := tr.samples
				tr.samples = func(t *testing.T) []int16 { return c.bend(plain(t)) }
			}
			attempt(t, e, slices.Concat(good, bad))
			t.Logf("%s: right %d wrong %d of %d; others taken %d of %d", c.name,
				count(good, right), count(good, wrong), len(good), count(bad, accepted), len(bad))
			atLeast(t, "right", good, right, c.right)
			atMost(t, "wrong", good, wrong, c.wrong)
			atMost(t, "others taken", bad, accepted, 0.1)
		})
	}
}

// TestNoSpeech gives the engine what microphones hear when nobody speaks.
func TestNoSpeech(t *testing.T) {
	e := engineFor(smallGrammar)
	const n = 3 * proto.Rate
	random := rand.New(rand.NewPCG(1, 2))
	sounds := map[string]func(i int) float64{
		"nothing":     func(int) float64 { return 0 },
		"hiss":        func(int) float64 { return 0.003 * random.NormFloat64() },
		"loud noise":  func(int) float64 { return 0.2 * random.NormFloat64() },
		"hum":         func(i int) float64 { return 0.2 * tone(50, i) },
		"fan":         func(i int) float64 { return 0.05*random.NormFloat64() + 0.1*tone(120, i) },
		"clicks":      func(i int) float64 { return burst(i, 6400, 200) * 0.6 * random.NormFloat64() },
		"knocks":      func(i int) float64 { return burst(i, 8000, 1600) * 0.5 * random.NormFloat64() },
		"beeps":       func(i int) float64 { return burst(i, 8000, 4000) * 0.3 * tone(880, i) },
		"melody":      func(i int) float64 { return 0.3 * tone([]float64{262, 330, 392, 523}[i/4000%4], i) },
		"humming":     func(i int) float64 { return burst(i, 16000, 12000) * (0.2*tone(140, i) + 0.1*tone(280, i)) },
		"gusts":       func(i int) float64 { return math.Abs(tone(1.5, i)) * 0.2 * random.NormFloat64() },
		"one offset":  func(int) float64 { return 0.3 },
		"sawtooth":    func(i int) float64 { return burst(i, 9000, 6000) * 0.3 * (float64(i%100)/50 - 1) },
		"full square": func(i int) float64 { return math.Copysign(1, tone(200, i)) },
	}
	var trials []*trial
	for name, value := range sounds {
		samples := make([]int16, n)
		for i := range samples {
			samples[i] = int16(math.Round(max(-1, min(1, value(i))) * math.MaxInt16))
		}
		trials = append(trials, &trial{voice: "no", text: name, samples: func(*testing.T) []int16 { return samples }})
	}
	attempt(t, e, trials)
	var report []string
	for _, tr := range trials {
		report = append(report, fmt.Sprintf("%s: %s", tr.text, tr.reason))
		if tr.reason == "" {
			t.Errorf("%s heard as %q", tr.text, tr.heard)
		}
	}
	slices.Sort(report)
	t.Log(strings.Join(report, ", "))
}

func tone(freq float64, i int) float64 {
	return math.Sin(2 * math.Pi * freq * float64(i) / proto.Rate)
}

// burst is 1 for the first length of every period samples, else 0.
func burst(i, period, length int) float64 {
	if i%period < length {
		return 1
	}
	return 0
}

var noiseMu sync.Mutex

// noisy adds white noise so many dB below the level of the samples.
func noisy(samples []int16, below float64) []int16 {
	noiseMu.Lock()
	defer noiseMu.Unlock()
	random := rand.New(rand.NewPCG(3, uint64(len(samples))))
	level := audio.RMS(samples) * audio.FullScale * math.Pow(10, -below/20)
	out := soundtest.Pad(samples, 300*time.Millisecond, 300*time.Millisecond)
	for i, s := range out {
		out[i] = int16(max(math.MinInt16, min(math.MaxInt16, float64(s)+level*random.NormFloat64())))
	}
	return out
}

// scaled changes the level by so many dB, clipping at full scale.
func scaled(samples []int16, by float64) []int16 {
	out := make([]int16, len(samples))
	for i, s := range samples {
		out[i] = int16(max(math.MinInt16, min(math.MaxInt16, float64(s)*math.Pow(10, by/20))))
	}
	return out
}
