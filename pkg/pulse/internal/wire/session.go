// SPDX-License-Identifier: Apache-2.0

// Package wire carries requests to a sound server and its messages back.
//
// It wraps the codec of jfreymuth/pulse, whose traps end here: errors of the
// connection that it hides, half read answers, messages it does not know, requests
// it cannot hold, and a timeout instead of a context.
package wire

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

// ReplyTimeout is how long one answer of the server may take, the handshake's and
// every later one.
const ReplyTimeout = 5 * time.Second

// Causes, to be found with errors.Is; package pulse exports and explains them.
var (
	ErrLost     = errors.New("connection to the sound server lost")
	ErrClosed   = errors.New("closed")
	ErrNoDevice = errors.New("no such sound device")
)

// ErrOverdue means that an answer took longer than ReplyTimeout.
var ErrOverdue = fmt.Errorf("no answer for %v", ReplyTimeout)

// A Session is one connection to a server. It is safe for many goroutines.
type Session struct {
	client *proto.Client
	link   *link
	gone   chan struct{} // closed by the read loop as its last step
	calls  sync.WaitGroup
	id     uint32 // set by Login

	mu     sync.Mutex
	closed bool
}

// Open starts the codec on a connection, which Close ends. handle gets every
// message of the server, on the read loop: it must not block and must not make
// requests; audio is only valid during the call. Its last message, once, is a
// *proto.ConnectionClosed.
func Open(nc net.Conn, handle func(any)) *Session {
	s := &Session{client: &proto.Client{}, link: newLink(nc), gone: make(chan struct{})}
	s.client.SetTimeout(ReplyTimeout)
	s.client.Callback = func(m any) {
		handle(m)
		if _, end := m.(*proto.ConnectionClosed); end {
			close(s.gone)
		}
	}
	s.client.Open(s.link)
	return s
}

// Login shakes hands. Properties go from important to dispensable.
func (s *Session) Login(ctx context.Context, cookie []byte, about []Property) error {
	var auth proto.AuthReply
	if err := s.Request(ctx, &proto.Auth{Version: s.client.Version(), Cookie: cookie}, &auth); err != nil {
		return err
	}
	s.client.SetVersion(auth.Version)
	binary, err := os.Executable()
	if err != nil {
		binary = os.Args[0]
	}
	about = append([]Property{
		{"application.process.id", strconv.Itoa(os.Getpid())},
		{"application.process.binary", filepath.Base(binary)},
	}, about...)
	var named proto.SetClientNameReply
	err = s.Request(ctx, &proto.SetClientName{Props: Properties(about)}, &named)
	s.id = named.ClientIndex
	return err
}

// Client is the number that Login got for this connection.
func (s *Session) Client() uint32 { return s.id }

// Gone is closed when the session is over and its last message handled.
func (s *Session) Gone() <-chan struct{} { return s.gone }

// Err is nil while the connection stands, else an ErrLost or ErrClosed.
func (s *Session) Err() error {
	cause := s.link.cause()
	switch {
	case cause == nil:
		return nil
	case errors.Is(cause, ErrClosed):
		return ErrClosed
	}
	return fmt.Errorf("%w: %w", ErrLost, cause)
}

// Close ends the connection and waits until nothing of it runs any more. Twice is
// fine.
func (s *Session) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.link.fail(ErrClosed)
	<-s.gone
	s.calls.Wait()
}

// begin counts a call in, so that Close can wait for it.
func (s *Session) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.calls.Add(1)
	return nil
}

// Request sends one request and waits for its answer, 5 s at most: a server that
// takes longer counts as lost. reply may be nil and holds the answer only when
// the error is nil; it belongs to the call and must not be used again.
func (s *Session) Request(ctx context.Context, req proto.RequestArgs, reply proto.Reply) error {
	return s.overdue(ctx, s.ask(ctx, req, reply, nil))
}

// Create is Request for what has to be undone when ctx ended before the answer
// came: undo then gives the request that does so, from the reply.
func (s *Session) Create(ctx context.Context, req proto.RequestArgs, reply proto.Reply, undo func() proto.RequestArgs) error {
	return s.overdue(ctx, s.ask(ctx, req, reply, func() {
		// An error means that the connection is gone, and with it what was made.
		_ = s.client.Request(undo(), nil)
	}))
}

// Await is Request for what may rightly take long: a late answer is ErrOverdue
// and no verdict on the server.
func (s *Session) Await(ctx context.Context, req proto.RequestArgs) error {
	return s.ask(ctx, req, nil, nil)
}

// Tell is Request without a context, for tidying up.
func (s *Session) Tell(req proto.RequestArgs) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.calls.Done()
	err := s.verdict(s.client.Request(req, nil))
	if errors.Is(err, ErrOverdue) {
		s.link.fail(ErrOverdue)
		return s.Err()
	}
	return err
}

// Send puts audio on the wire, up to 2 s late when the server does not read.
func (s *Session) Send(stream uint32, data []byte) error {
	return s.verdict(s.client.Send(stream, data))
}

// overdue gives the connection up when the codec, and not ctx, ran out of time.
func (s *Session) overdue(ctx context.Context, err error) error {
	if !errors.Is(err, ErrOverdue) || ctx.Err() != nil {
		return err
	}
	s.link.fail(ErrOverdue)
	return s.Err()
}

// ask sends a request; late runs when ctx ended first and it succeeded later.
func (s *Session) ask(ctx context.Context, req proto.RequestArgs, reply proto.Reply, late func()) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := s.begin(); err != nil {
		return err
	}
	done, abandoned := make(chan error), make(chan struct{})
	go func() {
		defer s.calls.Done()
		err := s.client.Request(req, reply)
		select {
		case done <- err:
		case <-abandoned:
			if err == nil && late != nil {
				late()
			}
		}
	}()
	select {
	case err := <-done:
		return s.verdict(err)
	case <-ctx.Done():
		close(abandoned)
		return context.Cause(ctx)
	}
}

// verdict gives an error of the codec its typed cause.
func (s *Session) verdict(err error) error {
	var code proto.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &code) && code == proto.ErrNoSuchEntity:
		return fmt.Errorf("%w: %w", ErrNoDevice, err)
	case errors.As(err, &code):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return ErrOverdue
	}
	if lost := s.Err(); lost != nil {
		return lost
	}
	return fmt.Errorf("%w: %w", ErrLost, err)
}

// Refused reports whether a server was there and did not let us in.
func Refused(err error) bool {
	var code proto.Error
	return errors.As(err, &code) && (code == proto.ErrAccessDenied || code == proto.ErrNoAuthenticationKey)
}
