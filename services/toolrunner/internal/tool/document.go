// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"example.org/desktop-assistant/pkg/config"
)

// document is a TOML file together with the line of each of its keys and the
// problems found so far.
type document struct {
	file     string
	values   map[string]any
	lines    map[string]int      // by path
	order    map[string][]string // keys of each table in the order of the file
	problems []Problem
}

// maxDepth of nested tables. A tool needs four, and noting the path of every
// level costs their square.
const maxDepth = 16

// maxKey is the longest key that can be a misspelt one, in bytes.
const maxKey = 32

// path joins keys to the key of document.lines; elements of arrays are keys too.
func path(keys ...string) string { return strings.Join(keys, "\x00") }

func parseDocument(file string, data []byte) *document {
	doc := &document{file: file, lines: map[string]int{}, order: map[string][]string{}}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if err := toml.Unmarshal(data, &doc.values); err != nil {
		line := 0
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, _ = at.Position()
		}
		doc.problems = append(doc.problems, Problem{File: file, Line: line, Text: strings.TrimPrefix(err.Error(), "toml: ")})
		return doc
	}
	if depth(doc.values, 0) > maxDepth {
		doc.values = nil
		doc.problems = append(doc.problems, Problem{File: file, Text: fmt.Sprintf("tables are nested more than %d deep", maxDepth)})
		return doc
	}
	doc.index(data)
	return doc
}

// depth counts the levels of tables and arrays; it looks no further than it
// has to.
func depth(value any, level int) int {
	deepest := level
	if level > maxDepth {
		return deepest
	}
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			deepest = max(deepest, depth(inner, level+1))
		}
	case []any:
		for _, inner := range v {
			deepest = max(deepest, depth(inner, level+1))
		}
	}
	return deepest
}

// index notes the line of every key. The parser has accepted the data before.
func (d *document) index(data []byte) {
	var p unstable.Parser
	p.Reset(data)
	var table []string
	for p.NextExpression() {
		node := p.Expression()
		switch node.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = d.note(&p, nil, node.Key())
		case unstable.KeyValue:
			d.noteValue(&p, d.note(&p, table, node.Key()), node.Value())
		}
	}
}

// note records the parts of a dotted key below a table and gives the full path.
func (d *document) note(p *unstable.Parser, table []string, key unstable.Iterator) []string {
	keys := slices.Clone(table)
	for key.Next() {
		node := key.Node()
		name := string(node.Data)
		parent := path(keys...)
		keys = append(keys, name)
		if _, known := d.lines[path(keys...)]; !known {
			d.lines[path(keys...)] = p.Shape(node.Raw).Start.Line
			d.order[parent] = append(d.order[parent], name)
		}
	}
	return keys
}

func (d *document) noteValue(p *unstable.Parser, keys []string, value *unstable.Node) {
	children := value.Children()
	switch value.Kind {
	case unstable.InlineTable:
		for children.Next() {
			inner := children.Node()
			if inner.Kind == unstable.KeyValue {
				d.noteValue(p, d.note(p, keys, inner.Key()), inner.Value())
			}
		}
	case unstable.Array:
		for i := 0; children.Next(); {
			element := children.Node()
			if element.Kind == unstable.Comment {
				continue
			}
			if element.Raw.Length > 0 {
				d.lines[path(append(slices.Clone(keys), strconv.Itoa(i))...)] = p.Shape(element.Raw).Start.Line
			}
			i++
		}
	}
}

// line of the key itself, else of the nearest table around it, else 1.
func (d *document) line(keys []string) int {
	for n := len(keys); n > 0; n-- {
		if line, ok := d.lines[path(keys[:n]...)]; ok {
			return line
		}
	}
	return 1
}

// LineOf finds the line of a key in a tool's file, for what is found wrong with
// the tool later on; 0 when the file cannot be read any more.
func LineOf(file string, keys ...string) int {
	data, err := readFile(file)
	if err != nil {
		return 0
	}
	return parseDocument(file, data).line(keys)
}

func (d *document) fault(keys []string, format string, args ...any) {
	d.problems = append(d.problems, Problem{File: d.file, Line: d.line(keys), Text: fmt.Sprintf(format, args...)})
}

func (d *document) warn(keys []string, hint, format string, args ...any) {
	d.problems = append(d.problems, Problem{File: d.file, Line: d.line(keys), Text: fmt.Sprintf(format, args...), Hint: hint, Warning: true})
}

// broken reports whether an error was found.
func (d *document) broken() bool { return Set{Problems: d.problems}.Broken() }

// unknown warns of the keys of a table that are not in the list.
func (d *document) unknown(table []string, known []string) {
	for _, key := range d.order[path(table...)] {
		if slices.Contains(known, key) {
			continue
		}
		hint := ""
		near := ""
		if len(key) <= maxKey { // the comparison takes the product of both lengths
			near = config.Nearest(key, known)
		}
		if near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		} else if len(table) > 0 && slices.Contains(toolKeys, key) {
			hint = fmt.Sprintf("it belongs to the tool, not to this table: move it above the first [%s...", table[0])
		}
		d.warn(append(slices.Clone(table), key), hint, "unknown key %q", dotted(append(slices.Clone(table), key)))
	}
}

func dotted(keys []string) string { return strings.Join(keys, ".") }

// get finds a value; the error of a wrong type is the caller's to report.
func (d *document) get(keys []string) (any, bool) {
	var value any = d.values
	for _, key := range keys {
		table, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = table[key]; !ok {
			return nil, false
		}
	}
	return value, true
}

// want reads a value of one type and reports any other type.
func want[T any](d *document, what string, fallback T, keys ...string) T {
	value, ok := d.get(keys)
	if !ok {
		return fallback
	}
	typed, ok := value.(T)
	if !ok {
		d.fault(keys, "%s must be %s, not %s", dotted(keys), what, typeName(value))
		return fallback
	}
	return typed
}

// texts reads an array of strings.
func (d *document) texts(keys ...string) []string {
	var list []string
	for i, element := range want[[]any](d, "an array of strings", nil, keys...) {
		text, ok := element.(string)
		if !ok {
			d.fault(append(slices.Clone(keys), strconv.Itoa(i)), "%s must be an array of strings, element %d is %s", dotted(keys), i+1, typeName(element))
			return nil
		}
		list = append(list, text)
	}
	return list
}

// keys of a table in the order of the file; a value that is no table is reported.
func (d *document) keys(table string) []string {
	if want[map[string]any](d, "a table", nil, table) == nil {
		return nil
	}
	return d.order[table]
}

// scalarText is the text of a string, number or boolean.
func scalarText(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return "", false
		}
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

func typeName(value any) string {
	switch value.(type) {
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	case []any:
		return "an array"
	case map[string]any:
		return "a table"
	}
	return "a date or time"
}
