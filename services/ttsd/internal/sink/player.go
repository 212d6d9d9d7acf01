// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/proto"
)

const (
	// fadeTime is how long sound rises from and falls to silence where the
	// waveform would be cut: facts say 5 to 10 ms.
	fadeTime = 8 * time.Millisecond
	// pauseTime is between two sentences that follow each other at once.
	pauseTime = 220 * time.Millisecond
	// pollTime is how often the position is read while something is heard.
	pollTime = 20 * time.Millisecond
	// dryTime is how little may be left unheard before a growing clip counts as late.
	dryTime = 60 * time.Millisecond
	// retryTime is between two attempts to get a stream, LostLimit how long they go on.
	retryTime = 50 * time.Millisecond
	// LostLimit is how long sound that was cut off by the server waits for it.
	LostLimit = 5 * time.Second
)

// A Player plays clips in order. Its exported methods are for any goroutine and do
// not block; what they ask for is done in order by Run.
type Player struct {
	opener Opener
	listen Listener
	volume float32
	log    *slog.Logger

	mu     sync.Mutex
	orders []func(ctx context.Context)
	woken  chan struct{} // holds one: there are orders

	playedMS, underruns atomic.Int64

	// Below belongs to Run's goroutine.
	stream   Stream // nil when there is none
	rate     int
	running  bool // uncorked
	stale    bool // to be opened anew
	held     bool
	tracks   []*track
	polled   time.Time
	triedAt  time.Time
	lostAt   time.Time  // zero while all is well
	draining chan error // nil when no Drain runs
	drainTo  int64      // position that the running Drain waits for
	drained  int64      // position up to which a Drain waited
	before   int64      // underruns of earlier streams
}

// NewPlayer makes a player; nothing happens before Run. volume is a factor.
func NewPlayer(opener Opener, listen Listener, volume float64, log *slog.Logger) *Player {
	return &Player{opener: opener, listen: listen, volume: float32(volume), log: log, woken: make(chan struct{}, 1)}
}

// Play adds a clip behind those that are there.
func (p *Player) Play(c *Clip) {
	p.order(func(context.Context) { p.tracks = append(p.tracks, &track{clip: c}) })
}

// Stop silences at once and drops every clip; the listener hears Cut.
func (p *Player) Stop() { p.order(p.stop) }

// Hold stops the sound where it is, or keeps the next from starting; the listener
// hears Held. Stop ends it too.
func (p *Player) Hold() { p.order(p.hold) }

// Release goes on at the sample where Hold stopped; the listener hears Released.
func (p *Player) Release() { p.order(p.release) }

// Renew makes the player open its stream anew before the next clip that begins in
// silence: the loudspeaker to be used is another one.
func (p *Player) Renew() { p.order(func(context.Context) { p.stale = true }) }

// Played is how long sound was heard since the start, in milliseconds; Underruns
// how often a stream ran out of samples.
func (p *Player) Played() int64    { return p.playedMS.Load() }
func (p *Player) Underruns() int64 { return p.underruns.Load() }

func (p *Player) order(f func(ctx context.Context)) {
	p.mu.Lock()
	p.orders = append(p.orders, f)
	p.mu.Unlock()
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

// Run plays until ctx ends. What is still there then is dropped without a word.
func (p *Player) Run(ctx context.Context) {
	defer p.drop()
	for ctx.Err() == nil {
		p.mu.Lock()
		orders := p.orders
		p.orders = nil
		p.mu.Unlock()
		for _, do := range orders {
			do(ctx)
		}
		p.wait(ctx, p.step(ctx))
	}
}

// want is what Run waits for beside orders.
type want struct {
	room, more <-chan struct{}
}

func (p *Player) wait(ctx context.Context, w want) {
	var lost <-chan struct{}
	if p.stream != nil {
		lost = p.stream.Done()
	}
	var tick <-chan time.Time
	if len(p.tracks) > 0 && !p.held {
		tick = time.After(pollTime)
	}
	select {
	case <-ctx.Done():
	case <-p.woken:
	case <-w.room:
	case <-w.more:
	case <-lost:
		p.lose(errors.New("the sound server ended it"))
	case err := <-p.draining:
		p.endDrain(err)
	case <-tick:
	}
}

// step does all that can be done now.
func (p *Player) step(ctx context.Context) (w want) {
	if p.held {
		return w
	}
	p.endEmpty()
	if p.stale && p.idle() {
		p.drop()
	}
	if p.stream == nil && len(p.tracks) > 0 {
		w.more = p.tracks[0].clip.sound().changed
		p.reopen(ctx)
	}
	if p.stream == nil {
		return w
	}
	w = p.feed(ctx)
	p.poll(ctx)
	p.settle(ctx)
	return w
}

// idle says that nothing of the stream is still to be heard.
func (p *Player) idle() bool {
	return p.stream != nil && p.draining == nil && p.drained == p.stream.Written() && (len(p.tracks) == 0 || !p.tracks[0].placed)
}

// endEmpty takes clips off the front that need no stream: those that failed before
// any sample, and those without sound.
func (p *Player) endEmpty() {
	for len(p.tracks) > 0 {
		t := p.tracks[0]
		s := t.clip.sound()
		if !s.whole || t.heard < len(s.samples) {
			return
		}
		if s.err != nil {
			e := t.extent()
			p.tracks = nil
			p.listen.Failed(e, s.err)
			return
		}
		if !t.started {
			p.listen.Started(t.clip.key, time.Now())
		}
		p.tracks = p.tracks[1:]
		p.listen.Finished(t.clip.key, s.duration(len(s.samples)))
	}
}

// reopen tries to get a stream for the first clip. After LostLimit it gives up.
func (p *Player) reopen(ctx context.Context) {
	s := p.tracks[0].clip.sound()
	if s.rate == 0 || time.Since(p.triedAt) < retryTime {
		return
	}
	p.triedAt = time.Now()
	stream, err := p.opener.Open(ctx, s.rate)
	if err == nil {
		p.stream, p.rate, p.running, p.drained, p.lostAt = stream, s.rate, false, stream.Written(), time.Time{}
		p.log.Debug("playback stream opened", "sink", stream.Sink(), "rate", s.rate)
		return
	}
	if p.lostAt.IsZero() {
		p.lostAt = time.Now()
	}
	if time.Since(p.lostAt) >= LostLimit && ctx.Err() == nil {
		e := p.tracks[0].extent()
		p.tracks, p.lostAt = nil, time.Time{}
		p.listen.Failed(e, proto.AsError("play", err))
	}
}

// feed writes what there is and fits.
func (p *Player) feed(ctx context.Context) (w want) {
	for i := 0; i < len(p.tracks) && p.stream != nil; i++ {
		t := p.tracks[i]
		for p.stream != nil {
			s := t.clip.sound()
			if t.sent == len(s.samples) && s.whole {
				break
			}
			if s.rate != 0 && s.rate != p.rate {
				return p.change(ctx, i)
			}
			room, changed := p.stream.Room()
			if room == 0 {
				return want{room: changed}
			}
			out := p.cutFrom(ctx, i, s, room)
			if len(out) == 0 {
				return want{more: s.changed}
			}
			p.write(ctx, out)
		}
		if s := t.clip.sound(); s.err != nil {
			return w // nothing after it is played
		}
	}
	return w
}

// change gives a clip of another rate a stream of its own, once all before it was
// heard.
func (p *Player) change(ctx context.Context, i int) (w want) {
	if i > 0 || p.draining != nil || p.drained < p.stream.Written() {
		return w
	}
	p.drop()
	p.reopen(ctx)
	if p.stream == nil {
		return w
	}
	return p.feed(ctx)
}

// cutFrom makes the next samples of a track: the pause before it, or its own.
func (p *Player) cutFrom(ctx context.Context, i int, s sound, room int) []float32 {
	t := p.tracks[i]
	if s.rate == 0 {
		return nil
	}
	if !t.placed {
		if t.sent == 0 && i > 0 {
			t.pause = audio.Samples(pauseTime, p.rate)
		}
		if !p.running {
			p.listen.Begins()
			t.pause += audio.Samples(p.opener.Lead(ctx), p.rate)
		}
		t.placed = true
		t.base = p.stream.Written() + int64(t.pause) - int64(t.sent)
	}
	if t.pause > 0 {
		n := min(room, t.pause)
		t.pause -= n
		return make([]float32, n)
	}
	return t.next(s, room, !s.whole && p.dry(), p.volume)
}

// dry says that what was written is about to end, unless it has not begun yet.
func (p *Player) dry() bool {
	t := p.tracks[0]
	return t.placed && t.heard > 0 && p.stream.Written()-t.base-int64(t.heard) < int64(audio.Samples(dryTime, p.rate))
}

func (p *Player) write(ctx context.Context, samples []float32) {
	if !p.running {
		if err := p.stream.Uncork(ctx); err != nil {
			p.lose(err)
			return
		}
		p.running = true
	}
	if err := p.stream.Write(ctx, samples); err != nil {
		p.lose(err)
	}
}

// poll reads the position and tells what began and ended.
func (p *Player) poll(ctx context.Context) {
	if p.stream == nil || len(p.tracks) == 0 || time.Since(p.polled) < pollTime {
		return
	}
	p.polled = time.Now()
	p.underruns.Store(p.before + p.stream.Underruns())
	played, err := p.stream.Played(ctx)
	if err != nil {
		p.lose(err)
		return
	}
	p.advance(played)
}

// advance brings the tracks to a position of the stream.
func (p *Player) advance(played int64) {
	for len(p.tracks) > 0 && p.tracks[0].placed {
		t := p.tracks[0]
		heard := int(max(int64(t.heard), min(played-t.base, int64(t.sent))))
		p.playedMS.Add(audio.Duration(heard, p.rate).Milliseconds() - audio.Duration(t.heard, p.rate).Milliseconds())
		t.heard = heard
		if t.heard > 0 && !t.started {
			t.started = true
			p.listen.Started(t.clip.key, time.Now().Add(-audio.Duration(int(played-t.base), p.rate)))
		}
		s := t.clip.sound()
		if !s.whole || s.err != nil || t.heard < len(s.samples) {
			return
		}
		p.tracks = p.tracks[1:]
		p.listen.Finished(t.clip.key, s.duration(len(s.samples)))
	}
}

// settle drains and corks the stream when nothing follows what was written. A Drain
// is also what makes less sound than the server waits for be heard.
func (p *Player) settle(ctx context.Context) {
	if p.stream == nil || !p.running || p.draining != nil || !p.allSent() {
		return
	}
	written := p.stream.Written()
	if written == p.drained {
		if err := p.stream.Cork(ctx); err != nil {
			p.lose(err)
			return
		}
		p.running = false
		return
	}
	p.drainTo = written
	done := make(chan error, 1)
	p.draining = done
	stream := p.stream
	go func() { done <- stream.Drain(ctx) }()
}

// allSent says whether the stream has all there is for it: then it runs dry.
func (p *Player) allSent() bool {
	for _, t := range p.tracks {
		s := t.clip.sound()
		if s.rate != p.rate {
			return true // not synthesised yet, or for another stream
		}
		if t.sent < len(s.samples) {
			return false
		}
	}
	return true
}

func (p *Player) endDrain(err error) {
	p.draining = nil
	switch {
	case p.stream == nil:
	case err == nil:
		p.drained = p.drainTo
		p.advance(p.drainTo)
	default:
		p.lose(err)
	}
}

// waitDrain ends the running Drain, which the caller has made end.
func (p *Player) waitDrain() {
	if p.draining != nil {
		<-p.draining
		p.draining = nil
	}
}

func (p *Player) stop(ctx context.Context) {
	p.held = false
	p.halt(ctx)
	e := p.first()
	p.tracks, p.lostAt = nil, time.Time{}
	p.listen.Cut(e)
}

// halt silences the stream and brings the tracks to where it was.
func (p *Player) halt(ctx context.Context) {
	if p.stream == nil || p.drained == p.stream.Written() && p.draining == nil {
		return // nothing was written since the last silence
	}
	played, err := p.stream.Stop(ctx)
	p.waitDrain()
	if err != nil {
		p.lose(err)
		return
	}
	p.running, p.drained = false, p.stream.Written()
	p.advance(played)
}

func (p *Player) hold(ctx context.Context) {
	if p.stream != nil && p.running && !p.held {
		if err := p.stream.Cork(ctx); err != nil {
			p.lose(err)
		} else {
			p.polled = time.Time{}
			p.poll(ctx)
		}
	}
	p.held = true
	p.listen.Held(p.first())
}

func (p *Player) release(ctx context.Context) {
	if p.held && p.stream != nil && p.running {
		if err := p.stream.Uncork(ctx); err != nil {
			p.lose(err)
		}
	}
	p.held, p.lostAt = false, time.Time{}
	p.listen.Released(p.first())
}

// first is how much of the first clip was heard.
func (p *Player) first() Extent {
	if len(p.tracks) == 0 {
		return Extent{}
	}
	return p.tracks[0].extent()
}

// lose gives up a stream that has ended; the tracks go back to what was heard.
func (p *Player) lose(err error) {
	if p.stream == nil {
		return
	}
	p.log.Warn("playback stream lost", "error", err)
	if len(p.tracks) > 0 {
		p.lostAt = time.Now()
	}
	p.drop()
	for _, t := range p.tracks {
		t.sent, t.fadeAt, t.placed, t.pause = t.heard, t.heard, false, 0
	}
}

// drop closes the stream; a Drain on it ends by that.
func (p *Player) drop() {
	if p.stream == nil {
		return
	}
	p.before += p.stream.Underruns()
	p.underruns.Store(p.before)
	p.stream.Close()
	p.waitDrain()
	p.stream, p.running, p.stale, p.triedAt = nil, false, false, time.Time{}
}
