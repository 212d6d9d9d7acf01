// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// decoder lays a document over a struct and collects every fault on the way.
type decoder struct {
	file   string
	places map[string]position // of each key and list element that was written, by full name
	faults []*Error
}

func (d *decoder) fault(at position, hint, format string, args ...any) {
	d.faults = append(d.faults, &Error{
		File: d.file,
		Line: at.line,
		Col:  at.col,
		Text: fmt.Sprintf(format, args...),
		Hint: hint,
	})
}

// table reads the keys of table n into struct v; path is the name of n.
func (d *decoder) table(n *node, v reflect.Value, path string) {
	t := v.Type()
	for _, kid := range n.kids {
		name := joinKey(path, kid.key)
		known := false
		for i := range t.NumField() {
			if kid.key != "" && fieldKey(t.Field(i)) == kid.key {
				d.value(kid, v.Field(i), name)
				known = true
			}
		}
		if !known {
			d.fault(kid.at, unknownHint(path, kid.key, keysOf(t)), "unknown key %s", name)
		}
	}
}

// value reads n into v, which is left as it was when n is of another type.
func (d *decoder) value(n *node, v reflect.Value, name string) {
	d.places[name] = n.at
	switch target := v.Addr().Interface().(type) {
	case *map[string]Voice:
		d.voices(n, *target, name)
	case *map[string]string:
		d.env(n, target, name)
	case *map[string]float64:
		d.blend(n, target, name)
	case *[]string:
		d.list(n, target, name)
	default:
		d.plain(n, v, name)
	}
}

// config reads a whole document. The root table has no name of its own.
func (d *decoder) config(root *node, c *Config) {
	d.table(root, reflect.ValueOf(c).Elem(), "")
}

// plain reads a table with fixed keys or a single value.
func (d *decoder) plain(n *node, v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Struct:
		if d.is(n, unstable.Table, name) {
			d.table(n, v, name)
		}
	case reflect.String:
		if d.is(n, unstable.String, name) {
			v.SetString(n.text)
		}
	case reflect.Bool:
		if d.is(n, unstable.Bool, name) {
			v.SetBool(n.text == "true")
		}
	case reflect.Int:
		if i, err := strconv.ParseInt(digits(n), 0, strconv.IntSize); n.kind == unstable.Integer && err == nil {
			v.SetInt(i)
		} else {
			d.fault(n.at, fmt.Sprintf("%s = %d, without quotes and fraction", n.key, v.Int()), "%s must be a whole number", name)
		}
	case reflect.Float64:
		if f, ok := number(n); ok {
			v.SetFloat(f)
		} else {
			d.fault(n.at, fmt.Sprintf("%s = %s, without quotes", n.key, decimal(v.Float())), "%s must be a number", name)
		}
	default:
		panic("config: no reader for the type of " + name)
	}
}

// is reports whether n is of the kind wanted and makes a fault when it is not.
func (d *decoder) is(n *node, want unstable.Kind, name string) bool {
	if n.kind == want {
		return true
	}
	var what, hint string
	switch want {
	case unstable.Table:
		what, hint = "a table", fmt.Sprintf("write its keys below a line [%s]", name)
	case unstable.String:
		what, hint = "text in quotes", fmt.Sprintf("%s = \"…\"", n.key)
	case unstable.Bool:
		what, hint = "true or false", fmt.Sprintf("%s = true or %s = false, without quotes", n.key, n.key)
	case unstable.Array:
		what, hint = "a list of texts", fmt.Sprintf("%s = [\"…\", \"…\"]", n.key)
	}
	d.fault(n.at, hint, "%s must be %s", name, what)
	return false
}

func (d *decoder) list(n *node, target *[]string, name string) {
	if !d.is(n, unstable.Array, name) {
		return
	}
	items := make([]string, 0, len(n.kids))
	for _, kid := range n.kids {
		if kid.kind != unstable.String {
			d.fault(kid.at, fmt.Sprintf("%s = [\"…\", \"…\"]", n.key), "%s must be a list of texts", name)
			continue
		}
		d.places[elementName(name, len(items))] = kid.at
		items = append(items, kid.text)
	}
	*target = items
}

// voices merges key by key; a language that is new must be given whole.
func (d *decoder) voices(n *node, voices map[string]Voice, name string) {
	if !d.is(n, unstable.Table, name) {
		return
	}
	for _, kid := range n.kids {
		full := joinKey(name, kid.key)
		voice, exists := voices[kid.key]
		d.value(kid, reflect.ValueOf(&voice).Elem(), full)
		if !exists && kid.kind == unstable.Table && !d.whole(kid, full) {
			continue
		}
		if exists || kid.kind == unstable.Table {
			voices[kid.key] = voice
		}
	}
}

// whole reports whether a new voice has all its keys and makes a fault when
// one is missing.
func (d *decoder) whole(n *node, name string) bool {
	var missing []string
	for _, key := range keysOf(reflect.TypeFor[Voice]()) {
		if n.child(key) == nil {
			missing = append(missing, key)
		}
	}
	if len(missing) == 0 {
		return true
	}
	hint := fmt.Sprintf("below a line [%s]: lang = \"en-us\" and blend = { af_heart = 1.0 }", name)
	d.fault(n.at, hint, "%s needs %s", name, strings.Join(missing, " and "))
	return false
}

// env is replaced whole. Numbers and booleans become text as they are written.
func (d *decoder) env(n *node, target *map[string]string, name string) {
	if !d.is(n, unstable.Table, name) {
		return
	}
	env := make(map[string]string, len(n.kids))
	for _, kid := range n.kids {
		full := joinKey(name, kid.key)
		d.places[full] = kid.at
		switch kid.kind {
		case unstable.String, unstable.Bool:
			env[kid.key] = kid.text
		case unstable.Integer, unstable.Float:
			env[kid.key] = digits(kid)
		default:
			d.fault(kid.at, fmt.Sprintf("%s = \"…\"", kid.key), "%s must be text, a number, true or false", full)
		}
	}
	*target = env
}

// blend is replaced whole.
func (d *decoder) blend(n *node, target *map[string]float64, name string) {
	if !d.is(n, unstable.Table, name) {
		return
	}
	blend := make(map[string]float64, len(n.kids))
	for _, kid := range n.kids {
		full := joinKey(name, kid.key)
		d.places[full] = kid.at
		weight, ok := number(kid)
		if !ok {
			d.fault(kid.at, "blend = { af_heart = 1.0 }", "%s must be a number", full)
			weight = 1 // one fault is enough for it
		}
		blend[kid.key] = weight
	}
	*target = blend
}

// digits returns a number as it is written, but without the underscores that
// only TOML allows.
func digits(n *node) string { return strings.ReplaceAll(n.text, "_", "") }

// number returns the value of a number with or without a fraction.
func number(n *node) (float64, bool) {
	switch n.kind {
	case unstable.Integer:
		i, err := strconv.ParseInt(digits(n), 0, 64)
		return float64(i), err == nil
	case unstable.Float:
		f, err := strconv.ParseFloat(digits(n), 64)
		return f, err == nil
	}
	return 0, false
}

// decimal prints a number the way people write it.
func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// elementName names an element of a list.
func elementName(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// faulty reports whether a fault was found at that place of the file.
func (d *decoder) faulty(at position) bool {
	return at.line > 0 && slices.ContainsFunc(d.faults, func(e *Error) bool {
		return e.Line == at.line && e.Col == at.col
	})
}

// place returns where a key or the nearest thing around it was written, the
// zero position when the file has nothing of it.
func (d *decoder) place(name string) position {
	for {
		if at, ok := d.places[name]; ok {
			return at
		}
		cut := strings.LastIndexAny(name, ".[")
		if cut < 0 {
			return position{}
		}
		name = name[:cut]
	}
}

// sorted returns the faults in the order of the file.
func (d *decoder) sorted() []*Error {
	slices.SortStableFunc(d.faults, func(a, b *Error) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Col - b.Col
	})
	return d.faults
}
