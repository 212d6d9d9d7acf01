// SPDX-License-Identifier: Apache-2.0

// Package catalog is the list of the built-in tools. One record a tool says
// everything about it; names, schemas, keys of the configuration, decoding,
// routes, what may be shown, and dispatch are all made from it.
package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/services/toolrunner/internal/native/argument"
	"example.org/desktop-assistant/services/toolrunner/internal/native/fault"
	"example.org/desktop-assistant/services/toolrunner/internal/native/fetch"
	"example.org/desktop-assistant/services/toolrunner/internal/native/origin"
	"example.org/desktop-assistant/services/toolrunner/internal/native/plain"
	"example.org/desktop-assistant/services/toolrunner/internal/native/workspace"
)

// World is what tools may touch, and nothing else.
type World struct {
	Root     func() (*workspace.Root, error)
	Client   *fetch.Client
	Origins  origin.Set
	Endpoint *url.URL // of web_search, nil for none
	Limits   config.Limits
}

// Record is one tool. None of its parts may be left out, see the parity test.
type Record struct {
	Name        string
	Description string // for the model
	Params      []argument.Param

	// On is the tool's switch in the configuration; the key has its name.
	On func(config.NativeTools) bool
	// External says that the tool may be made available to a chat server that is
	// not on this machine.
	External bool
	// Private says that a result is the user's own data. After one, a request of
	// the same turn that could carry it away needs a yes.
	Private bool
	// Asks says whether arguments that were decoded make a request that could
	// carry data away: one with a query, a long address, headers, or a body, for
	// which the configuration may want a yes of its own. Nil for a tool that
	// cannot.
	Asks func(argument.Values) (carries, body bool)

	// Shows says what events and logs show of each parameter.
	Shows map[string]Show
	// ShowsResult says that they show the whole result, not just its label.
	ShowsResult bool

	Run func(ctx context.Context, w World, v argument.Values) (Outcome, error)
}

// Outcome is what a tool found. Label is one line of ours: what it is, where it
// is from, how much of it there is. Data is what was found, "" for nothing.
type Outcome struct {
	Label string
	Data  string
}

// Records lists the tools in the order in which they are offered.
func Records() []Record {
	return []Record{fetchJSON, fetchText, httpRequest, listDirectory, readFile, webSearch}
}

// Find gives the record of that exact name.
func Find(name string) (Record, bool) {
	for _, r := range Records() {
		if r.Name == name {
			return r, true
		}
	}
	return Record{}, false
}

// Decode reads the arguments of a call.
func (r Record) Decode(arguments []byte) (argument.Values, error) {
	return argument.Decode(r.Params, arguments)
}

// Schema describes the arguments to a model.
func (r Record) Schema() json.RawMessage { return argument.Schema(r.Params) }

// A Show gives what may be shown of a parameter that was given.
type Show func(v argument.Values, name string) any

// Shown is what events and logs may show of the arguments of a call: an object,
// whatever they were.
func (r Record) Shown(arguments []byte) json.RawMessage {
	shown := map[string]any{}
	v, err := r.Decode(arguments)
	if err != nil {
		shown["unreadable"] = fmt.Sprintf("%d bytes", len(arguments))
	}
	for _, p := range r.Params {
		if _, text := v.Text(p.Name); err == nil && (text || v.Integer(p.Name) > 0 || v.Texts(p.Name) != nil) {
			shown[p.Name] = r.Shows[p.Name](v, p.Name)
		}
	}
	text, err := json.Marshal(shown)
	if err != nil { // strings and numbers only
		return json.RawMessage("{}")
	}
	return text
}

const shownRunes = 200 // of a text in an event

func showText(v argument.Values, name string) any {
	text, _ := v.Text(name)
	return plain.Line(text, shownRunes)
}

func showInteger(v argument.Values, name string) any { return v.Integer(name) }

func showSize(v argument.Values, name string) any {
	text, _ := v.Text(name)
	return fmt.Sprintf("(%d bytes)", len(text))
}

// showURL leaves out the query, a user and a fragment.
func showURL(v argument.Values, name string) any {
	text, _ := v.Text(name)
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" {
		return "(not a web address)"
	}
	short := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if u.RawQuery != "" {
		return plain.Line(short.String(), shownRunes) + "?…"
	}
	return plain.Line(short.String(), shownRunes)
}

// showNames shows the names of an object and none of its values.
func showNames(v argument.Values, name string) any {
	shown := map[string]string{}
	for key := range v.Texts(name) {
		shown[plain.Line(key, shownRunes)] = "(hidden)"
	}
	return shown
}

// plural counts in English.
func plural[N int | int64](n N, one string) string {
	switch {
	case n == 1:
		return "1 " + one
	case one[len(one)-1] == 'y':
		return fmt.Sprintf("%d %sies", n, one[:len(one)-1])
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// lower gives the lower of a limit and what the arguments ask for, 0 for
// nothing: arguments never raise a limit.
func lower(limit int, asked int64) int64 {
	if asked > 0 {
		return min(int64(limit), asked)
	}
	return int64(limit)
}

// text gives an argument that must not be blank.
func text(v argument.Values, name string) (string, error) {
	value, _ := v.Text(name)
	if value == "" {
		return "", fault.Invalid(name + " is empty")
	}
	return value, nil
}
