// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"context"
	"fmt"
	"slices"
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
		answer := func() (string, error) { return "one", nil }
		var told []string
		w := New(
			func(context.Context, string) (string, error) { return answer() },
			func() bool { return true },
			func(service, was, now string) { told = append(told, fmt.Sprintf("%s %s>%s", service, was, now)) },
			"ttsd")
		done := make(chan struct{})
		go func() { w.Run(ctx); close(done) }()
		step := func(a func() (string, error), want ...string) {
			t.Helper()
			answer = a
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
		step(answer, "ttsd >one")
		step(answer)
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
		asked := 0
		w := New(func(context.Context, string) (string, error) { asked++; return "one", nil },
			func() bool { return false }, func(string, string, string) {}, "ttsd")
		done := make(chan struct{})
		go func() { w.Run(ctx); close(done) }()
		synctest.Wait()
		w.PokeAll()
		w.Poke("nobody")
		synctest.Wait()
		if asked != 2 {
			t.Errorf("asked %d times", asked)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if asked < 4 || asked > 6 {
			t.Errorf("asked %d times in ten idle seconds", asked)
		}
		cancel()
		<-done
	})
}
