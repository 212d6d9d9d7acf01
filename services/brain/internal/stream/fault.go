// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A Fault is an error that a server reports in a body, with any status.
type Fault struct {
	Message string // what the server says, one line, at most 500 runes
	Type    string // its type or code as text, may be empty
}

// Error returns the message with the type.
func (f *Fault) Error() string {
	if f.Type == "" {
		return f.Message
	}
	return f.Message + " (" + f.Type + ")"
}

// ParseFault finds the error in a body: {"error":{...}}, {"error":"text"},
// {"object":"error"}, {"type":"error"}, {"errors":[...]}, {"detail":...},
// {"error_type","error_message"}, {"code","msg"} or {"message"}, also in a list. It
// returns nil when the body is none of these; whether plain text is an error only
// the status can tell.
func ParseFault(body []byte) *Fault {
	if body = bytes.TrimSpace(body); len(body) > 0 && body[0] == '[' {
		for _, item := range elements(body) {
			if f := ParseFault(item); f != nil {
				return f
			}
		}
		return nil
	}
	var v map[string]json.RawMessage
	if json.Unmarshal(body, &v) != nil {
		return nil
	}
	if f := chunkFault(v); f != nil {
		return f
	}
	for _, key := range []string{"message", "msg"} {
		if text := faultText(v[key]); text != "" {
			return newFault(text, v)
		}
	}
	return nil
}

// chunkFault looks only for what marks a stream frame as an error, whatever else
// the frame holds: "error": null is none.
func chunkFault(v map[string]json.RawMessage) *Fault {
	if truthy(v["error"]) {
		f := errorFault(v["error"])
		if f.Type == "" {
			f.Type = newFault("", v).Type
		}
		return f
	}
	for _, key := range []string{"error_message", "error_msg", "errors"} {
		if truthy(v[key]) {
			return newFault(faultText(v[key]), v)
		}
	}
	if scalarText(v["object"]) == "error" || scalarText(v["type"]) == "error" {
		return newFault(faultText(v["message"]), v)
	}
	if truthy(v["choices"]) {
		return nil
	}
	if truthy(v["detail"]) { // FastAPI
		return newFault(faultText(v["detail"]), v)
	}
	for _, key := range []string{"status", "code", "status_code"} {
		n, err := strconv.Atoi(scalarText(v[key]))
		if text := faultText(v["message"]) + faultText(v["msg"]); err == nil && n >= 400 && text != "" {
			return newFault(text, v)
		}
	}
	return nil
}

// errorFault reads the value of an error key: an object or words.
func errorFault(raw json.RawMessage) *Fault {
	var inner map[string]json.RawMessage
	_ = json.Unmarshal(raw, &inner) // words have no type
	return newFault(faultText(raw), inner)
}

func newFault(text string, v map[string]json.RawMessage) *Fault {
	f := &Fault{Message: shorten(text)}
	for _, key := range []string{"type", "error_type", "code", "status"} {
		if s := strings.Trim(string(v[key]), `"`); truthy(v[key]) && f.Type == "" {
			f.Type = shorten(s)
		}
	}
	if f.Message == "" {
		f.Message = "the server reports an error without words"
	}
	return f
}

func truthy(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "false", `""`, "{}", "[]", "0":
		return false
	}
	return true
}

// faultText finds the words in an error value of any shape. OpenRouter puts the
// text of the server behind it into metadata.raw; FastAPI lists its complaints
// as [{"loc","msg"}].
func faultText(raw json.RawMessage) string {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		var words []string
		for _, item := range list {
			words = append(words, faultText(item))
		}
		return strings.Join(words, "; ")
	}
	var v map[string]json.RawMessage
	if json.Unmarshal(raw, &v) != nil {
		return scalar(raw)
	}
	text := ""
	for _, key := range []string{"message", "error_message", "msg", "detail", "error"} {
		if text == "" && truthy(v[key]) {
			text = faultText(v[key])
		}
	}
	if truthy(v["loc"]) {
		text = fmt.Sprintf("%s at %s", text, v["loc"])
	}
	var meta struct {
		Raw string `json:"raw"`
	}
	if decode(v["metadata"], &meta) == nil && meta.Raw != "" {
		text += ": " + meta.Raw
	}
	if text == "" {
		return string(raw)
	}
	return text
}

func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// shorten makes one line of at most 500 runes.
func shorten(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 500 {
		return string(r[:500]) + "…"
	}
	return s
}
