// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/waittest"
	"example.org/desktop-assistant/proto"
)

// What is kept while the bus is away is bounded by its size too, and the newest
// stay.
func TestOutboxIsBoundedInBytes(t *testing.T) {
	b := bustest.New(t)
	c, g := gated(t, b, "brain")
	changes := make(chan bool, 16)
	c.OnChange(func(up bool) { changes <- up })
	w := b.Connect("watcher")
	seen := make(chan proto.TurnAsked, 64)
	must[*bus.Sub](t)(w.Events(t.Context(), proto.Any, bus.Fail(64, func() { t.Error("events lost") }),
		func(_ context.Context, _ proto.Envelope, ev proto.Event) { seen <- ev.(proto.TurnAsked) }))
	flush(t, w)
	g.set(false)
	b.Down()
	for waittest.Next(t, "the bus to go", changes) {
	}
	waittest.Until(t, "the watcher has noticed", func() bool { return !w.Connected() })
	const events, size, fit = 20, 512 << 10, 7 // 8 are just over 4 MiB
	for i := range events {
		if err := c.Publish(proto.TurnAsked{Text: strings.Repeat("x", size), Language: string(rune('a' + i))}, bus.Meta{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.Counts().Dropped; n != events-fit {
		t.Errorf("%d dropped", n)
	}
	b.Up()
	waittest.Until(t, "the watcher is back", w.Connected)
	flush(t, w)
	g.set(true)
	for i := range fit {
		if ev := waittest.Next(t, "an event of the outage", seen); ev.Language != string(rune('a'+events-fit+i)) {
			t.Errorf("event %q comes as number %d", ev.Language, i)
		}
	}
}

// The end of a turn that is published again under its id is one end.
func TestEndIsHeardOnce(t *testing.T) {
	b := bustest.New(t)
	w := b.Connect("watcher")
	seen := make(chan string, 16)
	must[*bus.Sub](t)(w.Events(t.Context(), proto.Any, bus.Fail(64, func() { t.Error("events lost") }),
		func(_ context.Context, env proto.Envelope, ev proto.Event) { seen <- ev.EventType() + " " + env.ID }))
	flush(t, w)
	for _, e := range []struct {
		ev proto.Event
		id string
	}{
		{proto.TurnEnded{End: proto.EndSpoken}, "end-a"}, {proto.TurnEnded{End: proto.EndSpoken}, "end-b"}, {proto.TurnEnded{End: proto.EndFailed}, "end-a"},
		{proto.TurnAsked{}, "x"}, {proto.TurnAsked{}, "x"},
	} {
		if err := b.Connect("brain").Publish(e.ev, bus.Meta{ID: e.id}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for range 4 {
		got = append(got, waittest.Next(t, "an event", seen))
	}
	if s := strings.Join(got, ","); strings.Count(s, "end-a") != 1 || strings.Count(s, "end-b") != 1 || strings.Count(s, "turn.asked x") != 2 {
		t.Error(s)
	}
}
