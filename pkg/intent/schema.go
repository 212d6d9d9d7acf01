// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"encoding/json"
	"slices"
)

// Params reads what templates may hold off the JSON schema of a tool's
// arguments. A param whose schema is of another shape is free text; values of
// an enum that are not strings are their JSON text. A schema that cannot be
// read has no params.
func Params(schema json.RawMessage) map[string]Param {
	var object struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if json.Unmarshal(schema, &object) != nil {
		return nil
	}
	params := make(map[string]Param, len(object.Properties))
	for name, raw := range object.Properties {
		params[name] = param(raw, slices.Contains(object.Required, name))
	}
	return params
}

func param(schema json.RawMessage, required bool) Param {
	var property struct {
		Type string            `json:"type"`
		Enum []json.RawMessage `json:"enum"`
	}
	if json.Unmarshal(schema, &property) != nil {
		return Param{Required: required}
	}
	p := Param{Type: property.Type, Required: required}
	for _, value := range property.Enum {
		text := string(value)
		var word string
		if json.Unmarshal(value, &word) == nil {
			text = word
		}
		p.Enum = append(p.Enum, text)
	}
	return p
}
