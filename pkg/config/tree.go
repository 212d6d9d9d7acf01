// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// position is a place in a file, both parts counted from 1, the column in
// characters.
type position struct{ line, col int }

// node is one key with its value, or one element of a list. The library's
// decoder knows no places of values it accepts, so the document is kept as a
// tree of these.
type node struct {
	key  string
	at   position      // where the key begins; of an element: the element
	kind unstable.Kind // Table for every way to write a table, Array for every list
	text string        // content of a string, else the value as it is written
	kids []*node       // keys of a table or elements of a list, in file order
}

// child returns the key of a table, or nil.
func (n *node) child(key string) *node {
	for _, kid := range n.kids {
		if kid.key == key {
			return kid
		}
	}
	return nil
}

// parseTree reads a document. A fault of syntax, which includes a key given
// twice, is an *Error without a file name.
func parseTree(data []byte) (*node, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	// The decoder checks what the parser alone does not: numbers, double keys,
	// tables opened again.
	var ignored map[string]any
	if err := toml.Unmarshal(data, &ignored); err != nil {
		return nil, syntaxError(data, err)
	}
	b := &builder{root: &node{kind: unstable.Table}, reached: place{data: data, at: position{1, 1}}}
	b.parser.Reset(data)
	table := b.root
	for b.parser.NextExpression() {
		switch e := b.parser.Expression(); e.Kind {
		case unstable.Table:
			table = b.descend(b.root, e.Key())
		case unstable.ArrayTable:
			list := b.descend(b.root, e.Key())
			list.kind = unstable.Array
			table = &node{at: list.at, kind: unstable.Table}
			list.kids = append(list.kids, table)
		case unstable.KeyValue:
			b.keyValue(table, e)
		}
	}
	if err := b.parser.Error(); err != nil {
		return nil, syntaxError(data, err)
	}
	return b.root, nil
}

// syntaxError gives a fault found by the library our form.
func syntaxError(data []byte, err error) error {
	e := &Error{
		Text: strings.TrimPrefix(err.Error(), "toml: "),
		Hint: `write text as key = "text", lists as ["a", "b"] and tables as [name], each key once`,
	}
	var d *toml.DecodeError
	if errors.As(err, &d) {
		line, col := d.Position()
		start := place{data: data, at: position{1, 1}}
		at := start.position(offsetOf(data, line) + col - 1)
		e.Line, e.Col = at.line, at.col
	}
	return e
}

// builder turns the expressions of a document that is known to be valid into
// a tree.
type builder struct {
	parser  unstable.Parser
	root    *node
	reached place // of the last node, from where the next is a few bytes away
}

// descend follows a key from a table, making the tables that are not there
// yet, and returns what its last part names. A list on the way stands for its
// last element, as TOML has it.
func (b *builder) descend(from *node, parts unstable.Iterator) *node {
	n := from
	for parts.Next() {
		if n.kind == unstable.Array {
			n = n.kids[len(n.kids)-1]
		}
		part := parts.Node()
		key := string(part.Data)
		next := n.child(key)
		if next == nil {
			next = &node{key: key, kind: unstable.Table, at: b.reached.position(int(part.Raw.Offset))}
			n.kids = append(n.kids, next)
		}
		n = next
	}
	return n
}

func (b *builder) keyValue(table *node, e *unstable.Node) {
	n := b.descend(table, e.Key())
	b.value(n, e.Value())
}

func (b *builder) value(n *node, v *unstable.Node) {
	n.kind = v.Kind
	switch v.Kind {
	case unstable.InlineTable:
		n.kind = unstable.Table
		for it := v.Children(); it.Next(); {
			b.keyValue(n, it.Node())
		}
	case unstable.Array:
		for it := v.Children(); it.Next(); {
			elem := &node{at: n.at}
			if raw := it.Node().Raw; raw.Length > 0 {
				elem.at = b.reached.position(int(raw.Offset))
			}
			b.value(elem, it.Node())
			n.kids = append(n.kids, elem)
		}
	default:
		n.text = string(v.Data)
	}
}

// place walks over a document and counts lines and columns.
type place struct {
	data   []byte
	offset int
	at     position
}

// position moves to a byte offset and returns what it is as a position. Going
// on from the last one keeps a long file from costing its length squared.
func (p *place) position(offset int) position {
	if offset < p.offset {
		p.offset, p.at = 0, position{1, 1}
	}
	for p.offset < min(offset, len(p.data)) {
		r, size := utf8.DecodeRune(p.data[p.offset:])
		p.offset += size
		p.at.col++
		if r == '\n' {
			p.at = position{p.at.line + 1, 1}
		}
	}
	return p.at
}

// offsetOf returns where a line, counted from 1, begins.
func offsetOf(data []byte, line int) int {
	offset := 0
	for range line - 1 {
		offset += bytes.IndexByte(data[offset:], '\n') + 1
	}
	return offset
}
