// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/testkit/onnxtest"
	"example.org/desktop-assistant/pkg/testkit/sockettest"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/sink/sinktest"
	"example.org/desktop-assistant/services/ttsd/internal/synth/kokoro"
	"example.org/desktop-assistant/services/ttsd/internal/synth/kokoro/kokorotest"
)

// engines starts ttsd with its own engines and a loudspeaker of the test.
func engines(t *testing.T, change func(*config.Config)) (*desk, *sinktest.Speaker) {
	t.Helper()
	s := sinktest.New()
	d := start(t, func(env *daemon.Env) { change(&env.Config) }, func(a *App) {
		a.Sound = s
		a.soundChanged(nil, nil)
	})
	return d, s
}

// humming configures a model of the test and voices for it.
func humming(t *testing.T, c *config.Config) {
	c.Kokoro = config.Kokoro{
		Model: kokorotest.Timed().Write(t), Runtime: onnxtest.Library(t), Threads: 1,
		Voices: kokorotest.WriteVoices(t, map[string][]byte{"if_sara": kokorotest.Voice(0, 0), "af_bella": kokorotest.Voice(0.1, 0), "af_heart": kokorotest.Voice(0, 0)}),
	}
}

func (d *desk) detail() Detail { return d.app.Detail().(Detail) }

func TestKokoroSpeaks(t *testing.T) {
	t.Parallel()
	d, s := engines(t, func(c *config.Config) { humming(t, c) })
	until(t, func() bool { return d.detail().Engine == "kokoro" })
	made, ok := d.detail().Made.(kokoro.Detail)
	if !ok || made.RuntimeVersion != "1.27.0" || made.Provider != "CPU" || made.Blends["it"] != "af_bella 0.2, if_sara 0.8" || d.detail().Backup != "espeak" {
		t.Errorf("status is %+v", d.detail())
	}
	d.say("t1", 0, "One two three.")
	d.end("t1", 1)
	f := expect[proto.SpeechFinished](d, nil)
	if f.Heard != "One two three." || f.PlayedMS < 500 || len(s.Heard()) == 0 {
		t.Errorf("finished is %+v", f)
	}
	voices, err := bus.Request(t.Context(), d.user, proto.SpeechVoices{})
	must(t, err)
	if voices.Engine != "kokoro" || !slices.Equal(voices.Voices, []string{"af_bella", "af_heart", "if_sara"}) || voices.Blends["en"] != "af_heart 1" {
		t.Errorf("voices are %+v", voices)
	}
	must(t, d.trySay(proto.SpeechSay{Turn: "t2", Text: "x", Spoken: "x", Voice: "if_sara, af_heart"}))
	d.finished("t2", 0)
	must(t, d.trySay(proto.SpeechSay{Turn: "t3", Text: "x", Spoken: "x", Voice: "nobody"}))
	if st := expect(d, func(s proto.SpeechStopped) bool { return s.Turn == "t3" }); st.Error == nil || !strings.Contains(st.Error.Text, `no voice "nobody"`) || st.Error.Hint == "" {
		t.Errorf("stopped is %+v", st.Error)
	}
	if list := d.env.Problems.List(); len(list) > 0 {
		t.Errorf("problems are %v", list)
	}
}

// What the assistant says of itself is made once, also by another ttsd.
func TestOwnPhrasesAreKept(t *testing.T) {
	var cfg config.Config
	humming(t, &cfg) // it has its library from the cache of the user
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	kept := func() int {
		list, err := filepath.Glob(filepath.Join(dir, "desktop-assistant/speech/*.phrase"))
		must(t, err)
		return len(list)
	}
	for round := range 2 {
		d, _ := engines(t, func(c *config.Config) { c.Kokoro = cfg.Kokoro })
		until(t, func() bool { return d.detail().Engine == "kokoro" })
		must(t, d.trySay(proto.SpeechSay{Turn: "t1", Text: "One moment.", Spoken: "One moment.", Language: "en", Fixed: true}))
		must(t, d.trySay(proto.SpeechSay{Turn: "t1", Index: 1, Text: "An answer.", Spoken: "An answer.", Language: "en"}))
		d.finished("t1", 1)
		if n := kept(); n != 1 {
			t.Errorf("round %d: %d phrases are kept, want 1", round, n)
		}
		d.stop()
	}
}

// What cannot be spoken with Kokoro is spoken, and the status says why.
func TestKokoroCannot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(t *testing.T, c *config.Config)
		words  string
	}{
		"model cut off": {func(t *testing.T, c *config.Config) {
			b, err := os.ReadFile(c.Kokoro.Model)
			must(t, err)
			must(t, os.WriteFile(c.Kokoro.Model, b[:len(b)/2], 0o600))
		}, "it was cut off"},
		"no model": {func(_ *testing.T, c *config.Config) { c.TTS.Engine, c.Kokoro.Model = config.EngineKokoro, "" }, "kokoro-v1.0.onnx"},
		"voice": {func(_ *testing.T, c *config.Config) {
			c.Voice["en"] = config.Voice{Lang: "en-us", Blend: map[string]float64{"af_hart": 1}}
		}, `voice.en: there is no voice "af_hart"`},
		"library": {func(t *testing.T, c *config.Config) { c.Kokoro.Runtime = filepath.Join(t.TempDir(), "none.so") }, "none.so"},
		"server": {func(_ *testing.T, c *config.Config) {
			c.TTS.Engine, c.TTS.HTTP.URL = config.EngineHTTP, "http://127.0.0.1:1/v1"
		}, "http://127.0.0.1:1/v1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _ := engines(t, func(cfg *config.Config) {
				humming(t, cfg)
				c.change(t, cfg)
			})
			list := d.problem(func(l []proto.Problem) bool { return len(l) > 0 })
			if !strings.Contains(list[0].What, c.words) || list[0].Hint == "" {
				t.Errorf("problems are %+v", list)
			}
			d.say("t1", 0, "One two three.")
			d.finished("t1", 0)
		})
	}
}

// A machine without the model is as it should be.
func TestAutoWithoutModel(t *testing.T) {
	t.Parallel()
	d, _ := engines(t, func(*config.Config) {})
	until(t, func() bool { return d.detail().Engine == "espeak" })
	if list := d.env.Problems.List(); len(list) > 0 {
		t.Errorf("problems are %v", list)
	}
}

// A server that goes and comes: there are words all the time.
func TestSpeechServerGoesAndComes(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			http.Error(w, "loading", http.StatusServiceUnavailable)
			return
		}
		if r.Method == http.MethodPost {
			_, _ = w.Write(bytes.Repeat([]byte{0, 32}, 24000)) // a second
		}
	}))
	t.Cleanup(server.Close)
	d, _ := engines(t, func(c *config.Config) { c.TTS.Engine, c.TTS.HTTP.URL = config.EngineHTTP, server.URL+"/v1" })
	until(t, func() bool { return d.detail().Engine == "http" })
	d.say("t1", 0, "One two three.")
	if f := expect(d, func(f proto.SpeechFinished) bool { return f.Turn == "t1" }); f.PlayedMS != 1000 {
		t.Errorf("finished is %+v", f)
	}
	away.Store(true)
	d.say("t2", 0, "One two three.")
	list := d.problem(func(l []proto.Problem) bool { return len(l) > 0 })
	if !strings.Contains(list[0].What, "status 503: loading") {
		t.Errorf("problems are %+v", list)
	}
	d.finished("t2", 0)
	away.Store(false)
	d.say("t3", 0, "One two three.")
	d.problem(func(l []proto.Problem) bool { return len(l) == 0 })
	d.finished("t3", 0)
}

// ttsd with the library open and speaking opens no internet socket.
func TestKokoroReportsNothing(t *testing.T) {
	sockettest.Without(t, func(t *testing.T) {
		d, _ := engines(t, func(c *config.Config) { humming(t, c) })
		until(t, func() bool { return d.detail().Engine == "kokoro" })
		d.say("t1", 0, "One two three.")
		d.finished("t1", 0)
	})
}
