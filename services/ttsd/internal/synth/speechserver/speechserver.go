// SPDX-License-Identifier: Apache-2.0

// Package speechserver speaks with a server that has OpenAI's address scheme for
// speech, such as Kokoro-FastAPI: the sound is played while it is still sent.
package speechserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/synth"
)

const (
	connectLimit = 3 * time.Second
	// firstLimit is how long the server may take to begin to answer, stallLimit how
	// long it may be silent afterwards: some make the whole sentence first.
	firstLimit = 30 * time.Second
	stallLimit = 10 * time.Second
	// defaultRate is of raw sound whose rate the answer does not tell: OpenAI's.
	defaultRate = 24000
	// maxSound bounds one sentence: five minutes at 48000 Hz.
	maxSound = 5 * 60 * 48000 * 2
	// maxWords bounds what is kept of an answer that is no sound.
	maxWords = 4 << 10
	// listLimit is for the list of voices, which many servers do not have.
	listLimit = 2 * time.Second
	maxList   = 1 << 20
)

// Config says which server, and what it is asked for.
type Config struct {
	URL   string // up to and with /v1
	Model string // "" leaves it out
	Voice string // for every language; "" takes Blends
	Speed float64
	// Blends are the voices by language, in the form "if_sara(0.8)+af_bella(0.2)".
	Blends map[string]string
	Log    *slog.Logger
}

// Engine is a synth.Engine. Make it with [Find].
type Engine struct {
	config Config
	client *http.Client
	voices []string
	wav    atomic.Bool // the server refused raw sound
}

// Find sees whether the server is there. The error is a *proto.Error with code
// unavailable.
func Find(ctx context.Context, c Config) (*Engine, error) {
	transport := &http.Transport{
		DialContext:           (&net.Dialer{Timeout: connectLimit}).DialContext,
		TLSHandshakeTimeout:   connectLimit,
		ResponseHeaderTimeout: firstLimit,
		DisableCompression:    true,
		MaxIdleConnsPerHost:   1,
	}
	e := &Engine{config: c, client: &http.Client{
		Transport: transport,
		// What is said goes to the address that was written down, and to no other.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	e.config.URL = strings.TrimRight(c.URL, "/")
	if err := e.list(ctx); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// list asks for the voices. That there is no list is no fault: that there is no
// server is one.
func (e *Engine) list(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectLimit+listLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.config.URL+"/audio/voices", nil)
	if err != nil {
		return e.gone(err)
	}
	res, err := e.client.Do(req)
	if err != nil {
		return e.gone(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxList))
	if err != nil || res.StatusCode != http.StatusOK {
		return nil
	}
	e.voices = decodeVoices(body)
	return nil
}

// decodeVoices reads {"voices": ["a", ...]} and {"voices": [{"id": "a"}, ...]}.
func decodeVoices(body []byte) []string {
	var list struct {
		Voices []json.RawMessage `json:"voices"`
	}
	if json.Unmarshal(body, &list) != nil {
		return nil
	}
	var names []string
	for _, raw := range list.Voices {
		var name string
		var named struct{ ID, Name string }
		if json.Unmarshal(raw, &name) != nil && json.Unmarshal(raw, &named) == nil {
			name = cmp.Or(named.ID, named.Name)
		}
		if name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Name is "http".
func (e *Engine) Name() string { return config.EngineHTTP }

// Version is the server's address.
func (e *Engine) Version() string { return config.Redact(e.config.URL) }

// Voices are those that the server lists.
func (e *Engine) Voices() []string { return slices.Clone(e.voices) }

// Timed is false.
func (e *Engine) Timed() bool { return false }

// Detail is what the status shows of it.
type Detail struct {
	URL    string            `json:"url"`
	Model  string            `json:"model,omitempty"`
	Voice  string            `json:"voice,omitempty"`
	Blends map[string]string `json:"blends,omitempty"`
}

// Detail gives it.
func (e *Engine) Detail() any {
	d := Detail{URL: e.Version(), Model: e.config.Model, Voice: e.config.Voice}
	if d.Voice == "" {
		d.Blends = e.config.Blends
	}
	return d
}

// Close ends idle connections.
func (e *Engine) Close() { e.client.CloseIdleConnections() }

// request is the body of a question.
type request struct {
	Model  string  `json:"model,omitempty"`
	Input  string  `json:"input"`
	Voice  string  `json:"voice,omitempty"`
	Format string  `json:"response_format"`
	Speed  float64 `json:"speed,omitempty"`
	Stream bool    `json:"stream"`
}

func (e *Engine) voice(s synth.Sentence) string {
	plain, _, _ := strings.Cut(strings.ToLower(s.Language), "-")
	return cmp.Or(s.Voice, e.config.Voice, e.config.Blends[strings.ToLower(s.Language)], e.config.Blends[plain])
}

// Synthesize asks the server; see synth.Engine. A server that has no raw sound is
// asked for a WAV file, now and later.
func (e *Engine) Synthesize(ctx context.Context, s synth.Sentence, emit synth.Emit) error {
	wav := e.wav.Load()
	err := e.ask(ctx, s, wav, emit)
	var status *statusError
	if !wav && errors.As(err, &status) && status.code >= 400 && status.code < 500 && status.code != http.StatusTooManyRequests {
		if err = e.ask(ctx, s, true, emit); err == nil {
			e.wav.Store(true)
			e.config.Log.Info("the speech server gives no raw sound, it is asked for WAV")
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &status):
		return proto.Errorf(proto.CodeFailed, "speak with "+e.Version(), "%v", err).
			WithHint("see url, model and voice below [tts.http] in the configuration")
	}
	return err
}

// A statusError is an answer other than 200.
type statusError struct {
	code int
	text string
}

func (s *statusError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("status %d: %s", s.code, s.text), ": ")
}

func (e *Engine) gone(err error) *proto.Error {
	return proto.Errorf(proto.CodeUnavailable, "speak with "+e.Version(), "%v", plainCause(err)).
		WithHint("start the speech server, or see url below [tts.http] in the configuration")
}

// plainCause takes the address out of an error of the client: it is told anyway,
// and without its password.
func plainCause(err error) error {
	var wrapped interface{ Unwrap() error }
	if errors.As(err, &wrapped) && strings.Contains(err.Error(), "http") {
		return cmp.Or(wrapped.Unwrap(), err)
	}
	return err
}

func (e *Engine) ask(ctx context.Context, s synth.Sentence, wav bool, emit synth.Emit) error {
	q := request{Model: e.config.Model, Input: s.Text, Voice: e.voice(s), Format: "pcm", Stream: true}
	if wav {
		q.Format = "wav"
	}
	if e.config.Speed != 1 {
		q.Speed = e.config.Speed
	}
	body, err := json.Marshal(q)
	if err != nil {
		return proto.Errorf(proto.CodeInternal, "speak with "+e.Version(), "%v", err)
	}
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(run, http.MethodPost, e.config.URL+"/audio/speech", bytes.NewReader(body))
	if err != nil {
		return e.gone(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := e.client.Do(req)
	if err != nil {
		return e.gone(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return &statusError{res.StatusCode, words(res.Body)}
	}
	stalled := time.AfterFunc(stallLimit, cancel)
	defer stalled.Stop()
	in := &watched{res.Body, func() { stalled.Reset(stallLimit) }}
	err = decodeStream(in, res.Header.Get("Content-Type"), emit)
	if err != nil && run.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("nothing came for %v", stallLimit)
	}
	if err != nil && ctx.Err() == nil {
		return proto.Errorf(proto.CodeFailed, "speak with "+e.Version(), "%v", err).WithHint("see what the speech server logs")
	}
	return err
}

// watched tells that something was read.
type watched struct {
	io.Reader
	read func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.read()
	}
	return n, err
}

// words is what a server says of a fault: the message in its JSON, or the first
// line.
func words(r io.Reader) string {
	body, _ := io.ReadAll(io.LimitReader(r, maxWords)) // a part says enough
	var told struct {
		Detail json.RawMessage `json:"detail"`
		Error  json.RawMessage `json:"error"`
	}
	text := string(body)
	if json.Unmarshal(body, &told) == nil {
		for _, raw := range []json.RawMessage{told.Error, told.Detail} {
			var message struct{ Message string }
			var plain string
			switch {
			case json.Unmarshal(raw, &plain) == nil && plain != "":
				text = plain
			case json.Unmarshal(raw, &message) == nil && message.Message != "":
				text = message.Message
			}
		}
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text[:min(len(text), 300)]), "?")
}

// rateOf reads the rate of raw sound from its type, like audio/pcm;rate=24000.
func rateOf(contentType string) int {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return defaultRate
	}
	if n, err := strconv.Atoi(params["rate"]); err == nil && n >= 4000 && n <= 192000 {
		return n
	}
	return defaultRate
}
