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
	xmlCall   = regexp.MustCompile(`(?s)<\|*(?:DSML\|+|\w+:)?(?:function=|function name=|invoke name=)"?([^">\s]+)"?[^>]*>(.*?)(?:</\|*(?:DSML\|+|\w+:)?(?:function|invoke)>|</tool_call>)`)
	xmlParam  = regexp.MustCompile(`<\|*(?:DSML\|+|\w+:)?parameter(?:=| name=)"?([^">\s]+)"?([^>]*)>`)
	xmlEnd    = regexp.MustCompile(`</\|*(?:DSML\|+|\w+:)?parameter>`)
	kimiCall  = regexp.MustCompile(`(?s)<\|open\|>call tool="([^"]+)"[^<]*<\|sep\|>(.*?)<\|close\|>call`)
	kimiParam = regexp.MustCompile(`(?s)<\|open\|>argument key="([^"]+)"(?: type="([^"]*)")?[^<]*<\|sep\|>(.*?)<\|close\|>argument<\|sep\|>`)
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
	for _, m := range kimiCall.FindAllStringSubmatch(text, -1) {
		found = append(found, kimiFound(m[1], m[2], offer)...)
	}
	if len(found) == 0 {
		found = jsonFound(plainJSON(text), offer)
	}
	if len(found) == 0 {
		found, _ = pythonCalls(text, offer)
	}
	return found
}

// RecoverLast reads a call at the very end of thinking: a model that forgot to end
// its thinking before it called. Anything behind the call makes it a mere thought.
func RecoverLast(mind string, offer Offer) []Found {
	f := NewFilter(offer, false)
	f.Write(mind)
	f.Close()
	call := strings.TrimSpace(f.Captured())
	if !strings.HasSuffix(call, ">") && !strings.HasSuffix(call, "}") && !strings.HasSuffix(call, "]") {
		return nil
	}
	return Recover(call, offer)
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
	params := xmlParam.FindAllStringSubmatchIndex(body, -1)
	for i, p := range params {
		key, attributes := body[p[2]:p[3]], body[p[4]:p[5]]
		text := body[p[1]:]
		if i+1 < len(params) { // some models leave the end of a parameter out
			text = body[p[1]:params[i+1][0]]
		}
		if end := xmlEnd.FindStringIndex(text); end != nil {
			text = text[:end[0]]
		}
		kind := types[key]
		switch {
		case strings.Contains(attributes, `string="true"`):
			kind = "string"
		case strings.Contains(attributes, `string="false"`):
			kind = "json"
		}
		args[key] = value(text, kind)
	}
	if len(params) == 0 && strings.TrimSpace(body) != "" {
		return nil // whatever it is, it is not a call without arguments
	}
	return encode(name, args)
}

func kimiFound(name, body string, offer Offer) []Found {
	name = Resolve(name, offer)
	if _, offered := offer[name]; !offered {
		return nil
	}
	args := map[string]json.RawMessage{}
	for _, p := range kimiParam.FindAllStringSubmatch(body, -1) {
		args[p[1]] = value(p[3], p[2])
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
	text = strings.ReplaceAll(text, "<escape>", `<|"|>`)
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
		if !json.Valid([]byte(object)) {
			if loose, ok := Literal(object); ok {
				object = string(loose)
			}
		}
		calls := callsOf(object)
		if len(calls) == 0 {
			calls = keyed(object, offer)
		}
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

// keyed reads {"name": {arguments}}.
func keyed(object string, offer Offer) []Found {
	var v map[string]json.RawMessage
	if json.Unmarshal([]byte(object), &v) != nil || len(v) != 1 {
		return nil
	}
	for name, args := range v {
		if _, offered := offer[name]; offered && args[0] == '{' {
			return []Found{{Name: name, Arguments: string(args)}}
		}
	}
	return nil
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
