// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"example.org/desktop-assistant/pkg/pulse"
	"example.org/desktop-assistant/proto"
)

const (
	// dummy is what PulseAudio and PipeWire call the sink they make up when there
	// is no loudspeaker.
	dummy = "auto_null"
	// op is the operation of every error here.
	op = "play speech"
	// How long hardware takes to wake up, and a radio link to stand again.
	wakeTime, radioTime = 200 * time.Millisecond, 500 * time.Millisecond
	// radio begins the names of Bluetooth devices.
	radio = "bluez"
)

// A Server is the sound server of the session and the loudspeaker chosen there.
// Run keeps a connection to it.
type Server struct {
	options pulse.Options
	name    string
	changed func(server, sink error)
	// Streams, when set before Run, hears of each connection, whenever what is played
	// may have changed, and nil when the connection is lost. It does not wait.
	Streams func(*pulse.Conn)

	mu    sync.Mutex
	conn  *pulse.Conn // nil while there is none
	err   error       // why there is no loudspeaker, nil when there is one
	since time.Time   // of err
	sink  string      // name of the sink in use
	named bool        // the sink asked for is there
}

// NewServer makes one for the sink of that name, "" for the default one. changed
// hears, one call at a time, whenever it is known whether there is a server with a
// loudspeaker, and whether it is the one that was asked for; both errors are nil or
// a *proto.Error with a hint.
func NewServer(options pulse.Options, name string, changed func(server, sink error)) *Server {
	return &Server{
		options: options, name: name, changed: changed,
		err: unavailable(errors.New("the sound server was not reached yet")),
	}
}

func unavailable(err error) *proto.Error {
	e := proto.Errorf(proto.CodeUnavailable, op, "%v", err)
	var server *pulse.ServerError
	if errors.As(err, &server) {
		return e.WithHint("%s", server.Hint())
	}
	return e.WithHint("see what the sound server says: pactl info")
}

// Run keeps the connection until ctx ends.
func (s *Server) Run(ctx context.Context) {
	// An error of up, the only one that Redial returns, does not exist.
	_ = pulse.Redial(ctx, s.options, func(err error) { s.set(nil, unavailable(err), nil) }, s.up)
}

// up watches one connection until it is lost.
func (s *Server) up(ctx context.Context, c *pulse.Conn) error {
	changes, err := c.Subscribe(ctx)
	if err != nil && ctx.Err() == nil {
		s.set(nil, unavailable(err), nil)
	}
	for change := all; err == nil; {
		if change.Has(pulse.SinksChanged | pulse.ServerChanged) {
			s.look(ctx, c)
		}
		if change.Has(pulse.SinkInputsChanged) {
			s.tell(c)
		}
		var ok bool
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case change, ok = <-changes:
			if !ok {
				err = c.Err()
			}
		}
	}
	s.tell(nil)
	// The state stays until Redial has told why: a server that is back at once is
	// no reason to refuse anything.
	s.mu.Lock()
	s.conn = nil
	s.mu.Unlock()
	<-ctx.Done()
	return nil
}

// all is every change: nothing is known yet.
const all = pulse.SinksChanged | pulse.SinkInputsChanged | pulse.ServerChanged

func (s *Server) tell(c *pulse.Conn) {
	if s.Streams != nil {
		s.Streams(c)
	}
}

// Lead asks whether the loudspeaker sleeps.
func (s *Server) Lead(ctx context.Context) time.Duration {
	s.mu.Lock()
	conn, name := s.conn, s.sink
	s.mu.Unlock()
	if conn == nil {
		return 0
	}
	d, err := conn.Sink(ctx, name)
	switch {
	case err != nil || !d.Suspended:
		return 0
	case strings.HasPrefix(d.Name, radio):
		return radioTime
	}
	return wakeTime
}

// look asks for the sink.
func (s *Server) look(ctx context.Context, c *pulse.Conn) {
	var missing error
	d, err := c.Sink(ctx, s.name)
	named := s.name != "" && err == nil && d.Name == s.name
	if s.name != "" && !named && (err == nil || errors.Is(err, pulse.ErrNoDevice)) {
		missing = proto.Errorf(proto.CodeNotFound, op, "the sink %q is not there, the default one is used", s.name).
			WithHint(`see the names: pactl list short sinks; then set sink below [tts], or leave it out`)
		d, err = c.Sink(ctx, "")
	}
	if err == nil && d.Name == dummy {
		err = pulse.ErrNoDevice
	}
	s.mu.Lock()
	s.named = named
	s.sink = d.Name
	s.mu.Unlock()
	switch {
	case err == nil:
		s.set(c, nil, missing)
	case errors.Is(err, pulse.ErrNoDevice):
		s.set(c, proto.Errorf(proto.CodeUnavailable, op, "there is no loudspeaker").
			WithHint("connect one, and see whether the sound server knows it: pactl list short sinks"), nil)
	case ctx.Err() == nil:
		s.set(c, unavailable(err), nil)
	}
}

func (s *Server) set(c *pulse.Conn, err, missing error) {
	s.mu.Lock()
	s.conn = c
	if err != nil && s.err == nil {
		s.since = time.Now()
	}
	s.err = err
	s.mu.Unlock()
	s.changed(err, missing)
}

// Ready is nil when something can be played, or could be less than LostLimit ago;
// else it is a *proto.Error with code unavailable and a hint.
func (s *Server) Ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil || time.Since(s.since) < LostLimit {
		return nil
	}
	return s.err
}

// Sink is the name of the loudspeaker, "" when there is none.
func (s *Server) Sink() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return ""
	}
	return s.sink
}

// Open makes a stream to the loudspeaker.
func (s *Server) Open(ctx context.Context, rate int) (Stream, error) {
	s.mu.Lock()
	conn, err, name := s.conn, s.err, ""
	if s.named {
		name = s.name
	}
	s.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case conn == nil:
		return nil, unavailable(errors.New("the connection to the sound server is lost"))
	}
	p, err := conn.Playback(ctx, pulse.PlaybackOptions{
		Sink: name, Rate: rate, Media: "Speech", Role: "assistant", Icon: s.options.Icon,
	})
	if err != nil {
		return nil, unavailable(err)
	}
	return p, nil
}
