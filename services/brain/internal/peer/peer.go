// SPDX-License-Identifier: Apache-2.0

// Package peer watches the other daemons: whether they answer, and whether they
// are still the same process. The bus itself does not tell when one dies.
package peer

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.org/desktop-assistant/proto"
)

const (
	busyEvery = 250 * time.Millisecond // while a turn runs
	awayEvery = 3 * time.Second        // for a daemon that may be on its way
	idleEvery = 10 * time.Second
	askLimit  = time.Second
	misses    = 2 // answers that may be late before a daemon counts as gone
)

// Ask requests the status of a daemon and gives its instance. The error is a
// *[proto.Error].
type Ask func(ctx context.Context, service string) (instance string, err error)

// Watch watches some daemons.
type Watch struct {
	ask      Ask
	busy     func() bool
	changed  func(service, was, now string)
	services []string
	poke     map[string]chan struct{}

	mu   sync.Mutex
	seen map[string]string
}

// New makes a watch over services. busy says whether a turn runs now. changed is
// told of every change: was and now are instances, "" for none. Its calls for
// one service come one after the other; it must not block.
func New(ask Ask, busy func() bool, changed func(service, was, now string), services ...string) *Watch {
	w := &Watch{ask: ask, busy: busy, changed: changed, services: services,
		poke: map[string]chan struct{}{}, seen: map[string]string{}}
	for _, s := range services {
		w.poke[s] = make(chan struct{}, 1)
	}
	return w
}

// Poke asks a service soon, as when it said something about itself. It does not
// block; a service that is not watched is ignored.
func (w *Watch) Poke(service string) {
	select {
	case w.poke[service] <- struct{}{}: // a nil channel is never ready
	default:
	}
}

// PokeAll asks all of them soon: a turn begins.
func (w *Watch) PokeAll() {
	for _, s := range w.services {
		w.Poke(s)
	}
}

// Instance is the process that answered last for a service, "" for none.
func (w *Watch) Instance(service string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[service]
}

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	var work sync.WaitGroup
	for _, s := range w.services {
		work.Go(func() { w.watch(ctx, s) })
	}
	work.Wait()
}

func (w *Watch) watch(ctx context.Context, service string) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	late := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-w.poke[service]:
		}
		late = w.look(ctx, service, late)
		switch {
		case w.busy():
			timer.Reset(busyEvery)
		case w.Instance(service) == "":
			timer.Reset(awayEvery)
		default:
			timer.Reset(idleEvery)
		}
	}
}

// look asks once. A daemon that nobody serves is gone; one that is late may be
// busy; while the bus is away nothing is known.
func (w *Watch) look(ctx context.Context, service string, late int) int {
	askCtx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	instance, err := w.ask(askCtx, service)
	switch {
	case ctx.Err() != nil:
		return late
	case err == nil:
		w.note(service, instance)
		return 0
	case errors.Is(err, &proto.Error{Code: proto.CodeDisconnected}):
		return 0
	case errors.Is(err, &proto.Error{Code: proto.CodeTimeout}):
		if late++; late < misses {
			return late
		}
	}
	w.note(service, "")
	return late
}

func (w *Watch) note(service, now string) {
	w.mu.Lock()
	was := w.seen[service]
	w.seen[service] = now
	w.mu.Unlock()
	if was != now {
		w.changed(service, was, now)
	}
}
