// SPDX-License-Identifier: Apache-2.0

package app

import (
	"time"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/sink"
)

// reports hands the player's word to the goroutine of Run.
type reports struct {
	a    *App
	done <-chan struct{}
}

// Begins implements [sink.Listener].
func (r reports) Begins() { r.a.duck.Down() }

// Started implements [sink.Listener].
func (r reports) Started(key int64, at time.Time) {
	r.a.post(r.done, func() { r.a.queue.Started(key, at) })
}

// Finished implements [sink.Listener].
func (r reports) Finished(key int64, played time.Duration) {
	r.a.post(r.done, func() { r.a.queue.Finished(time.Now(), key, played) })
}

// Failed implements [sink.Listener]. What makes one turn unheard because a part is
// missing makes the others too.
func (r reports) Failed(e sink.Extent, err error) {
	r.a.post(r.done, func() {
		fault := proto.AsError("speak", err)
		r.a.env.Log.Warn("speech failed", "error", err)
		r.a.queue.Failed(time.Now(), e, fault)
		if fault.Code == proto.CodeUnavailable {
			r.a.queue.Fail(time.Now(), fault, nil)
		}
	})
}

// Cut implements [sink.Listener].
func (r reports) Cut(e sink.Extent) { r.a.post(r.done, func() { r.a.queue.Cut(e) }) }

// Held implements [sink.Listener].
func (r reports) Held(e sink.Extent) { r.a.post(r.done, func() { r.a.queue.Held(e) }) }

// Released implements [sink.Listener].
func (r reports) Released(e sink.Extent) { r.a.post(r.done, func() { r.a.queue.Released(e) }) }
