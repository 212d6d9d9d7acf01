// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"example.org/desktop-assistant/services/brain/internal/markup"
)

// A Problem says why a call must not be run. "" means that it may.
type Problem string

// The problems of a call.
const (
	ProblemTool        Problem = "unknown_tool"      // the name was not offered
	ProblemArguments   Problem = "invalid_arguments" // the arguments are no JSON object
	ProblemTruncated   Problem = "truncated"         // the answer hit the length limit
	ProblemInterrupted Problem = "interrupted"       // the answer broke off
	ProblemTooMany     Problem = "too_many"          // and the last that is kept, see [MaxCalls]
)

// MaxCalls is how many calls of one answer may run. No question needs as many; a
// model that repeats itself writes them by the thousand, which neither the bus nor
// the model's context holds.
const MaxCalls = 32

// A Call is one tool call of an answer.
type Call struct {
	ID   string // never empty, unique in the answer
	Name string // valid as a function name
	// Arguments is always a JSON object, so that the call can go back to the
	// server in the history; {} when what came could not be decoded.
	Arguments json.RawMessage
	Decoded   bool    // Arguments is what the model meant
	Raw       string  // the arguments as the model wrote them
	Problem   Problem // not "": answer the call with Refusal, do not run it
}

// Refusal is the tool result to give for a call that has a Problem. It tells the
// model what to do better; tools are the offered names.
func (c Call) Refusal(tools []string) string {
	switch c.Problem {
	case ProblemTool:
		if len(tools) == 0 {
			return fmt.Sprintf("error: no tool named %s, no tools are available now", c.Name)
		}
		return fmt.Sprintf("error: no tool named %s, use one of: %s", c.Name, strings.Join(tools, ", "))
	case ProblemArguments:
		return "error: arguments are not valid JSON: " + shorten(c.Raw)
	case ProblemTruncated:
		return "error: the call was cut off by the length limit and did not run"
	case ProblemInterrupted:
		return "error: the call was interrupted and did not run"
	case ProblemTooMany:
		return fmt.Sprintf("error: more than %d calls at once, this one and those after it did not run", MaxCalls)
	}
	return ""
}

func newCall(id, name, raw string, offer markup.Offer) Call {
	c := Call{ID: id, Name: cleanName(name, offer), Raw: raw}
	c.Arguments, c.Decoded = parseArguments(raw)
	_, known := offer[c.Name]
	switch {
	case !known:
		c.Problem = ProblemTool
	case !c.Decoded:
		c.Problem = ProblemArguments
	}
	return c
}

// cleanName cuts harmony tokens ("x<|channel|>commentary"), drops a prefix when
// the rest is an offered tool ("functions.x", "default_api.x") and makes the
// rest a name that servers accept in a history.
func cleanName(name string, offer markup.Offer) string {
	name, _, _ = strings.Cut(name, "<|")
	name = strings.TrimSuffix(strings.TrimSpace(name), "()")
	name = markup.Resolve(name, offer)
	name = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), 64)]
}

var emptyObject = json.RawMessage("{}")

// parseArguments returns the JSON object that raw stands for. Nothing and null
// are {}; an object encoded as a string is decoded again; of several values in a
// row empty objects are nothing and equal ones are one. Only what can mean one
// thing is repaired, see [markup.Literal]: a brace is never closed, since a cut-off
// value may be a wrong value. When ok is false the result is {}.
func parseArguments(raw string) (args json.RawMessage, ok bool) {
	raw = strings.TrimSpace(raw)
	if raw == "[]" { // PHP's empty map
		return emptyObject, true
	}
	objects, ok := objectsIn(raw, 2)
	if !ok {
		objects, ok = objectsIn(repair(raw), 2)
	}
	objects = slices.DeleteFunc(objects, func(o string) bool { return o == "{}" })
	objects = slices.CompactFunc(objects, func(a, b string) bool { return canonical(a) == canonical(b) })
	if !ok || len(objects) > 1 {
		return emptyObject, false
	}
	if len(objects) == 0 {
		return emptyObject, true
	}
	return json.RawMessage(objects[0]), true
}

// objectsIn decodes a row of JSON objects; depth is how often a string may hold
// them in turn.
func objectsIn(s string, depth int) ([]string, bool) {
	var objects []string
	dec := json.NewDecoder(strings.NewReader(s))
	for {
		var v json.RawMessage
		err := dec.Decode(&v)
		if err == io.EOF {
			return objects, true
		}
		if err != nil {
			return nil, false
		}
		switch {
		case v[0] == '{':
			var b bytes.Buffer
			if json.Compact(&b, v) != nil {
				return nil, false
			}
			objects = append(objects, b.String())
		case v[0] == '"' && depth > 0:
			var inner string
			if json.Unmarshal(v, &inner) != nil {
				return nil, false
			}
			more, ok := objectsIn(inner, depth-1)
			if !ok {
				return nil, false
			}
			objects = append(objects, more...)
		case string(v) != "null":
			return nil, false
		}
	}
}

// tailTokens are what servers leave behind the arguments.
var tailTokens = regexp.MustCompile(`(?:\s*(?:<[|｜][^<>]*>|</\w+>))+$`)

// repair takes a code fence and left-over tokens off, and makes JSON of a value
// that is none but can mean only one thing.
func repair(s string) string {
	if body, found := strings.CutPrefix(s, "```"); found {
		body = strings.TrimSuffix(strings.TrimSpace(body), "```")
		s = strings.TrimSpace(strings.TrimPrefix(body, "json"))
	}
	s = tailTokens.ReplaceAllString(s, "")
	if v, ok := markup.Literal(s); ok {
		return string(v)
	}
	return s
}
