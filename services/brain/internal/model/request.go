// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"

	"example.org/desktop-assistant/services/brain/internal/markup"
	"example.org/desktop-assistant/services/brain/internal/stream"
)

// Role says who wrote a message.
type Role string

// The roles. One system message at most, and first: strict chat templates
// refuse any other place.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// A Message is one message of the history. An assistant message with calls is
// followed by one tool message for each, in the same order; an assistant message
// without content and calls must not be stored, servers refuse it.
type Message struct {
	Role    Role
	Content string
	Calls   []Call // assistant only
	CallID  string // tool only: the call it answers
}

type (
	// Call is a tool call of an answer. One with a Problem must not be run.
	Call = stream.Call
	// Usage is what the server said about tokens and time.
	Usage = stream.Usage
)

// A Tool is offered to the model.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of an object; nil: no parameters
}

// A Request is what the model is asked. Tools keep their order on the wire, so
// that the server's prefix cache holds; with no tools none of the keys about
// tools is sent.
type Request struct {
	Messages []Message
	Tools    []Tool
}

// The optional fields of a request. One that a server refuses is not sent to it
// again.
const (
	fieldStreamOptions = "stream_options"
	fieldTemplate      = "chat_template_kwargs"
)

type wireRequest struct {
	Model         string          `json:"model,omitempty"`
	Messages      []wireMessage   `json:"messages"`
	Tools         []wireTool      `json:"tools,omitempty"`
	Stream        bool            `json:"stream"`
	StreamOptions map[string]bool `json:"stream_options,omitempty"`
	Template      map[string]bool `json:"chat_template_kwargs,omitempty"`
}

// wireMessage always carries content as a string: a missing key, null and ""
// have each been refused by some server, "" by the fewest.
type wireMessage struct {
	Role    Role       `json:"role"`
	Content string     `json:"content"`
	Calls   []wireCall `json:"tool_calls,omitempty"`
	CallID  string     `json:"tool_call_id,omitempty"`
}

type wireCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type wireTool struct {
	Type     string   `json:"type"`
	Function wireSpec `json:"function"`
}

type wireSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

func encodeRequest(req Request, model string, send map[string]bool) ([]byte, error) {
	w := wireRequest{Model: model, Stream: true, Messages: []wireMessage{}}
	for _, m := range req.Messages {
		wm := wireMessage{Role: m.Role, Content: m.Content, CallID: m.CallID}
		for _, c := range m.Calls {
			wm.Calls = append(wm.Calls, wireCall{ID: c.ID, Type: "function",
				Function: wireFunction{Name: c.Name, Arguments: string(c.Arguments)}})
		}
		w.Messages = append(w.Messages, wm)
	}
	for _, t := range req.Tools {
		spec := wireSpec(t)
		if len(spec.Parameters) == 0 {
			spec.Parameters = noParameters
		}
		w.Tools = append(w.Tools, wireTool{Type: "function", Function: spec})
	}
	if send[fieldStreamOptions] {
		w.StreamOptions = map[string]bool{"include_usage": true}
	}
	if send[fieldTemplate] {
		w.Template = map[string]bool{"enable_thinking": false}
	}
	return json.Marshal(w)
}

// offer lists the tools with the types of their parameters, which calls written
// as text need. A type that is not one word is left open.
func offer(tools []Tool) markup.Offer {
	if len(tools) == 0 {
		return nil
	}
	o := markup.Offer{}
	for _, t := range tools {
		var schema struct {
			Properties map[string]struct {
				Type json.RawMessage `json:"type"`
			} `json:"properties"`
		}
		types := map[string]string{}
		if len(t.Parameters) > 0 && json.Unmarshal(t.Parameters, &schema) == nil {
			for name, p := range schema.Properties {
				var kind string
				if json.Unmarshal(p.Type, &kind) == nil {
					types[name] = kind
				}
			}
		}
		o[t.Name] = types
	}
	return o
}
