// SPDX-License-Identifier: Apache-2.0

package chattest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// A Request is a chat request that came in.
type Request struct {
	Header   http.Header
	Body     json.RawMessage // as it came
	Model    string
	Stream   bool
	Messages []Message
	Tools    []string // names of the offered tools, in order

	gone, done chan struct{}
}

// A Message is one message of a request.
type Message struct {
	Role    string
	Content string
	Calls   []Call
	CallID  string
}

// A Call is a tool call in the history.
type Call struct{ ID, Name, Arguments string }

// Gone is closed when the client closed its connection before the answer was
// complete.
func (r *Request) Gone() <-chan struct{} { return r.gone }

// Done is closed when the server has finished with the request, however it ended.
func (r *Request) Done() <-chan struct{} { return r.done }

// LastUser is the content of the last user message, "" without one.
func (r *Request) LastUser() string {
	text := ""
	for _, m := range r.Messages {
		if m.Role == "user" {
			text = m.Content
		}
	}
	return text
}

// Result is the content of the last message when that is a tool result.
func (r *Request) Result() (content string, ok bool) {
	if len(r.Messages) == 0 {
		return "", false
	}
	last := r.Messages[len(r.Messages)-1]
	return last.Content, last.Role == "tool"
}

func readRequest(r *http.Request) (*Request, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	var wire struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
			CallID  string `json:"tool_call_id"`
			Calls   []struct {
				ID       string `json:"id"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return nil, fmt.Errorf("decode request: %w", err)
	}
	req := &Request{Header: r.Header.Clone(), Body: body, Model: wire.Model, Stream: wire.Stream,
		gone: make(chan struct{}), done: make(chan struct{})}
	for _, m := range wire.Messages {
		msg := Message{Role: m.Role, Content: m.Content, CallID: m.CallID}
		for _, c := range m.Calls {
			msg.Calls = append(msg.Calls, Call{c.ID, c.Function.Name, c.Function.Arguments})
		}
		req.Messages = append(req.Messages, msg)
	}
	for _, t := range wire.Tools {
		req.Tools = append(req.Tools, t.Function.Name)
	}
	return req, nil
}
