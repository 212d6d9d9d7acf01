// SPDX-License-Identifier: Apache-2.0

package markup

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Found is a call read from text. Arguments is JSON text or "".
type Found struct{ Name, Arguments string }

var (
	xmlCall   = regexp.MustCompile(`(?s)<\|*(?:DSML\|+)?(?:function=|function name=|invoke name=)"?([^">\s]+)"?[^>]*>(.*?)(?:</\|*(?:DSML\|+)?(?:function|invoke)>|</tool_call>)`)
	xmlParam  = regexp.MustCompile(`(?s)<\|*(?:DSML\|+)?parameter(?:=| name=)"?([^">\s]+)"?([^>]*)>(.*?)</\|*(?:DSML\|+)?parameter>`)
	glmCall   = regexp.MustCompile(`(?s)<tool_call>\s*([\w.:-]+)\s*((?:<arg_key>.*?</arg_key>\s*<arg_value>.*?</arg_value>\s*)*)</tool_call>`)
	glmParam  = regexp.MustCompile(`(?s)<arg_key>\s*(.*?)\s*</arg_key>\s*<arg_value>(.*?)</arg_value>`)
	bareKey   = regexp.MustCompile(`([{,]\s*)([A-Za-z_][\w-]*)\s*:`)
	wideToken = strings.NewReplacer("｜", "|", "▁", "_")
)

// Recover reads the calls out of captured markup, in order. It gives back only
// calls to offered tools whose form leaves no doubt; what it cannot read is left
// out. The arguments are not checked against the schema.
func Recover(captured string, offer Offer) []Found {
	if len(offer) == 0 {
		return nil
	}
	text := wideToken.Replace(captured)
	var found []Found
	for _, m := range xmlCall.FindAllStringSubmatch(text, -1) {
		found = append(found, xmlFound(m[1], m[2], offer)...)
	}
	for _, m := range glmCall.FindAllStringSubmatch(text, -1) {
		found = append(found, glmFound(m[1], m[2], offer)...)
	}
	if len(found) == 0 {
		found = jsonFound(plainJSON(text), offer)
	}
	return found
}

// xmlFound reads Qwen coder, MiniMax and DSML parameters. Some models put a JSON
// object between the function tags instead.
func xmlFound(name, body string, offer Offer) []Found {
	name = Resolve(name, offer)
	types, offered := offer[name]
	if !offered {
		return nil
	}
	if s := strings.TrimSpace(body); strings.HasPrefix(s, "{") {
		return []Found{{Name: name, Arguments: s}}
	}
	args := map[string]json.RawMessage{}
	for _, p := range xmlParam.FindAllStringSubmatch(body, -1) {
		kind := types[p[1]]
		switch {
		case strings.Contains(p[2], `string="true"`):
			kind = "string"
		case strings.Contains(p[2], `string="false"`):
			kind = "json"
		}
		args[p[1]] = value(p[3], kind)
	}
	return encode(name, args)
}

func glmFound(name, body string, offer Offer) []Found {
	name = Resolve(name, offer)
	types, offered := offer[name]
	if !offered {
		return nil
	}
	args := map[string]json.RawMessage{}
	for _, p := range glmParam.FindAllStringSubmatch(body, -1) {
		args[p[1]] = value(p[2], types[p[1]])
	}
	return encode(name, args)
}

// value makes JSON of a parameter written as text. One line break on each side
// belongs to the tags. A value that does not fit its type gives nil.
func value(s, kind string) json.RawMessage {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "\n"), "\n")
	if kind == "" || kind == "string" {
		b, err := json.Marshal(s)
		if err != nil {
			return nil
		}
		return b
	}
	s = strings.TrimSpace(s)
	if kind == "boolean" {
		s = strings.ToLower(s)
	}
	if !json.Valid([]byte(s)) {
		return nil
	}
	return json.RawMessage(s)
}

func encode(name string, args map[string]json.RawMessage) []Found {
	for _, v := range args {
		if v == nil {
			return nil
		}
	}
	b, err := json.Marshal(args)
	if err != nil {
		return nil
	}
	return []Found{{Name: name, Arguments: string(b)}}
}

// plainJSON turns Gemma's form, {city:<|"|>Oslo<|"|>}, into JSON.
func plainJSON(text string) string {
	if !strings.Contains(text, "call:") {
		return text
	}
	var b strings.Builder
	for i, part := range strings.Split(text, `<|"|>`) {
		if i%2 == 0 {
			b.WriteString(bareKey.ReplaceAllString(part, `$1"$2":`))
			continue
		}
		quoted, err := json.Marshal(part)
		if err != nil {
			return text
		}
		b.Write(quoted)
	}
	return b.String()
}

// jsonFound goes through the JSON objects of the text. An object that is a call
// by itself is taken; any other one is the arguments of the one offered tool
// named between the object before and this one (Mistral, DeepSeek, Kimi,
// harmony, Gemma).
func jsonFound(text string, offer Offer) []Found {
	var found []Found
	for {
		start := strings.IndexByte(text, '{')
		if start < 0 {
			return found
		}
		end := objectEnd(text[start:])
		if end == 0 {
			return found
		}
		object := text[start : start+end]
		calls := callsOf(object)
		for i := range calls {
			calls[i].Name = Resolve(calls[i].Name, offer)
		}
		calls = slices.DeleteFunc(calls, func(c Found) bool { _, offered := offer[c.Name]; return !offered })
		if name := named(text[:start], offer); len(calls) == 0 && name != "" {
			calls = []Found{{Name: name, Arguments: object}}
		}
		found = append(found, calls...)
		text = text[start+end:]
	}
}

// Resolve gives the offered tool that a decorated name stands for
// ("functions.get_weather:0"), or the name as it is.
func Resolve(name string, offer Offer) string {
	if _, ok := offer[name]; ok {
		return name
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(".:/", r) })
	for _, w := range slices.Backward(words) {
		if _, ok := offer[w]; ok {
			return w
		}
	}
	return name
}

// named returns the one offered tool whose name stands in s as a whole word, ""
// when there is none or more than one.
func named(s string, offer Offer) string {
	name := ""
	for _, w := range strings.FieldsFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		if _, ok := offer[w]; ok && w != name {
			if name != "" {
				return ""
			}
			name = w
		}
	}
	return name
}
