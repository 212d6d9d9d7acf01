// SPDX-License-Identifier: Apache-2.0

// Package catalog knows which tools there are: toolrunner's list, kept fresh,
// and the local intents compiled from it.
package catalog

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"example.org/desktop-assistant/proto"
)

// patience bounds how long a turn waits for a list that is not known yet.
const patience = 500 * time.Millisecond

// Source asks toolrunner for its list.
type Source func(ctx context.Context) (proto.Tools, error)

// Catalog keeps the last list. It is safe for use by many goroutines.
type Catalog struct {
	source Source
	log    *slog.Logger
	stale  chan struct{} // one token: read again

	mu    sync.Mutex
	known bool
	offer Offer
}

// New makes a catalog that knows nothing yet.
func New(source Source, log *slog.Logger) *Catalog {
	c := &Catalog{source: source, log: log, stale: make(chan struct{}, 1)}
	c.Refresh()
	return c
}

// Refresh lets the list be read again soon. It does not block.
func (c *Catalog) Refresh() {
	select {
	case c.stale <- struct{}{}:
	default:
	}
}

// Forget drops the list: toolrunner is gone, and with it its tools.
func (c *Catalog) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.offer = false, Offer{}
}

// Run reads the list whenever it is stale, until ctx ends.
func (c *Catalog) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.stale:
		}
		_ = c.read(ctx) // the next turn, or toolrunner's return, tries again
	}
}

// Offer gives the tools there are now. When none are known it asks, for at most
// half a second; the empty offer means that no toolrunner answers.
func (c *Catalog) Offer(ctx context.Context) Offer {
	if offer, known := c.Known(); known {
		return offer
	}
	if err := c.read(ctx); err != nil {
		c.log.Debug("list tools", "error", err)
	}
	offer, _ := c.Known()
	return offer
}

// Known gives the last list without asking.
func (c *Catalog) Known() (offer Offer, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offer, c.known
}

func (c *Catalog) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tools, err := c.source(ctx)
	if err != nil {
		return err
	}
	offer, err := NewOffer(tools)
	if err != nil {
		c.log.Warn("some sentences of tools cannot be used", "error", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.offer = true, offer
	return nil
}
