// SPDX-License-Identifier: Apache-2.0

package kokoro

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/pkg/testkit/onnxtest"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/phoneme"
	"example.org/desktop-assistant/services/ttsd/internal/phoneme/phonemetest"
	"example.org/desktop-assistant/services/ttsd/internal/synth"
	"example.org/desktop-assistant/services/ttsd/internal/synth/kokoro/kokorotest"
	"example.org/desktop-assistant/services/ttsd/internal/synth/kokoro/voice"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// voices have a style each: the first half is all t, the second all m.
func voices(t testing.TB) string {
	return kokorotest.WriteVoices(t, map[string][]byte{
		"if_sara": kokorotest.Voice(0, 0), "af_bella": kokorotest.Voice(0.25, 0), "af_heart": kokorotest.Voice(0, 0.25), "ef_dora": kokorotest.Voice(0, 0),
	})
}

func config(t testing.TB, v kokorotest.Variant) Config {
	return Config{
		Model: v.Write(t), Voices: voices(t), Runtime: onnxtest.Library(t), Threads: 1, Speed: 1, Helper: phonemetest.Helper(t),
		Log: slog.New(slog.DiscardHandler),
		Languages: map[string]Language{
			"it": {"it", voice.Blend{"if_sara": 1}},
			"en": {"en-us", voice.Blend{"if_sara": 1}},
		},
	}
}

func open(t testing.TB, c Config) *Engine {
	t.Helper()
	e, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// say gives all the sound of a sentence in one, and how many parts it came in.
func say(t testing.TB, e *Engine, s synth.Sentence) (all synth.Sound, parts int) {
	t.Helper()
	err := e.Synthesize(t.Context(), s, func(s synth.Sound) {
		if s.Rate != rate {
			t.Errorf("rate %d", s.Rate)
		}
		for _, w := range s.Words {
			all.Words = append(all.Words, synth.Word{At: len(all.Samples) + w.At, Text: w.Text})
		}
		all.Samples = append(all.Samples, s.Samples...)
		parts++
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, parts
}

// tone measures the frequency of a steady part by its zero crossings.
func tone(samples []float32) float64 {
	first, last, n := -1.0, -1.0, 0
	for i := 1; i < len(samples); i++ {
		if a, b := float64(samples[i-1]), float64(samples[i]); a < 0 && b >= 0 {
			at := float64(i-1) + a/(a-b)
			if first < 0 {
				first = at
			} else {
				n++
			}
			last = at
		}
	}
	return float64(n) * rate / (last - first)
}

// ids makes tokens of numbers.
func ids(list ...int64) []phoneme.Token {
	var out []phoneme.Token
	for i, id := range list {
		for r, n := range phoneme.Standard() {
			if n == id {
				out = append(out, phoneme.Token{ID: id, Symbol: phoneme.Symbol{Rune: r, End: i + 1}})
			}
		}
	}
	return out
}

// Through every interface, what goes in is what comes out: the order of the tokens,
// both halves of the style, the speed, and the durations.
func TestVariants(t *testing.T) {
	t.Parallel()
	tokens := ids(43, 56, 43, 62, 16, 68, 4)
	numbers := []int64{0, 43, 56, 43, 62, 16, 68, 4, 0}
	for _, v := range kokorotest.Variants() {
		t.Run(v.Name, func(t *testing.T) {
			v.Frames = 4
			e := open(t, config(t, v))
			for _, c := range []struct {
				speed          float64
				timbre, melody float32
			}{{1, 0, 0}, {2, 0, 0}, {0.5, 0, 0}, {1.5, 0, 0}, {1, 0.2, 0}, {1, 0, 0.2}, {1, -0.1, -0.3}} {
				if v.WholeSpeed && c.speed != math.Trunc(c.speed) {
					continue
				}
				style := slices.Repeat([]float32{c.timbre}, 128)
				style = append(style, slices.Repeat([]float32{c.melody}, 128)...)
				got, err := e.model.run(t.Context(), tokens, style, c.speed)
				if err != nil {
					t.Fatal(err)
				}
				want := v.DurationsOf(numbers, float64(c.melody), c.speed)
				sum := 0
				for i, n := range want {
					part := got.samples[min(len(got.samples), sum*hop):min(len(got.samples), (sum+n)*hop)]
					sum += n
					f := v.Frequency(numbers[i]) * (1 + 0.5*math.Tanh(4*float64(c.timbre)))
					if len(part) != n*hop || f > 0 && math.Abs(tone(part)/f-1) > 0.01 || f == 0 && slices.ContainsFunc(part, func(v float32) bool { return v != 0 }) {
						t.Errorf("%+v: token %d has %d samples of %.1f Hz, want %d of %.1f", c, i, len(part), tone(part), n*hop, f)
					}
				}
				if len(got.samples) != sum*hop {
					t.Errorf("%+v: %d samples, want %d", c, len(got.samples), sum*hop)
				}
				if v.Durations != "" != (got.frames != nil) || got.frames != nil && !slices.Equal(got.frames, want) {
					t.Errorf("%+v: durations %v, want %v", c, got.frames, want)
				}
			}
		})
	}
}

// The style is the mixture of the voices, in the row for the length.
func TestBlendAndRow(t *testing.T) {
	t.Parallel()
	c := config(t, kokorotest.Timed())
	c.Languages["it"] = Language{"it", voice.Blend{"af_bella": 3, "if_sara": 1}}
	e := open(t, c)
	first := func(s synth.Sentence) float64 {
		sound, _ := say(t, e, s)
		return tone(sound.Samples[len(sound.Samples)/4 : len(sound.Samples)/2])
	}
	// "mmmmm" is one tone, but for the voice: m is 55.
	base := first(synth.Sentence{Text: "mm", Language: "en"})
	mixed := first(synth.Sentence{Text: "mm", Voice: "af_bella 0.75, if_sara 0.25", Language: "en"})
	if want := base * (1 + 0.5*math.Tanh(4*0.25*0.75)); math.Abs(mixed/want-1) > 0.02 {
		t.Errorf("the mixture hums at %.1f Hz, want %.1f", mixed, want)
	}
	table, err := e.set.Table(voice.Blend{"af_bella": 1})
	if err != nil {
		t.Fatal(err)
	}
	if table.Row(9)[0] != -0.25 || table.Row(8)[0] != 0.25 { // row 8 is for nine symbols
		t.Error("the row is not the one of the length")
	}
	for n, turned := range map[int]bool{8: false, 9: true, 10: false} {
		tokens := ids(slices.Repeat([]int64{55}, n)...)
		sound, err := e.speak(t.Context(), part{tokens: tokens}, table, true)
		if err != nil {
			t.Fatal(err)
		}
		f := tone(sound.Samples[len(sound.Samples)/3 : len(sound.Samples)/2])
		if up := kokorotest.Timed().Frequency(55); turned != (f < up) {
			t.Errorf("%d symbols hum at %.1f Hz", n, f)
		}
	}
}

func TestSpeaks(t *testing.T) {
	t.Parallel()
	const text = "Ciao, come stai? Molto bene."
	e := open(t, config(t, kokorotest.Timed()))
	sound, parts := say(t, e, synth.Sentence{Text: text, Language: "it"})
	if d := audio.Duration(len(sound.Samples), rate); parts != 1 || d < 1500*time.Millisecond || d > 3*time.Second {
		t.Errorf("%v in %d parts", d, parts)
	}
	if sound.Samples[0] != 0 || sound.Samples[len(sound.Samples)-1] != 0 {
		t.Error("it begins or ends with a step")
	}
	var said []string
	last := synth.Word{}
	for _, w := range sound.Words {
		if w.At < last.At || w.At > len(sound.Samples) || w.Text <= last.Text {
			t.Errorf("%+v follows %+v", w, last)
		}
		said = append(said, text[last.Text:w.Text])
		last = w
	}
	if got := strings.Join(said, "|"); got != "Ciao|,| come| stai|?| Molto| bene|." {
		t.Errorf("the words are %s", got)
	}
	again, _ := say(t, e, synth.Sentence{Text: text, Language: "it"})
	if !slices.Equal(again.Samples, sound.Samples) {
		t.Error("the same sentence sounds different")
	}
	english, _ := say(t, e, synth.Sentence{Text: text, Language: "en"})
	if slices.Equal(english.Samples, sound.Samples) {
		t.Error("italian sounds like english")
	}
	for _, empty := range []string{" ", "...", "\U0001F600", "?"} {
		if sound, parts := say(t, e, synth.Sentence{Text: empty, Language: "it"}); parts > 0 {
			t.Errorf("%q has %d samples", empty, len(sound.Samples))
		}
	}
	d := e.Detail().(Detail)
	if !d.Durations || d.RuntimeVersion != "1.27.0" || d.Provider != "CPU" || d.Threads != 1 || !strings.Contains(d.Phonemes, "helper") || d.Blends["it"] != "if_sara 1" {
		t.Errorf("detail is %+v", d)
	}
	if e.Name() != "kokoro" || !strings.Contains(e.Version(), "onnxruntime 1.27.0") || len(e.Voices()) != 4 || len(e.Warnings()) != 0 {
		t.Errorf("%s %s %v %v", e.Name(), e.Version(), e.Voices(), e.Warnings())
	}
}

const story = "This is a long story, which goes on and on without an end in sight; it has clauses, and commas, and words of every kind. " +
	"Then comes another sentence (with something in brackets), and the rain in the north is heavier than the wind in the south. " +
	"Nobody knows how it ends, so it goes on until somebody says that it is enough, which may take a while: be patient! " +
	"At last there is one more sentence, and another one, and the last of them is as long as the first was, more or less."

func TestLongTextComesInParts(t *testing.T) {
	t.Parallel()
	e := open(t, config(t, kokorotest.Timed()))
	_, whole := say(t, e, synth.Sentence{Text: story, Language: "en"})
	var lengths []int
	err := e.Synthesize(t.Context(), synth.Sentence{Text: story, Language: "en", Soon: true}, func(s synth.Sound) { lengths = append(lengths, len(s.Samples)) })
	if err != nil {
		t.Fatal(err)
	}
	if whole != 3 || len(lengths) != 3 || lengths[0] > 4*rate {
		t.Errorf("%d parts, and soon %v samples", whole, lengths)
	}
	endless, parts := say(t, e, synth.Sentence{Text: strings.Repeat("parola", 800), Language: "it"}) // one word of thousands of letters
	if parts < 2 || len(endless.Samples) == 0 {
		t.Errorf("an endless word comes in %d parts", parts)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	e := open(t, config(t, kokorotest.Timed()))
	ctx, cancel := context.WithCancel(t.Context())
	count := 0
	err := e.Synthesize(ctx, synth.Sentence{Text: story, Language: "en"}, func(synth.Sound) { count++; cancel() })
	if !errors.Is(err, context.Canceled) || count != 1 {
		t.Errorf("error is %v after %d parts", err, count)
	}
	if err := e.Synthesize(ctx, synth.Sentence{Text: story, Language: "en"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	say(t, e, synth.Sentence{Text: "again", Language: "en"})
}

func code(t *testing.T, err error, want proto.Code, words ...string) {
	t.Helper()
	var e *proto.Error
	if !errors.As(err, &e) || e.Code != want || e.Hint == "" {
		t.Errorf("error is %#v, want %s with a hint", err, want)
		return
	}
	for _, w := range words {
		if !strings.Contains(e.Text, w) {
			t.Errorf("error is %q, want it to say %q", e.Text, w)
		}
	}
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	c := config(t, kokorotest.Timed())
	c.Languages["ja"] = Language{"ja", voice.Blend{"if_sara": 1}}
	c.Languages["de"] = Language{"de", voice.Blend{"if_sara": 1}}
	c.Languages["es"] = Language{"es", voice.Blend{"ef_dorra": 1}}
	e := open(t, c)
	var told []string
	for _, w := range e.Warnings() {
		told = append(told, w.Text)
		if w.Hint == "" {
			t.Errorf("%v has no hint", w)
		}
	}
	if all := strings.Join(told, "\n"); len(told) != 3 || !strings.Contains(all, `voice.ja: language "ja"`) || !strings.Contains(all, `voice.de: language "de"`) || !strings.Contains(all, `voice.es: there is no voice "ef_dorra"`) || !strings.Contains(all, "known are af_bella, af_heart, ef_dora, if_sara") {
		t.Errorf("warnings are %s", all)
	}
	for _, language := range []string{"ja", "de", "es", "fr", "xx"} {
		if err := e.Synthesize(t.Context(), synth.Sentence{Text: "x", Language: language}, nil); !errors.Is(err, &proto.Error{Code: proto.CodeInvalid}) {
			t.Errorf("%s: error is %v", language, err)
		}
	}
	for _, s := range []synth.Sentence{
		{Language: "IT"}, {Language: "en-us"}, {Language: "en-gb"}, {Voice: "ef_dora"}, {Language: "es", Voice: "ef_dora 1"}, {Language: "fr", Voice: "af_heart"},
	} {
		s.Text = "Hola amigos"
		if sound, _ := say(t, e, s); len(sound.Samples) == 0 {
			t.Errorf("%+v is silent", s)
		}
	}
	for _, v := range []string{"nobody", "a b c", "jf_alpha"} {
		if err := e.Synthesize(t.Context(), synth.Sentence{Text: "x", Voice: v}, nil); !errors.Is(err, &proto.Error{Code: proto.CodeInvalid}) {
			t.Errorf("voice %q: error is %v", v, err)
		}
	}
	c.Languages = map[string]Language{"ja": c.Languages["ja"]}
	_, err := Open(t.Context(), c)
	code(t, err, proto.CodeInvalid, `voice.ja`)
}

// Every file that is wrong is named, with what was expected.
func TestWrongFiles(t *testing.T) {
	t.Parallel()
	good := config(t, kokorotest.Timed())
	whole, err := os.ReadFile(good.Model)
	if err != nil {
		t.Fatal(err)
	}
	file := func(b []byte) string {
		path := filepath.Join(t.TempDir(), "kokoro-v1.0.onnx")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	variant := func(change func(*kokorotest.Variant)) string {
		v := kokorotest.Timed()
		change(&v)
		return v.Write(t)
	}
	for name, c := range map[string]struct {
		change func(*Config)
		words  string
	}{
		"no model":        {func(c *Config) { c.Model = "/none/kokoro.onnx" }, "/none/kokoro.onnx: there is no such file"},
		"cut model":       {func(c *Config) { c.Model = file(whole[:len(whole)/2]) }, "it was cut off"},
		"no model at all": {func(c *Config) { c.Model = file([]byte("<html>Not found</html>")) }, "not an ONNX model"},
		"other names":     {func(c *Config) { c.Model = variant(func(v *kokorotest.Variant) { v.Tokens = "words" }) }, "its inputs are words, style, speed, and none is tokens or input_ids"},
		"other style":     {func(c *Config) { c.Model = variant(func(v *kokorotest.Variant) { v.Style = "x" }) }, "none is style or ref_s"},
		"bad vocabulary": {func(c *Config) {
			c.Model = variant(func(v *kokorotest.Variant) { v.Metadata = map[string]string{configKey: "{"} })
		}, "read vocabulary"},
		"another rate": {func(c *Config) {
			c.Model = variant(func(v *kokorotest.Variant) { v.Metadata = map[string]string{"sample_rate": "22050"} })
		}, "22050 samples a second"},
		"damaged graph":   {func(c *Config) { c.Model = file(bytes.ReplaceAll(whole, []byte("CumSum"), []byte("CumSux"))) }, "onnxruntime 1.27.0 does not take it"},
		"no voices":       {func(c *Config) { c.Voices = "/none/voices.bin" }, "/none/voices.bin: there is no such file"},
		"cut voices":      {func(c *Config) { c.Voices = file([]byte("PK\x03\x04 and no more")) }, "are no whole archive"},
		"no such library": {func(c *Config) { c.Runtime = "/none/libonnxruntime.so" }, `there is no file "/none/libonnxruntime.so"`},
		"library is text": {func(c *Config) { c.Runtime = file([]byte("text")) }, "is no library"},
		"another library": {func(c *Config) { c.Runtime = file([]byte("\x7fELF and no more")) }, "is no library"},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := good
			c.change(&wrong)
			e, err := Open(t.Context(), wrong)
			if err == nil {
				e.Close()
			}
			code(t, err, proto.CodeUnavailable, c.words)
		})
	}
}

func TestModelGoesWhileItSpeaks(t *testing.T) {
	t.Parallel()
	c := config(t, kokorotest.Timed())
	e := open(t, c)
	before, _ := say(t, e, synth.Sentence{Text: "Ciao.", Language: "it"})
	for _, path := range []string{c.Model, c.Voices} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	if after, _ := say(t, e, synth.Sentence{Text: "Ciao.", Language: "it"}); !slices.Equal(before.Samples, after.Samples) {
		t.Error("it sounds different without its files")
	}
}

// What a model makes of a text and cannot be speech is not played.
func TestNoSpeech(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*kokorotest.Variant){
		"no numbers": func(v *kokorotest.Variant) { v.NotANumber = true },
		"too long":   func(v *kokorotest.Variant) { v.Frames = 40 },
	} {
		v := kokorotest.Timed()
		change(&v)
		var log bytes.Buffer
		c := config(t, v)
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		e := open(t, c)
		err := e.Synthesize(t.Context(), synth.Sentence{Text: "This is said too slowly by far, whatever is done about it.", Language: "en"}, func(synth.Sound) { t.Errorf("%s: it is played", name) })
		code(t, err, proto.CodeFailed, "the model gives no speech")
		if strings.Count(log.String(), "tried once more") != 1 {
			t.Errorf("%s: the log is %s", name, log.String())
		}
	}
}

func TestLoudModelIsClipped(t *testing.T) {
	t.Parallel()
	v := kokorotest.Timed()
	v.Level = 1.7
	sound, _ := say(t, open(t, config(t, v)), synth.Sentence{Text: "Ciao.", Language: "it"})
	if top := slices.Max(sound.Samples); top != 1 || slices.Min(sound.Samples) != -1 {
		t.Errorf("peak %v", top)
	}
}

// A voice that is asked to speak at 1.3 by a model that cannot says so.
func TestWholeSpeedIsTold(t *testing.T) {
	t.Parallel()
	c := config(t, kokorotest.Variants()[4])
	c.Speed = 1.3
	e := open(t, c)
	if w := e.Warnings(); len(w) != 1 || !strings.Contains(w[0].Text, "1.3 is not obeyed") || w[0].Hint == "" {
		t.Errorf("warnings are %v", w)
	}
	say(t, e, synth.Sentence{Text: "Ciao.", Language: "it"})
}
