// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"fmt"
	"strings"
	"unicode"
)

// Bounds of one template. A template is written by hand; one that needs more is
// a mistake, and (a|b) ten times in a row is a thousand sentences.
const (
	maxLength  = 500  // characters
	maxNesting = 8    // brackets inside each other
	maxForms   = 2000 // sentences, with each param counted once
	maxFree    = 3    // free text params in one sentence
)

// A Param says what a {param} in a template may hold.
type Param struct {
	Enum     []string // the values allowed; empty for free text
	Type     string   // as in JSON schema; "integer" and "number" take only a number
	Required bool     // no sentence may leave it out
}

// A Template is one parsed sentence template. It is a value that never changes
// and may be shared between goroutines.
type Template struct {
	source string
	forms  []form
}

// A SyntaxError says what is wrong with a template, where, and what to write.
type SyntaxError struct {
	Template string
	Column   int // in characters, from 1
	Reason   string
	Hint     string // what to type instead; may be empty
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("parse sentence %q: column %d: %s", e.Template, e.Column, e.Reason)
}

// ParseTemplate compiles one sentence template of a tool with these params. An
// error is always a *SyntaxError.
func ParseTemplate(s string, params map[string]Param) (Template, error) {
	p := &parser{source: s, text: []rune(s), params: params}
	forms, err := p.parse()
	if err != nil {
		return Template{}, err
	}
	t := Template{source: s}
	seen := map[string]bool{}
	for _, raw := range forms {
		f, err := p.form(raw)
		if err != nil {
			return Template{}, err
		}
		if key := f.key(); !seen[key] {
			seen[key] = true
			t.forms = append(t.forms, f)
		}
	}
	return t, nil
}

// An atom is a stretch of literal text, or a param.
type atom struct {
	text  string
	param string
	at    int // where a param stands
}

type parser struct {
	source string
	text   []rune
	pos    int
	params map[string]Param
}

func (p *parser) fail(at int, reason, hint string) error {
	return &SyntaxError{Template: p.source, Column: at + 1, Reason: reason, Hint: hint}
}

// parse reads the whole template and returns its forms as atoms.
func (p *parser) parse() ([][]atom, error) {
	if len(p.text) > maxLength {
		return nil, p.fail(maxLength, fmt.Sprintf("longer than %d characters", maxLength), "split it into several sentences")
	}
	forms, err := p.alternatives(0)
	if err != nil {
		return nil, err
	}
	if p.pos < len(p.text) {
		return nil, p.fail(p.pos, fmt.Sprintf("%q closes nothing", string(p.text[p.pos])), "remove it or open it before")
	}
	return forms, nil
}

// alternatives reads sequences between bars up to a closing bracket or the end.
// At depth 0 a bar is literal nowhere, so it is refused there.
func (p *parser) alternatives(depth int) ([][]atom, error) {
	var all [][]atom
	for {
		forms, err := p.sequence(depth)
		if err != nil {
			return nil, err
		}
		if all = append(all, forms...); len(all) > maxForms {
			return nil, p.tooMany()
		}
		if p.pos >= len(p.text) || p.text[p.pos] != '|' {
			return all, nil
		}
		if depth == 0 {
			return nil, p.fail(p.pos, "'|' outside brackets", "write (a|b)")
		}
		p.pos++
	}
}

func (p *parser) tooMany() error {
	return p.fail(p.pos, fmt.Sprintf("more than %d forms", maxForms), "split it into several sentences")
}

func (p *parser) sequence(depth int) ([][]atom, error) {
	forms := [][]atom{nil}
	for p.pos < len(p.text) {
		var next [][]atom
		var err error
		switch r := p.text[p.pos]; r {
		case '|', ')', ']':
			return forms, nil
		case '(', '[':
			next, err = p.group(depth + 1)
		case '{':
			next, err = p.param()
		case '}', '<', '>', ';':
			return nil, p.fail(p.pos, fmt.Sprintf("%q has no meaning here", string(r)), "use only (a|b), [a] and {param}")
		default:
			next = [][]atom{{{text: p.literal()}}}
		}
		if err != nil {
			return nil, err
		}
		if len(forms)*len(next) > maxForms {
			return nil, p.tooMany()
		}
		forms = join(forms, next)
	}
	return forms, nil
}

// join returns every form of a followed by every form of b.
func join(a, b [][]atom) [][]atom {
	out := make([][]atom, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			out = append(out, append(x[:len(x):len(x)], y...))
		}
	}
	return out
}

func (p *parser) group(depth int) ([][]atom, error) {
	open := p.pos
	closer := map[rune]rune{'(': ')', '[': ']'}[p.text[open]]
	if depth > maxNesting {
		return nil, p.fail(open, fmt.Sprintf("more than %d brackets inside each other", maxNesting), "split it into several sentences")
	}
	p.pos++
	forms, err := p.alternatives(depth)
	if err != nil {
		return nil, err
	}
	if p.pos >= len(p.text) {
		return nil, p.fail(open, fmt.Sprintf("%q is never closed", string(p.text[open])), fmt.Sprintf("add %q", string(closer)))
	}
	if p.text[p.pos] != closer {
		return nil, p.fail(p.pos, fmt.Sprintf("%q where %q is wanted", string(p.text[p.pos]), string(closer)), "")
	}
	for _, f := range forms {
		if blank(f) {
			return nil, p.fail(open, "empty alternative", "write [a] for what may be left out")
		}
	}
	p.pos++
	if closer == ']' {
		forms = append(forms, nil)
	}
	return forms, nil
}

func blank(form []atom) bool {
	for _, a := range form {
		if a.param != "" || strings.TrimSpace(a.text) != "" {
			return false
		}
	}
	return true
}

func (p *parser) param() ([][]atom, error) {
	open := p.pos
	end := open + 1
	for end < len(p.text) && (p.text[end] == '_' || p.text[end] == '-' || unicode.IsLetter(p.text[end]) || unicode.IsDigit(p.text[end])) {
		end++
	}
	if end >= len(p.text) || p.text[end] != '}' {
		return nil, p.fail(open, "'{' without a name and '}'", "write {name}")
	}
	name := string(p.text[open+1 : end])
	if name == "" {
		return nil, p.fail(open, "param without a name", "write {name}")
	}
	if _, ok := p.params[name]; !ok {
		return nil, p.fail(open, fmt.Sprintf("unknown param %q", name), "declare it under [params."+name+"]")
	}
	p.pos = end + 1
	return [][]atom{{{param: name, at: open}}}, nil
}

func (p *parser) literal() string {
	start := p.pos
	for p.pos < len(p.text) && !strings.ContainsRune("()[]{}<>|;", p.text[p.pos]) {
		p.pos++
	}
	return string(p.text[start:p.pos])
}
