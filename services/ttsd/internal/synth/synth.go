// SPDX-License-Identifier: Apache-2.0

// Package synth says what a speech engine is. The engines are the packages
// below it.
package synth

import "context"

// A Sentence is what an engine says in one go.
type Sentence struct {
	Text     string // in spoken form, on one line, never empty
	Language string // key of the configuration ("en", "it"), or a tag such as "pt-br"
}

// Emit takes the next samples of a sentence: mono, -1 to 1, at rate hertz, which
// is the same for all of a sentence. They belong to the receiver afterwards.
type Emit func(rate int, samples []float32)

// An Engine turns sentences into sound.
//
// Synthesize calls emit in order, from its own goroutine, as early as it has
// samples, and returns when the sentence is complete. When ctx ends it stops all
// work, returns ctx's error, and has left nothing running. Any other failure is a
// *proto.Error: unavailable means that the engine itself is gone and a person has
// to mend that, as the hint says; every other code is about this sentence. One call
// at a time.
//
// Volume is not the engine's; speed is, and was given to it when it was made.
type Engine interface {
	// Name is the value of [tts] engine that selects it.
	Name() string
	// Version is what the status shows.
	Version() string
	// Voices lists what it can speak, sorted, in the engine's own names.
	Voices() []string
	Synthesize(ctx context.Context, s Sentence, emit Emit) error
}
