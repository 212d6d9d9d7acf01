// SPDX-License-Identifier: Apache-2.0

// Package sink plays the sound of sentences, one after the other, and tells how
// much of each was heard.
//
// A [Player] takes a [Clip] for each sentence; the sound may still be growing. It
// plays to a [Stream] from an [Opener], which is a [Server] in the product and
// sinktest in tests, and goes on at the sample last heard when the stream is lost
// and another can be had.
package sink

import (
	"context"
	"time"
)

// A Stream is a loudspeaker's input for mono float32 samples of one rate, as
// pkg/pulse makes them. Its methods are for one goroutine, except that Drain may
// run beside the others. An error of any of them means that the stream is of no
// use any more, unless Stop caused it.
type Stream interface {
	// Room is how many samples Write takes at once, and a channel that is closed
	// when that may have changed.
	Room() (samples int, changed <-chan struct{})
	// Write does not wait when there is room. The samples are not kept.
	Write(ctx context.Context, samples []float32) error
	// Written and Played are positions on one time line in samples: of the next
	// sample written, and up to which was heard.
	Written() int64
	Played(ctx context.Context) (int64, error)
	// Drain waits until all that was written was heard, or Stop.
	Drain(ctx context.Context) error
	// Cork holds the sound where it is, Uncork lets it go on. A new stream is
	// corked.
	Cork(ctx context.Context) error
	Uncork(ctx context.Context) error
	// Stop silences at once, takes what was not heard out of the time line and
	// leaves the stream corked. It returns the position.
	Stop(ctx context.Context) (int64, error)
	// Sink is the name of the loudspeaker.
	Sink() string
	Underruns() int64
	// Done is closed when the stream has ended by itself.
	Done() <-chan struct{}
	Close()
}

// An Opener makes streams. It does not wait for a server that is away: that is an
// error, a *proto.Error with code unavailable.
type Opener interface {
	Open(ctx context.Context, rate int) (Stream, error)
	// Lead is how much silence goes before what begins to be heard now: a
	// loudspeaker that sleeps swallows the first moments.
	Lead(ctx context.Context) time.Duration
}

// An Extent says how much of a clip was heard.
type Extent struct {
	Key    int64 // of the clip; 0 = none was being played
	Played time.Duration
	Total  time.Duration // how long it is, as far as it is synthesised
	Whole  bool          // Total is all there will be
	// Timed says that the engine told where words end; then Said is how many bytes
	// of the spoken text were heard.
	Timed bool
	Said  int
}

// Listener hears what becomes of the clips, in order, on the player's goroutine.
// Its methods do not call the player back.
type Listener interface {
	// Begins: sound is about to be heard, where there was silence.
	Begins()
	// Started: the first sample was audible at that moment, which is up to some
	// 20 ms ago.
	Started(key int64, at time.Time)
	// Finished: it was heard to its last sample.
	Finished(key int64, played time.Duration)
	// Failed: it cannot be played, or was not synthesised; err is a *proto.Error.
	// The player has dropped it and all clips after it.
	Failed(e Extent, err error)
	// Cut answers [Player.Stop].
	Cut(e Extent)
	// Held answers [Player.Hold], and Released [Player.Release].
	Held(e Extent)
	Released(e Extent)
}
