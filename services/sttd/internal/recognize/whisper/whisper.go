// SPDX-License-Identifier: Apache-2.0

// Package whisper recognises speech with a whisper-server of whisper.cpp that
// is already running.
package whisper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/sttd/internal/recognize"
)

const (
	probeTimeout = time.Second // /health answers in milliseconds, also while a request runs
	maxAnswer    = 4 << 20     // bytes; two minutes of speech are under 200 kB
	maxErrorText = 200
)

// Engine asks one whisper-server. It keeps exactly one request in flight: the
// server works on one at a time anyway, and a request given up while it waits
// there still costs a pass of the encoder.
type Engine struct {
	base   string // without a slash at the end
	client *http.Client
	turn   chan struct{} // holds one token while a request runs
}

// New makes the engine for the server at url, "http://127.0.0.1:8182" with the
// server's --request-path behind it if there is one. Proxies of the environment
// are never used.
func New(url string) *Engine {
	return &Engine{
		base: strings.TrimSuffix(strings.TrimRight(url, "/"), "/inference"),
		client: &http.Client{
			Transport: &http.Transport{DisableKeepAlives: true, Proxy: nil},
			// What was said goes to the server that the user named and to no other.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		turn: make(chan struct{}, 1),
	}
}

// Name is "whisper".
func (e *Engine) Name() string { return "whisper" }

// Ready asks the server's /health, which answers 200 only once the model is
// loaded.
func (e *Engine) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.base+"/health", nil)
	if err != nil {
		return e.badURL(err)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return e.unreachable(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return proto.Errorf(proto.CodeUnavailable, "reach whisper-server", "%s/health answers %d, not 200", config.Redact(e.base), resp.StatusCode).
			WithHint("wait if it is still loading its model; whisper-server must be 1.8.5 or newer")
	}
	return nil
}

// Recognize sends the utterance as WAV and reads verbose_json. With one
// language the server is told it, which halves its work on a processor; with
// several it detects one, and when that is none of them, which happens on short
// clips, each of them is tried and the one the model is surest of is taken.
func (e *Engine) Recognize(ctx context.Context, u recognize.Utterance) (recognize.Transcript, error) {
	speech, err := recognize.Screen(u)
	if err != nil {
		return recognize.Transcript{}, err
	}
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return recognize.Transcript{}, fmt.Errorf("wait for whisper-server: %w", ctx.Err())
	}
	t, err := e.transcribe(ctx, audio.EncodeWAV(u.PCM, u.Rate), known(u.Languages))
	if err != nil {
		return recognize.Transcript{}, err
	}
	if err := recognize.Judge(t.Text, speech, u.Duration()); err != nil {
		return recognize.Transcript{}, err
	}
	return t, nil
}

// known keeps the codes that Whisper has.
func known(languages []string) []string {
	var codes []string
	for _, language := range languages {
		if code := codeOf(language); code != "" && !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	return codes
}

func (e *Engine) transcribe(ctx context.Context, wav []byte, languages []string) (recognize.Transcript, error) {
	if len(languages) == 1 {
		return e.ask(ctx, wav, languages[0])
	}
	best, err := e.ask(ctx, wav, "auto")
	if err != nil || best.Text == "" || len(languages) == 0 || best.Language == "" || slices.Contains(languages, best.Language) {
		return best, err
	}
	best = recognize.Transcript{}
	for i, language := range languages {
		t, err := e.ask(ctx, wav, language)
		if err != nil {
			return recognize.Transcript{}, err
		}
		if i == 0 || t.Confidence > best.Confidence {
			best = t
		}
	}
	return best, nil
}

// ask sends one request, and once more when the connection breaks before the
// answer is complete.
func (e *Engine) ask(ctx context.Context, wav []byte, language string) (recognize.Transcript, error) {
	form, contentType := encodeForm(wav, language)
	status, body, err := e.post(ctx, form, contentType)
	if broken(err) && ctx.Err() == nil {
		status, body, err = e.post(ctx, form, contentType)
	}
	if ctx.Err() != nil {
		return recognize.Transcript{}, fmt.Errorf("ask whisper-server: %w", ctx.Err())
	}
	if err != nil {
		return recognize.Transcript{}, e.unreachable(err)
	}
	if status != http.StatusOK {
		return recognize.Transcript{}, proto.Errorf(proto.CodeFailed, "ask whisper-server", "it answers %d: %s", status, excerpt(body)).
			WithHint("look at the output of whisper-server, it writes the reason there")
	}
	t, err := decode(body)
	if err != nil {
		return recognize.Transcript{}, proto.Errorf(proto.CodeFailed, "ask whisper-server", "%v: %s", err, excerpt(body)).
			WithHint("check that %s is a whisper-server and not another program", config.Redact(e.base))
	}
	if language != "auto" {
		t.Language = language
	}
	return t, nil
}

// post gives the status and body of one request, at most maxAnswer bytes.
func (e *Engine) post(ctx context.Context, form []byte, contentType string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.base+"/inference", bytes.NewReader(form))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := e.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, body, err
}

// broken tells a connection that ended early, as a server does that was
// restarted, from one that was never there.
func broken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}

// encodeForm writes the request: token_timestamps=false keeps segments whole,
// no_language_probabilities saves a pass of the encoder, suppress_nst drops
// tokens that are no speech.
func encodeForm(wav []byte, language string) (form []byte, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	fields := [][2]string{
		{"response_format", "verbose_json"}, {"language", language}, {"temperature", "0"},
		{"token_timestamps", "false"}, {"no_language_probabilities", "true"}, {"suppress_nst", "true"},
	}
	for _, f := range fields {
		part, _ := w.CreateFormField(f[0]) // writing to a bytes.Buffer cannot fail, here and below
		_, _ = io.WriteString(part, f[1])
	}
	part, _ := w.CreateFormFile("file", "utterance.wav")
	_, _ = part.Write(wav)
	_ = w.Close()
	return b.Bytes(), w.FormDataContentType()
}

// unreachable says that no answer came at all.
func (e *Engine) unreachable(err error) error {
	return proto.Errorf(proto.CodeUnavailable, "reach whisper-server", "no answer from %s: %v", config.Redact(e.base), cause(err)).
		WithHint("start whisper-server -m MODEL --host 127.0.0.1 --port PORT, or set url or port in [whisper]")
}

func (e *Engine) badURL(err error) error {
	return proto.Errorf(proto.CodeInvalid, "reach whisper-server", "bad address %q: %v", e.base, err).
		WithHint("set url in [whisper] to something like http://127.0.0.1:8182")
}

// cause is the innermost error: what the operating system said.
func cause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// excerpt is the start of a body as one line for an error text.
func excerpt(body []byte) string {
	text := line(strings.ToValidUTF8(string(body[:min(len(body), 4*maxErrorText)]), "?"))
	if runes := []rune(text); len(runes) > maxErrorText {
		text = string(runes[:maxErrorText]) + "..."
	}
	if text == "" {
		return "an empty body"
	}
	return text
}
