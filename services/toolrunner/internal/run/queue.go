// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"slices"
	"sync"
)

// queue lets a number of calls run at once and keeps the rest in order. Calls
// with the same key do not run at once; one that waits for its key does not
// hold up those behind it.
type queue struct {
	mu      sync.Mutex
	free    int
	keys    map[string]bool // taken
	waiting []*ticket
}

type ticket struct {
	key   string // "" for none
	ready chan struct{}
}

func newQueue(size int) *queue { return &queue{free: size, keys: map[string]bool{}} }

// enter waits for a place, which leave gives back. The error is the context's.
func (q *queue) enter(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := &ticket{key: key, ready: make(chan struct{})}
	q.mu.Lock()
	q.waiting = append(q.waiting, t)
	q.admit()
	q.mu.Unlock()
	select {
	case <-t.ready:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, t); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	} else { // admitted in the same moment
		q.giveBack(key)
	}
	return ctx.Err()
}

func (q *queue) leave(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.giveBack(key)
}

func (q *queue) giveBack(key string) {
	q.free++
	delete(q.keys, key)
	q.admit()
}

// admit lets in whoever may run, first come first.
func (q *queue) admit() {
	q.waiting = slices.DeleteFunc(q.waiting, func(t *ticket) bool {
		if q.free == 0 || q.keys[t.key] {
			return false
		}
		q.free--
		if t.key != "" {
			q.keys[t.key] = true
		}
		close(t.ready)
		return true
	})
}
