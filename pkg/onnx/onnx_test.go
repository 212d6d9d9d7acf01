// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/pkg/testkit/onnxtest"
	"example.org/desktop-assistant/pkg/testkit/sockettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func library(t testing.TB) *Library {
	t.Helper()
	f, err := Find(onnxtest.Library(t))
	if err != nil {
		t.Fatal(err)
	}
	l, err := Load(f)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func open(t testing.TB, m onnxtest.Model, outputs ...string) *Session {
	t.Helper()
	s, err := library(t).Open(m.Write(t), []string{m.Inputs[0].Name}, outputs, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func row(values ...float32) Tensor { return Tensor{Dims: []int64{1, int64(len(values))}, Data: values} }

func TestRun(t *testing.T) {
	s := open(t, doubler(), "sum", "y")
	for range 3 {
		got, err := s.Run(t.Context(), row(1, 2, 4))
		if err != nil {
			t.Fatal(err)
		}
		if sum, y := got[0].Data.([]float32), got[1].Data.([]float32); !slices.Equal(sum, []float32{7}) || !slices.Equal(y, []float32{2, 4, 8}) || !slices.Equal(got[1].Dims, []int64{1, 3}) || !slices.Equal(got[0].Dims, []int64{1, 1}) {
			t.Errorf("result is %+v", got)
		}
	}
	l := library(t)
	if v := l.File().Version; v != "1.27.0" || l.Provider() != "CPU" {
		t.Errorf("version %q, provider %q", v, l.Provider())
	}
	if os.Getenv("ORT_DISABLE_TELEMETRY") != "1" {
		t.Error("telemetry is not turned off")
	}
}

func TestRunRefuses(t *testing.T) {
	s := open(t, doubler(), "y")
	for name, in := range map[string][]Tensor{
		"another type":  {{Dims: []int64{1, 1}, Data: []int64{1}}},
		"another shape": {{Dims: []int64{3}, Data: []float32{1, 2, 3}}},
		"too few":       {{Dims: []int64{1, 4}, Data: []float32{1, 2, 3}}},
		"no tensor":     {{Dims: []int64{1, 1}, Data: "x"}},
		"none":          {},
	} {
		if got, err := s.Run(t.Context(), in...); err == nil {
			t.Errorf("%s gives %v", name, got)
		}
	}
	if _, err := s.Run(t.Context(), row(1)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	s.Close()
	s.Close()
	if _, err := s.Run(t.Context(), row(1)); err == nil {
		t.Error("a closed session runs")
	}
}

// slow computes for seconds: many operators, one after the other.
func slow() onnxtest.Model {
	m := doubler()
	m.Nodes = nil
	last := "x"
	for i := range 400 {
		next := fmt.Sprint("v", i)
		m.Nodes = append(m.Nodes, onnxtest.Node{Op: "Sin", In: []string{last}, Out: []string{next}})
		last = next
	}
	m.Nodes = append(m.Nodes, onnxtest.Node{Op: "Neg", In: []string{last}, Out: []string{"y"}})
	m.Outputs = m.Outputs[:1]
	return m
}

func TestRunIsCancelled(t *testing.T) {
	s := open(t, slow(), "y")
	in := row(make([]float32, 4<<20)...)
	ctx, cancel := context.WithCancel(t.Context())
	var asked time.Time
	timer := time.AfterFunc(50*time.Millisecond, func() {
		asked = time.Now()
		cancel()
	})
	defer timer.Stop()
	if _, err := s.Run(ctx, in); !errors.Is(err, context.Canceled) {
		t.Fatalf("error is %v, want the context's", err)
	}
	t.Logf("it stopped %v after the cancel", time.Since(asked))
	if _, err := s.Run(ctx, in); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is over gives %v", err)
	}
	if _, err := s.Run(t.Context(), row(1)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	l := library(t)
	path := filepath.Join(t.TempDir(), "garbage.onnx")
	if err := os.WriteFile(path, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, path + ".none"} {
		if _, err := l.Open(p, []string{"x"}, []string{"y"}, Options{}); err == nil || !strings.Contains(err.Error(), p) {
			t.Errorf("%s gives %v", p, err)
		}
	}
	if _, err := Load(File{Path: "/another"}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a second library gives %v", err)
	}
}

// A process that has the library open and uses it opens no internet socket.
func TestNothingIsReported(t *testing.T) {
	sockettest.Without(t, func(t *testing.T) {
		s := open(t, doubler(), "y")
		for range 10 {
			if _, err := s.Run(t.Context(), row(1, 2)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestFind(t *testing.T) {
	real := onnxtest.Library(t)
	t.Setenv(Variable, "")
	dir := t.TempDir()
	link := filepath.Join(dir, "libonnxruntime.so.1")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "libonnxruntime.so")
	if err := os.WriteFile(text, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(t.TempDir(), "libonnxruntime.so")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		configured, variable, folder string
		want                         File
		words                        string
	}{
		{configured: real, variable: "/none", folder: dir, want: File{real, "1.27.0"}},
		{variable: real, folder: dir, want: File{real, "1.27.0"}},
		{folder: dir, want: File{link, "1.27.0"}},
		{configured: dir, want: File{link, "1.27.0"}},
		{configured: "/none/libonnxruntime.so", folder: dir, words: `there is no file "/none/libonnxruntime.so"`},
		{variable: "/none/libonnxruntime.so", folder: dir, words: "/none/libonnxruntime.so"},
		{configured: text, folder: dir, words: "is no library"},
		{folder: filepath.Dir(text), words: "is no library"},
		{configured: pipe, words: "is no file"},
		{folder: filepath.Dir(pipe), words: "is no file"},
	} {
		t.Setenv(Variable, c.variable)
		got, err := Find(c.configured, c.folder)
		if got != c.want || (err != nil) != (c.words != "") || err != nil && (!errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), c.words)) {
			t.Errorf("%+v: found %+v, %v", c, got, err)
		}
	}
}

// A library that reports is taken only when a person names it.
func TestReportingLibrary(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(onnxtest.Library(t))
	if err != nil {
		t.Fatal(err)
	}
	for version, ok := range map[string]bool{"1.28.0": true, "1.29.0": false, "1.30.0": false, "1.19.2": false} {
		dir := t.TempDir()
		path := filepath.Join(dir, "libonnxruntime.so")
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(b), "VERS_1.27.0\x00", "VERS_"+version+"\x00")), 0o600); err != nil {
			t.Fatal(err)
		}
		got, why := inFolder(dir)
		if (got.Path != "") != ok || ok == (why != "") {
			t.Errorf("version %s: %+v, %q", version, got, why)
		}
		if f, err := named(path); err != nil || f.Version != version {
			t.Errorf("version %s, named: %+v, %v", version, f, err)
		}
	}
}

func TestCores(t *testing.T) {
	dir := t.TempDir()
	if n := cores(dir); n != runtime.NumCPU() {
		t.Errorf("%d cores where nothing is told, want %d", n, runtime.NumCPU())
	}
	for cpu, siblings := range map[string]string{"cpu0": "0-1\n", "cpu1": "0-1\n"} {
		topology := filepath.Join(dir, cpu, "topology")
		if err := os.MkdirAll(topology, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(topology, "thread_siblings_list"), []byte(siblings), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n := cores(dir); n != 1 {
		t.Errorf("%d cores, want 1 of two threads", n)
	}
	if Cores() < 1 {
		t.Error("none")
	}
}

func BenchmarkRun(b *testing.B) {
	s := open(b, doubler(), "y")
	in := row(make([]float32, 1000)...)
	for b.Loop() {
		if _, err := s.Run(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
}
