// SPDX-License-Identifier: Apache-2.0

//go:build !cgo

package onnx

import "fmt"

// A Library cannot be had in this build.
type Library struct{}

// Load gives an [ErrUnavailable]: the program was built without a C compiler.
func Load(File) (*Library, error) {
	return nil, fmt.Errorf("%w: this program was built without cgo: install a C compiler and build it again", ErrUnavailable)
}

// File is none.
func (l *Library) File() File { return File{} }

// Provider is none.
func (l *Library) Provider() string { return "" }

// Open fails like Load.
func (l *Library) Open(string, []string, []string, Options) (*Session, error) {
	_, err := Load(File{})
	return nil, err
}
