// SPDX-License-Identifier: Apache-2.0

package pulse

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.org/desktop-assistant/pkg/pulse/internal/wire"
	"github.com/jfreymuth/pulse/proto"
)

const (
	// DefaultCaptureRate is the rate of capture in samples a second, what speech
	// recognisers take.
	DefaultCaptureRate = 16000
	// DefaultFragment is 20 ms at the default rate. Measured with it: a fragment
	// every 20.0 ms on PulseAudio 16.1, 21.3 ms on PipeWire 0.3.65.
	DefaultFragment = 640
	// backlog is how much sound waits for a slow receiver before samples are lost.
	backlog = 5 * time.Second
	// stallTimeout is how long a running stream may be silent as a stream; sources
	// deliver zeros when muted.
	stallTimeout = 2 * time.Second
	bytesPerS16  = 2
)

// CaptureOptions choose what is recorded; the zero value is the default source.
type CaptureOptions struct {
	// Source is a source's name, empty for the default one. A default that is the
	// monitor of a loudspeaker is refused; by name a monitor may be recorded.
	Source string
	// Rate is in samples a second, 0 means DefaultCaptureRate.
	Rate int
	// FragmentBytes is how much the server sends at once, 0 means DefaultFragment.
	FragmentBytes int
	// Media is what volume controls call the stream, Role its media.role.
	Media, Role string
}

// A Frame is a run of mono samples; it belongs to the receiver.
type Frame struct {
	Samples []int16
	// Pos is the stream position of the first sample, dropped ones counted: a gap
	// to the previous frame is what was lost.
	Pos int64
	// At is when the frame came in; its last sample is younger than the source's
	// latency, about one fragment.
	At time.Time
}

// A Capture is a running capture stream. It stays on its source: when that goes
// away the stream ends with ErrKilled, it never moves to another one.
type Capture struct {
	conn   *Conn
	index  uint32
	source Device
	frames chan Frame
	done   chan struct{}

	dropped atomic.Int64

	mu    sync.Mutex // guards the rest; taken by the read loop, never held over a call
	ended bool
	err   error
	pos   int64
	idle  bool        // suspended by the server
	dog   *time.Timer // fires when nothing came for stallTimeout
}

// Capture opens a capture stream and starts it; it blocks for two to three answers
// of the server. ErrNoDevice means that the source is not there.
func (c *Conn) Capture(ctx context.Context, o CaptureOptions) (*Capture, error) {
	if len(o.Source) > wire.MaxName {
		return nil, fmt.Errorf("open source %q: %w", wire.Clean(o.Source, wire.MaxName), ErrNoDevice)
	}
	if o.Rate == 0 {
		o.Rate = DefaultCaptureRate
	}
	if o.FragmentBytes == 0 {
		o.FragmentBytes = DefaultFragment
	}
	size := int(int64(o.Rate) * bytesPerS16 * int64(backlog) / int64(time.Second) / int64(o.FragmentBytes))
	s := &Capture{conn: c, frames: make(chan Frame, max(size, 2)), done: make(chan struct{})}
	if err := s.open(ctx, o); err != nil {
		return nil, fmt.Errorf("open source %q: %w", o.Source, err)
	}
	return s, nil
}

func (s *Capture) open(ctx context.Context, o CaptureOptions) error {
	var reply proto.CreateRecordStreamReply
	err := s.conn.create(ctx, captureRequest(o), &reply,
		func() proto.RequestArgs { return &proto.DeleteRecordStream{StreamIndex: reply.StreamIndex} },
		func() {
			s.index = reply.StreamIndex
			s.conn.captures[s.index] = s
		}, s.handle)
	if err != nil {
		return err
	}
	if err := s.start(ctx, o, reply.SourceName); err != nil {
		s.Close()
		return err
	}
	return nil
}

// captureRequest asks for steady small fragments (AdjustLatency; without it an
// idle source delivers bursts of up to 2 s) from this source and no other (NoMove).
func captureRequest(o CaptureOptions) *proto.CreateRecordStream {
	return &proto.CreateRecordStream{
		SampleSpec:         proto.SampleSpec{Format: proto.FormatInt16LE, Channels: 1, Rate: uint32(o.Rate)},
		ChannelMap:         proto.ChannelMap{proto.ChannelMono},
		SourceIndex:        proto.Undefined,
		SourceName:         wire.Clean(o.Source, wire.MaxName),
		BufferMaxLength:    proto.Undefined,
		BufferFragSize:     uint32(o.FragmentBytes),
		Corked:             true,
		NoMove:             true,
		AdjustLatency:      true,
		DirectOnInputIndex: proto.Undefined,
		ChannelVolumes:     proto.ChannelVolumes{proto.VolumeNorm},
		Properties: wire.Properties([]wire.Property{
			{Key: "media.name", Value: o.Media},
			{Key: "media.role", Value: o.Role},
		}),
	}
}

// start checks that the server gave us the source we named (PipeWire takes the
// default for a name it does not know) and lets the sound run.
func (s *Capture) start(ctx context.Context, o CaptureOptions, got string) error {
	if o.Source != "" && !strings.HasPrefix(o.Source, "@") && got != o.Source {
		return fmt.Errorf("%w: the server offered %q instead", ErrNoDevice, got)
	}
	var err error
	if s.source, err = s.conn.Source(ctx, got); err != nil {
		return err
	}
	if o.Source == "" && s.source.Monitor {
		return fmt.Errorf("%w: the default source %q is the monitor of a loudspeaker", ErrNoDevice, got)
	}
	if err := s.conn.wire.Request(ctx, &proto.CorkRecordStream{StreamIndex: s.index}, nil); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return s.err
	}
	if s.dog == nil && !s.idle {
		s.dog = time.AfterFunc(stallTimeout, s.stall)
	}
	return nil
}

// Frames delivers what is recorded, in order. It holds up to 5 s for a slow
// receiver, then newer sound is dropped and counted. It is closed when the stream
// ends; what it holds can still be read.
func (s *Capture) Frames() <-chan Frame { return s.frames }

// Done is closed when the stream has ended.
func (s *Capture) Done() <-chan struct{} { return s.done }

// Err is nil while the stream runs, then why it ended: ErrKilled, ErrStalled,
// ErrLost or ErrClosed.
func (s *Capture) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Dropped is how many samples were lost because nobody took them.
func (s *Capture) Dropped() int64 { return s.dropped.Load() }

// Source is the source as it was when the stream was opened.
func (s *Capture) Source() Device { return s.source }

// Close ends the stream and deletes it at the server, so that the desktop's
// microphone mark goes out; one that stalled is still there, too. It blocks for
// one answer. Twice is fine.
func (s *Capture) Close() {
	s.end(ErrClosed)
	s.conn.mu.Lock()
	_, there := s.conn.captures[s.index]
	delete(s.conn.captures, s.index)
	s.conn.mu.Unlock()
	if there {
		// An error means that the stream or the connection is gone already.
		_ = s.conn.wire.Tell(&proto.DeleteRecordStream{StreamIndex: s.index})
	}
}

// end marks the stream as ended; the first cause stays.
func (s *Capture) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended, s.err = true, err
	if s.dog != nil {
		s.dog.Stop()
	}
	close(s.frames)
	close(s.done)
}

// stall runs on the timer's goroutine.
func (s *Capture) stall() { s.end(ErrStalled) }

// handle takes a message of the server about this stream, others it passes over.
func (s *Capture) handle(m any) {
	switch m := m.(type) {
	case *proto.RecordStreamKilled:
		if m.StreamIndex == s.index {
			s.end(ErrKilled)
		}
	case *proto.RecordStreamSuspended:
		if m.StreamIndex == s.index {
			s.suspend(m.Suspended)
		}
	}
}

func (s *Capture) suspend(idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = idle
	if s.dog == nil || s.ended {
		return
	}
	if idle {
		s.dog.Stop()
	} else {
		s.dog.Reset(stallTimeout)
	}
}

// push copies what the server sent into the backlog.
func (s *Capture) push(data []byte, at time.Time) {
	n := len(data) / bytesPerS16
	samples := make([]int16, n)
	for i := range samples {
		samples[i] = int16(binary.LittleEndian.Uint16(data[i*bytesPerS16:]))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || n == 0 {
		return
	}
	if s.dog != nil && !s.idle {
		s.dog.Reset(stallTimeout)
	}
	f := Frame{Samples: samples, Pos: s.pos, At: at}
	s.pos += int64(n)
	select {
	case s.frames <- f:
	default:
		s.dropped.Add(int64(n))
	}
}
