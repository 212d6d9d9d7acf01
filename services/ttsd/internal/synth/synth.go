// SPDX-License-Identifier: Apache-2.0

// Package synth says what a speech engine is. The engines are the packages
// below it.
package synth

import "context"

// A Sentence is what an engine says in one go.
type Sentence struct {
	Text     string // in spoken form, on one line, never empty
	Language string // key of the configuration ("en", "it"), or a tag such as "pt-br"
	Voice    string // a blend of voices for this sentence alone; "" means the language's
	// Soon says that someone waits for the first sound, and nothing is heard
	// meanwhile: the beginning may be made before the rest.
	Soon bool
	// Fixed says that the sentence is the assistant's own and comes again.
	Fixed bool
}

// A Sound is the next part of a sentence.
type Sound struct {
	Rate    int       // in hertz, the same for all of a sentence
	Samples []float32 // mono, -1 to 1
	// Words says how far the text has come, in rising order; an engine that does
	// not know leaves it empty.
	Words []Word
}

// A Word says that after At samples of its sound, Text bytes of the sentence's
// text were said.
type Word struct{ At, Text int }

// Emit takes the next sound of a sentence, which belongs to the receiver
// afterwards.
type Emit func(Sound)

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
	// Timed says that its sounds tell their words.
	Timed() bool
	// Detail is shown by the status as JSON: what it is made of. nil is fine.
	Detail() any
	Synthesize(ctx context.Context, s Sentence, emit Emit) error
	// Close gives back what it holds, when nothing is synthesised any more. Twice
	// is fine. The other methods, but Synthesize, work afterwards.
	Close()
}
