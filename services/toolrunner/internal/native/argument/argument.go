// SPDX-License-Identifier: Apache-2.0

// Package argument describes the parameters of built-in tools: one list gives
// both the schema that a model sees and the decoding of what it sends.
package argument

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.org/desktop-assistant/services/toolrunner/internal/native/fault"
)

// Type of a parameter.
type Type int

// The types.
const (
	Text    Type = iota // a string
	Integer             // a whole number from 1
	Texts               // an object whose values are strings
)

// Param is one parameter.
type Param struct {
	Name        string
	Type        Type
	Description string
	Required    bool
	Enum        []string // allowed texts, nil for any
}

// Values are decoded arguments. A parameter that was not given has its zero
// value, which no given integer has.
type Values struct {
	texts    map[string]string
	integers map[string]int64
	objects  map[string]map[string]string
}

// Text gives a text; given is false when there was none.
func (v Values) Text(name string) (value string, given bool) {
	value, given = v.texts[name]
	return value, given
}

// Integer gives a whole number from 1, or 0 when there was none.
func (v Values) Integer(name string) int64 { return v.integers[name] }

// Texts gives the texts of an object by their names.
func (v Values) Texts(name string) map[string]string { return v.objects[name] }

// Decode reads the arguments of a call: exactly one JSON object in UTF-8 with
// nothing after it, every name exactly as described and at most once, whole
// numbers without fraction and exponent. The error is a *[fault.Fault] of kind
// invalid_arguments; its text holds nothing of data.
func Decode(params []Param, data []byte) (Values, error) {
	v := Values{map[string]string{}, map[string]int64{}, map[string]map[string]string{}}
	if !utf8.Valid(data) || !json.Valid(data) || loneSurrogate(data) {
		return v, fault.Invalid("the arguments are not valid JSON")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	open, err := d.Token()
	if err != nil || open != json.Delim('{') {
		return v, fault.Invalid("the arguments are not a JSON object")
	}
	seen := map[string]bool{}
	for d.More() {
		name, err := key(d, seen)
		if err != nil {
			return v, err
		}
		i := slices.IndexFunc(params, func(p Param) bool { return p.Name == name })
		if i < 0 {
			return v, fault.Invalid("there is an unknown argument: the arguments are " + names(params))
		}
		if err := v.decode(d, params[i]); err != nil {
			return v, err
		}
	}
	for _, p := range params {
		if p.Required && !seen[p.Name] {
			return v, fault.Invalid(p.Name + " is missing")
		}
	}
	return v, nil
}

// key reads the name of the next member.
func key(d *json.Decoder, seen map[string]bool) (string, error) {
	token, err := d.Token()
	name, ok := token.(string)
	if err != nil || !ok {
		return "", fault.Invalid("the arguments are not valid JSON")
	}
	if seen[name] {
		return "", fault.Invalid("an argument is given twice")
	}
	seen[name] = true
	return name, nil
}

func (v Values) decode(d *json.Decoder, p Param) error {
	token, err := d.Token()
	if err != nil {
		return fault.Invalid("the arguments are not valid JSON")
	}
	switch p.Type {
	case Integer:
		n, ok := whole(token)
		if !ok {
			return fault.Invalid(p.Name + " must be a whole number from 1")
		}
		v.integers[p.Name] = n
	case Texts:
		if token != json.Delim('{') {
			return fault.Invalid(p.Name + " must be an object of strings")
		}
		return v.decodeTexts(d, p)
	default:
		text, ok := token.(string)
		if !ok {
			return fault.Invalid(p.Name + " must be a string")
		}
		if p.Enum != nil && !slices.Contains(p.Enum, text) {
			return fault.Invalid(p.Name + " must be one of " + strings.Join(p.Enum, ", "))
		}
		v.texts[p.Name] = text
	}
	return nil
}

// whole reads a number that is written as a whole one, from 1 to the largest
// int64.
func whole(token json.Token) (int64, bool) {
	number, ok := token.(json.Number)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(number.String(), 10, 64)
	return n, err == nil && n >= 1
}

func (v Values) decodeTexts(d *json.Decoder, p Param) error {
	texts, seen := map[string]string{}, map[string]bool{}
	for d.More() {
		name, err := key(d, seen)
		if err != nil {
			return err
		}
		token, err := d.Token()
		text, ok := token.(string)
		if err != nil || !ok {
			return fault.Invalid(p.Name + " must be an object of strings")
		}
		texts[name] = text
	}
	v.objects[p.Name] = texts
	_, err := d.Token() // the closing brace, of JSON that is known to be valid
	return err
}

// loneSurrogate finds half of a pair of \u escapes, for which the decoder would
// put another character. data must be valid JSON, where a backslash can only
// stand in a string and four hexadecimal digits follow \u.
func loneSurrogate(data []byte) bool {
	for i := bytes.IndexByte(data, '\\'); i >= 0 && i < len(data); {
		if data[i] != '\\' {
			i++
			continue
		}
		unit, ok := escaped(data[i:])
		switch {
		case !ok:
			i += 2
		case unit >= 0xd800 && unit < 0xdc00:
			if low, ok := escaped(data[i+6:]); !ok || low < 0xdc00 || low > 0xdfff {
				return true
			}
			i += 12
		case unit >= 0xdc00 && unit <= 0xdfff:
			return true
		default:
			i += 6
		}
	}
	return false
}

// escaped reads a \uXXXX at the start of data.
func escaped(data []byte) (unit uint64, ok bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	return unit, err == nil
}

// Schema is the JSON Schema of the arguments, as the "parameters" of OpenAI's
// function tools.
func Schema(params []Param) json.RawMessage {
	properties := make([]string, 0, len(params))
	required := []string{}
	for _, p := range params {
		property := map[string]any{"type": "string", "description": p.Description}
		switch p.Type {
		case Integer:
			property["type"], property["minimum"] = "integer", 1
		case Texts:
			property["type"], property["additionalProperties"] = "object", map[string]string{"type": "string"}
		case Text:
		}
		if p.Enum != nil {
			property["enum"] = p.Enum
		}
		properties = append(properties, string(encode(p.Name))+":"+string(encode(property)))
		if p.Required {
			required = append(required, p.Name)
		}
	}
	return json.RawMessage(`{"type":"object","properties":{` + strings.Join(properties, ",") +
		`},"required":` + string(encode(required)) + `,"additionalProperties":false}`)
}

// encode gives the JSON of strings, numbers and what is made of them, which
// cannot fail.
func encode(v any) []byte {
	text, _ := json.Marshal(v)
	return text
}

// names lists the names of parameters as "a, b and c".
func names(params []Param) string {
	list := make([]string, len(params))
	for i, p := range params {
		list[i] = p.Name
	}
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " and " + list[last]
}
