// SPDX-License-Identifier: Apache-2.0

package pulse

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"example.org/desktop-assistant/pkg/pulse/internal/place"
	"example.org/desktop-assistant/pkg/pulse/internal/wire"
	"github.com/jfreymuth/pulse/proto"
)

const (
	// dialTimeout is for one address to accept.
	dialTimeout = 2 * time.Second
	// maxEarly bounds the messages kept for streams whose creation has not yet
	// been answered to its caller.
	maxEarly = 64
)

// Options say who we are and where the server is.
type Options struct {
	// Name is shown by volume controls, ID is the reverse-DNS application id, Icon
	// an icon name, Version ours. Only Name is required.
	Name, ID, Icon, Version string
	// Server is a server string, for example "unix:/run/user/1000/pulse/native";
	// empty means PULSE_SERVER, else the usual sockets.
	Server string

	// dial and env replace the system in tests.
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
	env  *place.Environment
}

// A Conn is one connection to a server. It is safe for many goroutines. Once lost
// or closed it stays so.
type Conn struct {
	wire *wire.Session

	mu       sync.Mutex
	ended    bool // the read loop is done: nothing may register any more
	captures map[uint32]*Capture
	players  map[uint32]*Playback
	subs     []chan Change
	creating int
	early    []any
}

// Dial connects to the first server that lets us in. It blocks at most 2 s for an
// address that does not accept and 5 s for one that does not answer. The error is
// a *ServerError, or the context's.
func Dial(ctx context.Context, o Options) (*Conn, error) {
	env := place.System()
	if o.env != nil {
		env = *o.env
	}
	fail := &ServerError{}
	var causes []error
	for _, a := range env.Addresses(o.Server) {
		c, err := dialOne(ctx, o, a, env.Cookie())
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("connect to sound server: %w", context.Cause(ctx))
		}
		fail.Tried = append(fail.Tried, a.String())
		causes = append(causes, err)
	}
	fail.Cause = errors.Join(causes...)
	return nil, fail
}

func dialOne(ctx context.Context, o Options, a place.Address, cookie []byte) (*Conn, error) {
	dctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	dial := o.dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	nc, err := dial(dctx, a.Network, a.Addr)
	if err != nil {
		return nil, err
	}
	c := &Conn{captures: map[uint32]*Capture{}, players: map[uint32]*Playback{}}
	c.wire = wire.Open(nc, c.handle)
	if err := c.wire.Login(ctx, cookie, []wire.Property{
		{Key: "application.name", Value: o.Name},
		{Key: "application.id", Value: o.ID},
		{Key: "application.icon_name", Value: o.Icon},
		{Key: "application.version", Value: o.Version},
	}); err != nil {
		c.Close()
		return nil, fmt.Errorf("log in at %s: %w", a, err)
	}
	return c, nil
}

// Lost is closed when the connection is gone, by the server's doing or by Close;
// every stream has been told before.
func (c *Conn) Lost() <-chan struct{} { return c.wire.Gone() }

// Err is nil while the connection stands, else an ErrLost or ErrClosed.
func (c *Conn) Err() error { return c.wire.Err() }

// Close ends the connection and all its streams and waits until nothing of it
// runs any more. Twice is fine.
func (c *Conn) Close() { c.wire.Close() }

// handle gets every message of the server, on the codec's read loop: it must not
// block and must not make requests.
func (c *Conn) handle(m any) {
	switch m := m.(type) {
	case *proto.DataPacket:
		if s := c.capture(m.StreamIndex, nil); s != nil {
			s.push(m.Data, time.Now())
		}
	case *proto.RecordStreamKilled:
		if s := c.capture(m.StreamIndex, m); s != nil {
			s.handle(m)
		}
	case *proto.RecordStreamSuspended:
		if s := c.capture(m.StreamIndex, m); s != nil {
			s.handle(m)
		}
	case *proto.Request:
		c.toPlayer(m.StreamIndex, m)
	case *proto.Underflow:
		c.toPlayer(m.StreamIndex, m)
	case *proto.PlaybackStreamKilled:
		c.toPlayer(m.StreamIndex, m)
	case *proto.PlaybackStreamMoved:
		c.toPlayer(m.StreamIndex, m)
	case *proto.SubscribeEvent:
		c.announce(changeOf(m.Event))
	case *proto.ConnectionClosed:
		c.end()
	}
}

// capture finds a capture stream; a message for one that is just being created is
// kept.
func (c *Conn) capture(index uint32, m any) *Capture {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.captures[index]
	if s == nil && m != nil {
		c.keep(m)
	}
	return s
}

func (c *Conn) toPlayer(index uint32, m any) {
	c.mu.Lock()
	s := c.players[index]
	if s == nil {
		c.keep(m)
	}
	c.mu.Unlock()
	if s != nil {
		s.handle(m)
	}
}

// keep remembers a message for a stream not yet registered; mu is held.
func (c *Conn) keep(m any) {
	if c.creating > 0 && len(c.early) < maxEarly {
		c.early = append(c.early, m)
	}
}

// end tells every stream, once, from the read loop's last step.
func (c *Conn) end() {
	err := c.wire.Err()
	c.mu.Lock()
	c.ended = true
	captures, players, subs := c.captures, c.players, c.subs
	c.captures, c.players, c.subs = nil, nil, nil
	c.mu.Unlock()
	for _, s := range captures {
		s.end(err)
	}
	for _, s := range players {
		s.end(err)
	}
	for _, s := range subs {
		close(s)
	}
}

// create sends the request that makes a stream. With the answer there, register
// runs under mu, then replay for each message that came for a stream we did not
// know yet, in order. undo deletes a stream whose creation was answered after ctx
// had ended.
func (c *Conn) create(ctx context.Context, req proto.RequestArgs, reply proto.Reply, undo func() proto.RequestArgs, register func(), replay func(any)) error {
	c.mu.Lock()
	c.creating++
	c.mu.Unlock()
	err := c.wire.Create(ctx, req, reply, undo)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.creating--
	early := c.early
	if c.creating == 0 {
		c.early = nil
	}
	switch {
	case err != nil:
		return err
	case c.ended:
		return c.Err()
	}
	register()
	for _, m := range early {
		replay(m)
	}
	return nil
}
