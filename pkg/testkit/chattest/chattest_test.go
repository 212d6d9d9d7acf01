// SPDX-License-Identifier: Apache-2.0

package chattest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client leaves no idle connection behind.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// post asks base and returns the response; its body is closed with the test.
func post(ctx context.Context, t *testing.T, base, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func question(text string) string {
	return `{"model":"m","stream":true,"tools":[{"type":"function","function":{"name":"now"}}],"messages":[{"role":"user","content":"` + text + `"}]}`
}

// content adds up the text and the call names and arguments of a stream.
func content(t *testing.T, body io.Reader) (text, name, arguments, finish string) {
	t.Helper()
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: {")
		if !ok {
			continue
		}
		var c struct {
			Choices []struct {
				Delta struct {
					Content   string
					ToolCalls []struct {
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
				FinishReason string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal([]byte("{"+data), &c); err != nil {
			t.Fatalf("frame %s: %v", data, err)
		}
		for _, ch := range c.Choices {
			text += ch.Delta.Content
			finish += ch.FinishReason
			for _, call := range ch.Delta.ToolCalls {
				name += call.Function.Name
				arguments += call.Function.Arguments
			}
		}
	}
	return text, name, arguments, finish
}

func TestScript(t *testing.T) {
	s := New(t)
	s.Script(
		Exchange{Match: func(r *Request) bool { return r.LastUser() == "second" }, Pieces: Say("Two.").Pieces},
		Say("One", "."),
		CallTool("id1", "now", `{"a":`, `1}`),
	)
	for _, tt := range []struct{ ask, text, name, args, finish string }{
		{"first", "One.", "", "", "stop"},
		{"second", "Two.", "", "", "stop"},
		{"third", "", "now", `{"a":1}`, "tool_calls"},
	} {
		text, name, args, finish := content(t, post(t.Context(), t, s.URL, question(tt.ask)).Body)
		if text != tt.text || name != tt.name || args != tt.args || finish != tt.finish {
			t.Errorf("%s: got %q %q %q %q", tt.ask, text, name, args, finish)
		}
		req := s.Next()
		<-req.Done()
		if req.LastUser() != tt.ask || len(req.Tools) != 1 || req.Tools[0] != "now" || !req.Stream {
			t.Errorf("%s: kept %+v", tt.ask, req)
		}
	}
	if s.Left() != 0 || len(s.Requests()) != 3 {
		t.Errorf("left %d, requests %d", s.Left(), len(s.Requests()))
	}
}

func TestHoldAndGone(t *testing.T) {
	s := New(t)
	more := make(chan struct{})
	s.Script(
		Exchange{Pieces: Join(Raw("data: one\n\n"), Hold(more), Raw("data: two\n\n"))},
		Exchange{Pieces: Raw("data: one\n\n"), End: Stall},
	)
	body := bufio.NewReader(post(t.Context(), t, s.URL, question("a")).Body)
	if line, err := body.ReadString('\n'); line != "data: one\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	close(more)
	if rest, err := io.ReadAll(body); string(rest) != "\ndata: two\n\n" {
		t.Errorf("got %q, %v", rest, err)
	}
	first := s.Next()
	<-first.Done()
	select {
	case <-first.Gone():
		t.Error("a complete exchange counts as left by the client")
	default:
	}

	ctx, cancel := context.WithCancel(t.Context())
	post(ctx, t, s.URL, question("b"))
	second := s.Next()
	cancel()
	<-second.Gone()
	<-second.Done()
}

func TestEnds(t *testing.T) {
	s := New(t)
	s.Script(Exchange{Pieces: Text("x"), End: Cut}, Exchange{Pieces: Text("x"), End: Reset}, Loading())
	if _, err := io.ReadAll(post(t.Context(), t, s.URL, question("a")).Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut: got %v", err)
	}
	if _, err := io.ReadAll(post(t.Context(), t, s.URL, question("a")).Body); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("reset: got %v", err)
	}
	if resp := post(t.Context(), t, s.URL, question("a")); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("loading: got status %d", resp.StatusCode)
	}
}

func TestRules(t *testing.T) {
	s := New(t, Rule{Match: "time", Call: "now", Say: "It is {result}."}, Rule{Say: "Hello to you."})
	_, name, args, _ := content(t, post(t.Context(), t, s.URL, question("What TIME is it")).Body)
	if name != "now" || args != "{}" {
		t.Errorf("got call %q %q", name, args)
	}
	answered := `{"messages":[{"role":"user","content":"the time"},
		{"role":"assistant","content":"","tool_calls":[{"id":"x","type":"function","function":{"name":"now","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"x","content":"noon"}]}`
	if text, _, _, _ := content(t, post(t.Context(), t, s.URL, answered).Body); text != "It is noon." {
		t.Errorf("got %q", text)
	}
	last := s.Requests()[1].Messages
	if last[1].Calls[0] != (Call{"x", "now", "{}"}) || last[2].CallID != "x" {
		t.Errorf("kept %+v", last)
	}
	if text, _, _, finish := content(t, post(t.Context(), t, s.URL, question("good day")).Body); text != "Hello to you." || finish != "stop" {
		t.Errorf("got %q %q", text, finish)
	}
}

func TestHandlerWithoutTest(t *testing.T) {
	ts := httptest.NewServer(Handler())
	defer ts.Close()
	if text, _, _, _ := content(t, post(t.Context(), t, ts.URL+"/v1", question("x")).Body); text != "I have no answer to that." {
		t.Errorf("got %q", text)
	}
	if resp := post(t.Context(), t, ts.URL+"/v1", "{"); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("garbage: got status %d", resp.StatusCode)
	}
}

func TestMainRefusesAddresses(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "nonsense", "example.org:80"} {
		var errs strings.Builder
		if status := Main([]string{"-addr", addr}, io.Discard, &errs); status != 2 || !strings.Contains(errs.String(), addr) {
			t.Errorf("%s: got status %d, %q", addr, status, errs.String())
		}
	}
}

func TestModels(t *testing.T) {
	s := New(t)
	get := func() (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/models", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	if status, body := get(); status != 200 || !strings.Contains(body, "fixture.gguf") {
		t.Errorf("got %d %s", status, body)
	}
	s.SetModels(503, `{}`)
	if status, body := get(); status != 503 || body != "{}" {
		t.Errorf("got %d %s", status, body)
	}
}
