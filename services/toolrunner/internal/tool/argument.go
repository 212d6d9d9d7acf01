// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// ErrArguments is the error of [DecodeArguments]. Its text is what the model
// is told after "error: ".
var ErrArguments = errors.New("arguments are not valid JSON")

// DecodeArguments reads the arguments of a call: exactly one JSON object in
// UTF-8, no name twice, nothing after it. A string gives its value, null no
// value at all, and everything else its JSON text exactly as it was written,
// so that no number passes through a float. Names are case-sensitive. Every
// error is [ErrArguments].
func DecodeArguments(data []byte) (Arguments, error) {
	if !utf8.Valid(data) || !json.Valid(data) {
		return nil, ErrArguments
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, ErrArguments
	}
	a := Arguments{}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if err != nil || !ok || seen[name] {
			return nil, ErrArguments
		}
		seen[name] = true
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, ErrArguments
		}
		text, present, err := argumentText(raw)
		if err != nil {
			return nil, ErrArguments
		}
		if present {
			a[name] = text
		}
	}
	return a, nil
}

func argumentText(raw json.RawMessage) (text string, present bool, err error) {
	switch {
	case string(raw) == "null":
		return "", false, nil
	case len(raw) > 0 && raw[0] == '"':
		err := json.Unmarshal(raw, &text)
		return text, true, err
	}
	return string(raw), true, nil
}

// Check holds the arguments of a call against the parameters. Unknown names
// are ignored and types are not enforced, since a value is text in the end;
// required, enum and pattern are. An optional parameter may always be empty.
// The error's text is what the model is told after "error: ".
func (t *Tool) Check(a Arguments) error {
	for _, p := range t.Params {
		value, present := a[p.Name]
		if !present && p.Required {
			return fmt.Errorf("%s is required", p.Name)
		}
		if value == "" && !p.Required {
			continue
		}
		if p.Enum != nil && !slices.Contains(p.Enum, value) {
			return fmt.Errorf("%s must be one of %s", p.Name, strings.Join(p.Enum, ", "))
		}
		if p.Pattern != nil && !p.Pattern.MatchString(value) {
			return fmt.Errorf("%s has a form that is not allowed", p.Name)
		}
	}
	return nil
}
