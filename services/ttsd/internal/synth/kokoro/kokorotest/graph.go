// SPDX-License-Identifier: Apache-2.0

package kokorotest

import (
	"fmt"

	"example.org/desktop-assistant/pkg/testkit/onnxtest"
)

// A graph is one under construction; every operation gets a name for its result.
type graph struct {
	nodes     []onnxtest.Node
	constants []onnxtest.Constant
}

// op adds an operation. Its inputs are results, or names of inputs.
func (g *graph) op(name string, in ...any) result {
	n := onnxtest.Node{Op: name, Out: []string{fmt.Sprint("v", len(g.nodes))}, Attributes: map[string]any{}}
	for _, i := range in {
		n.In = append(n.In, fmt.Sprint(i))
	}
	g.nodes = append(g.nodes, n)
	return result{g, len(g.nodes) - 1}
}

// A result is what an operation gives.
type result struct {
	g    *graph
	node int
}

// String is its name.
func (r result) String() string { return r.g.nodes[r.node].Out[0] }

// with and list set an attribute.
func (r result) with(key string, value int64) result {
	r.g.nodes[r.node].Attributes[key] = value
	return r
}

func (r result) list(key string, values ...int64) result {
	r.g.nodes[r.node].Attributes[key] = values
	return r
}

func (g *graph) constant(dims []int64, data any) string {
	name := fmt.Sprint("c", len(g.constants))
	g.constants = append(g.constants, onnxtest.Constant{Name: name, Dims: dims, Data: data})
	return name
}

// ints is a list of n numbers.
func (g *graph) ints(n int, values ...int64) string { return g.constant([]int64{int64(n)}, values) }

// scalar and number have no dimension.
func (g *graph) scalar(v int64) string   { return g.constant(nil, []int64{v}) }
func (g *graph) number(v float32) string { return g.constant(nil, []float32{v}) }

func (g *graph) floats(v float32) string { return g.constant([]int64{1}, []float32{v}) }
func (g *graph) table(values []float32) string {
	return g.constant([]int64{int64(len(values))}, values)
}

// work gives a zero for each of a list of numbers, through layers that each multiply
// a row of 2048 for each with a matrix.
func (g *graph) work(list result, layers int) result {
	const width = 2048
	matrix := make([]float32, width*width)
	for i := range matrix {
		matrix[i] = 1.0 / width // a row is its mean afterwards
	}
	weights := g.constant([]int64{width, width}, matrix)
	row := g.op("Mul", g.op("Unsqueeze", list, g.ints(1, 1)), g.constant([]int64{1, width}, make([]float32, width)))
	for range layers {
		row = g.op("MatMul", row, weights)
	}
	return g.op("ReduceSum", row, g.ints(1, 1)).with("keepdims", 0)
}
