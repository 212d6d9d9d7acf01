// SPDX-License-Identifier: Apache-2.0

package pulse

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"example.org/desktop-assistant/pkg/pulse/internal/wire"
	"github.com/jfreymuth/pulse/proto"
)

const (
	// The server's buffer: small, because what is in it cannot be taken back by
	// dropping a queue of ours. Sound starts when prebuffer is filled; it must not
	// be 0, or sound written after a pause is lost.
	targetLength   = 200 * time.Millisecond
	prebuffer      = 80 * time.Millisecond
	minimumRequest = 20 * time.Millisecond
	bytesPerF32    = 4
	// maxChunk bounds one packet of sound.
	maxChunk = 16 << 10
)

// lastSync numbers the playback streams of this process: streams of one connection
// with the same number are tied together, and the second cannot start.
var lastSync atomic.Uint32

// PlaybackOptions choose where and as what is played.
type PlaybackOptions struct {
	// Sink is a sink's name, empty for the default one. A stream follows when the
	// default changes or its sink goes away.
	Sink string
	// Rate is in samples a second and must be given.
	Rate int
	// Media is what volume controls call the stream: a few words, never the text
	// that is spoken. Role is its media.role, by which servers remember the volume;
	// Icon an icon name.
	Media, Role, Icon string
}

// A Playback plays mono float32 samples (-1 to 1). Its methods are for any
// goroutine, but one Write at a time.
//
// Positions are samples of one time line: Written is where the next sample lands,
// Played is what was heard. Stop takes what was not heard out of the time line, so
// after it Written equals Played.
type Playback struct {
	conn  *Conn
	index uint32
	rate  int
	done  chan struct{}

	underruns atomic.Int64

	mu       sync.Mutex // guards the rest; taken by the read loop, never held over a call
	sink     string
	ended    bool
	err      error
	corked   bool
	changed  chan struct{} // closed and replaced when something below changes
	credit   int           // bytes the server asked for
	stops    int           // how often Stop was called
	stopping bool          // a Stop is under way: nothing may be sent
	sending  int           // chunks on their way to the socket
	draining context.CancelCauseFunc
	written  int64 // time line
	played   int64 // time line, highest answer so far
	// The server's byte indexes belong to the time line thus: byte origin of the
	// server is sample base.
	origin, base int64
}

// Playback opens a paused (corked) stream; Uncork starts it.
func (c *Conn) Playback(ctx context.Context, o PlaybackOptions) (*Playback, error) {
	if o.Rate <= 0 {
		return nil, fmt.Errorf("open sink %q: rate %d is not positive", o.Sink, o.Rate)
	}
	if len(o.Sink) > wire.MaxName {
		return nil, fmt.Errorf("open sink %q: %w", wire.Clean(o.Sink, wire.MaxName), ErrNoDevice)
	}
	p := &Playback{conn: c, rate: o.Rate, corked: true, done: make(chan struct{}), changed: make(chan struct{})}
	var reply proto.CreatePlaybackStreamReply
	err := c.create(ctx, playbackRequest(o), &reply,
		func() proto.RequestArgs { return &proto.DeletePlaybackStream{StreamIndex: reply.StreamIndex} },
		func() {
			p.index, p.sink, p.credit = reply.StreamIndex, reply.SinkName, int(reply.Missing)
			c.players[p.index] = p
		}, p.handle)
	if err != nil {
		return nil, fmt.Errorf("open sink %q: %w", o.Sink, err)
	}
	return p, nil
}

func playbackRequest(o PlaybackOptions) *proto.CreatePlaybackStream {
	size := func(d time.Duration) uint32 {
		return uint32(int64(o.Rate)*int64(d)/int64(time.Second)) * bytesPerF32
	}
	return &proto.CreatePlaybackStream{
		SampleSpec:            proto.SampleSpec{Format: proto.FormatFloat32LE, Channels: 1, Rate: uint32(o.Rate)},
		ChannelMap:            proto.ChannelMap{proto.ChannelMono},
		SinkIndex:             proto.Undefined,
		SinkName:              wire.Clean(o.Sink, wire.MaxName),
		BufferMaxLength:       proto.Undefined,
		Corked:                true,
		BufferTargetLength:    size(targetLength),
		BufferPrebufferLength: size(prebuffer),
		BufferMinimumRequest:  size(minimumRequest),
		SyncID:                lastSync.Add(1),
		AdjustLatency:         true,
		ChannelVolumes:        proto.ChannelVolumes{proto.VolumeNorm},
		Properties: wire.Properties([]wire.Property{
			{Key: "media.name", Value: o.Media},
			{Key: "media.role", Value: o.Role},
			{Key: "media.icon_name", Value: o.Icon},
		}),
	}
}

// Done is closed when the stream has ended.
func (p *Playback) Done() <-chan struct{} { return p.done }

// Err is nil while the stream lives, then ErrKilled, ErrLost or ErrClosed.
func (p *Playback) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Sink is the name of the sink the stream plays to now.
func (p *Playback) Sink() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sink
}

// Underruns is how often the server ran out of samples; a pause between two
// writes is one, and is silent.
func (p *Playback) Underruns() int64 { return p.underruns.Load() }

// Written is the time line position after the last sample handed to the server.
func (p *Playback) Written() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written
}

// Write hands samples to the server and blocks while its buffer of 200 ms is full,
// on a corked stream until Uncork. It may have written a part when it fails: see
// Written. Stop makes it return ErrStopped. samples are not kept.
func (p *Playback) Write(ctx context.Context, samples []float32) error {
	stops, err := p.settled(ctx)
	for err == nil && len(samples) > 0 {
		var n int
		if n, err = p.room(ctx, stops); err != nil {
			break
		}
		n = min(n, len(samples))
		if err = p.send(stops, samples[:n]); err == nil {
			samples = samples[n:]
		}
	}
	if err != nil {
		return fmt.Errorf("write sound: %w", err)
	}
	return nil
}

// Room is how many samples Write takes now without waiting, and a channel that is
// closed when that may have changed, as it is when the stream ends.
func (p *Playback) Room() (samples int, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.stopping {
		return 0, p.changed
	}
	return p.credit / bytesPerF32, p.changed
}

// await blocks until cond, called with mu held, is true or fails.
func (p *Playback) await(ctx context.Context, cond func() (bool, error)) error {
	for {
		p.mu.Lock()
		ok, err := cond()
		changed := p.changed
		p.mu.Unlock()
		if ok || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// settled waits until no Stop is under way and gives the count of stops.
func (p *Playback) settled(ctx context.Context) (stops int, err error) {
	err = p.await(ctx, func() (bool, error) {
		stops = p.stops
		return !p.stopping, p.err
	})
	return stops, err
}

// room waits until the server wants at least one sample and says how many.
func (p *Playback) room(ctx context.Context, stops int) (n int, err error) {
	err = p.await(ctx, func() (bool, error) {
		n = min(p.credit, maxChunk) / bytesPerF32
		return n > 0, p.state(stops)
	})
	return n, err
}

// state is why work begun after that many stops cannot go on; mu is held.
func (p *Playback) state(stops int) error {
	switch {
	case p.ended:
		return p.err
	case p.stops != stops:
		return ErrStopped
	}
	return nil
}

// send puts one chunk on the wire.
func (p *Playback) send(stops int, samples []float32) error {
	data := encode(samples)
	p.mu.Lock()
	if err := p.state(stops); err != nil {
		p.mu.Unlock()
		return err
	}
	p.credit -= len(data)
	p.written += int64(len(samples))
	p.sending++
	p.mu.Unlock()
	err := p.conn.wire.Send(p.index, data)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sending--
	p.signal()
	return err
}

// encode makes wire bytes; what is no sound (NaN, beyond full scale) becomes some.
func encode(samples []float32) []byte {
	data := make([]byte, 0, len(samples)*bytesPerF32)
	for _, v := range samples {
		if v != v {
			v = 0
		}
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(max(-1, min(1, v))))
	}
	return data
}

// Cork pauses: silence within 4 ms on PulseAudio, 14 on PipeWire; what is buffered
// stays. Twice is fine.
func (p *Playback) Cork(ctx context.Context) error { return p.cork(ctx, true) }

// Uncork starts or resumes. Sound starts when 80 ms are written, or at Drain.
func (p *Playback) Uncork(ctx context.Context) error { return p.cork(ctx, false) }

func (p *Playback) cork(ctx context.Context, corked bool) error {
	if err := p.request(ctx, &proto.CorkPlaybackStream{StreamIndex: p.index, Corked: corked}, nil); err != nil {
		verb := "start"
		if corked {
			verb = "pause"
		}
		return fmt.Errorf("%s sound: %w", verb, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.corked = corked
	p.signal()
	return nil
}

// request asks the server about this stream; if that fails because the stream has
// ended, the error says how.
func (p *Playback) request(ctx context.Context, req proto.RequestArgs, reply proto.Reply) error {
	if err := p.Err(); err != nil {
		return err
	}
	err := p.conn.wire.Request(ctx, req, reply)
	if err != nil && errors.Is(err, ErrNoDevice) {
		if ended := p.Err(); ended != nil {
			return ended
		}
	}
	return err
}

// Drain waits until all that was written has been heard, however little it is. On
// a corked stream it waits for Uncork, so end ctx to give up. The stream stays
// uncorked: Cork it when nothing follows. Stop makes it return ErrStopped. One
// Drain at a time.
func (p *Playback) Drain(ctx context.Context) error {
	stops, err := p.settled(ctx)
	if err == nil {
		err = p.drain(ctx, stops)
	}
	if err != nil {
		return fmt.Errorf("drain sound: %w", err)
	}
	return nil
}

func (p *Playback) drain(ctx context.Context, stops int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for {
		var written int64
		if err := p.await(ctx, func() (bool, error) {
			written, p.draining = p.written, cancel
			return !p.corked, p.state(stops)
		}); err != nil {
			return err
		}
		err := p.conn.wire.Await(ctx, &proto.DrainPlaybackStream{StreamIndex: p.index})
		p.mu.Lock()
		p.draining = nil
		if state := p.state(stops); state != nil {
			err = state
		} else if err == nil {
			p.played = max(p.played, written)
		}
		p.mu.Unlock()
		// A suspended sink or a Cork meanwhile makes the answer late; whether the
		// server still lives is what a second question tells.
		if !errors.Is(err, wire.ErrOverdue) {
			return err
		}
		if _, err := p.latency(ctx); err != nil {
			return err
		}
	}
}

// Stop silences at once and drops what was written and not heard (from the call to
// silence 4 ms on PulseAudio, 14 on PipeWire). The stream is corked then; a blocked
// Write or Drain returns ErrStopped. It returns the position up to which was heard.
// When it fails the server may still hold sound: Close the stream then.
func (p *Playback) Stop(ctx context.Context) (int64, error) {
	played, err := p.stop(ctx)
	if err != nil {
		return played, fmt.Errorf("stop sound: %w", err)
	}
	return played, nil
}

func (p *Playback) stop(ctx context.Context) (int64, error) {
	var stops int
	if err := p.await(ctx, func() (bool, error) {
		if p.stopping || p.ended {
			return false, p.err
		}
		p.stopping = true
		p.stops++
		stops = p.stops
		if p.draining != nil {
			p.draining(ErrStopped)
		}
		p.signal()
		return true, nil
	}); err != nil {
		return 0, err
	}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.stopping = false
		p.signal()
	}()
	// A chunk on its way must be with the server before the flush, or it would be
	// heard after it. No other can follow: their count of stops is stale.
	if err := p.await(ctx, func() (bool, error) { return p.sending == 0, p.err }); err != nil {
		return 0, err
	}
	played, err := p.position(ctx, stops)
	if err != nil {
		return played, err
	}
	return played, p.flush(ctx, played)
}

// flush empties the server's buffer and joins the time line at played.
func (p *Playback) flush(ctx context.Context, played int64) error {
	if err := p.cork(ctx, true); err != nil {
		return err
	}
	if err := p.request(ctx, &proto.FlushPlaybackStream{StreamIndex: p.index}, nil); err != nil {
		return err
	}
	after, err := p.latency(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.origin, p.base = after.WriteIndex, played
	p.written, p.played = played, played
	return nil
}

// Played is the position up to which was heard, within 20 to 40 ms of the truth
// (measured), never beyond Written and never going back.
func (p *Playback) Played(ctx context.Context) (int64, error) {
	stops, err := p.settled(ctx)
	if err != nil {
		return 0, fmt.Errorf("read position: %w", err)
	}
	played, err := p.position(ctx, stops)
	if err != nil {
		return played, fmt.Errorf("read position: %w", err)
	}
	return played, nil
}

// position asks the server; an answer that a Stop has overtaken counts for nothing.
func (p *Playback) position(ctx context.Context, stops int) (int64, error) {
	r, err := p.latency(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || p.stops != stops {
		return p.played, err
	}
	// Between the read index and the ear lies the latency, part of which is the
	// silence of an underrun.
	ahead := int64(r.Latency) * int64(p.rate) / int64(time.Second/time.Microsecond)
	if r.UnderrunFor != math.MaxUint64 {
		ahead -= min(ahead, int64(min(r.UnderrunFor, math.MaxInt32))/bytesPerF32)
	}
	at := p.base + (r.ReadIndex-p.origin)/bytesPerF32 - ahead
	p.played = max(p.played, min(at, p.written))
	return p.played, nil
}

// latency asks how far the server has read, and how long that takes to the ear.
func (p *Playback) latency(ctx context.Context) (*proto.GetPlaybackLatencyReply, error) {
	now := time.Now()
	req := &proto.GetPlaybackLatency{StreamIndex: p.index, Time: proto.Time{
		Seconds: uint32(now.Unix()), Microseconds: uint32(now.Nanosecond() / int(time.Microsecond)),
	}}
	r := new(proto.GetPlaybackLatencyReply)
	if err := p.request(ctx, req, r); err != nil {
		return nil, err
	}
	return r, nil
}

// Close ends the stream and deletes it at the server; sound stops at once. It
// blocks for one answer. Twice is fine.
func (p *Playback) Close() {
	if !p.end(ErrClosed) {
		return
	}
	p.conn.mu.Lock()
	delete(p.conn.players, p.index)
	p.conn.mu.Unlock()
	// An error means that the stream or the connection is gone already.
	_ = p.conn.wire.Tell(&proto.DeletePlaybackStream{StreamIndex: p.index})
}

// end marks the stream as ended; it reports whether it was alive.
func (p *Playback) end(err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	p.ended, p.err = true, err
	if p.draining != nil {
		p.draining(err)
	}
	p.signal()
	close(p.done)
	return true
}

// signal wakes whoever waits for a change; mu is held.
func (p *Playback) signal() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// handle takes a message of the server about this stream, others it passes over.
func (p *Playback) handle(m any) {
	switch m := m.(type) {
	case *proto.Request:
		if m.StreamIndex == p.index {
			p.mu.Lock()
			p.credit += int(min(m.Length, wire.MaxFrame))
			p.signal()
			p.mu.Unlock()
		}
	case *proto.Underflow:
		if m.StreamIndex == p.index {
			p.underruns.Add(1)
		}
	case *proto.PlaybackStreamMoved:
		if m.StreamIndex == p.index {
			p.mu.Lock()
			p.sink = m.DestName
			p.mu.Unlock()
		}
	case *proto.PlaybackStreamKilled:
		if m.StreamIndex == p.index {
			p.end(ErrKilled)
		}
	}
}
