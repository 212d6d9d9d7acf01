// SPDX-License-Identifier: Apache-2.0

// Package chain puts one speech engine behind another: what the first cannot say,
// the second says, so that there are words where there would be silence.
package chain

import (
	"context"
	"errors"
	"time"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/synth"
)

// restTime is how long a first engine that is gone is left alone: to ask a machine
// that does not answer costs seconds for each sentence.
const restTime = 5 * time.Second

// Engine is a synth.Engine of two.
type Engine struct {
	first, second synth.Engine
	told          func(error)
	until         time.Time // the first one is left alone, of Synthesize
}

// New makes one. told hears why the first engine cannot speak, and nil when it can
// again; what it never says (a language it does not know) is not told.
func New(first, second synth.Engine, told func(error)) *Engine {
	return &Engine{first: first, second: second, told: told}
}

// Name, Version, Voices, Timed and Detail are the first one's.
func (e *Engine) Name() string     { return e.first.Name() }
func (e *Engine) Version() string  { return e.first.Version() }
func (e *Engine) Voices() []string { return e.first.Voices() }
func (e *Engine) Timed() bool      { return e.first.Timed() }
func (e *Engine) Detail() any      { return e.first.Detail() }

// Backup is the name of the second one.
func (e *Engine) Backup() string { return e.second.Name() }

// Close closes both.
func (e *Engine) Close() {
	e.first.Close()
	e.second.Close()
}

// Synthesize has the second engine say a sentence of which the first gave nothing.
// A sentence in a voice that someone chose is the first one's alone.
func (e *Engine) Synthesize(ctx context.Context, s synth.Sentence, emit synth.Emit) error {
	if s.Voice == "" && time.Now().Before(e.until) {
		return e.second.Synthesize(ctx, s, emit)
	}
	some := false
	err := e.first.Synthesize(ctx, s, func(sound synth.Sound) {
		some = true
		emit(sound)
	})
	invalid := errors.Is(err, &proto.Error{Code: proto.CodeInvalid})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		e.told(nil)
		return nil
	case !invalid:
		e.told(err)
	}
	if some || s.Voice != "" {
		return err
	}
	if errors.Is(err, &proto.Error{Code: proto.CodeUnavailable}) {
		e.until = time.Now().Add(restTime)
	}
	return e.second.Synthesize(ctx, s, emit)
}
