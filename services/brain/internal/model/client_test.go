// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/pkg/testkit/chattest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type testLog struct{ t *testing.T }

func (w testLog) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// newClient makes a client with deadlines that only a broken test meets; change
// may set others.
func newClient(t *testing.T, url string, change func(*Options)) *Client {
	t.Helper()
	opt := Options{BaseURL: url, Log: slog.New(slog.NewTextHandler(testLog{t}, nil)),
		Timeouts: Timeouts{Connect: time.Minute, FirstToken: time.Minute, Idle: time.Minute, Total: time.Minute}}
	if change != nil {
		change(&opt)
	}
	c, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

var hello = Request{Messages: []Message{{Role: RoleUser, Content: "hello"}}}

var withTool = Request{Messages: hello.Messages, Tools: []Tool{{Name: "now", Description: "the time"}}}

// wantKind checks the kind of an error and that it has words.
func wantKind(t *testing.T, err error, kind Kind) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Kind != kind || e.Text == "" {
		t.Fatalf("got error %v (%+v), want kind %s", err, e, kind)
	}
	return e
}

func TestChat(t *testing.T) {
	server := chattest.New(t)
	more := make(chan struct{})
	server.Script(chattest.Exchange{Pieces: chattest.Join(chattest.Role(), chattest.Text("Let me ", "look. "), chattest.Hold(more),
		chattest.CallDelta(0, "c1", "now", `{"zone":`, `"utc"}`), chattest.Finish("tool_calls"))})
	client := newClient(t, server.URL, nil)
	var pieces []string
	reply, err := client.Chat(t.Context(), withTool, func(s string) {
		pieces = append(pieces, s)
		if len(pieces) == 2 {
			close(more) // the text is out before the rest was sent
		}
	})
	if err != nil || strings.Join(pieces, "|") != "Let me |look. " || reply.Text != "Let me look. " {
		t.Fatalf("got %q, %+v, %v", pieces, reply, err)
	}
	if len(reply.Calls) != 1 || reply.Calls[0].ID != "c1" || string(reply.Calls[0].Arguments) != `{"zone":"utc"}` || reply.Calls[0].Problem != "" {
		t.Errorf("got calls %+v", reply.Calls)
	}
	if reply.Finish != "tool_calls" || reply.Usage != (Usage{Prompt: 42, Cached: 30, Completion: 7, PromptMS: 20.5, CompletionMS: 70.25}) {
		t.Errorf("got finish %q usage %+v", reply.Finish, reply.Usage)
	}
}

func TestRequestOnTheWire(t *testing.T) {
	server := chattest.New(t, chattest.Rule{Say: "Yes."})
	client := newClient(t, server.URL, func(o *Options) { o.APIKey = func() (string, error) { return "secret-key", nil } })
	call := Call{ID: "c1", Name: "now", Arguments: json.RawMessage("{}")}
	req := Request{Tools: withTool.Tools, Messages: []Message{
		{Role: RoleSystem, Content: "Be brief."}, {Role: RoleUser, Content: "time?"},
		{Role: RoleAssistant, Calls: []Call{call}}, {Role: RoleTool, Content: "noon", CallID: "c1"},
	}}
	if _, err := client.Chat(t.Context(), req, func(string) {}); err != nil {
		t.Fatal(err)
	}
	got := server.Next()
	want := `{"model":"fixture.gguf","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"time?"},` +
		`{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"now","arguments":"{}"}}]},` +
		`{"role":"tool","content":"noon","tool_call_id":"c1"}],` +
		`"tools":[{"type":"function","function":{"name":"now","description":"the time","parameters":{"type":"object","properties":{}}}}],` +
		`"stream":true,"stream_options":{"include_usage":true},"chat_template_kwargs":{"enable_thinking":false}}`
	if string(got.Body) != want {
		t.Errorf("got  %s\nwant %s", got.Body, want)
	}
	if got.Header.Get("Authorization") != "Bearer secret-key" {
		t.Errorf("got authorization %q", got.Header.Get("Authorization"))
	}
	if _, err := client.Chat(t.Context(), hello, func(string) {}); err != nil {
		t.Fatal(err)
	}
	if body := string(server.Next().Body); strings.Contains(body, "tool") {
		t.Errorf("a request without tools speaks of them: %s", body)
	}
}

func TestKeyIsNotLogged(t *testing.T) {
	server := chattest.New(t)
	server.Script(chattest.Fail(401, `{"detail":"bad key: secret-key"}`))
	var log bytes.Buffer
	client := newClient(t, server.URL, func(o *Options) {
		o.APIKey = func() (string, error) { return "secret-key", nil }
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	_, err := client.Chat(t.Context(), hello, func(string) {})
	if e := wantKind(t, err, KindUnauthorized); strings.Contains(e.Error()+e.Hint+log.String(), "secret") || e.Hint == "" {
		t.Errorf("got %v, hint %q, log %s", e, e.Hint, log.String())
	}
}

// promise: who cannot read the key file is told so, and not that the key is wrong;
// a server that wants no key answers all the same.
func TestKeyThatCannotBeRead(t *testing.T) {
	server := chattest.New(t, chattest.Rule{Say: "Yes."})
	server.Script(chattest.Fail(401, `{"detail":"no key"}`))
	client := newClient(t, server.URL, func(o *Options) {
		o.APIKey = func() (string, error) { return "", errors.New("others can read it") }
	})
	_, err := client.Chat(t.Context(), hello, func(string) {})
	if e := wantKind(t, err, KindUnauthorized); !strings.Contains(e.Text, "others can read it") {
		t.Errorf("got %v", e)
	}
	if _, err := client.Chat(t.Context(), hello, func(string) {}); err != nil {
		t.Error(err)
	}
}

func TestCancelClosesTheConnection(t *testing.T) {
	server := chattest.New(t)
	server.Script(chattest.Exchange{Pieces: chattest.Join(chattest.Role(), chattest.Text("One ", "two ")), End: chattest.Stall})
	client := newClient(t, server.URL, nil)
	ctx, cancel := context.WithCancel(t.Context())
	reply, err := client.Chat(ctx, hello, func(s string) {
		if s == "two " {
			cancel()
		}
	})
	if e := wantKind(t, err, KindCancelled); e.Retry != RetryNever || !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v", e)
	}
	if reply.Text != "One two " {
		t.Errorf("got %q, want what came before", reply.Text)
	}
	req := server.Next()
	<-req.Gone()
}

func TestCancelBeforeTheAnswer(t *testing.T) {
	server := chattest.New(t)
	server.Script(chattest.Exchange{Pieces: chattest.Hold(make(chan struct{}))})
	client := newClient(t, server.URL, nil)
	ctx, cancel := context.WithCancel(t.Context())
	stop := context.AfterFunc(t.Context(), cancel)
	defer stop()
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err := client.Chat(ctx, hello, func(string) {})
	wantKind(t, err, KindCancelled)
}

// Deadlines: the server never goes on, so only the deadline can end these.
func TestDeadlines(t *testing.T) {
	const short = 50 * time.Millisecond
	tests := []struct {
		name     string
		pieces   []chattest.Piece
		change   func(*Timeouts)
		kind     Kind
		text     string
		wantText string
		retry    Retry
	}{
		{"first token", chattest.Role(), func(d *Timeouts) { d.FirstToken = short }, KindStalled, "silent", "", RetryAgain},
		{"idle", chattest.Text("One "), func(d *Timeouts) { d.Idle = short }, KindStalled, "silent", "One ", RetryNever},
		{"total", chattest.Text("One "), func(d *Timeouts) { d.Total = short }, KindStalled, "too long", "One ", RetryNever},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := chattest.New(t)
			server.Script(chattest.Exchange{Pieces: tt.pieces, End: chattest.Stall})
			client := newClient(t, server.URL, func(o *Options) { tt.change(&o.Timeouts) })
			if _, err := client.Probe(t.Context()); err != nil {
				t.Fatal(err)
			}
			reply, err := client.Chat(t.Context(), hello, func(string) {})
			e := wantKind(t, err, tt.kind)
			if !strings.Contains(e.Text, tt.text) || reply.Text != tt.wantText || e.Retry != tt.retry {
				t.Errorf("got %+v, text %q", e, reply.Text)
			}
			<-server.Next().Gone()
		})
	}
}

func TestFinishEndsTheAnswer(t *testing.T) {
	finish := chattest.Finish("stop")
	for name, tail := range map[string][]chattest.Piece{
		"finish, then silence": finish[:1], "done, then silence": finish,
	} {
		t.Run(name, func(t *testing.T) {
			server := chattest.New(t)
			server.Script(chattest.Exchange{Pieces: chattest.Join(chattest.Text("Yes."), tail), End: chattest.Stall})
			client := newClient(t, server.URL, nil)
			reply, err := client.Chat(t.Context(), hello, func(string) {})
			if err != nil || reply.Text != "Yes." {
				t.Errorf("got %+v, %v", reply, err)
			}
			<-server.Next().Gone()
		})
	}
}

func TestAnswerErrors(t *testing.T) {
	sse := func(frames ...string) chattest.Exchange {
		return chattest.Exchange{Pieces: chattest.Raw(frames...)}
	}
	plain := func(contentType, body string) chattest.Exchange {
		return chattest.Exchange{ContentType: contentType, Pieces: chattest.Raw(body)}
	}
	cut := sse(`data: {"choices":[{"delta":{"content":"Half a"}}]}` + "\n\n")
	cut.End = chattest.Cut
	tests := []struct {
		name  string
		ex    chattest.Exchange
		kind  Kind
		retry Retry
		text  string
	}{
		{"loading", chattest.Loading(), KindLoading, RetryLater, ""},
		{"busy", chattest.Fail(429, `{"error":{"message":"slow down"}}`), KindBusy, RetryLater, ""},
		{"context", chattest.Fail(500, `{"error":{"message":"the request exceeds the available context size"}}`), KindContextFull, RetryShorter, ""},
		{"jinja", chattest.Fail(500, `{"error":{"message":"tools param requires --jinja flag"}}`), KindNoTools, RetryBare, ""},
		{"format", chattest.Fail(500, `{"error":{"message":"The output does not match the expected peg-native format"}}`), KindServer, RetryAgain, ""},
		{"no such model", chattest.Fail(404, `{"error":{"message":"model 'x' not found"}}`), KindAddress, RetryNever, ""},
		{"wrong path", chattest.Fail(404, `404 page not found`), KindAddress, RetryNever, ""},
		{"redirect", chattest.Fail(302, ``), KindAddress, RetryNever, ""},
		{"bad gateway", plainStatus(502, "text/html", "<html><title>502 Bad Gateway</title>"), KindServer, RetryAgain, ""},
		{"template", chattest.Fail(500, `{"error":{"message":"Jinja Exception: Conversation roles must alternate"}}`), KindRefused, RetryNever, ""},
		{"too large", chattest.Fail(413, ``), KindContextFull, RetryShorter, ""},
		{"overloaded", chattest.Fail(503, `[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]`), KindBusy, RetryLater, ""},
		{"loading in other words", chattest.Fail(500, `{"error":"Model foo is currently loading"}`), KindLoading, RetryLater, ""},
		{"no model", chattest.Fail(404, `{"error":{"message":"No models loaded. Please load a model"}}`), KindAddress, RetryNever, ""},
		{"policy", chattest.Fail(400, `{"error":{"message":"filtered","code":"content_filter"}}`), KindFiltered, RetryNever, ""},
		{"forbidden", chattest.Fail(403, ``), KindUnauthorized, RetryNever, ""},
		{"web page", plain("text/html", "<!doctype html><title>Router</title>"), KindAddress, RetryNever, ""},
		{"not a chat", plain("text/plain", "hello there"), KindBadStream, RetryNever, ""},
		{"empty body", sse(), KindEmpty, RetryAgain, ""},
		{"only done", sse("data: [DONE]\n\n"), KindEmpty, RetryAgain, ""},
		{"white space", sse(`data: {"choices":[{"delta":{"content":" \n"},"finish_reason":"stop"}]}` + "\n\n"), KindEmpty, RetryAgain, ""},
		{"only thoughts", sse(`data: {"choices":[{"delta":{"reasoning":"Hm."},"finish_reason":"stop"}]}` + "\n\n"), KindEmpty, RetryAgain, ""},
		{"thoughts cut", sse(`data: {"choices":[{"delta":{"content":"<think>Hm."},"finish_reason":"length"}]}` + "\n\n"), KindTruncated, RetryNever, ""},
		{"filtered", sse(`data: {"choices":[{"delta":{"content":"No."},"finish_reason":"content_filter"}]}` + "\n\n"), KindFiltered, RetryNever, "No."},
		{"leak", sse(`data: {"choices":[{"delta":{"content":"<tool_call>open the door</tool_call>"},"finish_reason":"stop"}]}` + "\n\n"), KindLeak, RetryAgain, ""},
		{"error as JSON body", plain("application/json", "{\n \"error\": {\"message\": \"boom\"}\n}"), KindServer, RetryAgain, ""},
		{"detail as JSON line", plain("application/json", `{"detail":"boom"}`), KindServer, RetryAgain, ""},
		{"error event", sse("event: error\ndata: {\"message\":\"boom\"}\n\n"), KindServer, RetryAgain, ""},
		{"loading in the stream", sse("data: {\"error\":{\"message\":\"Loading model\"}}\n\n"), KindLoading, RetryLater, ""},
		{"cut", cut, KindInterrupted, RetryNever, "Half a"},
		{"reset", chattest.Exchange{End: chattest.Reset}, KindInterrupted, RetryAgain, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := chattest.New(t)
			server.Script(tt.ex)
			client := newClient(t, server.URL, nil)
			reply, err := client.Chat(t.Context(), hello, func(string) {})
			e := wantKind(t, err, tt.kind)
			if e.Retry != tt.retry || reply.Text != tt.text {
				t.Errorf("got %+v, text %q", e, reply.Text)
			}
			if strings.ContainsAny(e.Text, "<\n") {
				t.Errorf("markup in the text of the error: %q", e.Text)
			}
			if e.Retry == RetryLater && e.After <= 0 {
				t.Errorf("no time to wait: %+v", e)
			}
		})
	}
}

func plainStatus(status int, contentType, body string) chattest.Exchange {
	return chattest.Exchange{Status: status, ContentType: contentType, Pieces: chattest.Raw(body)}
}

func TestWholeAnswerAsJSON(t *testing.T) {
	for _, body := range []string{
		`{"object":"chat.completion","choices":[{"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}],"usage":{"prompt_tokens":3}}`,
		"{\n \"choices\": [\n  {\"message\": {\"content\": \"Yes.\"}, \"finish_reason\": \"stop\"}\n ],\n \"usage\": {\"prompt_tokens\": 3}\n}\n",
	} {
		server := chattest.New(t)
		server.Script(chattest.Exchange{ContentType: "application/json", Pieces: chattest.Raw(body)})
		reply, err := newClient(t, server.URL, nil).Chat(t.Context(), hello, func(string) {})
		if err != nil || reply.Text != "Yes." || reply.Usage.Prompt != 3 {
			t.Errorf("got %+v, %v", reply, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for value, want := range map[string]struct {
		retry Retry
		after time.Duration
	}{"": {RetryLater, pause}, "3": {RetryLater, 3 * time.Second}, "3600": {RetryNever, time.Hour}} {
		e := refusal(429, http.Header{"Retry-After": {value}}, nil)
		if e.Retry != want.retry || e.After != want.after {
			t.Errorf("%q: got %+v", value, e)
		}
	}
}

func TestRefusedFieldIsLeftOut(t *testing.T) {
	for _, field := range []string{"stream_options", "chat_template_kwargs"} {
		server := chattest.New(t)
		server.Script(chattest.Fail(422, `{"detail":[{"loc":["body","`+field+`"],"msg":"Extra inputs are not permitted","type":"extra_forbidden"}]}`),
			chattest.Say("Yes."))
		client := newClient(t, server.URL, nil)
		_, err := client.Chat(t.Context(), hello, func(string) {})
		if e := wantKind(t, err, KindRefused); e.Retry != RetryAdapted {
			t.Errorf("%s: got %+v", field, e)
		}
		if _, err := client.Chat(t.Context(), hello, func(string) {}); err != nil {
			t.Errorf("%s: second request: %v", field, err)
		}
		first, second := string(server.Next().Body), string(server.Next().Body)
		if !strings.Contains(first, field) || strings.Contains(second, field) {
			t.Errorf("%s: first %s, second %s", field, first, second)
		}
	}
}

func TestThinkingOpenedInThePrompt(t *testing.T) {
	server := chattest.New(t)
	answer := chattest.Say("Hm, let me see. ", "</think>", "Yes.")
	server.Script(answer, answer, chattest.Say("Plain."), answer)
	client := newClient(t, server.URL, nil)
	for i, want := range []string{"Hm, let me see. Yes.", "Yes.", "Plain.", "Hm, let me see. Yes."} {
		if reply, err := client.Chat(t.Context(), hello, func(string) {}); err != nil || reply.Text != want {
			t.Errorf("answer %d: got %q, %v, want %q", i, reply.Text, err, want)
		}
	}
}

// A model that is known to think in its prompt is held back from the first answer on,
// unless its thinking comes in a field.
func TestThinkingIsExpectedByName(t *testing.T) {
	for name, want := range map[string]string{
		"DeepSeek-R1-0528-Q4.gguf": "Yes.", "qwen3-30b-a3b-thinking-2507": "Yes.", "qwq:32b": "Yes.",
		"qwen3-instruct": "Hm. Yes.", "thinkingmachine": "Hm. Yes.",
	} {
		server := chattest.New(t)
		server.SetModels(200, `{"data":[{"id":"`+name+`"}]}`)
		server.Script(chattest.Say("Hm. ", "</think>", "Yes."))
		if reply, err := newClient(t, server.URL, nil).Chat(t.Context(), hello, func(string) {}); err != nil || reply.Text != want {
			t.Errorf("%s: got %q, %v, want %q", name, reply.Text, err, want)
		}
	}
	server := chattest.New(t)
	server.SetModels(200, `{"data":[{"id":"deepseek-r1"}]}`)
	more := make(chan struct{})
	server.Script(chattest.Exchange{Pieces: chattest.Join(
		chattest.Raw(`data: {"choices":[{"delta":{"reasoning_content":"Hm."}}]}`+"\n\n"), chattest.Text("Yes. "), chattest.Hold(more), chattest.Finish("stop"))})
	_, err := newClient(t, server.URL, nil).Chat(t.Context(), hello, func(string) { close(more) }) // at once
	if err != nil {
		t.Error(err)
	}
}

func TestModelName(t *testing.T) {
	server := chattest.New(t, chattest.Rule{Say: "Yes."})
	client := newClient(t, server.URL, nil)
	ask := func() string {
		t.Helper()
		if _, err := client.Chat(t.Context(), hello, func(string) {}); err != nil {
			t.Fatal(err)
		}
		return server.Next().Model
	}
	if got := ask(); got != "fixture.gguf" {
		t.Errorf("got model %q", got)
	}
	server.SetModels(200, `{"data":[{"id":"other.gguf"}]}`)
	if got := ask(); got != "fixture.gguf" {
		t.Errorf("the name is not cached: got %q", got)
	}
	server.Script(chattest.Loading())
	_, err := client.Chat(t.Context(), hello, func(string) {})
	wantKind(t, err, KindLoading)
	server.Next()
	if got := ask(); got != "other.gguf" {
		t.Errorf("the server restarted: got model %q", got)
	}
	server.SetModels(404, `not here`)
	if _, err := client.Probe(t.Context()); err != nil {
		t.Errorf("no model list: %v", err)
	}
	if got := ask(); got != "" {
		t.Errorf("no model list: got model %q", got)
	}
	named := newClient(t, server.URL, func(o *Options) { o.Model = "mine" })
	if got, err := named.Probe(t.Context()); got != "mine" || err != nil {
		t.Errorf("configured: got %q, %v", got, err)
	}
}

func probe(ctx context.Context, c *Client) error {
	_, err := c.Probe(ctx)
	return err
}

func TestProbe(t *testing.T) {
	server := chattest.New(t)
	client := newClient(t, server.URL, nil)
	if name, err := client.Probe(t.Context()); name != "fixture.gguf" || err != nil {
		t.Errorf("got %q, %v", name, err)
	}
	server.SetModels(503, `{"error":{"message":"Loading model"}}`)
	wantKind(t, probe(t.Context(), client), KindLoading)
	server.SetModels(401, ``)
	wantKind(t, probe(t.Context(), client), KindUnauthorized)
}

func TestProbeEndsWithItsContext(t *testing.T) {
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0") // accepts and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	url := "http://" + l.Addr().String() + "/v1"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantKind(t, probe(ctx, newClient(t, url, nil)), KindCancelled)
	hasty := newClient(t, url, func(o *Options) { o.Timeouts.Connect = 50 * time.Millisecond })
	wantKind(t, probe(t.Context(), hasty), KindStalled)
}

func TestUnreachable(t *testing.T) {
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String() + "/v1"
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	client := newClient(t, strings.Replace(url, "//", "//me:opensesame@", 1), nil)
	e := wantKind(t, probe(t.Context(), client), KindUnreachable)
	if !strings.Contains(e.Hint, l.Addr().String()) || strings.Contains(e.Text, "Get ") || strings.Contains(e.Hint, "opensesame") {
		t.Errorf("got %q, hint %q", e.Text, e.Hint)
	}
	_, err = client.Chat(t.Context(), hello, func(string) {})
	wantKind(t, err, KindUnreachable)
}

func TestNotHTTP(t *testing.T) {
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = conn.Read(make([]byte, 1024))
		_, _ = conn.Write([]byte("SSH-2.0-x\r\n\r\n"))
		_ = conn.Close()
	}()
	_, err = newClient(t, "http://"+l.Addr().String()+"/v1", nil).Chat(t.Context(), hello, func(string) {})
	wantKind(t, err, KindBadStream)
	_ = l.Close()
	<-served
}

func TestNoProxyForLoopback(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:9")
	for url, loop := range map[string]bool{
		"http://localhost:8181/v1": true, "http://127.0.0.2/v1": true, "http://[::1]:8181/v1": true, "http://example.org/v1": false,
	} {
		c := newClient(t, url, nil)
		if got := c.http.Transport.(*http.Transport).Proxy == nil; got != loop {
			t.Errorf("%s: proxies off %v, want %v", url, got, loop)
		}
	}
}

func TestNewRefusesAddresses(t *testing.T) {
	for _, url := range []string{"", "localhost:8181/v1", "ftp://example.org", "http://", "http://[::1"} {
		if _, err := New(Options{BaseURL: url}); wantKind(t, err, KindAddress).Hint == "" {
			t.Errorf("%q: no hint", url)
		}
	}
}
