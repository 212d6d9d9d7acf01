// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// A chunk is one frame of a streamed answer or a whole answer. No key is ever
// needed: null, a missing key, "" and a wrong type all mean absent.
type chunk struct {
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
	Timings *timings `json:"timings"`
}

type choice struct {
	Delta        message `json:"delta"`
	Message      message `json:"message"`
	FinishReason string  `json:"finish_reason"`
}

type message struct {
	Content          json.RawMessage `json:"content"`
	Refusal          string          `json:"refusal"`
	ReasoningContent string          `json:"reasoning_content"`
	Reasoning        string          `json:"reasoning"`
	Thinking         string          `json:"thinking"`
	ToolCalls        []toolCall      `json:"tool_calls"`
	FunctionCall     *function       `json:"function_call"`
}

type toolCall struct {
	Index    *int     `json:"index"`
	ID       string   `json:"id"`
	Function function `json:"function"`
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
		var parts []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if decode(raw, &parts) != nil {
			return ""
		}
		var b strings.Builder
		for _, p := range parts {
			if p.Type == "text" || p.Type == "output_text" {
				b.WriteString(p.Text)
			}
		}
		return b.String()
	}
	return ""
}

func (m *message) thought() bool {
	return m.ReasoningContent != "" || m.Reasoning != "" || m.Thinking != ""
}

// fragments returns the pieces of tool calls in this message. The old
// function_call field is a call without index and id.
func (m *message) fragments() []fragment {
	var fs []fragment
	for _, c := range m.ToolCalls {
		fs = append(fs, fragment{index: c.Index, id: c.ID, name: c.Function.Name, args: argumentPiece(c.Function.Arguments)})
	}
	if len(fs) == 0 && m.FunctionCall != nil {
		fs = append(fs, fragment{name: m.FunctionCall.Name, args: argumentPiece(m.FunctionCall.Arguments)})
	}
	return fs
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
