// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.org/desktop-assistant/pkg/speech"
)

// document is what is read of a SKILL.md.
type document struct {
	name        string // "" when it has none that can be used
	description string // its first sentence
	text        string // what follows the header, with LF
	advice      []string
}

// parseDocument reads a SKILL.md. An error says why it is no skill; what is odd
// but does not matter is advice.
func parseDocument(content string) (document, error) {
	var d document
	content = strings.TrimPrefix(content, "\uFEFF")
	if valid := strings.ToValidUTF8(content, "\uFFFD"); valid != content {
		content = valid
		d.advice = append(d.advice, "it is not all UTF-8, save it as UTF-8")
	}
	content = strings.ReplaceAll(strings.ReplaceAll(content, "\r\n", "\n"), "\r", "\n")
	header, text, err := cut(content)
	if err != nil {
		return document{}, err
	}
	d.text = strings.TrimSpace(speech.Plain(text))
	fields, err := parseHeader(header)
	if err != nil {
		mended := mend(header)
		again := err
		if mended != "" {
			fields, again = parseHeader(mended)
		}
		if again != nil {
			return document{}, fmt.Errorf("read header: %w", err)
		}
		d.advice = append(d.advice, fmt.Sprintf("its header is no YAML (%v), put quotes around values with a colon or brackets", err))
	}
	for _, key := range fields.odd {
		d.advice = append(d.advice, key+" is not a text and is not used")
	}
	d.name = usable(fields.name)
	if d.name == "" && fields.name != "" {
		d.advice = append(d.advice, fmt.Sprintf("its name %q cannot be used, the folder's is", fields.name))
	}
	d.description = brief(fields.description)
	if d.description == "" {
		d.advice = append(d.advice, "it has no description, so that the model cannot know what it is for")
	}
	return d, nil
}

// cut parts the header, between a first line --- and the next such line, from
// the text.
func cut(content string) (header, text string, err error) {
	first, rest, _ := strings.Cut(content, "\n")
	if !isFence(first) {
		return "", "", errors.New("its first line is not ---")
	}
	from := 0
	for {
		line, _, more := strings.Cut(rest[from:], "\n")
		if isFence(line) {
			header, text = rest[:from], rest[from+len(line):]
			break
		}
		if !more {
			return "", "", errors.New("its header has no closing ---")
		}
		from += len(line) + 1
	}
	if len(header) > maxHeader {
		return "", "", fmt.Errorf("its header has over %d bytes", maxHeader)
	}
	return header, text, nil
}

func isFence(line string) bool { return strings.TrimRight(line, " \t") == "---" }

// fields are what is read of a header.
type fields struct {
	name, description string
	odd               []string // keys of these with something else than a text
}

// parseHeader reads the header. It looks at the nodes only and expands nothing,
// so that aliases in it cost nothing.
func parseHeader(header string) (fields, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(header), &doc); err != nil {
		return fields{}, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if doc.Kind == 0 || len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return fields{}, nil
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return fields{}, errors.New("it is not made of keys and values")
	}
	var f fields
	seen := map[string]bool{}
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i].Value, top.Content[i+1]
		target := map[string]*string{"name": &f.name, "description": &f.description}[key]
		if target == nil || top.Content[i].Kind != yaml.ScalarNode {
			continue
		}
		if seen[key] {
			return fields{}, fmt.Errorf("%s is there twice", key)
		}
		seen[key] = true
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		switch {
		case value.Kind != yaml.ScalarNode:
			f.odd = append(f.odd, key)
		case value.Tag != "!!null":
			*target = value.Value
		}
	}
	return f, nil
}

var (
	ownKey  = regexp.MustCompile(`^(name|description):(?:[ \t]+(.*))?$`)
	comment = regexp.MustCompile(`(^|[ \t])#.*$`)
)

// mend makes a header that is no YAML one that may be: it keeps name and
// description only, and puts their values in quotes where a colon in them is
// what YAML stumbles over.
func mend(header string) string {
	var out []string
	own := false
	for _, line := range strings.Split(header, "\n") {
		m := ownKey.FindStringSubmatch(line)
		if m != nil || own && line != "" && line[0] != ' ' && line[0] != '\t' {
			own = m != nil
		}
		if own {
			out = append(out, line)
		}
	}
	for i := 0; i < len(out); {
		j := i + 1
		for j < len(out) && !ownKey.MatchString(out[j]) {
			j++
		}
		quote(out[i:j])
		i = j
	}
	return strings.Join(out, "\n")
}

// quote puts a plain value over one or more lines, the first of which begins
// with its key, between single quotes.
func quote(lines []string) {
	m := ownKey.FindStringSubmatch(lines[0])
	value := strings.TrimSpace(m[2])
	if value == "" || strings.ContainsAny(value[:1], "\"'|>[{&*!") {
		return
	}
	for i := range lines {
		text := lines[i]
		if i == 0 {
			text = value
		}
		lines[i] = strings.TrimRight(strings.ReplaceAll(comment.ReplaceAllString(text, ""), "'", "''"), " \t")
	}
	lines[0] = m[1] + ": '" + lines[0]
	lines[len(lines)-1] += "'"
}
