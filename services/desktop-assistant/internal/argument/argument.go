// SPDX-License-Identifier: Apache-2.0

// Package argument makes the arguments of a tool out of what was typed.
package argument

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"example.org/desktop-assistant/proto"
)

// numberForm is a number as JSON writes it (RFC 8259).
const numberForm = `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`

// kinds say how a value of a type of JSON Schema is written on a command line:
// as its JSON text, digit by digit. All other types are texts.
var kinds = map[string]struct {
	form *regexp.Regexp
	what string
}{
	"integer": {regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`), "a whole number"},
	"number":  {regexp.MustCompile(`^` + numberForm + `$`), "a number"},
	"boolean": {regexp.MustCompile(`^(true|false)$`), "true or false"},
	"array":   {regexp.MustCompile(`(?s)^\[.*\]$`), `an array in JSON, such as '["a","b"]'`},
	"object":  {regexp.MustCompile(`(?s)^\{.*\}$`), `an object in JSON, such as '{"a":1}'`},
}

// Check finds the argument that is no key=value pair, before the tool is known.
func Check(pairs []string) *proto.Error {
	for _, pair := range pairs {
		if at := strings.Index(pair, "="); at < 1 {
			return wrong(fmt.Sprintf("%q is not KEY=VALUE", pair), "for example: desktop-assistant tool run weather place=Rome")
		}
	}
	return nil
}

// Encode makes one JSON object of key=value pairs, with the types that the
// tool's schema names. A value that is empty is left out where it cannot be a
// text. The error, a value that has not the form of its type or a key that the
// tool does not know, is a [*proto.Error] with a hint.
func Encode(spec proto.ToolSpec, pairs []string) ([]byte, error) {
	if err := Check(pairs); err != nil {
		return nil, err
	}
	types := typesOf(spec)
	object := map[string]json.RawMessage{}
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		kind, known := types[key]
		if !known {
			hint := spec.Name + " takes no arguments"
			if names := Names(spec); len(names) > 0 {
				hint = "its arguments are: " + strings.Join(names, ", ")
			}
			return nil, wrong(fmt.Sprintf("%s has no argument %q", spec.Name, key), hint)
		}
		text, err := encode(kind, value)
		if err != nil {
			return nil, wrong(fmt.Sprintf("%s must be %v, not %q", key, err, value), fmt.Sprintf("desktop-assistant tool run %s %s=VALUE", spec.Name, key))
		}
		if text != nil {
			object[key] = text
		}
	}
	body, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode arguments: %w", err)
	}
	return body, nil
}

func wrong(text, hint string) *proto.Error {
	return proto.Errorf(proto.CodeInvalid, "tool run", "%s", text).WithHint("%s", hint)
}

// encode gives the JSON text of a value, nil for none. The error says what the
// value must be.
func encode(kind, value string) (json.RawMessage, error) {
	rule, plain := kinds[kind]
	switch {
	case !plain:
		return json.Marshal(value)
	case value == "":
		return nil, nil
	case !rule.form.MatchString(value) || !json.Valid([]byte(value)):
		return nil, fmt.Errorf("%s", rule.what)
	}
	return json.RawMessage(value), nil
}

// Names lists the params of a tool in order.
func Names(spec proto.ToolSpec) []string { return slices.Sorted(maps.Keys(typesOf(spec))) }

// typesOf are the types of a tool's params by name.
func typesOf(spec proto.ToolSpec) map[string]string {
	var schema struct {
		Properties map[string]struct {
			Type json.RawMessage `json:"type"`
		} `json:"properties"`
	}
	types := map[string]string{}
	if err := json.Unmarshal(spec.Parameters, &schema); err != nil {
		return types // a tool that describes no params
	}
	for name, p := range schema.Properties {
		types[name] = kindOf(p.Type)
	}
	return types
}

// kindOf reads a type of JSON Schema, which may be a list such as
// ["integer","null"].
func kindOf(text json.RawMessage) string {
	var one string
	if json.Unmarshal(text, &one) == nil {
		return one
	}
	var list []string
	if json.Unmarshal(text, &list) == nil {
		for _, kind := range list {
			if kind != "null" {
				return kind
			}
		}
	}
	return "string"
}
