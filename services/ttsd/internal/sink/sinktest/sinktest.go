// SPDX-License-Identifier: Apache-2.0

// Package sinktest is a loudspeaker for tests: it plays in the time of its clock,
// which may be virtual, and keeps what was heard.
package sinktest

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/sink"
)

// ErrStopped is what Drain and Write give when Stop cut them off.
var ErrStopped = errors.New("stopped")

// ErrLost is what everything gives on a stream of a server that is gone.
var ErrLost = errors.New("lost")

// buffer is how much a stream takes ahead of what is heard, as in the product.
const buffer = 200 * time.Millisecond

// A Speaker opens streams. Its methods are for any goroutine.
type Speaker struct {
	mu      sync.Mutex
	away    error
	streams []*Stream
	asleep  time.Duration
}

// New makes a speaker that is there.
func New() *Speaker { return &Speaker{} }

// Take makes the speaker go: every stream ends, and Open fails until Give.
func (s *Speaker) Take() {
	s.mu.Lock()
	s.away = proto.Errorf(proto.CodeUnavailable, "play", "there is no loudspeaker").WithHint("connect one")
	streams := s.streams
	s.mu.Unlock()
	for _, st := range streams {
		st.end()
	}
}

// Give makes it come back.
func (s *Speaker) Give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = nil
}

// Sleep makes the speaker need that much silence before it is heard.
func (s *Speaker) Sleep(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asleep = d
}

// Lead is what Sleep set, once: then it is awake.
func (s *Speaker) Lead(context.Context) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.asleep
	s.asleep = 0
	return d
}

// Run waits for ctx.
func (s *Speaker) Run(ctx context.Context) { <-ctx.Done() }

// Ready says whether it is there.
func (s *Speaker) Ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.away
}

// Sink is its name.
func (s *Speaker) Sink() string { return "speaker" }

// Open makes a stream.
func (s *Speaker) Open(_ context.Context, rate int) (sink.Stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away != nil {
		return nil, s.away
	}
	st := &Stream{rate: rate, corked: true, done: make(chan struct{}), changed: make(chan struct{})}
	s.streams = append(s.streams, st)
	return st, nil
}

// Heard is all that was heard of all streams, one after the other, without the
// silence in which nothing was written.
func (s *Speaker) Heard() []float32 {
	s.mu.Lock()
	streams := s.streams
	s.mu.Unlock()
	var all []float32
	for _, st := range streams {
		st.mu.Lock()
		st.settle()
		all = append(all, st.samples[:st.played]...)
		st.mu.Unlock()
	}
	return all
}

// Streams is how many streams were opened, Open ones among them counted by open.
func (s *Speaker) Streams() (all, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.streams {
		select {
		case <-st.done:
		default:
			open++
		}
	}
	return len(s.streams), open
}

// A Stream plays while it is not corked, at its rate.
type Stream struct {
	rate int
	done chan struct{}

	mu      sync.Mutex
	samples []float32 // time line: what was written and not taken back
	played  int
	corked  bool
	at      time.Time // of played, while not corked
	stops   int
	changed chan struct{}
}

// settle brings played to now.
func (s *Stream) settle() {
	now := time.Now()
	if !s.corked {
		s.played = min(len(s.samples), s.played+int(now.Sub(s.at)*time.Duration(s.rate)/time.Second))
	}
	s.at = now
}

// Room has its channel closed by time too, as a server asks for more.
func (s *Stream) Room() (int, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	room := s.played + int(buffer*time.Duration(s.rate)/time.Second) - len(s.samples)
	if room <= 0 && !s.corked {
		ch := make(chan struct{})
		time.AfterFunc(20*time.Millisecond, func() { close(ch) })
		return 0, ch
	}
	return max(0, room), s.changed
}

func (s *Stream) Write(_ context.Context, samples []float32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone() {
		return ErrLost
	}
	s.settle()
	s.samples = append(s.samples, samples...)
	return nil
}

func (s *Stream) gone() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// Written is the position of the next sample.
func (s *Stream) Written() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.samples))
}

// Played is the position up to which was heard.
func (s *Stream) Played(context.Context) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone() {
		return 0, ErrLost
	}
	s.settle()
	return int64(s.played), nil
}

// Drain waits for the time it takes.
func (s *Stream) Drain(ctx context.Context) error {
	s.mu.Lock()
	s.settle()
	target, stops := len(s.samples), s.stops
	s.mu.Unlock()
	for {
		s.mu.Lock()
		s.settle()
		left, changed := target-s.played, s.changed
		wait := time.Duration(left) * time.Second / time.Duration(s.rate)
		if s.corked {
			wait = time.Hour
		}
		stopped := s.stops != stops
		s.mu.Unlock()
		switch {
		case stopped:
			return ErrStopped
		case left <= 0:
			return nil
		}
		timer := time.NewTimer(wait + time.Millisecond)
		select {
		case <-timer.C:
		case <-changed:
		case <-s.done:
			timer.Stop()
			return ErrLost
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		timer.Stop()
	}
}

// Cork holds.
func (s *Stream) Cork(context.Context) error { return s.set(true) }

// Uncork lets go.
func (s *Stream) Uncork(context.Context) error { return s.set(false) }

func (s *Stream) set(corked bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone() {
		return ErrLost
	}
	s.settle()
	s.corked = corked
	s.signal()
	return nil
}

func (s *Stream) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Stop takes back what was not heard.
func (s *Stream) Stop(context.Context) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone() {
		return 0, ErrLost
	}
	s.settle()
	s.samples, s.corked = s.samples[:s.played], true
	s.stops++
	s.signal()
	return int64(s.played), nil
}

// Sink is its speaker's name.
func (s *Stream) Sink() string { return "speaker" }

// Underruns are not counted here.
func (s *Stream) Underruns() int64 { return 0 }

// Done is closed by Close and when the speaker goes.
func (s *Stream) Done() <-chan struct{} { return s.done }

// Close ends the stream.
func (s *Stream) Close() { s.end() }

func (s *Stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gone() {
		s.settle()
		s.samples, s.corked = s.samples[:s.played], true
		close(s.done)
		s.signal()
	}
}
