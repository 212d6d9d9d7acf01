// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestChangesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		one := func() (string, error) { return "one", nil }
		var answer atomic.Value
		answer.Store(one)
		var told []string
		w := New(
			func(context.Context, string) (string, error) { return answer.Load().(func() (string, error))() },
			func() bool { return true },
			func(service, was, now string) { told = append(told, fmt.Sprintf("%s %s>%s", service, was, now)) },
			"ttsd")
		done := make(chan struct{})
		go func() { w.Run(ctx); close(done) }()
		step := func(a func() (string, error), want ...string) {
			t.Helper()
			answer.Store(a)
			time.Sleep(300 * time.Millisecond)
			synctest.Wait()
			if !slices.Equal(told, want) {
				t.Errorf("told %v, want %v", told, want)
			}
			told = nil
		}
		fails := func(code proto.Code) func() (string, error) {
			return func() (string, error) { return "", &proto.Error{Code: code} }
		}
		step(one, "ttsd >one")
		step(one)
		step(fails(proto.CodeDisconnected)) // the bus is away: nothing is known
		step(fails(proto.CodeTimeout))      // late once
		step(fails(proto.CodeTimeout), "ttsd one>")
		step(func() (string, error) { return "two", nil }, "ttsd >two")
		step(func() (string, error) { return "three", nil }, "ttsd two>three")
		step(fails(proto.CodeUnavailable), "ttsd three>")
		if got := w.Instance("ttsd"); got != "" {
			t.Errorf("instance %q", got)
		}
		cancel()
		<-done
	})
}

func TestPokeAsksAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var asked atomic.Int32
		w := New(func(context.Context, string) (string, error) { asked.Add(1); return "one", nil },
			func() bool { return false }, func(string, string, string) {}, "ttsd")
		done := make(chan struct{})
		go func() { w.Run(ctx); close(done) }()
		synctest.Wait()
		w.PokeAll()
		w.Poke("nobody")
		synctest.Wait()
		if n := asked.Load(); n != 2 {
			t.Errorf("asked %d times", n)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := asked.Load(); n < 7 || n > 9 {
			t.Errorf("asked %d times in an idle minute", n)
		}
		cancel()
		<-done
	})
}
