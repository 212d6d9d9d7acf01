// SPDX-License-Identifier: Apache-2.0

// Package bustest gives tests a real in-process bus.
package bustest

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/waittest"
	"example.org/desktop-assistant/proto"
)

// Bus is a server without any listener, that ends with its test.
type Bus struct {
	t    testing.TB
	keep bool

	mu     sync.Mutex
	server *server.Server // nil while down
}

// New starts a bus that keeps no events.
func New(t testing.TB) *Bus {
	t.Helper()
	b := &Bus{t: t}
	t.Cleanup(b.Down)
	b.Up()
	return b
}

// NewKeeping starts a bus that keeps events as busd does, for
// [bus.Conn.History].
func NewKeeping(t testing.TB) *Bus {
	t.Helper()
	b := &Bus{t: t, keep: true}
	t.Cleanup(b.Down)
	b.Up()
	return b
}

// Up starts the bus again after [Bus.Down]; what it kept is gone.
func (b *Bus) Up() {
	b.t.Helper()
	o := &server.Options{DontListen: true, NoSigs: true, NoLog: true}
	if b.keep {
		o.JetStream, o.StoreDir, o.JetStreamMaxMemory, o.JetStreamMaxStore = true, b.t.TempDir(), 64<<20, 1<<20
	}
	s, err := server.NewServer(o)
	if err != nil {
		b.t.Fatalf("make bus: %v", err)
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		b.t.Fatal("the bus is not ready")
	}
	if b.keep {
		b.keepEvents(s)
	}
	b.mu.Lock()
	b.server = s
	b.mu.Unlock()
}

func (b *Bus) keepEvents(s *server.Server) {
	b.t.Helper()
	c := bus.New(bus.Options{Service: "bustest", Version: "0.0.0-test", Dial: s.InProcessConn, Log: Log(b.t)})
	if err := c.Dial(b.t.Context()); err != nil {
		b.t.Fatalf("keep events: %v", err)
	}
	defer c.Close()
	if err := c.KeepEvents(b.t.Context(), 16<<20, time.Hour); err != nil {
		b.t.Fatal(err)
	}
}

// Down ends the bus as a crash would, without a word. Ending it twice is fine.
func (b *Bus) Down() {
	b.mu.Lock()
	s := b.server
	b.server = nil
	b.mu.Unlock()
	if s != nil {
		s.Shutdown()
		s.WaitForShutdown()
	}
}

// Dial is the transport for [bus.Options.Dial].
func (b *Bus) Dial() (net.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.server == nil {
		return nil, net.ErrClosed
	}
	return b.server.InProcessConn()
}

// Options are those of a daemon of the given name on this bus.
func (b *Bus) Options(service string) bus.Options {
	return bus.Options{Service: service, Version: "0.0.0-test", Dial: b.Dial, Log: Log(b.t)}
}

// Connect opens a connection that is closed with the test.
func (b *Bus) Connect(service string) *bus.Conn {
	b.t.Helper()
	c := bus.New(b.Options(service))
	if err := c.Open(b.t.Context()); err != nil {
		b.t.Fatalf("open bus: %v", err)
	}
	b.t.Cleanup(c.Close)
	return c
}

// Log is a logger that writes to the test's log until the test ends.
func Log(t testing.TB) *slog.Logger {
	w := &testWriter{t: t}
	t.Cleanup(w.close)
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

type testWriter struct {
	mu   sync.Mutex
	t    testing.TB
	done bool
}

func (w *testWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.done {
		w.t.Log(string(p[:max(0, len(p)-1)]))
	}
	return len(p), nil
}

func (w *testWriter) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
}

// Seen is one event with its envelope.
type Seen struct {
	proto.Envelope
	Event proto.Event
}

// Watcher collects every event of every device, live ones too.
type Watcher struct {
	t    testing.TB
	seen chan Seen
	mu   sync.Mutex
	all  []Seen
}

// Watch begins to collect.
func (b *Bus) Watch() *Watcher {
	b.t.Helper()
	return Watch(b.t, b.Connect("watcher"))
}

// Watch begins to collect what is published on the bus of a connection.
func Watch(t testing.TB, c *bus.Conn) *Watcher {
	t.Helper()
	w := &Watcher{t: t, seen: make(chan Seen, 4096)}
	add := func(_ context.Context, env proto.Envelope, ev proto.Event) {
		s := Seen{env, ev}
		w.mu.Lock()
		w.all = append(w.all, s)
		w.mu.Unlock()
		select {
		case w.seen <- s:
		default:
			w.t.Error("the watcher is full")
		}
	}
	lost := func() { t.Error("the watcher lost events") }
	if _, err := c.Events(t.Context(), proto.Any, bus.Fail(4096, lost), add); err != nil {
		t.Fatalf("watch events: %v", err)
	}
	if _, err := c.Live(t.Context(), proto.Any, bus.Fail(4096, lost), add); err != nil {
		t.Fatalf("watch live events: %v", err)
	}
	if err := c.Flush(t.Context()); err != nil {
		t.Fatalf("watch events: %v", err)
	}
	return w
}

// All gives what was seen so far, in order.
func (w *Watcher) All() []Seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Seen(nil), w.all...)
}

// Expect waits for the next event of type E for which ok (nil = any) holds,
// and passes over the others.
func Expect[E proto.Event](w *Watcher, ok func(Seen, E) bool) (E, Seen) {
	w.t.Helper()
	limit := time.NewTimer(waittest.Limit)
	defer limit.Stop()
	var passed []string
	for {
		select {
		case s := <-w.seen:
			if e, is := s.Event.(E); is && (ok == nil || ok(s, e)) {
				return e, s
			}
			passed = append(passed, fmt.Sprintf("%s %s", s.Type, s.Data))
		case <-limit.C:
			var e E
			w.t.Fatalf("no %s came; passed: %v", e.EventType(), passed)
			return e, Seen{}
		}
	}
}
