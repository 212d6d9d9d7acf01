// SPDX-License-Identifier: Apache-2.0

// Package onnx runs neural networks with the onnxruntime library of the machine.
//
// The library is not linked: [Find] looks for it and [Load] opens it, so that a
// program without a model needs none. Official builds from 1.29 on report to
// their maker over the network; such a library is used only when a person names
// it, and every library is told not to.
//
// A [Graph] is what a model file says of itself, read in a moment without the
// library. A [Session] is a model ready to run.
package onnx

import (
	"context"
	"errors"
)

// ErrUnavailable is wrapped by the errors about a library that is not there or
// cannot be used. Its text says what was tried.
var ErrUnavailable = errors.New("onnxruntime cannot be used")

// Variable names the environment variable that may name the library.
const Variable = "ORT_DYLIB_PATH"

// A Tensor is an array of numbers. Data is a []float32, a []int64 or a []int32
// with as many elements as the product of Dims, of which there is at least one: the
// binding cannot take a single number out.
type Tensor struct {
	Dims []int64
	Data any
}

// Options are how a session computes.
type Options struct {
	// Threads for one run; 0 means as many as there are physical cores. More than
	// that is slower.
	Threads int
}

// runner is what a build with cgo makes a session of.
type runner interface {
	run(ctx context.Context, inputs []Tensor, outputs int) ([]Tensor, error)
	close()
}

// A Session is a model ready to run. Its methods are for one goroutine at a time.
type Session struct {
	runner  runner
	inputs  []string
	outputs []string
}

// Run gives the outputs named when the session was opened, for inputs in the order
// named there. The tensors given are only read, and may be reused afterwards; the
// result belongs to the caller. When ctx ends it stops within some 30 ms and
// returns ctx's error; the session stays usable.
func (s *Session) Run(ctx context.Context, inputs ...Tensor) ([]Tensor, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if s.runner == nil {
		return nil, errors.New("run model: the session is closed")
	}
	if len(inputs) != len(s.inputs) {
		return nil, errors.New("run model: the number of inputs is not the one of the session")
	}
	return s.runner.run(ctx, inputs, len(s.outputs))
}

// Close gives the memory of the model back. Twice is fine.
func (s *Session) Close() {
	if s.runner != nil {
		s.runner.close()
		s.runner = nil
	}
}
