// SPDX-License-Identifier: Apache-2.0

// Package waittest waits, in tests, for what other goroutines and processes do:
// for a condition, a value or a word of output, and never for a time.
package waittest

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"
)

// Limit is far above what anything waited for takes: only what never comes
// reaches it.
const Limit = 30 * time.Second

// poll is how often a condition is looked at.
const poll = 5 * time.Millisecond

// Until looks at a condition that nothing announces until it holds, and ends
// the test when that takes longer than [Limit]. It is for the test's goroutine.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	until(t, what, Limit, ok)
}

func until(t testing.TB, what string, limit time.Duration, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// Next takes one value out of a channel, the zero one when it is closed, and
// ends the test when none comes. It is for the test's goroutine.
func Next[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	return next(t, what, Limit, c)
}

func next[T any](t testing.TB, what string, limit time.Duration, c <-chan T) (v T) {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	select {
	case v = <-c:
	case <-deadline.C:
		t.Fatalf("waited in vain: %s", what)
	}
	return v
}

// Context is the test's context with [Limit] as its deadline.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	t.Cleanup(cancel)
	return ctx
}

// Output collects what a log or a process writes, and can be read meanwhile.
// The zero value is empty and ready.
type Output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements [io.Writer]; it never fails.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

// String is all that was written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
