// SPDX-License-Identifier: Apache-2.0

// Package capture is where sound comes from: a sound server, or what a test
// puts in its place.
package capture

import (
	"context"
	"errors"
	"log/slog"

	"example.org/desktop-assistant/pkg/pulse"
	"example.org/desktop-assistant/proto"
)

// A Stream is a running capture. Frames arrive in order and are the
// receiver's; the channel is closed when the stream ends, and Err says why.
// Close ends it at once, and blocks until the server has let go of it too, which
// takes seconds when that does not answer. It may be called twice, and after the
// stream ended by itself it still tidies up at the server.
type Stream interface {
	Frames() <-chan pulse.Frame
	Err() error
	Source() string // name of the source, as the server has it
	Dropped() int64 // samples lost because nobody took them
	Close()
}

// A Room is one connection to a sound server.
type Room interface {
	// Open starts to capture from a source, "" for the default one: 16 kHz mono.
	Open(ctx context.Context, source string) (Stream, error)
	// Find tells the name of a source, "" for the default one, and whether it
	// is there at all.
	Find(ctx context.Context, source string) (string, error)
	// Changes tells that devices came, went or changed.
	Changes(ctx context.Context) (<-chan pulse.Change, error)
}

// A Server keeps a connection to a sound server. Run calls up for each one, on
// one goroutine, with a context that ends when it is lost; down hears why there
// is none. It returns when ctx ends.
type Server interface {
	Run(ctx context.Context, down func(error), up func(context.Context, Room)) error
}

// Pulse is PulseAudio, or PipeWire in its place.
type Pulse struct {
	Version string
	Log     *slog.Logger
}

// Run implements [Server].
func (p Pulse) Run(ctx context.Context, down func(error), up func(context.Context, Room)) error {
	o := pulse.Options{Name: "Desktop Assistant", ID: "org.example.desktop-assistant", Icon: "audio-input-microphone", Version: p.Version}
	return pulse.Redial(ctx, o, func(err error) { down(explain(err)) }, func(ctx context.Context, c *pulse.Conn) error {
		up(ctx, room{c})
		return nil
	})
}

type room struct{ *pulse.Conn }

func (r room) Open(ctx context.Context, source string) (Stream, error) {
	s, err := r.Capture(ctx, pulse.CaptureOptions{Source: source, Rate: proto.Rate, Media: "Question", Role: "assistant"})
	if err != nil {
		return nil, explain(err)
	}
	return stream{s}, nil
}

func (r room) Find(ctx context.Context, source string) (string, error) {
	d, err := r.Source(ctx, source)
	if err != nil {
		return "", explain(err)
	}
	if source == "" && d.Monitor { // what the loudspeaker plays is no microphone
		return "", explain(pulse.ErrNoDevice)
	}
	return d.Name, nil
}

func (r room) Changes(ctx context.Context) (<-chan pulse.Change, error) { return r.Subscribe(ctx) }

type stream struct{ *pulse.Capture }

func (s stream) Source() string { return s.Capture.Source().Name }

// explain says what a person can do about a failure of the sound server.
func explain(err error) error {
	const op = "open the microphone"
	var server *pulse.ServerError
	switch {
	case errors.As(err, &server):
		return proto.Errorf(proto.CodeUnavailable, op, "%v", err).WithHint("%s", server.Hint())
	case errors.Is(err, pulse.ErrNoDevice):
		return proto.Errorf(proto.CodeUnavailable, op, "there is no microphone").
			WithHint("plug one in; the sources are listed by: pactl list short sources; choose one with [mic] source")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return proto.Errorf(proto.CodeTimeout, op, "the sound server does not answer").WithHint("restart it: systemctl --user restart pipewire-pulse")
	case errors.Is(err, pulse.ErrLost):
		return proto.Errorf(proto.CodeUnavailable, op, "the sound server went away").
			WithHint("it is looked for again; if it stays away: systemctl --user restart pipewire-pulse")
	}
	return proto.Errorf(proto.CodeUnavailable, op, "%v", err).WithHint("see what the sound server says: pactl info")
}
