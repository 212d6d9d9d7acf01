// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bufio"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"os"
	"sync"

	"example.org/desktop-assistant/services/toolrunner/internal/native/engine"
)

// Main is the child on its standard files. It ends when standard input does,
// and then cancels what runs. It gives the exit status.
func Main(ctx context.Context) int {
	if err := serve(ctx, os.Stdin, os.Stdout, confine); err != nil {
		return 1 // nobody reads what it would say; the parent says that it ended
	}
	return 0
}

// child is the state of the process.
type child struct {
	engine *engine.Engine

	out sync.Mutex // of the writer
	w   io.Writer

	mu      sync.Mutex
	running map[uint64]context.CancelFunc
}

// serve reads the settings, confines the process and then runs calls.
func serve(ctx context.Context, in io.Reader, out io.Writer, confine func(engine.Settings) Ready) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	var first order
	if err := decodeLine(lines, &first); err != nil {
		return err
	}
	if first.Settings == nil {
		return errors.New("there are no settings")
	}
	roots, err := x509.SystemCertPool() // while the files can be read
	if err != nil {
		roots = nil
	}
	e, err := engine.New(*first.Settings, roots)
	if err != nil {
		return err
	}
	opened := e.Open() == nil
	ready := confine(*first.Settings)
	ready.Workspace = opened
	c := &child{engine: e, w: out, running: map[uint64]context.CancelFunc{}}
	if err := c.report(report{Ready: &ready}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var calls sync.WaitGroup
	defer func() {
		cancel()
		calls.Wait()
		_ = e.Close() // it was only read
	}()
	for {
		var o order
		err := decodeLine(lines, &o)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case o.Call == nil:
			c.cancel(o.ID)
		default:
			callCtx, done := context.WithCancel(ctx)
			c.add(o.ID, done)
			calls.Go(func() {
				defer c.cancel(o.ID)
				result := e.Run(callCtx, *o.Call)
				_ = c.report(report{ID: o.ID, Result: &result}) // a parent that is gone wants none
			})
		}
	}
}

func (c *child) report(r report) error {
	c.out.Lock()
	defer c.out.Unlock()
	return encodeLine(c.w, r)
}

func (c *child) add(id uint64, cancel context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[id] = cancel
}

// cancel ends a call, and forgets one that has ended.
func (c *child) cancel(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.running[id]; cancel != nil {
		cancel()
		delete(c.running, id)
	}
}
