// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"sync"
	"time"

	"example.org/desktop-assistant/proto"
)

const (
	// aliveTime is between two looks after the owners of what is being said, again
	// the time in which one has to answer. Two looks in a row must fail: a busy
	// machine may miss one.
	aliveTime  = 2 * time.Second
	aliveLimit = time.Second
	aliveTries = 2
)

// watch is what is known of the bus while something is being said.
type watch struct {
	reconnects uint64
	down       bool
	lookedAt   time.Time
	looking    bool
}

// watchNow is where the watch begins, with the first thing to say.
func (a *App) watchNow() watch {
	return watch{reconnects: a.env.Bus.Counts().Reconnects, down: !a.env.Bus.Connected(), looking: a.bus.looking}
}

// watchBus ends turns whose asker cannot mean them any more: because the bus was
// away, or because it is gone from the bus.
func (a *App) watchBus(work context.Context, all *sync.WaitGroup) {
	now := time.Now()
	down, reconnects := !a.env.Bus.Connected(), a.env.Bus.Counts().Reconnects
	if down && !a.bus.down || reconnects != a.bus.reconnects && !a.bus.down {
		a.queue.Doom(now, proto.Errorf(proto.CodeDisconnected, "speak", "the bus was lost"))
	}
	a.bus.down, a.bus.reconnects = down, reconnects
	if owners := a.queue.Owners(); !down && !a.bus.looking && len(owners) > 0 && now.Sub(a.bus.lookedAt) >= aliveTime {
		a.bus.looking = true
		all.Go(func() { a.lookAfter(work, owners) })
	}
}

// lookAfter asks whether each owner is there.
func (a *App) lookAfter(work context.Context, owners []string) {
	gone := map[string]bool{}
	for _, o := range owners {
		gone[o] = true
		for try := 0; try < aliveTries && gone[o]; try++ {
			ctx, cancel := context.WithTimeout(work, aliveLimit)
			gone[o] = !a.Alive(ctx, o)
			cancel()
		}
	}
	a.post(work.Done(), func() {
		a.bus.looking, a.bus.lookedAt = false, time.Now()
		if a.env.Bus.Connected() {
			a.queue.Fail(time.Now(), proto.Errorf(proto.CodeUnavailable, "speak", "who asked for it is gone"),
				func(owner string) bool { return gone[owner] })
		}
	})
}

// alive asks the bus.
func (a *App) alive(ctx context.Context, owner string) bool {
	service, instance, _ := proto.SplitAsker(owner) // the queue took no other
	return a.env.Bus.Alive(ctx, service, instance)
}
