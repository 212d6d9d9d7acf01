// SPDX-License-Identifier: Apache-2.0

package whisper

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/pkg/testkit/waittest"
	"example.org/desktop-assistant/pkg/testkit/whispertest"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/sttd/internal/recognize"
)

// bursts sounds like speech to the gate: 200 ms on, 100 ms off.
func bursts(d time.Duration) []int16 {
	samples := make([]int16, audio.Samples(d, proto.Rate))
	for i := range samples {
		if i%4800 < 3200 {
			samples[i] = int16(9000 * math.Sin(2*math.Pi*300*float64(i)/proto.Rate))
		}
	}
	return samples
}

func utterance(d time.Duration, languages ...string) recognize.Utterance {
	return recognize.Utterance{PCM: bursts(d), Rate: proto.Rate, Languages: languages}
}

func reasonOf(err error) recognize.Reason {
	var r *recognize.Rejection
	if errors.As(err, &r) {
		return r.Reason
	}
	return ""
}

func codeOfError(err error) proto.Code {
	var e *proto.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestTranscribes(t *testing.T) {
	server := whispertest.New(t, nil)
	server.Push(whispertest.Answer{Segments: []string{" What is international", "ization,", " really?"}, Language: "en", LogProb: -0.5})
	u := utterance(3*time.Second, "en", "it")
	got, err := New(server.URL+"/").Recognize(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	if got.Text != "What is internationalization, really?" || got.Language != "en" || math.Abs(got.Confidence-math.Exp(-0.5)) > 1e-9 {
		t.Errorf("got %+v", got)
	}
	asked := server.Requests()
	if len(asked) != 1 {
		t.Fatalf("%d requests", len(asked))
	}
	for field, want := range map[string]string{
		"response_format": "verbose_json", "language": "auto", "temperature": "0", "token_timestamps": "false",
		"no_language_probabilities": "true", "suppress_nst": "true",
	} {
		if asked[0].Form[field] != want {
			t.Errorf("field %s = %q, want %q", field, asked[0].Form[field], want)
		}
	}
	if len(asked[0].Samples) != len(u.PCM) || asked[0].Rate != proto.Rate {
		t.Errorf("sent %d samples at %d", len(asked[0].Samples), asked[0].Rate)
	}
}

func TestLanguages(t *testing.T) {
	for name, c := range map[string]struct {
		languages []string
		answers   []whispertest.Answer
		asked     []string
		text      string
		language  string
	}{
		"one is told to the server": {[]string{"it"}, []whispertest.Answer{{Text: "che ore sono"}}, []string{"it"}, "che ore sono", "it"},
		"a tag of one":              {[]string{"en-us"}, []whispertest.Answer{{Text: "hello"}}, []string{"en"}, "hello", "en"},
		"none means any":            {nil, []whispertest.Answer{{Text: "bonjour madame", Language: "fr"}}, []string{"auto"}, "bonjour madame", "fr"},
		"unknown ones are not sent": {[]string{"xx"}, []whispertest.Answer{{Text: "hello", Language: "en"}}, []string{"auto"}, "hello", "en"},
		"detected one of ours":      {[]string{"en", "it"}, []whispertest.Answer{{Text: "che ore sono", Language: "it"}}, []string{"auto"}, "che ore sono", "it"},
		"detected another": {[]string{"en", "it"}, []whispertest.Answer{{Text: "quae hora", Language: "la"},
			{Text: "kay or a sono", LogProb: -1}, {Text: "che ore sono", LogProb: -0.2}}, []string{"auto", "en", "it"}, "che ore sono", "it"},
	} {
		t.Run(name, func(t *testing.T) {
			server := whispertest.New(t, nil)
			server.Push(c.answers...)
			got, err := New(server.URL).Recognize(t.Context(), utterance(2*time.Second, c.languages...))
			if err != nil || got.Text != c.text || got.Language != c.language {
				t.Errorf("got %+v, %v", got, err)
			}
			var asked []string
			for _, r := range server.Requests() {
				asked = append(asked, r.Form["language"])
			}
			if strings.Join(asked, " ") != strings.Join(c.asked, " ") {
				t.Errorf("asked in %v, want %v", asked, c.asked)
			}
		})
	}
}

func TestRejects(t *testing.T) {
	for name, c := range map[string]struct {
		u       recognize.Utterance
		answer  whispertest.Answer
		reason  recognize.Reason
		reached bool // the server was asked
	}{
		"nothing said":  {recognize.Utterance{PCM: make([]int16, 32000), Rate: 16000}, whispertest.Answer{Text: "you"}, recognize.Silence, false},
		"too short":     {utterance(100 * time.Millisecond), whispertest.Answer{Text: "you"}, recognize.TooShort, false},
		"empty text":    {utterance(time.Second), whispertest.Answer{}, recognize.Noise, true},
		"a note":        {utterance(time.Second), whispertest.Answer{Text: "[BLANK_AUDIO]"}, recognize.Noise, true},
		"a phantom":     {utterance(time.Second), whispertest.Answer{Text: "Thanks for watching!"}, recognize.Invented, true},
		"over and over": {utterance(2 * time.Second), whispertest.Answer{Text: "Okay. Okay. Okay."}, recognize.Invented, true},
		"too many words": {utterance(time.Second), whispertest.Answer{Text: "This is a very long sentence that nobody can say in one second."},
			recognize.Invented, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := whispertest.New(t, nil)
			server.Push(c.answer)
			got, err := New(server.URL).Recognize(t.Context(), c.u)
			if reasonOf(err) != c.reason || got != (recognize.Transcript{}) {
				t.Errorf("got %+v, %v; want %s", got, err, c.reason)
			}
			if reached := len(server.Requests()) > 0; reached != c.reached {
				t.Errorf("server asked: %v", reached)
			}
		})
	}
}

func TestServerFails(t *testing.T) {
	for name, c := range map[string]struct {
		answers []whispertest.Answer
		code    proto.Code // empty: the second answer is taken
		text    string
	}{
		"400":              {[]whispertest.Answer{{Status: 400, Body: "Invalid request"}}, proto.CodeFailed, "it answers 400: Invalid request"},
		"500":              {[]whispertest.Answer{{Status: 500, Body: "500 Internal Server Error\nstof"}}, proto.CodeFailed, "it answers 500: 500 Internal Server Error stof"},
		"a redirect":       {[]whispertest.Answer{{Status: 307}}, proto.CodeFailed, "it answers 307: an empty body"},
		"garbage":          {[]whispertest.Answer{{Body: "<html>hi</html>"}}, proto.CodeFailed, "read answer"},
		"null":             {[]whispertest.Answer{{Body: "null"}}, proto.CodeFailed, "it has no text"},
		"error with 200":   {[]whispertest.Answer{{Body: `{"error":"failed to process audio"}`}}, proto.CodeFailed, "failed to process audio"},
		"reset twice":      {[]whispertest.Answer{{Reset: true}, {Reset: true}}, proto.CodeUnavailable, "connection reset"},
		"reset once":       {[]whispertest.Answer{{Reset: true}, {Text: "hello there"}}, "", "hello there"},
		"cut once":         {[]whispertest.Answer{{Text: "hello there", Cut: true}, {Text: "hello there"}}, "", "hello there"},
		"long garbage":     {[]whispertest.Answer{{Body: strings.Repeat("x", 5<<20)}}, proto.CodeFailed, "..."},
		"no UTF-8 garbage": {[]whispertest.Answer{{Status: 500, Body: "\xff\xfe\x00"}}, proto.CodeFailed, "it answers 500: ?"},
	} {
		t.Run(name, func(t *testing.T) {
			server := whispertest.New(t, nil)
			server.Push(c.answers...)
			got, err := New(server.URL).Recognize(t.Context(), utterance(time.Second, "en"))
			if c.code == "" {
				if err != nil || got.Text != c.text {
					t.Errorf("got %+v, %v", got, err)
				}
				return
			}
			if codeOfError(err) != c.code || !strings.Contains(err.Error(), c.text) || proto.HintOf(err) == "" || len(err.Error()) > 600 {
				t.Errorf("error %v (hint %q), want %s with %q", err, proto.HintOf(err), c.code, c.text)
			}
		})
	}
}

func TestDeadline(t *testing.T) {
	server := whispertest.New(t, nil)
	server.Push(whispertest.Answer{Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	engine := New(server.URL)
	done := make(chan error, 1)
	go func() {
		_, err := engine.Recognize(ctx, utterance(time.Second, "en"))
		done <- err
	}()
	waittest.Until(t, "a request", func() bool { return len(server.Requests()) == 1 })
	waiting, stop := context.WithCancel(t.Context())
	stop()
	if _, err := engine.Recognize(waiting, utterance(time.Second, "en")); !errors.Is(err, context.Canceled) {
		t.Errorf("while queued: %v", err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("in flight: %v", err)
	}
	if got, err := engine.Recognize(t.Context(), utterance(time.Second, "en")); reasonOf(err) != recognize.Noise {
		t.Errorf("the next one: %+v, %v", got, err)
	}
}

func TestOneInFlight(t *testing.T) {
	server := whispertest.New(t, func(whispertest.Request) whispertest.Answer {
		return whispertest.Answer{Text: "hello there", Delay: 5 * time.Millisecond}
	})
	engine := New(server.URL)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got, err := engine.Recognize(t.Context(), utterance(time.Second, "en")); err != nil || got.Text != "hello there" {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	all.Wait()
	if server.Peak() != 1 || len(server.Requests()) != 8 {
		t.Errorf("%d requests, at most %d at once", len(server.Requests()), server.Peak())
	}
}

func TestReady(t *testing.T) {
	server := whispertest.New(t, nil)
	engine := New(server.URL)
	if err := engine.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	server.SetLoading(true)
	if err := engine.Ready(t.Context()); codeOfError(err) != proto.CodeUnavailable || !strings.Contains(err.Error(), "answers 404") {
		t.Errorf("loading: %v", err)
	}
	t.Run("nobody there", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		l.Close()
		err = New("http://" + address).Ready(t.Context())
		if codeOfError(err) != proto.CodeUnavailable || !strings.Contains(err.Error(), "connection refused") || proto.HintOf(err) == "" {
			t.Errorf("%v", err)
		}
		_, err = New("http://"+address).Recognize(t.Context(), utterance(time.Second))
		if codeOfError(err) != proto.CodeUnavailable || proto.HintOf(err) == "" {
			t.Errorf("recognise: %v", err)
		}
	})
	t.Run("bad address", func(t *testing.T) {
		if err := New("http://\x7f").Ready(t.Context()); codeOfError(err) != proto.CodeInvalid {
			t.Errorf("%v", err)
		}
	})
}

// A redirect is not followed: the sound goes to the named server only.
func TestNoRedirect(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Error("the other server was asked")
	}))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	if _, err := New(server.URL).Recognize(t.Context(), utterance(time.Second, "en")); codeOfError(err) != proto.CodeFailed {
		t.Error(err)
	}
}

func TestLanguageTable(t *testing.T) {
	if n := strings.Count(languages, ",") + 1; n != 100 {
		t.Errorf("%d languages, large-v3 has 100", n)
	}
	for in, want := range map[string]string{
		"english": "en", "Italian": "it", "de": "de", "EN-us": "en", "pt_BR": "pt", "haitian creole": "ht", "haw": "haw", "": "", "klingon": "", "e": "",
	} {
		if got := codeOf(in); got != want {
			t.Errorf("codeOf(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"task":"transcribe","language":"german","duration":11.0,"text":" Hello world.\n!\n","segments":[{"id":0,"text":" Hello world.","avg_logprob":-1.5e-06},{"text":"!"}]}`))
	f.Add([]byte(`{"text":" Hello world.\n!\n"}`))
	f.Add([]byte(`{"error":"failed to process audio"}`))
	f.Add([]byte(`{"text":null,"segments":null}`))
	f.Add([]byte("500 Internal Server Error\nstof"))
	f.Add([]byte(`{"text":"\u0000\ud800","segments":[{"avg_logprob":1e308,"text":"a"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := decode(body)
		if err != nil {
			if got != (recognize.Transcript{}) || strings.ContainsAny(err.Error(), "\n") {
				t.Fatalf("%+v with %v", got, err)
			}
			return
		}
		if got.Text != strings.TrimSpace(got.Text) || strings.ContainsAny(got.Text, "\n\r\x00") {
			t.Fatalf("text %q", got.Text)
		}
		if got.Language != "" && codeOf(got.Language) != got.Language {
			t.Fatalf("language %q", got.Language)
		}
		if math.IsNaN(got.Confidence) || got.Confidence < 0 || got.Confidence > 1 {
			t.Fatal(fmt.Sprint("confidence ", got.Confidence))
		}
	})
}
