// SPDX-License-Identifier: Apache-2.0

package markup

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Literal reads a value as models write one when they do not write JSON: with
// single quotes, True, False and None, line breaks inside strings, and commas
// before a closing bracket. Each of these can mean only one thing; what is cut off
// or has anything around it is refused. The result is JSON.
func Literal(s string) (json.RawMessage, bool) {
	p := literalParser{rest: s}
	v, ok := p.value(0)
	p.space()
	if !ok || p.rest != "" {
		return nil, false
	}
	return json.RawMessage(v), true
}

// maxDepth bounds the nesting of a literal.
const maxDepth = 64

type literalParser struct{ rest string }

func (p *literalParser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// take skips a punctuation mark if it is next.
func (p *literalParser) take(mark byte) bool {
	p.space()
	if p.rest == "" || p.rest[0] != mark {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

var (
	number   = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?`)
	word     = regexp.MustCompile(`^[A-Za-z_]\w*`)
	wordJSON = map[string]string{"True": "true", "true": "true", "False": "false", "false": "false", "None": "null", "null": "null"}
)

// value reads one value and gives it as JSON.
func (p *literalParser) value(depth int) (string, bool) {
	p.space()
	switch {
	case p.rest == "" || depth > maxDepth:
		return "", false
	case p.rest[0] == '"' || p.rest[0] == '\'':
		return p.text()
	case p.take('['):
		return p.row(']', func() (string, bool) { return p.value(depth + 1) })
	case p.take('{'):
		return p.row('}', func() (string, bool) { return p.pair(':', depth+1) })
	}
	if n := number.FindString(p.rest); n != "" {
		p.rest = p.rest[len(n):]
		if p.rest != "" && nameRune(p.rest) > 0 {
			return "", false // 12abc
		}
		return n, true
	}
	w := word.FindString(p.rest)
	p.rest = p.rest[len(w):]
	v, ok := wordJSON[w]
	return v, ok
}

// row reads items up to the closing mark; the opening one is read.
func (p *literalParser) row(closing byte, item func() (string, bool)) (string, bool) {
	opening := map[byte]string{']': "[", '}': "{", ')': "{"}[closing]
	end := map[byte]string{']': "]", '}': "}", ')': "}"}[closing]
	var items []string
	for {
		if p.take(closing) {
			return opening + strings.Join(items, ",") + end, true
		}
		v, ok := item()
		if !ok {
			return "", false
		}
		items = append(items, v)
		if !p.take(',') && !strings.HasPrefix(p.rest, string(closing)) {
			return "", false
		}
	}
}

// pair reads a quoted key, the mark between, and a value.
func (p *literalParser) pair(between byte, depth int) (string, bool) {
	p.space()
	if p.rest == "" || p.rest[0] != '"' && p.rest[0] != '\'' {
		return "", false
	}
	key, ok := p.text()
	if !ok || !p.take(between) {
		return "", false
	}
	v, ok := p.value(depth)
	return key + ":" + v, ok
}

// argument reads name=value of a call.
func (p *literalParser) argument() (string, bool) {
	p.space()
	name := word.FindString(p.rest)
	p.rest = p.rest[len(name):]
	if name == "" || !p.take('=') {
		return "", false
	}
	v, ok := p.value(1)
	return `"` + name + `":` + v, ok
}

// text reads a quoted string and gives it as JSON.
func (p *literalParser) text() (string, bool) {
	quote := p.rest[0]
	var b strings.Builder
	b.WriteByte('"')
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == quote:
			b.WriteByte('"')
			p.rest = p.rest[i+1:]
			return b.String(), json.Valid([]byte(b.String()))
		case c == '\\' && i+1 < len(p.rest):
			i++
			if p.rest[i] == '\'' {
				b.WriteByte('\'')
			} else {
				b.WriteByte('\\')
				b.WriteByte(p.rest[i]) // json.Valid refuses what JSON does not know
			}
		case c == '"':
			b.WriteString(`\"`)
		case c < ' ':
			quoted, err := json.Marshal(string(rune(c)))
			if err != nil {
				return "", false
			}
			b.Write(quoted[1 : len(quoted)-1])
		default:
			_, n := utf8.DecodeRuneInString(p.rest[i:])
			b.WriteString(p.rest[i : i+n])
			i += n - 1
		}
	}
	return "", false
}

var callee = regexp.MustCompile(`([A-Za-z_][\w.]*)\s*\(`)

// pythonCalls reads the calls name(key=value, ...) of offered tools out of text.
// An argument without its name is not certain: such a call is left out. end is
// where the last call ends in text, 0 when there is none.
func pythonCalls(text string, offer Offer) (found []Found, end int) {
	for at := 0; ; {
		m := callee.FindStringSubmatchIndex(text[at:])
		if m == nil {
			return found, end
		}
		name := Resolve(strings.TrimSuffix(text[at+m[2]:at+m[3]], ".call"), offer)
		at += m[1]
		if _, offered := offer[name]; !offered {
			continue
		}
		p := literalParser{rest: text[at:]}
		args, ok := p.row(')', p.argument)
		if !ok {
			continue
		}
		at = len(text) - len(p.rest)
		end = at
		found = append(found, Found{Name: name, Arguments: args})
	}
}
