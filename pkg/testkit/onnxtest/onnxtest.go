// SPDX-License-Identifier: Apache-2.0

// Package onnxtest makes small ONNX models out of Go and finds the onnxruntime
// library for tests. It knows the few messages of the format that such a model
// needs, and no library for it.
package onnxtest

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// Element types of tensors, by their numbers in the format.
const (
	Float32 = 1
	Int32   = 6
	Int64   = 7
)

// opset is the version of the operators; every one used here is in it.
const opset = 17

// Library is the path of the onnxruntime library that make fetched: the value of
// ORT_DYLIB_PATH, else what lies in the cache of the build.
func Library(t testing.TB) string {
	t.Helper()
	return cached(t, "ORT_DYLIB_PATH", "onnxruntime-1.27.0/libonnxruntime.so.1", "make onnxruntime")
}

// Voices is the folder of the real voice files that make fetched.
func Voices(t testing.TB) string {
	t.Helper()
	return cached(t, "KOKORO_JS_VOICES", "kokoro-js-1.2.1/voices", "make kokoro-voices")
}

// cached finds what make keeps outside the checkout.
func cached(t testing.TB, variable, name, hint string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(cache, "desktop-assistant", name)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: type %s", err, hint)
	}
	return path
}

// A Value is an input or an output of a graph. A dimension of -1 is a free one.
type Value struct {
	Name string
	Type int
	Dims []int64
}

// A Node is one operation. Attributes are int64, float32 or []int64.
type Node struct {
	Op         string
	In, Out    []string
	Attributes map[string]any
}

// A Constant is a tensor that is part of the model; Data is []float32, []int32 or
// []int64.
type Constant struct {
	Name string
	Dims []int64
	Data any
}

// A Model is a graph with what belongs to it.
type Model struct {
	Nodes           []Node
	Constants       []Constant
	Inputs, Outputs []Value
	Metadata        map[string]string
}

// Write encodes the model into a file of a temporary folder.
func (m Model) Write(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.WriteFile(path, m.Encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Encode gives the bytes of a model file.
func (m Model) Encode() []byte {
	var graph message
	for _, n := range m.Nodes {
		graph.bytes(1, n.encode())
	}
	graph.text(2, "test")
	for _, c := range m.Constants {
		graph.bytes(5, c.encode())
	}
	for _, v := range m.Inputs {
		graph.bytes(11, v.encode())
	}
	for _, v := range m.Outputs {
		graph.bytes(12, v.encode())
	}
	var set, out message
	set.text(1, "")
	set.number(2, opset)
	out.number(1, 8) // the version of the format
	out.text(2, "desktop-assistant")
	out.bytes(7, graph)
	out.bytes(8, set)
	for key, value := range m.Metadata {
		var entry message
		entry.text(1, key)
		entry.text(2, value)
		out.bytes(14, entry)
	}
	return out
}

func (n Node) encode() []byte {
	var out message
	for _, name := range n.In {
		out.text(1, name)
	}
	for _, name := range n.Out {
		out.text(2, name)
	}
	out.text(4, n.Op)
	for name, value := range n.Attributes {
		var a message
		a.text(1, name)
		switch v := value.(type) {
		case float32:
			a.float(2, v)
			a.number(20, 1)
		case int64:
			a.number(3, uint64(v))
			a.number(20, 2)
		case []int64:
			for _, i := range v {
				a.number(8, uint64(i))
			}
			a.number(20, 7)
		}
		out.bytes(5, a)
	}
	return out
}

func (c Constant) encode() []byte {
	var out message
	for _, d := range c.Dims {
		out.number(1, uint64(d))
	}
	var raw []byte
	kind := 0
	switch data := c.Data.(type) {
	case []float32:
		kind = Float32
		for _, v := range data {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
		}
	case []int32:
		kind = Int32
		for _, v := range data {
			raw = binary.LittleEndian.AppendUint32(raw, uint32(v))
		}
	case []int64:
		kind = Int64
		for _, v := range data {
			raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
		}
	}
	out.number(2, uint64(kind))
	out.text(8, c.Name)
	out.bytes(9, raw)
	return out
}

func (v Value) encode() []byte {
	var shape message
	for _, d := range v.Dims {
		var dim message
		if d < 0 {
			dim.text(2, "n")
		} else {
			dim.number(1, uint64(d))
		}
		shape.bytes(1, dim)
	}
	var tensor, kind, out message
	tensor.number(1, uint64(v.Type))
	tensor.bytes(2, shape)
	kind.bytes(1, tensor)
	out.text(1, v.Name)
	out.bytes(2, kind)
	return out
}

// A message is protobuf under construction.
type message []byte

func (m *message) key(field, wire int) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|uint64(wire))
}

func (m *message) number(field int, v uint64) {
	m.key(field, 0)
	*m = binary.AppendUvarint(*m, v)
}

func (m *message) bytes(field int, b []byte) {
	m.key(field, 2)
	*m = binary.AppendUvarint(*m, uint64(len(b)))
	*m = append(*m, b...)
}

func (m *message) text(field int, s string) { m.bytes(field, []byte(s)) }

func (m *message) float(field int, v float32) {
	m.key(field, 5)
	*m = binary.LittleEndian.AppendUint32(*m, math.Float32bits(v))
}
