// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package onnx

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"sync"

	ort "github.com/yalue/onnxruntime_go"
)

// A Library is the one onnxruntime of this process; it stays open to its end.
type Library struct {
	file File
}

// loaded is the library of this process: the binding knows only one.
var loaded struct {
	mu      sync.Mutex
	library *Library
}

// Load opens a library, or gives the one that is open already. Another than that
// cannot be opened any more. The error is an [ErrUnavailable].
func Load(f File) (*Library, error) {
	loaded.mu.Lock()
	defer loaded.mu.Unlock()
	if l := loaded.library; l != nil {
		if l.file.Path != f.Path {
			return nil, fmt.Errorf("%w: %s is in use, and %s needs a new start", ErrUnavailable, l.file.Path, f.Path)
		}
		return l, nil
	}
	// Before it is opened: it looks when it begins.
	if err := os.Setenv("ORT_DISABLE_TELEMETRY", "1"); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	ort.SetSharedLibraryPath(f.Path)
	if err := ort.InitializeEnvironment(ort.WithLogLevelFatal()); err != nil {
		return nil, fmt.Errorf("%w: open %s: %w", ErrUnavailable, f.Path, err)
	}
	if err := ort.DisableTelemetry(); err != nil {
		return nil, fmt.Errorf("%w: turn telemetry of %s off: %w", ErrUnavailable, f.Path, err)
	}
	f.Version = ort.GetVersion()
	loaded.library = &Library{file: f}
	return loaded.library, nil
}

// File is the library's own, with its version as it says it.
func (l *Library) File() File { return l.file }

// Provider is what computes.
func (l *Library) Provider() string { return "CPU" }

// Open makes a session of a model file. It takes 0.1 to 0.5 s and about the size of
// the file in memory; opening many times makes the process grow, so open once. The
// names are those of the graph: onnxruntime looks at them only in Run.
func (l *Library) Open(path string, inputs, outputs []string, o Options) (*Session, error) {
	options, err := sessionOptions(o)
	if err != nil {
		return nil, fmt.Errorf("open model %q: %w", path, err)
	}
	defer options.Destroy()
	s, err := ort.NewDynamicAdvancedSession(path, inputs, outputs, options)
	if err != nil {
		return nil, fmt.Errorf("open model %q: %w", path, err)
	}
	return &Session{runner: (*cgoRunner)(s), inputs: inputs, outputs: outputs}, nil
}

// sessionOptions: one operator after the other on all threads, which do not spin
// while they wait (that costs the others on the machine up to half of the time);
// arena on and memory pattern off keep the memory flat with inputs of all lengths.
func sessionOptions(o Options) (*ort.SessionOptions, error) {
	options, err := ort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	threads := o.Threads
	if threads == 0 {
		threads = Cores()
	}
	for _, set := range []func() error{
		func() error { return options.SetIntraOpNumThreads(threads) },
		func() error { return options.SetInterOpNumThreads(1) },
		func() error { return options.SetExecutionMode(ort.ExecutionModeSequential) },
		func() error { return options.AddSessionConfigEntry("session.intra_op.allow_spinning", "0") },
		func() error { return options.AddSessionConfigEntry("session.inter_op.allow_spinning", "0") },
		func() error { return options.SetCpuMemArena(true) },
		func() error { return options.SetMemPattern(false) },
		func() error { return options.SetLogSeverityLevel(ort.LoggingLevelFatal) },
	} {
		if err := set(); err != nil {
			options.Destroy()
			return nil, err
		}
	}
	return options, nil
}

type cgoRunner ort.DynamicAdvancedSession

func (c *cgoRunner) close() {
	// It fails only for a session that was destroyed before.
	_ = (*ort.DynamicAdvancedSession)(c).Destroy()
}

func (c *cgoRunner) run(ctx context.Context, inputs []Tensor, outputs int) ([]Tensor, error) {
	options, err := ort.NewRunOptions()
	if err != nil {
		return nil, fmt.Errorf("run model: %w", err)
	}
	defer options.Destroy()
	given := make([]ort.Value, len(inputs))
	defer func() { destroy(given) }()
	for i, in := range inputs {
		if given[i], err = value(in); err != nil {
			return nil, fmt.Errorf("run model: input %d: %w", i, err)
		}
	}
	terminated := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(terminated)
		_ = options.Terminate() // Run then says so
	})
	got := make([]ort.Value, outputs)
	err = (*ort.DynamicAdvancedSession)(c).RunWithOptions(given, got, options)
	if !stop() {
		<-terminated // it uses the options
	}
	defer destroy(got)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("run model: %w", err)
	}
	result := make([]Tensor, outputs)
	for i, v := range got {
		if result[i], err = tensor(v); err != nil {
			return nil, fmt.Errorf("run model: output %d: %w", i, err)
		}
	}
	return result, nil
}

func destroy(list []ort.Value) {
	for _, v := range list {
		// The binding leaves a nil pointer where it could not make a value.
		if v != nil && !reflect.ValueOf(v).IsNil() {
			_ = v.Destroy() // it fails only for what was destroyed before
		}
	}
}

// value wraps our numbers; they are read during Run only.
func value(t Tensor) (ort.Value, error) {
	switch data := t.Data.(type) {
	case []float32:
		return newTensor(t.Dims, data)
	case []int64:
		return newTensor(t.Dims, data)
	case []int32:
		return newTensor(t.Dims, data)
	}
	return nil, fmt.Errorf("a tensor of %T", t.Data)
}

// newTensor keeps a failure a nil interface.
func newTensor[T ort.TensorData](dims []int64, data []T) (ort.Value, error) {
	v, err := ort.NewTensor(ort.NewShape(dims...), data)
	if err != nil {
		return nil, err
	}
	return v, nil
}

// tensor takes the numbers out. The binding has copied them to memory of Go.
func tensor(v ort.Value) (Tensor, error) {
	t := Tensor{Dims: v.GetShape().Clone()}
	switch v := v.(type) {
	case *ort.Tensor[float32]:
		t.Data = v.GetData()
	case *ort.Tensor[int64]:
		t.Data = v.GetData()
	case *ort.Tensor[int32]:
		t.Data = v.GetData()
	default:
		return t, fmt.Errorf("a value of %T", v)
	}
	return t, nil
}
