// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/health"
)

const (
	pingLimit  = 2 * time.Second // for a daemon to say that it is there
	goneMisses = 4               // looks in a row in which a worker was not there: a restarted one takes its turns up by then
)

// worker is the daemon, and its very instance, that works for a command.
type worker struct{ daemon, instance string }

// serving finds the instance of a daemon that is needed.
func (a *app) serving(ctx context.Context, conn *bus.Conn, op, daemon string) (worker, error) {
	ctx, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	s, err := bus.Request(ctx, conn, proto.StatusOf{Daemon: daemon})
	if err != nil {
		e := proto.AsError(op, err)
		return worker{}, proto.Errorf(e.Code, op, "the bus runs, but of %s: %s", daemon, e.Text).
			WithHint("see what runs: desktop-assistant status; or start all of it: desktop-assistant run")
	}
	return worker{daemon, s.Instance}, nil
}

// following is what one command starts and watches to its end.
type following struct {
	turn   string
	areas  []string // of the events that matter, all for none
	live   bool     // the lossy events too
	worker worker
	start  func(context.Context) error
	cancel func(context.Context) error                // asks for an early end
	show   func(seenEvent) (ended bool, failed error) // gets every event of the turn
}

type seenEvent struct {
	env proto.Envelope
	ev  proto.Event
}

// follow starts something and shows its events to the end. When ctx ends, it
// asks for the end and waits for it a moment, so that the last event is shown.
// It does not wait for ever for a daemon that is gone.
func (a *app) follow(ctx context.Context, conn *bus.Conn, f following) error {
	steady := context.WithoutCancel(ctx)
	watch, cancel := context.WithCancel(steady)
	defer cancel()
	seen, lost := make(chan seenEvent, 1024), make(chan struct{}, 1)
	if err := subscribe(watch, conn, f, seen, lost); err != nil {
		return err
	}
	if err := begin(ctx, f); err != nil {
		if ctx.Err() != nil {
			_ = end(steady, f) // it may have begun
		}
		return err
	}
	var limit <-chan time.Time
	done, misses := ctx.Done(), 0
	look := time.NewTicker(a.watchEvery)
	defer look.Stop()
	for {
		select {
		case s := <-seen:
			if ended, err := f.show(s); ended || err != nil {
				return first(ctx.Err(), err)
			}
		case <-lost:
			return proto.Errorf(proto.CodeFailed, "follow the turn", "events were lost, since the output was too slow").
				WithHint("see how it ended: desktop-assistant events --kept turn")
		case <-look.C:
			if f.worker.there(ctx, conn) {
				misses = 0
			} else if misses++; misses == goneMisses {
				return first(ctx.Err(), proto.Errorf(proto.CodeUnavailable, "follow the turn", "%s is gone", f.worker.daemon).
					WithHint("see what runs: desktop-assistant status"))
			}
		case <-done:
			done = nil
			if end(steady, f) != nil {
				return ctx.Err()
			}
			limit = time.After(answerLimit)
		case <-limit:
			return ctx.Err()
		}
	}
}

func subscribe(ctx context.Context, conn *bus.Conn, f following, seen chan<- seenEvent, lost chan<- struct{}) error {
	add := func(ctx context.Context, env proto.Envelope, ev proto.Event) {
		if env.Turn == f.turn {
			select {
			case seen <- seenEvent{env, ev}:
			case <-ctx.Done():
			}
		}
	}
	failed := func() {
		select {
		case lost <- struct{}{}:
		default:
		}
	}
	if _, err := conn.Events(ctx, conn.Device(), bus.Fail(4096, failed), add, f.areas...); err != nil {
		return err
	}
	if f.live {
		if _, err := conn.Live(ctx, conn.Device(), bus.Drop(1024), add); err != nil {
			return err
		}
	}
	return conn.Flush(ctx)
}

func begin(ctx context.Context, f following) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	return f.start(ctx)
}

func end(ctx context.Context, f following) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	return f.cancel(ctx)
}

// there says whether the worker still answers.
func (w worker) there(ctx context.Context, conn *bus.Conn) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), health.Limit)
	defer cancel()
	return conn.Alive(ctx, w.daemon, w.instance)
}

// first gives the first error that is one.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
