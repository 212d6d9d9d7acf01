// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"encoding/json"
)

// Schema is the JSON Schema of the arguments, an object as the "parameters"
// of OpenAI's function tools: properties in the order of the file, with type,
// description and enum, and "required" only when something is.
func (t *Tool) Schema() json.RawMessage {
	var b bytes.Buffer
	b.WriteString(`{"type":"object","properties":{`)
	var required []string
	for i, p := range t.Params {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quote(p.Name))
		b.WriteByte(':')
		p.writeSchema(&b)
		if p.Required {
			required = append(required, p.Name)
		}
	}
	b.WriteByte('}')
	if required != nil {
		b.WriteString(`,"required":`)
		writeList(&b, required, quote)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func (p Param) writeSchema(b *bytes.Buffer) {
	b.WriteString(`{"type":`)
	b.Write(quote(p.Type))
	if p.Description != "" {
		b.WriteString(`,"description":`)
		b.Write(quote(p.Description))
	}
	if p.Type == "array" { // some servers refuse an array that does not say of what
		b.WriteString(`,"items":{}`)
	}
	if p.Enum != nil {
		b.WriteString(`,"enum":`)
		value := quote
		if p.Type != "string" {
			value = func(s string) []byte { return []byte(s) }
		}
		writeList(b, p.Enum, value)
	}
	b.WriteByte('}')
}

func writeList(b *bytes.Buffer, list []string, value func(string) []byte) {
	b.WriteByte('[')
	for i, s := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(value(s))
	}
	b.WriteByte(']')
}

// quote is the JSON form of a text; encoding a string cannot fail.
func quote(s string) []byte {
	text, _ := json.Marshal(s)
	return text
}
