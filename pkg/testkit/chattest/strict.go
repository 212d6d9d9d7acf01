// SPDX-License-Identifier: Apache-2.0

package chattest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
)

// Complaints says what the strictest servers and chat templates would refuse about
// a request, nothing when all of them take it. Only a server that is set strict
// refuses, see [Server.Strict].
func (r *Request) Complaints() []string {
	c := &complaints{}
	var body struct {
		Messages          []strictMessage   `json:"messages"`
		Tools             []json.RawMessage `json:"tools"`
		ToolChoice        json.RawMessage   `json:"tool_choice"`
		ParallelToolCalls json.RawMessage   `json:"parallel_tool_calls"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil || len(body.Messages) == 0 {
		return []string{fmt.Sprintf("the request has no messages: %v", err)}
	}
	if body.Tools != nil && len(body.Tools) == 0 {
		c.add("tools is an empty list")
	}
	if len(body.Tools) == 0 && (body.ToolChoice != nil || body.ParallelToolCalls != nil) {
		c.add("tool_choice or parallel_tool_calls without tools")
	}
	c.order(body.Messages)
	for i := range body.Messages {
		c.message(i, &body.Messages[i])
	}
	c.results(body.Messages)
	if body.Messages[len(body.Messages)-1].Role == "assistant" {
		c.add("the last message is from the assistant")
	}
	return c.list
}

type strictMessage struct {
	Role    string  `json:"role"`
	Content *string `json:"content"`
	CallID  string  `json:"tool_call_id"`
	Calls   []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type complaints struct{ list []string }

func (c *complaints) add(format string, args ...any) {
	c.list = append(c.list, fmt.Sprintf(format, args...))
}

// order wants at most one system message, in front, and then user and assistant
// in turns, calls and results aside.
func (c *complaints) order(messages []strictMessage) {
	want := "user"
	for i, m := range messages {
		switch {
		case m.Role == "system" && i == 0, m.Role == "tool", m.Role == "assistant" && len(m.Calls) > 0:
		case m.Role != want:
			c.add("message %d is from %s, not from %s", i, m.Role, want)
			return
		case want == "user":
			want = "assistant"
		default:
			want = "user"
		}
	}
}

var (
	strictName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	leftover   = regexp.MustCompile(`<\|[a-z_]+\|>|</?think(ing)?>|</?tool_call>|\[TOOL_CALLS\]|<｜`)
)

// message looks at one message alone.
func (c *complaints) message(i int, m *strictMessage) {
	switch {
	case m.Content == nil:
		c.add("message %d has no content", i)
	case m.Role == "assistant" && *m.Content == "" && len(m.Calls) == 0:
		c.add("message %d has neither content nor calls", i)
	case m.Role == "assistant" && leftover.MatchString(*m.Content):
		c.add("message %d has markup in its content", i)
	case m.Role == "tool" && *m.Content == "":
		c.add("message %d is an empty result", i)
	}
	var ids []string
	for _, call := range m.Calls {
		var object map[string]any
		if json.Unmarshal([]byte(call.Function.Arguments), &object) != nil || object == nil {
			c.add("message %d: the arguments %q are no JSON object", i, call.Function.Arguments)
		}
		if call.ID == "" || slices.Contains(ids, call.ID) {
			c.add("message %d: the call id %q is empty or comes twice", i, call.ID)
		}
		ids = append(ids, call.ID)
		if !strictName.MatchString(call.Function.Name) {
			c.add("message %d: %q is no name of a function", i, call.Function.Name)
		}
	}
}

// results wants each call answered once, in order, right behind its message.
func (c *complaints) results(messages []strictMessage) {
	var open []string
	for i, m := range messages {
		switch {
		case m.Role == "tool" && (len(open) == 0 || open[0] != m.CallID):
			c.add("message %d answers %q, open are %q", i, m.CallID, open)
		case m.Role == "tool":
			open = open[1:]
		case len(open) > 0:
			c.add("message %d comes before the calls %q are answered", i, open)
			open = nil
		}
		for _, call := range m.Calls {
			open = append(open, call.ID)
		}
	}
	if len(open) > 0 {
		c.add("the calls %q are not answered", open)
	}
}

// Strict makes the server refuse what strict servers refuse, and fail the test.
func (s *Server) Strict() {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	s.h.strict = func(req *Request) (Exchange, bool) {
		list := req.Complaints()
		if len(list) == 0 {
			return Exchange{}, false
		}
		s.t.Errorf("chattest: a strict server refuses this request: %q\n%s", list, req.Body)
		b, err := json.Marshal(map[string]any{"error": map[string]any{"code": http.StatusBadRequest, "message": list[0], "type": "invalid_request_error"}})
		if err != nil {
			s.t.Errorf("chattest: %v", err)
		}
		return Fail(http.StatusBadRequest, string(b)), true
	}
}
