// SPDX-License-Identifier: Apache-2.0

package pulse

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	// firstWait and lastWait bound the pause between two attempts to connect.
	firstWait = 100 * time.Millisecond
	lastWait  = 5 * time.Second
	// steady is how long a connection has to live to count as a good one.
	steady = time.Second
)

// Redial keeps a connection until ctx ends, then returns nil. For each connection
// it calls up with a context that ends when the connection is lost (its cause is
// then the connection's Err) and closes the connection after up has returned. It
// tries again within 100 ms, later within up to 5 s. down hears every failure, dialling or
// losing, once in a row per text; it may be nil. An error of up while the
// connection stands ends Redial with that error. All calls come one at a time, on
// the caller's goroutine.
func Redial(ctx context.Context, o Options, down func(error), up func(context.Context, *Conn) error) error {
	wait, told := firstWait, ""
	for ctx.Err() == nil {
		var began time.Time
		err := session(ctx, o, up, func() { told, began = "", time.Now() })
		var own *ownError
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &own):
			return own.error
		case down != nil && err != nil && err.Error() != told:
			told = err.Error()
			down(err)
		}
		if !began.IsZero() && time.Since(began) > steady {
			wait = firstWait
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait/2 + rand.N(wait/2)):
		}
		wait = min(2*wait, lastWait)
	}
	return nil
}

// An ownError is an error of the caller's function, not of the connection.
type ownError struct{ error }

// session is one connection from dialling to its end. A nil error means that up
// returned by itself.
func session(ctx context.Context, o Options, up func(context.Context, *Conn) error, connected func()) error {
	c, err := Dial(ctx, o)
	if err != nil {
		return err
	}
	defer c.Close()
	connected()
	cctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-c.Lost():
			cancel(c.Err())
		case <-cctx.Done():
		}
	}()
	err = up(cctx, c)
	lost := c.Err()
	cancel(nil)
	<-watched
	switch {
	case lost != nil:
		return lost
	case err != nil && ctx.Err() == nil:
		return &ownError{err}
	}
	return nil
}
