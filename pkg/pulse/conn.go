// SPDX-License-Identifier: Apache-2.0

package pulse

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/jfreymuth/pulse/proto"
)

const (
	// dialTimeout is for one address to accept, replyTimeout for one answer of the
	// server: the handshake's and every later one.
	dialTimeout  = 2 * time.Second
	replyTimeout = 5 * time.Second
	// maxEarly bounds the messages kept for streams whose creation has not yet
	// been answered to its caller.
	maxEarly = 64
)

// errOverdue means that an answer took longer than replyTimeout.
var errOverdue = fmt.Errorf("no answer for %v", replyTimeout)

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
	env  *environment
}

// A Conn is one connection to a server. It is safe for many goroutines. Once lost
// or closed it stays so.
type Conn struct {
	client *proto.Client
	link   *link
	server string
	index  uint32

	lost  chan struct{} // closed by the read loop when it has told every stream
	calls sync.WaitGroup

	mu       sync.Mutex
	closed   bool
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
	env := systemEnvironment()
	if o.env != nil {
		env = *o.env
	}
	fail := &ServerError{}
	var causes []error
	for _, a := range env.addresses(o.Server) {
		c, err := dialOne(ctx, o, a, env.cookie())
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

func dialOne(ctx context.Context, o Options, a address, cookie []byte) (*Conn, error) {
	dctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	dial := o.dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	nc, err := dial(dctx, a.network, a.addr)
	if err != nil {
		return nil, err
	}
	c := open(nc, a.String())
	if err := c.greet(ctx, o, cookie); err != nil {
		c.Close()
		return nil, fmt.Errorf("log in at %s: %w", a, err)
	}
	return c, nil
}

// open starts the codec on a connection; Close ends it.
func open(nc net.Conn, server string) *Conn {
	c := &Conn{
		client: &proto.Client{}, link: newLink(nc), server: server,
		lost: make(chan struct{}), captures: map[uint32]*Capture{}, players: map[uint32]*Playback{},
	}
	c.client.SetTimeout(replyTimeout)
	c.client.Callback = c.handle
	c.client.Open(c.link)
	return c
}

func (c *Conn) greet(ctx context.Context, o Options, cookie []byte) error {
	var auth proto.AuthReply
	if err := c.request(ctx, &proto.Auth{Version: c.client.Version(), Cookie: cookie}, &auth); err != nil {
		return err
	}
	c.client.SetVersion(auth.Version)
	binary, err := os.Executable()
	if err != nil {
		binary = os.Args[0]
	}
	var named proto.SetClientNameReply
	if err := c.request(ctx, &proto.SetClientName{Props: properties([]property{
		{"application.name", o.Name},
		{"application.id", o.ID},
		{"application.process.id", strconv.Itoa(os.Getpid())},
		{"application.process.binary", filepath.Base(binary)},
		{"application.icon_name", o.Icon},
		{"application.version", o.Version},
	})}, &named); err != nil {
		return err
	}
	c.index = named.ClientIndex
	return nil
}

// Server is the address we are connected to, as "unix:/path" or "tcp:host:port".
func (c *Conn) Server() string { return c.server }

// Lost is closed when the connection is gone, by the server's doing or by Close;
// every stream has been told before.
func (c *Conn) Lost() <-chan struct{} { return c.lost }

// Err is nil while the connection stands, else an ErrLost or ErrClosed.
func (c *Conn) Err() error {
	cause := c.link.cause()
	switch {
	case cause == nil:
		return nil
	case errors.Is(cause, ErrClosed):
		return ErrClosed
	}
	return fmt.Errorf("%w: %w", ErrLost, cause)
}

// Close ends the connection and all its streams and waits until nothing of it
// runs any more. Twice is fine.
func (c *Conn) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.link.fail(ErrClosed)
	<-c.lost
	c.calls.Wait()
}

// begin counts a call in, so that Close can wait for it.
func (c *Conn) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.calls.Add(1)
	return nil
}

// request sends one request and waits for its answer, 5 s at most: a server that
// takes longer counts as lost. reply may be nil and holds the answer only when
// the error is nil; it belongs to the call and must not be used again.
func (c *Conn) request(ctx context.Context, req proto.RequestArgs, reply proto.Reply) error {
	return c.overdue(ctx, c.ask(ctx, req, reply, nil))
}

// overdue gives the connection up when the codec, and not ctx, ran out of time.
func (c *Conn) overdue(ctx context.Context, err error) error {
	if !errors.Is(err, errOverdue) || ctx.Err() != nil {
		return err
	}
	c.link.fail(errOverdue)
	return c.Err()
}

// ask is request without the verdict on a late answer, which reads as errOverdue.
// undo, if not nil, runs when ctx ended first and the request succeeded later.
func (c *Conn) ask(ctx context.Context, req proto.RequestArgs, reply proto.Reply, undo func()) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := c.begin(); err != nil {
		return err
	}
	done, abandoned := make(chan error), make(chan struct{})
	go func() {
		defer c.calls.Done()
		err := c.client.Request(req, reply)
		select {
		case done <- err:
		case <-abandoned:
			if err == nil && undo != nil {
				undo()
			}
		}
	}()
	select {
	case err := <-done:
		return c.verdict(err)
	case <-ctx.Done():
		close(abandoned)
		return context.Cause(ctx)
	}
}

// tell sends a request that needs no context because it only tidies up.
func (c *Conn) tell(req proto.RequestArgs) error {
	if err := c.begin(); err != nil {
		return err
	}
	defer c.calls.Done()
	err := c.verdict(c.client.Request(req, nil))
	if errors.Is(err, errOverdue) {
		c.link.fail(errOverdue)
		return c.Err()
	}
	return err
}

// verdict gives an error of the codec its typed cause.
func (c *Conn) verdict(err error) error {
	var code proto.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &code) && code == proto.ErrNoSuchEntity:
		return fmt.Errorf("%w: %w", ErrNoDevice, err)
	case errors.As(err, &code):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return errOverdue
	}
	if lost := c.Err(); lost != nil {
		return lost
	}
	return fmt.Errorf("%w: %w", ErrLost, err)
}

// refused reports whether a server was there and did not let us in.
func refused(err error) bool {
	var code proto.Error
	return errors.As(err, &code) && (code == proto.ErrAccessDenied || code == proto.ErrNoAuthenticationKey)
}

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
	err := c.Err()
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
	close(c.lost)
}

// create sends the request that makes a stream. With the answer there, register
// runs under mu, then replay for each message that came for a stream we did not
// know yet, in order. undo deletes a stream whose creation was answered after ctx
// had ended.
func (c *Conn) create(ctx context.Context, req proto.RequestArgs, reply proto.Reply, undo func() proto.RequestArgs, register func(), replay func(any)) error {
	c.mu.Lock()
	c.creating++
	c.mu.Unlock()
	err := c.overdue(ctx, c.ask(ctx, req, reply, func() { c.client.Request(undo(), nil) }))
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
