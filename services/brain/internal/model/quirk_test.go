// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/testkit/chattest"
)

var now = Tool{Name: "now", Description: "the time"}

// history is a question with a call and its result, and no tools offered any more.
func history() Request {
	return Request{
		Messages: []Message{
			{Role: RoleSystem, Content: "Be brief."}, {Role: RoleUser, Content: "time?"},
			{Role: RoleAssistant, Calls: []Call{{ID: "c1", Name: "now", Arguments: json.RawMessage("{}")}}},
			{Role: RoleTool, Content: "noon", CallID: "c1"},
		},
		Spent: []Tool{now},
	}
}

// ask repeats a request for as long as the client learns from the refusals.
func ask(t *testing.T, c *Client, req Request) (bodies int, err error) {
	t.Helper()
	for bodies = 1; bodies < 10; bodies++ {
		if _, err = c.Chat(t.Context(), req, func(string) {}); err == nil || wantKind(t, err, err.(*Error).Kind).Retry != RetryAdapted {
			return bodies, err
		}
	}
	t.Fatalf("the client does not stop learning: %v", err)
	return bodies, err
}

// What servers refuse, in their words, and what the request becomes.
func TestQuirks(t *testing.T) {
	refuse := func(status int, text string) chattest.Exchange {
		b, _ := json.Marshal(map[string]any{"error": map[string]any{"message": text}})
		return chattest.Fail(status, string(b))
	}
	tests := []struct {
		name     string
		refusals []chattest.Exchange
		with     []string // in the request that is taken
		without  []string
	}{
		{"fields", []chattest.Exchange{refuse(400, "Unrecognized request argument supplied: chat_template_kwargs"), refuse(422, "stream_options: extra fields not permitted")},
			nil, []string{"chat_template_kwargs", "stream_options"}},
		{"system", []chattest.Exchange{refuse(500, "Jinja Exception: System role not supported")},
			[]string{`"messages":[{"role":"user","content":"Be brief.\n\ntime?"}`}, []string{`"system"`}},
		{"empty content", []chattest.Exchange{refuse(400, "messages: text content blocks must be non-empty")},
			[]string{`"content":null,"tool_calls"`}, []string{`"content":""`}},
		{"calls without tools", []chattest.Exchange{refuse(400, "The toolConfig field must be defined when using toolUse and toolResult content blocks.")},
			[]string{`"tool_choice":"none"`, `"tools":[{`, `"tool_calls"`}, nil},
		{"calls without tools, in other words", []chattest.Exchange{refuse(400, "litellm.UnsupportedParamsError: Bedrock doesn't support tool calling without `tools=` param specified.")},
			[]string{`"tool_choice":"none"`, `"tools":[{`}, nil},
		{"calls at all", []chattest.Exchange{refuse(400, "tools must be given when the messages contain tool calls"), refuse(400, "tool_choice none is not supported")},
			[]string{`"content":"time?\n\nResult of the tool now({}): noon"`}, []string{"tool_calls", "tool_choice", `"tools"`}},
		{"context, which teaches nothing", []chattest.Exchange{refuse(400, "the request exceeds the available context size, tools must be given less")}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := chattest.New(t, chattest.Rule{Say: "Yes."})
			server.Script(tt.refusals...)
			client := newClient(t, server.URL, nil)
			n, err := ask(t, client, history())
			if tt.with == nil && tt.without == nil {
				if wantKind(t, err, KindContextFull); n != 1 {
					t.Errorf("asked %d times", n)
				}
				return
			}
			if err != nil || n != len(tt.refusals)+1 {
				t.Fatalf("asked %d times, %v", n, err)
			}
			if n, err := ask(t, client, history()); n != 1 || err != nil { // remembered
				t.Errorf("the next question is asked %d times, %v", n, err)
			}
			for _, req := range server.Requests()[len(tt.refusals):] {
				body := string(req.Body)
				for _, s := range tt.with {
					if !strings.Contains(body, s) {
						t.Errorf("%s is not in %s", s, body)
					}
				}
				for _, s := range tt.without {
					if strings.Contains(body, s) {
						t.Errorf("%s is in %s", s, body)
					}
				}
				if list := req.Complaints(); len(list) > 0 && tt.name != "empty content" {
					t.Errorf("a strict server refuses it: %q", list)
				}
			}
		})
	}
}

// promise: the fields against thinking go only to servers known to take them.
func TestThinkingIsSwitchedOff(t *testing.T) {
	for owner, field := range map[string]string{
		"llamacpp": `"chat_template_kwargs":{"enable_thinking":false}`, "vllm": `"chat_template_kwargs":{"enable_thinking":false}`,
		"sglang": `"chat_template_kwargs":{"enable_thinking":false}`, "library": `"reasoning_effort":"none"`, "openai": "", "": "",
	} {
		for _, thinking := range []bool{false, true} {
			server := chattest.New(t, chattest.Rule{Say: "Yes."})
			server.SetModels(200, `{"data":[{"id":"m","owned_by":"`+owner+`"}]}`)
			client := newClient(t, server.URL, func(o *Options) { o.Thinking = thinking })
			if _, err := client.Chat(t.Context(), hello, func(string) {}); err != nil {
				t.Fatal(err)
			}
			body := string(server.Next().Body)
			any := strings.Contains(body, "chat_template_kwargs") || strings.Contains(body, "reasoning_effort")
			if any != (field != "" && !thinking) || any && !strings.Contains(body, field) {
				t.Errorf("%q, thinking %v: %s", owner, thinking, body)
			}
		}
	}
}

// promise: what was sent before is sent again to the byte, so that the server's
// prefix cache holds: the next round only adds to it.
func TestPrefixIsStable(t *testing.T) {
	server := chattest.New(t, chattest.Rule{Say: "Yes."})
	client := newClient(t, server.URL, nil)
	var tools []Tool
	for i := range 20 {
		tools = append(tools, Tool{Name: fmt.Sprintf("t%d", i), Parameters: json.RawMessage(`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"number"}}}`)})
	}
	req := history()
	req.Tools, req.Spent = tools, nil
	first, longer := req, req
	first.Messages = req.Messages[:2]
	var cut []string
	for _, r := range []Request{first, longer, longer} {
		if _, err := client.Chat(t.Context(), r, func(string) {}); err != nil {
			t.Fatal(err)
		}
		cut = append(cut, string(server.Next().Body))
	}
	if cut[1] != cut[2] {
		t.Errorf("the same request twice:\n%s\n%s", cut[1], cut[2])
	}
	messages, rest, _ := strings.Cut(cut[0], `],"tools":`)
	if _, tail, _ := strings.Cut(cut[1], `],"tools":`); !strings.HasPrefix(cut[1], messages+",") || tail != rest {
		t.Errorf("the second round does not begin like the first:\n%s\n%s", cut[0], cut[1])
	}
}

func TestIDsAreUniqueInTheHistory(t *testing.T) {
	call := func(id string) Message {
		return Message{Role: RoleAssistant, Calls: []Call{{ID: id, Name: "now", Arguments: json.RawMessage("{}")}}}
	}
	result := Message{Role: RoleTool, CallID: "0"}
	messages := []Message{{Role: RoleUser, Content: "a"}, call("0"), result, call("0"), result, call("call00001"), {Role: RoleTool, CallID: "call00001"}}
	body, _, err := encodeRequest(Request{Messages: messages, Tools: []Tool{now}}, form{})
	if err != nil {
		t.Fatal(err)
	}
	if list := (&chattest.Request{Body: body}).Complaints(); len(list) > 0 {
		t.Errorf("a strict server refuses it: %q", list)
	}
	if strings.Count(string(body), `"id":"0"`) != 1 || strings.Count(string(body), `"call00001"`) != 2 || strings.Count(string(body), `"call00002"`) != 2 {
		t.Errorf("ids in %s", body)
	}
}

func TestParseModels(t *testing.T) {
	for body, want := range map[string]serverInfo{
		`{"data":[{"id":"nomic-embed-text"},{"id":"qwen","owned_by":"library"}]}`: {"qwen", "library"},
		`{"data":[{"id":"bge-m3"}]}`:          {"bge-m3", ""},
		`{"models":[{"name":"a"}],"data":[]}`: {"a", ""},
		`[{"id":"b"}]`:                        {"b", ""},
		`{"data":[]}`:                         {},
		`<html>`:                              {},
		`{"data":null}`:                       {},
	} {
		if got := parseModels([]byte(body)); got != want {
			t.Errorf("%s: got %+v, want %+v", body, got, want)
		}
	}
}

// A name that the server no longer has is asked for anew, once.
func TestModelIsGone(t *testing.T) {
	server := chattest.New(t, chattest.Rule{Say: "Yes."})
	client := newClient(t, server.URL, nil)
	if _, err := client.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.SetModels(200, `{"data":[{"id":"other"}]}`)
	gone := chattest.Fail(404, `{"error":{"message":"model 'fixture.gguf' not found"}}`)
	server.Script(gone)
	if n, err := ask(t, client, hello); n != 2 || err != nil || server.Requests()[1].Model != "other" {
		t.Errorf("asked %d times, %v", n, err)
	}
	server.Script(gone, gone, gone)
	if n, err := ask(t, client, hello); n != 2 || err == nil {
		t.Errorf("a server that lists what it does not have: asked %d times, %v", n, err)
	}
}
