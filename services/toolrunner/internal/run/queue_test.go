// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestQueueOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1)
		if err := q.enter(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []int
		for i := range 5 {
			go func() {
				if err := q.enter(t.Context(), ""); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				q.leave("")
			}()
			synctest.Wait()
		}
		q.leave("")
		synctest.Wait()
		if !slices.Equal(order, []int{0, 1, 2, 3, 4}) {
			t.Errorf("order %v", order)
		}
	})
}

func TestQueueKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(2)
		if err := q.enter(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		second := make(chan error, 1)
		go func() { second <- q.enter(t.Context(), "a") }()
		synctest.Wait()
		if err := q.enter(t.Context(), "b"); err != nil { // not held up by the one before
			t.Fatal(err)
		}
		q.leave("b")
		synctest.Wait()
		if len(second) > 0 {
			t.Error("two calls with one key")
		}
		q.leave("a")
		if err := <-second; err != nil {
			t.Error(err)
		}
		q.leave("a")
		if q.free != 2 || len(q.keys) != 0 || len(q.waiting) != 0 {
			t.Errorf("left behind: %+v", q)
		}
	})
}

func TestQueueGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1)
		if err := q.enter(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.enter(ctx, ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		q.leave("")
		if q.free != 1 || len(q.waiting) != 0 {
			t.Errorf("left behind: %+v", q)
		}
	})
}

// A place that is given in the moment its taker gives up is not lost.
func TestQueueGivenUpAsItIsGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1)
		if err := q.enter(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error, 1)
		go func() { got <- q.enter(ctx, "a") }()
		synctest.Wait()
		q.mu.Lock() // it sees the end of ctx, and then waits for the lock
		cancel()
		q.giveBack("a")
		q.mu.Unlock()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if q.free != 1 || len(q.keys) != 0 || len(q.waiting) != 0 {
			t.Errorf("left behind: %+v", q)
		}
	})
}
