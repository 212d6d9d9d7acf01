// SPDX-License-Identifier: Apache-2.0

package espeak

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/synth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var configured = map[string]string{"en": "en-us", "it": "it"}

func find(t *testing.T, speed float64) *Engine {
	t.Helper()
	e, err := Find(t.Context(), speed, configured)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func speak(t *testing.T, e *Engine, text, language string) (rate int, samples []float32) {
	t.Helper()
	err := e.Synthesize(t.Context(), synth.Sentence{Text: text, Language: language}, func(s synth.Sound) {
		if rate != 0 && s.Rate != rate {
			t.Errorf("the rate changed from %d to %d", rate, s.Rate)
		}
		rate = s.Rate
		samples = append(samples, s.Samples...)
	})
	if err != nil {
		t.Fatal(err)
	}
	return rate, samples
}

func TestSpeaksInTheLanguageAskedFor(t *testing.T) {
	t.Parallel()
	e := find(t, 1)
	rate, english := speak(t, e, "It is ten past four.", "en")
	if d := audio.Duration(len(english), rate); rate != 22050 || d < 800*time.Millisecond || d > 2*time.Second {
		t.Errorf("%v at %d Hz", d, rate)
	}
	_, again := speak(t, e, "It is ten past four.", "en")
	if !slices.Equal(english, again) {
		t.Error("the same sentence sounds different")
	}
	_, italian := speak(t, e, "It is ten past four.", "it")
	if slices.Equal(english, italian) {
		t.Error("italian sounds like english")
	}
	if e.Version() == "" || e.Version() == "unknown" || !slices.Contains(e.Voices(), "en-us") || !slices.Contains(e.Voices(), "it") {
		t.Errorf("version %q, voices %v", e.Version(), e.Voices())
	}
}

func TestSpeed(t *testing.T) {
	t.Parallel()
	text := "This sentence is said at two speeds."
	_, slow := speak(t, find(t, 0.5), text, "en")
	_, fast := speak(t, find(t, 2), text, "en")
	if ratio := float64(len(slow)) / float64(len(fast)); ratio < 2.5 {
		t.Errorf("half speed lasts %.1f times as long as double speed, want over 2.5", ratio)
	}
}

func TestVoiceOfALanguage(t *testing.T) {
	t.Parallel()
	e := &Engine{named: map[string]string{"en": "en-gb", "xx": "none"}, voices: []string{"de", "en-gb", "en-us", "fr-fr", "pt-br"}}
	for language, want := range map[string]string{
		"en": "en-gb", "EN-US": "en-us", "en-au": "en-gb", "de": "de", "de-at": "de", "fr": "fr-fr", "pt": "pt-br",
		"xx": fallbackVoice, "": fallbackVoice, "../x": fallbackVoice, "-v": fallbackVoice,
	} {
		if got := e.voice(language); got != want {
			t.Errorf("voice of %q is %q, want %q", language, got, want)
		}
	}
}

// Nothing in a text is a command to the program, and a text without sound is no
// failure.
func TestOddTexts(t *testing.T) {
	t.Parallel()
	e := find(t, 1)
	for _, text := range []string{"", " . ", "-h", "--version", "[[", "\x00\x01\xff", "<speak>&amp;</speak>", "\U0001F600", strings.Repeat("a ", 400)} {
		speak(t, e, text, "en")
	}
	_, plain := speak(t, e, "[ [ [hEl'oU]]", "en")
	for _, brackets := range []string{"[[", "[[[", "[[[["} {
		_, phonemes := speak(t, e, brackets+"hEl'oU]]", "en")
		if len(phonemes) < len(plain)/2 { // the letters one by one last longer than the word
			t.Errorf("%q in a text was taken as phonemes", brackets)
		}
	}
	_, help := speak(t, e, "--version", "en")
	if len(help) == 0 {
		t.Error("a text like a flag was not spoken")
	}
}

func TestCancelEndsTheProgram(t *testing.T) {
	t.Parallel()
	e := find(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := e.Synthesize(ctx, synth.Sentence{Text: strings.Repeat("a long story without an end ", 3000), Language: "en"}, func(synth.Sound) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want the context's", err)
	}
}

func TestMissingProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Find(t.Context(), 1, configured)
	var e *proto.Error
	if !errors.As(err, &e) || e.Code != proto.CodeUnavailable || e.Hint != "apt install espeak-ng" {
		t.Errorf("error is %#v, want unavailable with what to install", err)
	}
}

// fake makes a program of that name out of a shell script.
func fake(t *testing.T, script string) *Engine {
	t.Helper()
	path := filepath.Join(t.TempDir(), program)
	// Another test may start a process while this one has the file open for writing,
	// which then cannot be run: so a shell writes it.
	write := exec.CommandContext(t.Context(), "/bin/sh", "-c", `cat >"$0" && chmod 700 "$0"`, path)
	write.Stdin = strings.NewReader("#!/bin/sh\n" + script)
	if err := write.Run(); err != nil {
		t.Fatal(err)
	}
	return &Engine{path: path, voices: []string{"en-us"}, speed: normalSpeed}
}

func TestProgramThatFails(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"echo 'no data here' >&2; echo more >&2; exit 1": "no data here",
		"exit 3": "exit status 3",
		"echo this is certainly not a sound but text of some length": "its output is no sound",
		"printf RIFF": "read its sound: unexpected EOF",
	} {
		err := fake(t, script).Synthesize(t.Context(), synth.Sentence{Text: "hello"}, func(synth.Sound) {})
		var e *proto.Error
		if !errors.As(err, &e) || e.Code != proto.CodeFailed || e.Text != want || e.Hint == "" {
			t.Errorf("%q: error is %#v, want failed: %s", script, err, want)
		}
	}
	e := fake(t, "exit 0")
	if err := os.Remove(e.path); err != nil {
		t.Fatal(err)
	}
	err := e.Synthesize(t.Context(), synth.Sentence{Text: "hello"}, func(synth.Sound) {})
	if !errors.Is(err, &proto.Error{Code: proto.CodeUnavailable}) {
		t.Errorf("a program that is gone gives %v, want unavailable", err)
	}
}

func TestReadOfCutSound(t *testing.T) {
	t.Parallel()
	sound := audio.EncodeWAV([]int16{1, -1, 32767, -32768}, 22050)
	var got []float32
	if err := read(bytes.NewReader(sound[:len(sound)-1]), func(s synth.Sound) { got = append(got, s.Samples...) }); err != nil {
		t.Fatal(err)
	}
	if want := []float32{1. / 32768, -1. / 32768, 32767. / 32768}; !slices.Equal(got, want) {
		t.Errorf("samples are %v, want the three whole ones %v", got, want)
	}
}
