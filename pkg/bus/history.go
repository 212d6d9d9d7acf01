// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.org/desktop-assistant/proto"
)

// StreamName is the memory stream of events that busd keeps.
const StreamName = "DA_EVENTS"

// KeepEvents makes the stream of kept events with room for the given bytes and
// age: in memory, the oldest go first, and without acknowledgements, so that
// publishing waits for nothing. busd alone calls it, at each start.
func (c *Conn) KeepEvents(ctx context.Context, bytes int64, age time.Duration) error {
	js, err := jetstream.New(c.nc)
	if err != nil {
		return fmt.Errorf("keep events: %w", err)
	}
	_, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: StreamName, Subjects: []string{proto.AllEvents}, Storage: jetstream.MemoryStorage,
		NoAck: true, MaxBytes: bytes, MaxAge: age, Discard: jetstream.DiscardOld, AllowDirect: true,
	})
	if err != nil {
		return fmt.Errorf("keep events: %w", err)
	}
	return nil
}

// History hands every kept event of a device, or of the areas named, to h,
// oldest first, up to now; what was published a moment ago may not be kept yet.
// A bus that keeps no events ([privacy] keep_events = false) has an empty
// history, which is no error.
func (c *Conn) History(ctx context.Context, dev string, h EventHandler, areas ...string) error {
	js, err := jetstream.New(c.nc)
	if err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	stream, err := js.Stream(ctx, StreamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, nats.ErrNoResponders) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	last := stream.CachedInfo().State.LastSeq
	if stream.CachedInfo().State.Msgs == 0 {
		return nil
	}
	cons, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{proto.EventsOf(dev)}, InactiveThreshold: 10 * time.Second,
	})
	if err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	for {
		batch, err := cons.FetchNoWait(256)
		if err != nil {
			return fmt.Errorf("read history: %w", err)
		}
		n := 0
		for m := range batch.Messages() {
			n++
			if meta, err := m.Metadata(); err == nil && meta.Sequence.Stream > last {
				return nil
			}
			if env, ev, ok := c.decode(m.Subject(), m.Data(), areas); ok {
				h(ctx, env, ev)
			}
		}
		if err := batch.Error(); err != nil {
			return fmt.Errorf("read history: %w", err)
		}
		if n == 0 || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
