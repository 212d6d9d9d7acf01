// SPDX-License-Identifier: Apache-2.0

// Package duck lowers what others play while the assistant speaks.
//
// The sound server could do it itself, but PipeWire lacks the module. What was
// lowered is written down first, so that a ttsd that crashed leaves nothing low:
// the next one puts it right, also where the server remembered the low volume for a
// program that it has ended meanwhile.
package duck

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"example.org/desktop-assistant/pkg/pulse"
)

const (
	// requestLimit bounds one look at the streams and all changes to them.
	requestLimit = 2 * time.Second
	// restoreLimit bounds what is put right at the end of this process.
	restoreLimit = 300 * time.Millisecond
)

// A Mixer is a connection to the sound server; *pulse.Conn in the product.
type Mixer interface {
	Client() uint32
	Streams(ctx context.Context) ([]pulse.Stream, error)
	SetVolumes(ctx context.Context, index uint32, volumes []uint32) error
	Loaded(ctx context.Context, module, word string) (bool, error)
}

// A Ducker lowers and restores. Down, Up and Server are for any goroutine and do
// not wait.
type Ducker struct {
	factor float64
	log    *slog.Logger

	mu    sync.Mutex
	want  bool  // lowered
	conn  Mixer // nil while there is none
	woken chan struct{}

	// Below belongs to Run's goroutine.
	book    book
	mixer   Mixer
	met     bool // there was a connection before
	foreign bool // the server lowers by itself
}

// New makes one that lowers volumes to a factor from 0 to 1 of what they were; 1
// leaves them alone. file is where it writes down what it lowered.
func New(factor float64, file string, log *slog.Logger) *Ducker {
	return &Ducker{factor: factor, log: log, woken: make(chan struct{}, 1), book: book{path: file}}
}

// Down lowers the others, and whoever begins to play, until Up.
func (d *Ducker) Down() { d.set(func() { d.want = true }) }

// Up restores them.
func (d *Ducker) Up() { d.set(func() { d.want = false }) }

// Server tells that something about the streams may have changed, and which
// connection there is; nil when it was lost.
func (d *Ducker) Server(m Mixer) { d.set(func() { d.conn = m }) }

func (d *Ducker) set(change func()) {
	d.mu.Lock()
	change()
	d.mu.Unlock()
	select {
	case d.woken <- struct{}{}:
	default:
	}
}

// Run works until ctx ends; then it restores what is low.
func (d *Ducker) Run(ctx context.Context) {
	if err := d.book.load(); err != nil {
		d.log.Warn("what an earlier ttsd lowered is not known", "error", err)
	}
	for {
		select {
		case <-ctx.Done():
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreLimit)
			defer cancel()
			d.look(end, false, d.mixer)
			return
		case <-d.woken:
			d.mu.Lock()
			down, mixer := d.want, d.conn
			d.mu.Unlock()
			look, cancel := context.WithTimeout(ctx, requestLimit)
			d.look(look, down, mixer)
			cancel()
		}
	}
}

// look brings the streams to how they are to be.
func (d *Ducker) look(ctx context.Context, down bool, mixer Mixer) {
	if mixer != d.mixer && mixer != nil {
		d.meet(ctx, mixer)
	}
	d.mixer = mixer
	down = down && d.factor < 1 && !d.foreign
	if d.mixer == nil || !down && len(d.book.Entries) == 0 {
		return
	}
	streams, err := d.mixer.Streams(ctx)
	if err != nil {
		d.log.Debug("other sound is not looked at", "error", err)
		return
	}
	if down {
		err = d.lower(ctx, streams)
	} else {
		err = d.restore(ctx, streams)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, pulse.ErrLost) {
		d.log.Warn("the volume of other sound is not as it should be", "error", err)
	}
}

// meet begins with a new connection: behind it may be another server, which numbers
// streams anew.
func (d *Ducker) meet(ctx context.Context, m Mixer) {
	if d.met {
		for i := range d.book.Entries {
			d.book.Entries[i].Index = noIndex
		}
	}
	d.met, d.foreign = true, false
	if yes, err := m.Loaded(ctx, "module-role-ducking", "assistant"); err == nil {
		d.foreign = yes
	}
}

// lower writes down what it will do, and does it. What is played elsewhere than our
// own sound is let be.
func (d *Ducker) lower(ctx context.Context, streams []pulse.Stream) error {
	var sinks []uint32
	for _, s := range streams {
		if s.Client == d.mixer.Client() {
			sinks = append(sinks, s.Sink)
		}
	}
	var fresh []entry
	for _, s := range streams {
		if !s.Adjustable || s.Corked || s.Client == d.mixer.Client() || !slices.Contains(sinks, s.Sink) || d.book.has(s) {
			continue
		}
		e := entry{Index: s.Index, Program: s.Program, Media: s.Media, Was: s.Volumes, At: time.Now()}
		for _, v := range s.Volumes {
			e.Set = append(e.Set, uint32(float64(v)*d.factor))
		}
		if !slices.Equal(e.Was, e.Set) {
			fresh = append(fresh, e)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	d.book.Entries = append(d.book.Entries, fresh...)
	// Without the note a crash would leave them low: better loud than that.
	if err := d.book.save(); err != nil {
		d.book.Entries = d.book.Entries[:len(d.book.Entries)-len(fresh)]
		return err
	}
	var all []error
	for _, e := range fresh {
		if err := d.mixer.SetVolumes(ctx, e.Index, e.Set); err != nil && !errors.Is(err, pulse.ErrNoDevice) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// restore gives every stream its volume back that is still as it was set. What is
// not there is kept for a while: it may come back as low as it went.
func (d *Ducker) restore(ctx context.Context, streams []pulse.Stream) error {
	var all []error
	left := d.book.Entries[:0:0]
	for _, e := range d.book.Entries {
		i := slices.IndexFunc(streams, e.is)
		switch {
		case i < 0 && time.Since(e.At) < keepTime:
			left = append(left, e)
		case i < 0 || !slices.Equal(streams[i].Volumes, e.Set): // someone has set it since
		default:
			if err := d.mixer.SetVolumes(ctx, streams[i].Index, e.Was); err != nil && !errors.Is(err, pulse.ErrNoDevice) {
				all = append(all, err)
				left = append(left, e)
			}
		}
	}
	d.book.Entries = left
	return errors.Join(append(all, d.book.save())...)
}
