// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"example.org/desktop-assistant/pkg/testkit/onnxtest"
)

// doubler has an input of free length and gives twice what comes in, and the sum.
func doubler() onnxtest.Model {
	return onnxtest.Model{
		Nodes: []onnxtest.Node{
			{Op: "Mul", In: []string{"x", "two"}, Out: []string{"y"}},
			{Op: "ReduceSum", In: []string{"x"}, Out: []string{"sum"}, Attributes: map[string]any{"keepdims": int64(1)}},
		},
		Constants: []onnxtest.Constant{{Name: "two", Dims: []int64{}, Data: []float32{2}}},
		Inputs:    []onnxtest.Value{{Name: "x", Type: onnxtest.Float32, Dims: []int64{1, -1}}},
		Outputs:   []onnxtest.Value{{Name: "y", Type: onnxtest.Float32, Dims: []int64{1, -1}}, {Name: "sum", Type: onnxtest.Float32, Dims: []int64{1, 1}}},
		Metadata:  map[string]string{"kokoro_config": strings.Repeat("x", 3*windowLength), "": "empty"},
	}
}

func TestGraphIsRead(t *testing.T) {
	m := doubler()
	// Weights of any size are jumped over.
	m.Constants = append(m.Constants, onnxtest.Constant{Name: "w", Dims: []int64{1 << 20}, Data: make([]float32, 1<<20)})
	g, err := ReadGraph(m.Write(t))
	if err != nil {
		t.Fatal(err)
	}
	want := Graph{
		Inputs:   []Value{{"x", Float32, []int64{1, -1}}},
		Outputs:  []Value{{"y", Float32, []int64{1, -1}}, {"sum", Float32, []int64{1, 1}}},
		Metadata: m.Metadata,
	}
	if !reflect.DeepEqual(g, want) {
		t.Errorf("graph is\n\t%+v\nwant\n\t%+v", g, want)
	}
}

// A file that ends anywhere is never taken for a whole one, unless what is missing
// is only what comes after the graph.
func TestGraphOfCutFile(t *testing.T) {
	m := doubler()
	m.Metadata = nil
	whole := m.Encode()
	for n := range len(whole) - 8 { // the opset is last
		_, err := DecodeGraph(bytes.NewReader(whole[:n]), int64(n))
		if !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrNotModel) {
			t.Fatalf("%d of %d bytes give %v", n, len(whole), err)
		}
		if n > 40 && !errors.Is(err, ErrTruncated) {
			t.Fatalf("%d of %d bytes give %v, want that it ends too early", n, len(whole), err)
		}
	}
}

func TestGraphOfOtherFiles(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "text": "<html><body>404 Not Found</body></html>", "json": `{"error": "no such file"}`,
		"lfs": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 325532387\n", "zip": "PK\x03\x04\x14\x00\x00\x00", "zeros": strings.Repeat("\x00", 100),
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadGraph(path)
		if !errors.Is(err, ErrNotModel) && !errors.Is(err, ErrTruncated) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error is %v, want one that names the file", name, err)
		}
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, t.TempDir(), "/dev/zero"} {
		if _, err := ReadGraph(path); !errors.Is(err, ErrNotModel) || !strings.Contains(err.Error(), "it is no file") {
			t.Errorf("%s: error is %v", path, err)
		}
	}
	if _, err := ReadGraph(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file gives %v", err)
	}
}

func FuzzDecodeGraph(f *testing.F) {
	f.Add(doubler().Encode())
	f.Add([]byte("\x3a\x02\x5a\x00"))
	f.Add([]byte{0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := DecodeGraph(bytes.NewReader(b), int64(len(b)))
		if (err == nil) != (len(g.Inputs) > 0 && len(g.Outputs) > 0) {
			t.Errorf("graph %+v with error %v", g, err)
		}
	})
}

func BenchmarkReadGraph(b *testing.B) {
	m := doubler()
	for range 600 {
		m.Constants = append(m.Constants, onnxtest.Constant{Name: "weight", Dims: []int64{1 << 16}, Data: make([]float32, 1<<16)})
	}
	path := m.Write(b)
	for b.Loop() {
		if _, err := ReadGraph(path); err != nil {
			b.Fatal(err)
		}
	}
}
