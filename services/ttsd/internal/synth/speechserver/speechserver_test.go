// SPDX-License-Identifier: Apache-2.0

package speechserver

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
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

// A handler answers one question for speech.
type handler func(w http.ResponseWriter, q request)

// serve runs a server and finds it; what is not /audio/speech is answered with list.
func serve(t *testing.T, list string, speak handler, change func(*Config)) *Engine {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.Path {
		case "GET /v1/audio/voices":
			if list == "" {
				http.NotFound(w, r)
				return
			}
			_, _ = io.WriteString(w, list)
		case "POST /v1/audio/speech":
			var q request
			if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("question: %v", err)
			}
			speak(w, q)
		default:
			t.Errorf("asked for %s %s", r.Method, r.URL.Path)
		}
	}))
	t.Cleanup(s.Close)
	c := Config{URL: s.URL + "/v1/", Speed: 1, Blends: map[string]string{"it": "if_sara(0.8)+af_bella(0.2)"}, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&c)
	}
	e, err := Find(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func say(t *testing.T, e *Engine, s synth.Sentence) (rate int, samples []float32, err error) {
	t.Helper()
	err = e.Synthesize(t.Context(), s, func(s synth.Sound) {
		rate = s.Rate
		samples = append(samples, s.Samples...)
	})
	return rate, samples, err
}

// pcm is a few samples as they are sent, and as they arrive.
var (
	pcm    = audio.EncodePCM([]int16{0, 16384, -32768, 8192})
	floats = []float32{0, 0.5, -1, 0.25}
)

func TestRawSound(t *testing.T) {
	t.Parallel()
	var asked request
	e := serve(t, `{"voices": ["if_sara", "af_bella", {"id": "af_heart", "name": "Heart"}, 7]}`, func(w http.ResponseWriter, q request) {
		asked = q
		w.Header().Set("Content-Type", "audio/pcm;rate=22050")
		for _, b := range pcm { // a byte at a time
			_, _ = w.Write([]byte{b})
			w.(http.Flusher).Flush()
		}
	}, func(c *Config) { c.Model, c.Speed = "kokoro", 1.5 })
	rate, got, err := say(t, e, synth.Sentence{Text: "Ciao.", Language: "it"})
	if err != nil || rate != 22050 || !slices.Equal(got, floats) {
		t.Errorf("%v at %d, %v", got, rate, err)
	}
	if want := (request{"kokoro", "Ciao.", "if_sara(0.8)+af_bella(0.2)", "pcm", 1.5, true}); asked != want {
		t.Errorf("asked for %+v, want %+v", asked, want)
	}
	if e.Name() != "http" || !strings.HasPrefix(e.Version(), "http://127.0.0.1:") || !slices.Equal(e.Voices(), []string{"af_bella", "af_heart", "if_sara"}) {
		t.Errorf("%s %s %v", e.Name(), e.Version(), e.Voices())
	}
	if d := e.Detail().(Detail); d.Blends["it"] == "" || d.URL != e.Version() {
		t.Errorf("detail %+v", d)
	}
}

func TestVoiceOfASentence(t *testing.T) {
	t.Parallel()
	var asked request
	speak := func(w http.ResponseWriter, q request) { asked = q; _, _ = w.Write(pcm) }
	for _, c := range []struct {
		configured string
		sentence   synth.Sentence
		want       string
	}{
		{"", synth.Sentence{Language: "it-IT"}, "if_sara(0.8)+af_bella(0.2)"},
		{"", synth.Sentence{Language: "de"}, ""},
		{"alloy", synth.Sentence{Language: "it"}, "alloy"},
		{"alloy", synth.Sentence{Language: "it", Voice: "nova"}, "nova"},
	} {
		e := serve(t, "", speak, func(cfg *Config) { cfg.Voice = c.configured })
		if _, _, err := say(t, e, c.sentence); err != nil || asked.Voice != c.want {
			t.Errorf("%+v: voice %q, %v, want %q", c, asked.Voice, err, c.want)
		}
	}
}

// wave is a WAV file as a program writes it to a pipe, with something behind.
func wave(size uint32, format string, rest ...string) []byte {
	b := []byte("RIFF\xff\xff\xff\xffWAVELIST\x03\x00\x00\x00abc\x00fmt ")
	b = binary.LittleEndian.AppendUint32(b, uint32(len(format)))
	b = append(b, format...)
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, size)
	return append(b, strings.Join(rest, "")...)
}

func waveFormat(encoding, channels uint16, rate uint32, bits uint16) string {
	var b []byte
	b = binary.LittleEndian.AppendUint16(b, encoding)
	b = binary.LittleEndian.AppendUint16(b, channels)
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint16(b, 0)
	return string(binary.LittleEndian.AppendUint16(b, bits))
}

func TestSound(t *testing.T) {
	t.Parallel()
	mono := waveFormat(integerPCM, 1, 24000, 16)
	var asFloats string
	for _, v := range []float32{0, 0.5, -3, float32(math.NaN())} {
		asFloats += string(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
	}
	stereo := string(audio.EncodePCM([]int16{0, 0, 16384, 16384, -32768, -32768, 0, 16384}))
	for name, c := range map[string]struct {
		body  []byte
		kind  string
		rate  int
		want  []float32
		words string
	}{
		"raw":                {pcm, "", 24000, floats, ""},
		"raw with odd type":  {pcm, "audio/L16; rate=0; ;", 24000, floats, ""},
		"half a sample":      {pcm[:7], "audio/pcm", 24000, floats[:3], ""},
		"nothing":            {nil, "audio/pcm", 0, nil, ""},
		"wav":                {wave(8, mono, string(pcm)), "audio/wav", 24000, floats, ""},
		"wav with a tail":    {wave(8, mono, string(pcm), "LIST\x10\x00\x00\x00loud and not sound"), "audio/wav", 24000, floats, ""},
		"wav of a pipe":      {wave(0xFFFFFFFF, mono, string(pcm)), "audio/wav", 24000, floats, ""},
		"wav without length": {wave(0, mono, string(pcm)), "", 24000, floats, ""},
		"wav in stereo":      {wave(16, waveFormat(integerPCM, 2, 44100, 16), stereo), "", 44100, floats, ""},
		"wav of floats":      {wave(16, waveFormat(floatPCM, 1, 24000, 32), asFloats), "", 24000, []float32{0, 0.5, -1, 0}, ""},
		"wav of 8 bits":      {wave(8, waveFormat(integerPCM, 1, 24000, 8), string(pcm)), "", 0, nil, "with 8 bits"},
		"wav without rate":   {wave(8, waveFormat(integerPCM, 1, 0, 16), string(pcm)), "", 0, nil, "rate 0"},
		"wav cut off":        {wave(8, mono)[:20], "", 0, nil, "read its WAV header"},
		"mp3":                {append([]byte("ID3"), pcm...), "audio/mpeg", 0, nil, "packed sound"},
		"mp3 frames":         {append([]byte{0xff, 0xfb}, pcm...), "audio/mpeg", 0, nil, "packed sound"},
		"json":               {[]byte(`{"error": {"message": "no such voice"}}`), "application/json", 0, nil, "no such voice"},
		"json as sound":      {[]byte(`{"error": {"message": "no such voice"}}`), "audio/pcm", 0, nil, "no such voice"},
		"a page as sound":    {[]byte("<!DOCTYPE html><html>hello there</html>"), "audio/pcm", 0, nil, "it sends no sound"},
		"a page":             {[]byte("<html>hello there</html>"), "text/html; charset=utf-8", 0, nil, "it sends no sound"},
	} {
		e := serve(t, "", func(w http.ResponseWriter, _ request) {
			w.Header().Set("Content-Type", c.kind)
			_, _ = w.Write(c.body)
		}, nil)
		rate, got, err := say(t, e, synth.Sentence{Text: "x"})
		if rate != c.rate || !slices.Equal(got, c.want) || (err != nil) != (c.words != "") || err != nil && (!strings.Contains(err.Error(), c.words) || !errors.Is(err, &proto.Error{Code: proto.CodeFailed})) {
			t.Errorf("%s: %v at %d, %v; want %v at %d, %q", name, got, rate, err, c.want, c.rate, c.words)
		}
	}
}

// A server that has no raw sound is asked for WAV, once and for all.
func TestServerWithoutRawSound(t *testing.T) {
	t.Parallel()
	var formats []string
	e := serve(t, "", func(w http.ResponseWriter, q request) {
		formats = append(formats, q.Format)
		if q.Format == "pcm" {
			http.Error(w, `{"detail": "pcm is not supported"}`, http.StatusUnprocessableEntity)
			return
		}
		_, _ = w.Write(audio.EncodeWAV([]int16{0, 16384}, 16000))
	}, nil)
	for range 2 {
		if rate, got, err := say(t, e, synth.Sentence{Text: "x"}); err != nil || rate != 16000 || len(got) != 2 {
			t.Errorf("%v at %d, %v", got, rate, err)
		}
	}
	if !slices.Equal(formats, []string{"pcm", "wav", "wav"}) {
		t.Errorf("asked for %v", formats)
	}
}

func TestServerRefuses(t *testing.T) {
	t.Parallel()
	for body, words := range map[string]string{
		`{"error": {"message": "voice not found", "type": "x"}}`: "status 500: voice not found",
		`{"detail": {"message": "no model"}}`:                    "status 500: no model",
		`{"error": "plain"}`:                                     "status 500: plain",
		"first line\nsecond":                                     "status 500: first line",
		"":                                                       "status 500",
		"\x1b[31m\xff":                                           "status 500",
	} {
		e := serve(t, "", func(w http.ResponseWriter, _ request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, body)
		}, nil)
		_, _, err := say(t, e, synth.Sentence{Text: "x"})
		if !errors.Is(err, &proto.Error{Code: proto.CodeFailed}) || !strings.Contains(err.Error(), words) || proto.HintOf(err) == "" || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q gives %v", body, err)
		}
	}
	e := serve(t, "", func(w http.ResponseWriter, _ request) {
		w.Header().Set("Location", "http://example.org/")
		w.WriteHeader(http.StatusTemporaryRedirect)
	}, nil)
	if _, _, err := say(t, e, synth.Sentence{Text: "x"}); err == nil || !strings.Contains(err.Error(), "status 307") {
		t.Errorf("a redirect gives %v", err)
	}
}

func TestServerBreaksOff(t *testing.T) {
	t.Parallel()
	e := serve(t, "", func(w http.ResponseWriter, _ request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write(pcm)
	}, nil)
	if _, got, err := say(t, e, synth.Sentence{Text: "x"}); !errors.Is(err, &proto.Error{Code: proto.CodeFailed}) || !slices.Equal(got, floats) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	e := serve(t, "", func(w http.ResponseWriter, _ request) {
		defer close(ended)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if _, err := w.Write(pcm); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	err := e.Synthesize(ctx, synth.Sentence{Text: "x"}, func(synth.Sound) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	<-ended
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	url := s.URL
	c := Config{URL: strings.Replace(url, "http://", "http://user:secret@", 1), Log: slog.New(slog.DiscardHandler)}
	e, err := Find(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s.Close()
	for _, err := range []error{func() error { _, err := Find(t.Context(), c); return err }(), func() error { _, _, err := say(t, e, synth.Sentence{Text: "x"}); return err }()} {
		if !errors.Is(err, &proto.Error{Code: proto.CodeUnavailable}) || strings.Contains(fmt.Sprint(err, proto.HintOf(err)), "secret") || proto.HintOf(err) == "" {
			t.Errorf("error is %v", err)
		}
	}
	if strings.Contains(e.Version(), "secret") {
		t.Errorf("version %s", e.Version())
	}
}

func FuzzDecodeStream(f *testing.F) {
	f.Add(wave(8, waveFormat(integerPCM, 1, 24000, 16), string(pcm)), "audio/wav")
	f.Add(pcm, "audio/pcm;rate=8000")
	f.Fuzz(func(t *testing.T, b []byte, kind string) {
		n := 0
		_ = decodeStream(bytes.NewReader(b), kind, func(s synth.Sound) {
			if s.Rate < 4000 || len(s.Samples) == 0 {
				t.Errorf("%d samples at %d", len(s.Samples), s.Rate)
			}
			for _, v := range s.Samples {
				if !(v >= -1 && v <= 1) {
					t.Errorf("a sample of %v", v)
				}
			}
			n += len(s.Samples)
		})
		if n > len(b) {
			t.Errorf("%d samples of %d bytes", n, len(b))
		}
	})
}
