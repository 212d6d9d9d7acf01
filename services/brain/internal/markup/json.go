// SPDX-License-Identifier: Apache-2.0

package markup

import (
	"encoding/json"
	"strings"
)

// callKeys are the first keys of a JSON object that may be a tool call.
var callKeys = map[string]bool{
	"name": true, "function": true, "tool": true, "tool_name": true, "tool_call": true, "tool_calls": true,
	"arguments": true, "parameters": true, "type": true, "id": true, "tool_call_id": true, "action": true,
}

// leaked decides whether the buffer begins with a tool call written as bare JSON
// or as a list of calls in Python's form.
func (f *Filter) leaked(final bool) (action, int) {
	act, n := f.leakedJSON(final)
	if act != none {
		return act, n
	}
	return f.leakedList(final)
}

// leakedJSON decides whether the buffer begins with a tool call written as bare
// JSON, also in a list or a code fence. It holds back until the object is whole.
func (f *Filter) leakedJSON(final bool) (action, int) {
	s := f.buf
	if len(s) > maxHold {
		s, final = s[:maxHold], true
	}
	s, ok := unfence(s)
	if ok {
		s, ok = firstObject(s)
	}
	if !ok {
		return none, 0
	}
	maybe, key := firstKey(s)
	if !maybe {
		return none, 0
	}
	end := objectEnd(s)
	switch {
	case end == 0 && !final:
		return undecided, 0
	case end == 0 && key:
		return tool, 0 // half a call: never spoken
	case end == 0:
		return none, 0
	}
	for _, c := range callsOf(s[:end]) {
		if _, offered := f.offer[c.Name]; offered || c.Arguments != "" {
			return tool, 0
		}
	}
	return none, 0
}

// unfence skips the opening of a code fence: three backticks, a language, white
// space. ok is false when s cannot be a fence or an object.
func unfence(s string) (string, bool) {
	if !strings.HasPrefix(s, "`") {
		return s, true
	}
	body := strings.TrimPrefix(s, "```")
	if body == s {
		return "", strings.HasPrefix("```", s)
	}
	body = strings.TrimLeft(body, "abcdefghijklmnopqrstuvwxyz_")
	return strings.TrimLeft(body, " \t\r\n"), true
}

// firstObject skips the opening of a list.
func firstObject(s string) (string, bool) {
	if rest, ok := strings.CutPrefix(s, "["); ok {
		s = strings.TrimLeft(rest, " \t\r\n")
	}
	return s, s == "" || s[0] == '{'
}

// firstKey looks at the first key of the object that s begins with. maybe: the
// key is one of callKeys or may become one; key: it is there.
func firstKey(s string) (maybe, key bool) {
	if s == "" {
		return true, false
	}
	s = strings.TrimLeft(s[1:], " \t\r\n")
	if s == "" {
		return true, false
	}
	if s[0] != '"' {
		return false, false
	}
	name, _, closed := strings.Cut(s[1:], `"`)
	if closed {
		return callKeys[name], callKeys[name]
	}
	for k := range callKeys {
		if strings.HasPrefix(k, name) {
			return true, false
		}
	}
	return false, false
}

// objectEnd returns the length of the JSON object or list at the beginning of s,
// by brackets outside strings; 0 when it is not complete.
func objectEnd(s string) int {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// callsOf reads a JSON object that is a call, in the forms models use: name or
// tool beside arguments, parameters, args or input, a nested function object, or
// a tool_calls list. Arguments are JSON text, "" when there are none.
func callsOf(s string) []Found {
	var v map[string]json.RawMessage
	if json.Unmarshal([]byte(s), &v) != nil {
		return nil
	}
	for _, key := range []string{"tool_calls", "tool_call", "function"} {
		var list []json.RawMessage
		if json.Unmarshal(v[key], &list) != nil || list == nil {
			list = []json.RawMessage{v[key]}
		}
		var found []Found
		for _, item := range list {
			found = append(found, callsOf(string(item))...)
		}
		if len(found) > 0 {
			return found
		}
	}
	var name string
	keys := []string{"name", "function", "tool", "tool_name"}
	if v["action_input"] != nil {
		keys = append(keys, "action")
	}
	for _, key := range keys {
		if name == "" && json.Unmarshal(v[key], &name) != nil {
			name = ""
		}
	}
	if name == "" {
		return nil
	}
	args := ""
	for _, key := range []string{"arguments", "parameters", "args", "input", "tool_input", "action_input"} {
		if args == "" {
			args = string(v[key])
		}
	}
	return []Found{{Name: name, Arguments: args}}
}
