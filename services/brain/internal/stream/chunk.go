// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// A chunk is one frame of a streamed answer or a whole answer. No key is ever
// needed: null, a missing key, "" and a wrong type all mean absent.
type chunk struct {
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
	Timings *timings `json:"timings"`

	// What marks an error, see chunkFault.
	Object       string          `json:"object"`
	Type         string          `json:"type"`
	Error        json.RawMessage `json:"error"`
	ErrorMessage json.RawMessage `json:"error_message"`
	ErrorMsg     json.RawMessage `json:"error_msg"`
	Errors       json.RawMessage `json:"errors"`
}

// odd tells that a chunk needs a closer look: it may be an error, or nothing.
func (c *chunk) odd() bool {
	return c.Choices == nil || c.Object == "error" || c.Type == "error" ||
		c.Error != nil || c.ErrorMessage != nil || c.ErrorMsg != nil || c.Errors != nil
}

type choice struct {
	Delta        message         `json:"delta"`
	Message      message         `json:"message"`
	FinishReason string          `json:"finish_reason"`
	Error        json.RawMessage `json:"error"`
}

// finish returns the finish reason. Some servers write the absence of one as a
// word (koboldcpp, old text-generation-webui).
func (c *choice) finish() string {
	if c.FinishReason == "null" || c.FinishReason == "None" {
		return ""
	}
	return c.FinishReason
}

type message struct {
	Content          json.RawMessage `json:"content"`
	Refusal          string          `json:"refusal"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ReasoningText    json.RawMessage `json:"reasoning_text"`
	Thinking         json.RawMessage `json:"thinking"`
	ThinkingContent  json.RawMessage `json:"thinking_content"`
	Thought          json.RawMessage `json:"thought"`
	Details          json.RawMessage `json:"reasoning_details"`
	ToolCalls        json.RawMessage `json:"tool_calls"`
	FunctionCall     *function       `json:"function_call"`
}

// A toolCall is one entry of tool_calls. Name and Arguments beside the function
// are where they should not be, and are.
type toolCall struct {
	Index     json.RawMessage `json:"index"`
	ID        json.RawMessage `json:"id"`
	Function  function        `json:"function"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func (c *toolCall) fragment() fragment {
	f := fragment{id: scalarText(c.ID), name: c.Function.Name, args: argumentPiece(c.Function.Arguments)}
	if n, err := strconv.ParseFloat(scalarText(c.Index), 64); err == nil { // "0" and 0.0 are seen
		index := int(n)
		f.index = &index
	}
	if f.name == "" {
		f.name = c.Name
	}
	if f.args == "" {
		f.args = argumentPiece(c.Arguments)
	}
	return f
}

// scalarText returns a string or a number as text, and "" for all else.
func scalarText(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if n := json.Number(raw); json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

type function struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

type timings struct {
	Cached       int     `json:"cache_n"`
	PromptMS     float64 `json:"prompt_ms"`
	CompletionMS float64 `json:"predicted_ms"`
}

// decode reads one frame into v. Fields of a wrong type stay empty.
func decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return nil
	}
	return err
}

// text returns what a message says: a string, the text parts of a list, and a
// refusal. A part of another type (thinking, reference) is not said.
func (m *message) text() string {
	return contentText(m.Content) + m.Refusal
}

func contentText(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return ""
	}
	switch raw[0] {
	case '"':
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return ""
		}
		return s
	case '[':
		var parts []json.RawMessage
		if json.Unmarshal(raw, &parts) != nil {
			return ""
		}
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(contentText(p))
		}
		return b.String()
	case '{':
		return partText(raw)
	}
	return ""
}

// partText returns the text of one part of a content list. A part of another type
// (thinking, reference) is not said; a type may be missing.
func partText(raw json.RawMessage) string {
	var part struct {
		Type string          `json:"type"`
		Text json.RawMessage `json:"text"`
	}
	if decode(raw, &part) != nil {
		return ""
	}
	switch part.Type {
	case "", "text", "output_text":
		var inner struct {
			Value string `json:"value"`
		}
		if decode(part.Text, &inner) == nil && inner.Value != "" {
			return inner.Value
		}
		return scalarText(part.Text)
	}
	return ""
}

// thinking returns the thinking in the fields that servers use for it. Where two
// hold the same it comes twice, which does no harm: nobody hears it.
func (m *message) thinking() string {
	var b strings.Builder
	for _, raw := range []json.RawMessage{
		m.ReasoningContent, m.Reasoning, m.ReasoningText, m.Thinking, m.ThinkingContent, m.Thought,
	} {
		b.WriteString(scalarText(raw))
	}
	return b.String()
}

// thought tells that a message holds thinking of any form.
func (m *message) thought(text string) bool {
	return text != "" || truthy(m.Details) || truthy(m.Reasoning) || truthy(m.Thinking)
}

// fragments returns the pieces of tool calls in this message. The old
// function_call field is a call without index and id.
func (m *message) fragments() []fragment {
	var fs []fragment
	for _, raw := range elements(m.ToolCalls) {
		var c toolCall
		if truthy(raw) && decode(raw, &c) == nil {
			fs = append(fs, c.fragment())
		}
	}
	if len(fs) == 0 && m.FunctionCall != nil {
		fs = append(fs, fragment{name: m.FunctionCall.Name, args: argumentPiece(m.FunctionCall.Arguments)})
	}
	return fs
}

// elements returns the elements of a list, or an object as its only one.
func elements(raw json.RawMessage) []json.RawMessage {
	if !truthy(raw) {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && raw[0] == '{' {
		return []json.RawMessage{raw}
	}
	return nil
}

// argumentPiece returns the text of an arguments field. It should be a string;
// an object is taken as its JSON text (llama-server builds of March 2026), an
// empty one or null as nothing.
func argumentPiece(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if raw[0] == '"' {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return ""
		}
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil || b.String() == "{}" || b.String() == "[]" {
		return ""
	}
	return b.String()
}
