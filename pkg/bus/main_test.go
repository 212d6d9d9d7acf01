// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/waittest"
	"example.org/desktop-assistant/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func flush(t *testing.T, conns ...*bus.Conn) {
	t.Helper()
	for _, c := range conns {
		if err := c.Flush(waittest.Context(t)); err != nil {
			t.Fatal(err)
		}
	}
}

func serve(t *testing.T, c *bus.Conn, endpoints ...bus.Endpoint) *bus.Service {
	t.Helper()
	s := must[*bus.Service](t)(c.Serve(t.Context(), "test", endpoints...))
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	flush(t, c)
	return s
}

// wantCode checks the code of an error and gives the error.
func wantCode(t *testing.T, err error, code proto.Code) *proto.Error {
	t.Helper()
	var e *proto.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want an error with code %s", err, code)
	}
	return e
}

// gate is a transport that fails until it is opened.
type gate struct {
	b  *bustest.Bus
	mu sync.Mutex
	on bool
}

func (g *gate) set(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.on = on
}

func (g *gate) dial() (net.Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.on {
		return nil, net.ErrClosed
	}
	return g.b.Dial()
}

// gated opens a connection that comes back only when the gate is opened.
func gated(t *testing.T, b *bustest.Bus, service string) (*bus.Conn, *gate) {
	t.Helper()
	g := &gate{b: b, on: true}
	o := b.Options(service)
	o.Dial = g.dial
	c := bus.New(o)
	if err := c.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, g
}

type inProcess struct{ b *bustest.Bus }

func (p inProcess) InProcessConn() (net.Conn, error) { return p.b.Dial() }

// raw is a client that sends what ours never would.
func raw(t *testing.T, b *bustest.Bus) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect("", nats.InProcessServer(inProcess{b}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func ignoreEvents(context.Context, proto.Envelope, proto.Event) {}
