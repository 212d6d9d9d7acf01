// SPDX-License-Identifier: Apache-2.0

// Package edit changes single keys of the configuration file and leaves every
// other byte of it as it was.
package edit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/pelletier/go-toml/v2/unstable"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/xdg"
)

const nativeTable = "native_tools"

// SwitchTool switches a built-in tool on or off in the file at path and changes
// nothing else of it; an empty path means the one of [config.Path]. It reports false
// when the file said so already. The error is a *[config.Error], and the file is then as
// it was.
func SwitchTool(path, name string, on bool) (changed bool, err error) {
	if !slices.Contains(config.BuiltinTools(), name) {
		e := &config.Error{Text: fmt.Sprintf("%q is no built-in tool", name), Hint: "they are " + strings.Join(config.BuiltinTools(), ", ")}
		if best := config.Nearest(name, config.BuiltinTools()); best != "" {
			e.Hint = "did you mean " + best + "?"
		}
		return false, e
	}
	return edit(path, name, strconv.FormatBool(on), func(n *config.NativeTools) {
		v := reflect.ValueOf(n).Elem()
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("toml") == name {
				v.Field(i).SetBool(on)
			}
		}
	})
}

// LimitTools sets how many calls of built-in tools a turn may make, in the way
// of [SwitchTool].
func LimitTools(path string, calls int) (changed bool, err error) {
	if calls < 1 || calls > 5 {
		return false, &config.Error{Text: fmt.Sprintf("a turn may make from 1 to 5 calls of built-in tools, not %d", calls), Hint: "desktop-assistant tool limit 3"}
	}
	return edit(path, "call_limit", strconv.Itoa(calls), func(n *config.NativeTools) { n.CallLimit = calls })
}

// edit sets one key of [native_tools]. apply does to a configuration what the
// edit must do to it, and nothing else may come of it.
func edit(path, key, value string, apply func(*config.NativeTools)) (bool, error) {
	if _, err := config.Load(path); err != nil { // what is no file among them
		return false, err
	}
	if path == "" {
		dir, err := xdg.Config()
		if err != nil {
			return false, &config.Error{Text: err.Error(), Hint: "set HOME or name the file with --config"}
		}
		path = filepath.Join(dir, "config.toml")
	}
	real, err := behind(path)
	if err != nil {
		return false, unwritable(path, err)
	}
	unlock, err := lockFolder(filepath.Dir(real))
	if err != nil {
		return false, unwritable(path, err)
	}
	defer unlock()
	data, err := os.ReadFile(real)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, unwritable(path, err)
	}
	changed, err := set(path, data, key, value, apply)
	if err != nil || changed == nil {
		return false, err
	}
	if err := replace(real, changed); err != nil {
		return false, unwritable(path, err)
	}
	return true, nil
}

func unwritable(path string, err error) *config.Error {
	e := &config.Error{File: path, Text: "cannot be changed: " + err.Error(), Hint: "look at its rights, or write the key yourself below [native_tools]"}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		e.Text = "cannot be changed: " + p.Err.Error()
	}
	return e
}

// set gives the changed document, nil when it says so already.
func set(path string, data []byte, key, value string, apply func(*config.NativeTools)) ([]byte, error) {
	before, err := config.Decode(path, data)
	if err != nil {
		return nil, err
	}
	want := before
	apply(&want.NativeTools)
	if reflect.DeepEqual(want.NativeTools, before.NativeTools) {
		return nil, nil
	}
	changed, err := splice(data, key, value)
	if err != nil {
		return nil, &config.Error{File: path, Text: "cannot be changed: " + err.Error(), Hint: fmt.Sprintf("write %s = %s below [%s] yourself", key, value, nativeTable)}
	}
	after, err := config.Decode(path, changed)
	want.Warnings, after.Warnings = nil, nil // they name lines
	if err != nil || !reflect.DeepEqual(want, after) {
		return nil, &config.Error{File: path, Text: "cannot be changed without changing more", Hint: fmt.Sprintf("write %s = %s below [%s] yourself", key, value, nativeTable)}
	}
	return changed, nil
}

// bom is the mark that some editors put at the start.
var bom = []byte("\xef\xbb\xbf")

// splice sets one key of [native_tools] in a valid document. All other bytes
// stay as they are.
func splice(data []byte, key, value string) ([]byte, error) {
	mark, body := data[:0], data
	if bytes.HasPrefix(data, bom) {
		mark, body = data[:len(bom)], data[len(bom):]
	}
	at, err := locate(body, key)
	if err != nil {
		return nil, err
	}
	newline := "\n"
	if i := bytes.IndexByte(body, '\n'); i > 0 && body[i-1] == '\r' {
		newline = "\r\n"
	}
	start, end, text := len(body), len(body), ""
	switch {
	case at.value.Length > 0:
		start, end, text = int(at.value.Offset), int(at.value.Offset+at.value.Length), value
	case at.brace >= 0:
		start, text = at.brace+1, " "+key+" = "+value
		if at.filled {
			text += ","
		} else if start < len(body) && body[start] == '}' {
			text += " "
		}
		end = start
	case at.dotted >= 0:
		start, text = at.dotted, nativeTable+"."+key+" = "+value+newline
		end = start
	case at.header >= 0:
		start, text = lineEnd(body, at.header), key+" = "+value+newline
		if start == len(body) && body[start-1] != '\n' {
			text = newline + key + " = " + value
		}
		end = start
	default:
		text = "[" + nativeTable + "]" + newline + key + " = " + value + newline
		if len(body) > 0 {
			text = newline + text
			if body[len(body)-1] != '\n' {
				text = newline + text
			}
		}
	}
	return slices.Concat(mark, body[:start], []byte(text), body[end:]), nil
}

// spot is where a key of [native_tools] stands or could stand, in bytes from
// the start; -1 for what is not there.
type spot struct {
	value  unstable.Range // of the key, empty when it is not written
	brace  int            // the { of an inline table
	filled bool           // and something is in it
	dotted int            // start of the first line with a key that begins with the table's name
	header int            // somewhere in the line of the table's header
}

func locate(body []byte, key string) (spot, error) {
	at := spot{brace: -1, dotted: -1, header: -1}
	var p unstable.Parser
	p.Reset(body)
	var table []string
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			var last int
			table, last = parts(e.Key())
			if len(table) == 1 && table[0] == nativeTable {
				at.header = last
			}
		case unstable.KeyValue:
			at.keyValue(body, table, e, key)
		}
	}
	return at, p.Error()
}

// keyValue looks at one line of the document.
func (at *spot) keyValue(body []byte, table []string, e *unstable.Node, key string) {
	names, last := parts(e.Key())
	full := slices.Concat(table, names)
	if full[0] != nativeTable {
		return
	}
	switch {
	case len(full) == 2 && full[1] == key:
		at.value = e.Value().Raw
	case len(full) == 1 && e.Value().Kind == unstable.InlineTable:
		at.brace = last + bytes.IndexByte(body[last:], '{')
		for it := e.Value().Children(); it.Next(); {
			at.filled = true
			if inner, _ := parts(it.Node().Key()); len(inner) == 1 && inner[0] == key {
				at.value = it.Node().Value().Raw
			}
		}
	case len(table) == 0 && at.dotted < 0:
		first := e.Key()
		first.Next()
		at.dotted = bytes.LastIndexByte(body[:first.Node().Raw.Offset], '\n') + 1
	}
}

// parts gives the parts of a key and the end of the last.
func parts(key unstable.Iterator) (names []string, end int) {
	for key.Next() {
		names = append(names, string(key.Node().Data))
		end = int(key.Node().Raw.Offset + key.Node().Raw.Length)
	}
	return names, end
}

// lineEnd gives where the line after the one with an offset begins.
func lineEnd(body []byte, offset int) int {
	if i := bytes.IndexByte(body[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(body)
}

// behind gives the file that a path means, which a link may lead to, also when
// it is not there yet.
func behind(path string) (string, error) {
	for range 40 { // as many links as Linux follows
		target, err := os.Readlink(path)
		if err != nil { // no link, or nothing there
			return path, os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return "", syscall.ELOOP
}

// lockFolder keeps a second edit waiting until unlock is called.
func lockFolder(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil // which also lets go of the lock
}

// replace writes a file so that it is the old or the new one at any moment. It
// keeps its rights, and its owner where that is allowed.
func replace(path string, data []byte) (err error) {
	mode := fs.FileMode(0o600)
	info, statErr := os.Stat(path)
	if statErr == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".config-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if statErr == nil {
		owner := info.Sys().(*syscall.Stat_t)
		_ = f.Chown(int(owner.Uid), int(owner.Gid)) // a file of another group stays ours
	}
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil // it is renamed; only the power may undo it now
	}
	_ = dir.Sync() // some file systems cannot
	return dir.Close()
}
