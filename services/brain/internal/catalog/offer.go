// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"encoding/json"
	"slices"
	"strings"

	"example.org/desktop-assistant/pkg/intent"
	"example.org/desktop-assistant/proto"
)

// Offer is one list of tools. It never changes and may be shared; the zero
// value offers nothing.
type Offer struct {
	Revision  int
	Specs     []proto.ToolSpec // in file-name order
	CallLimit int              // of calls of built-in tools in a turn; 0 where there are none
	intents   *intent.Intents
}

// NewOffer compiles a list. The error names sentences that cannot be used; the
// offer works without them.
func NewOffer(tools proto.Tools) (Offer, error) {
	var sources []intent.Source
	for _, spec := range tools.Tools {
		params := intent.Params(spec.Parameters)
		for _, lang := range sortedKeys(spec.Sentences) {
			sources = append(sources, intent.Source{Tool: spec.Name, Lang: lang, Sentences: spec.Sentences[lang], Params: params})
		}
	}
	intents, err := intent.Compile(sources)
	return Offer{Revision: tools.Revision, Specs: tools.Tools, CallLimit: tools.CallLimit, intents: intents}, err
}

// Find gives the tool of that name.
func (o Offer) Find(name string) (proto.ToolSpec, bool) {
	for _, s := range o.Specs {
		if s.Name == name {
			return s, true
		}
	}
	return proto.ToolSpec{}, false
}

// External gives the offer that may be shown to an external chat server.
func (o Offer) External() Offer {
	return o.without(func(s proto.ToolSpec) bool { return !s.External })
}

// With gives the offer with one more tool, which takes the place of one of the
// same name.
func (o Offer) With(spec proto.ToolSpec) Offer {
	o = o.without(func(s proto.ToolSpec) bool { return s.Name == spec.Name })
	o.Specs = append(o.Specs, spec)
	return o
}

// Spent gives the offer of a turn that may call no more built-in tools.
func (o Offer) Spent() Offer {
	return o.without(func(s proto.ToolSpec) bool { return s.Native })
}

func (o Offer) without(held func(proto.ToolSpec) bool) Offer {
	o.Specs = slices.DeleteFunc(slices.Clone(o.Specs), held)
	return o
}

// An Intent is a local command that was understood.
type Intent struct {
	Tool      proto.ToolSpec
	Language  string
	Arguments json.RawMessage
	values    map[string]string
}

// Match finds the tool that text asks for, first in its language, then in any.
func (o Offer) Match(text, language string) (Intent, bool) {
	if o.intents == nil {
		return Intent{}, false
	}
	m, ok := o.intents.Match(text, language)
	if !ok {
		m, ok = o.intents.Match(text, "")
	}
	if !ok {
		return Intent{}, false
	}
	spec, ok := o.Find(m.Tool)
	return Intent{Tool: spec, Language: m.Lang, Arguments: arguments(spec, m.Args), values: m.Args}, ok
}

// Reply gives the words for the output of the intent's tool: its template in
// the intent's language with {output} and the params filled in, else the bare
// output.
func (in Intent) Reply(output string) string {
	text := in.Tool.Reply[in.Language]
	if text == "" {
		return output
	}
	pairs := []string{"{output}", output}
	for _, name := range sortedKeys(in.values) {
		pairs = append(pairs, "{"+name+"}", in.values[name])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Examples gives up to limit sentences that work in a language, one a tool.
func (o Offer) Examples(language string, limit int) []string {
	var list []string
	primary, _, _ := strings.Cut(language, "-")
	for _, spec := range o.Specs {
		for _, sentence := range spec.Sentences[primary] {
			t, err := intent.ParseTemplate(sentence, intent.Params(spec.Parameters))
			if err != nil {
				continue // named when the offer was made
			}
			if phrases := t.Phrases(1); len(phrases) > 0 && len(list) < limit {
				list = append(list, phrases[0])
				break
			}
		}
	}
	return list
}

// arguments makes the JSON object of a call. What a user said is text; a param
// of another type gets the value that the text spells.
func arguments(spec proto.ToolSpec, values map[string]string) json.RawMessage {
	params := intent.Params(spec.Parameters)
	object := map[string]any{}
	for name, value := range values {
		object[name] = value
		switch params[name].Type {
		case "integer", "number", "boolean":
			if json.Valid([]byte(value)) {
				object[name] = json.RawMessage(value)
			}
		}
	}
	body, err := json.Marshal(object)
	if err != nil { // strings and valid JSON only
		return json.RawMessage("{}")
	}
	return body
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
