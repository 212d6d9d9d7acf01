// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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

// A Request is what the model is asked. Tools keep their order on the wire, and
// nothing that changes from request to request stands in front of anything that
// does not, so that the server's prefix cache holds. With no tools none of the keys
// about tools is sent.
type Request struct {
	Messages []Message
	Tools    []Tool
	// Spent are the tools that earlier rounds of this question offered and this one
	// does not: a call of one is known when it comes as text, and some servers want
	// them beside a history with calls.
	Spent []Tool
}

type wireRequest struct {
	Model         string          `json:"model,omitempty"`
	Messages      []wireMessage   `json:"messages"`
	Tools         []wireTool      `json:"tools,omitempty"`
	ToolChoice    string          `json:"tool_choice,omitempty"`
	Stream        bool            `json:"stream"`
	StreamOptions map[string]bool `json:"stream_options,omitempty"`
	Template      map[string]bool `json:"chat_template_kwargs,omitempty"`
	Effort        string          `json:"reasoning_effort,omitempty"`
}

// wireMessage carries content as a string: a missing key, null and "" have each
// been refused by some server, "" by the fewest. Those get null.
type wireMessage struct {
	Role    Role       `json:"role"`
	Content *string    `json:"content"`
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

// noOutput stands for the result of a tool that said nothing: strict servers refuse
// an empty one.
const noOutput = "(no output)"

// encodeRequest writes a request in the form that the server takes.
func encodeRequest(req Request, f form) ([]byte, shape, error) {
	w := wireRequest{Model: f.model, Stream: true}
	tools := req.Tools
	calls := slices.ContainsFunc(req.Messages, func(m Message) bool { return len(m.Calls) > 0 })
	if calls && len(tools) == 0 && f.quirks[quirkToolless] && !f.quirks[quirkCalls] {
		tools = req.Spent
		if len(tools) > 0 {
			w.ToolChoice = "none"
		}
	}
	messages := req.Messages
	if calls && len(tools) == 0 && f.quirks[quirkToolless] {
		messages, calls = flatten(messages), false
	}
	if f.quirks[quirkSystem] {
		messages = mergeSystem(messages)
	}
	w.Messages = wireMessages(messages, f.quirks[quirkEmpty])
	for _, t := range tools {
		spec := wireSpec(t)
		if len(spec.Parameters) == 0 {
			spec.Parameters = noParameters
		}
		w.Tools = append(w.Tools, wireTool{Type: "function", Function: spec})
	}
	if f.fields[quirkStreamOptions] {
		w.StreamOptions = map[string]bool{"include_usage": true}
	}
	if f.fields[quirkTemplate] {
		w.Template = map[string]bool{"enable_thinking": false}
	}
	if f.fields[quirkEffort] {
		w.Effort = "none"
	}
	body, err := json.Marshal(w)
	return body, shape{
		fields: f.fields, calls: calls, tools: len(tools) > 0, toolChoice: w.ToolChoice != "",
		system: len(messages) > 0 && messages[0].Role == RoleSystem,
		empty:  slices.ContainsFunc(messages, func(m Message) bool { return len(m.Calls) > 0 && m.Content == "" }) && !f.quirks[quirkEmpty],
	}, err
}

// wireMessages makes the ids of calls unique in the whole history: some servers
// count from 0 in every answer, and some gateways refuse a double.
func wireMessages(messages []Message, null bool) []wireMessage {
	list := make([]wireMessage, 0, len(messages))
	used := map[string]bool{}
	renamed := map[string]string{} // of the last message with calls
	made := 0
	for _, m := range messages {
		wm := wireMessage{Role: m.Role, Content: &m.Content, CallID: m.CallID}
		if len(m.Calls) > 0 {
			renamed = map[string]string{}
			if null && m.Content == "" {
				wm.Content = nil
			}
		}
		for _, c := range m.Calls {
			id := c.ID
			for used[id] {
				made++
				id = fmt.Sprintf("call%05d", made) // nine letters and digits, and the same each time
			}
			used[id], renamed[c.ID] = true, id
			wm.Calls = append(wm.Calls, wireCall{ID: id, Type: "function",
				Function: wireFunction{Name: c.Name, Arguments: string(c.Arguments)}})
		}
		if m.Role == RoleTool {
			if id, ok := renamed[m.CallID]; ok {
				wm.CallID = id
			}
			if strings.TrimSpace(m.Content) == "" {
				wm.Content = new(string)
				*wm.Content = noOutput
			}
		}
		list = append(list, wm)
	}
	return list
}

// mergeSystem puts the system text in front of the first question.
func mergeSystem(messages []Message) []Message {
	if len(messages) < 2 || messages[0].Role != RoleSystem {
		return messages
	}
	rest := slices.Clone(messages[1:])
	rest[0].Content = messages[0].Content + "\n\n" + rest[0].Content
	return rest
}

// flatten turns calls and their results into text behind the question.
func flatten(messages []Message) []Message {
	var flat []Message
	names := map[string]string{}
	for _, m := range messages {
		var text string
		switch {
		case len(m.Calls) > 0:
			for _, c := range m.Calls {
				names[c.ID] = fmt.Sprintf("%s(%s)", c.Name, c.Arguments)
			}
			text = m.Content
		case m.Role == RoleTool:
			text = fmt.Sprintf("Result of the tool %s: %s", names[m.CallID], m.Content)
		default:
			flat = append(flat, m)
			continue
		}
		if last := len(flat) - 1; last >= 0 && strings.TrimSpace(text) != "" {
			flat[last].Content += "\n\n" + strings.TrimSpace(text)
		}
	}
	return flat
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
