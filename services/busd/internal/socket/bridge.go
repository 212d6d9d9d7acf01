// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	drainLimit  = 200 * time.Millisecond // for a refused client to read why
	acceptPause = 50 * time.Millisecond  // after an accept that went wrong, such as for want of descriptors
)

// Server joins the clients of one socket to the message server.
type Server struct {
	listener *net.UnixListener
	dial     func() (net.Conn, error)
	log      *slog.Logger
	uid      uint32
	closing  chan struct{}
	once     sync.Once
	wait     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{} // both ends of every joined pair
}

// Accept begins to take clients from l, which it owns from now on. Only those
// of this process's user get in; each is joined to a connection of dial.
func Accept(l *net.UnixListener, dial func() (net.Conn, error), log *slog.Logger) *Server {
	s := &Server{
		listener: l, dial: dial, log: log, uid: uint32(os.Getuid()),
		closing: make(chan struct{}), conns: map[net.Conn]struct{}{},
	}
	s.wait.Go(s.accept)
	return s
}

// Close takes no more clients; those that are in stay. A socket made by us is
// removed. Closing twice is fine.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.closing)
		s.listener.Close() // nothing can be done about an error, and the process ends
	})
}

// End closes the socket, cuts off the clients that are still in, and waits for
// all goroutines. The message server goes first, so that it can say goodbye.
func (s *Server) End() {
	s.Close()
	s.mu.Lock()
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wait.Wait()
}

func (s *Server) accept() {
	for {
		client, err := s.listener.AcceptUnix()
		if err == nil {
			s.wait.Go(func() { s.join(client) })
			continue
		}
		select {
		case <-s.closing:
			return
		default:
		}
		s.log.Error("accept on the bus socket", "error", err)
		select {
		case <-s.closing:
			return
		case <-time.After(acceptPause):
		}
	}
}

// join serves one client until one of the two sides is gone.
func (s *Server) join(client *net.UnixConn) {
	defer client.Close()
	who, err := peer(client)
	if err != nil {
		s.log.Warn("refused a client of unknown origin", "error", err)
		return
	}
	if who.Uid != s.uid {
		s.log.Warn("refused a client of another user", "pid", who.Pid, "uid", who.Uid)
		return
	}
	server, err := s.dial()
	if err != nil {
		s.log.Warn("refused a client", "pid", who.Pid, "error", err)
		return
	}
	defer server.Close()
	if !s.keep(client, server) {
		return
	}
	defer s.forget(client, server)
	s.log.Debug("client came", "pid", who.Pid)
	copyBoth(client, server)
	s.log.Debug("client went", "pid", who.Pid)
}

// copyBoth copies both ways until both directions have ended. When the server
// hangs up first, it may have told the client why, as for a wrong password.
// The client reads that only if we neither close before it did, nor leave
// unread what it sent meanwhile: so its reading side is ended alone, and its
// words are read to nowhere for a moment.
func copyBoth(client *net.UnixConn, server net.Conn) {
	up := make(chan struct{})
	go func() {
		defer close(up)
		_, _ = io.Copy(server, client) // how it ended does not matter: one of them is gone
		server.Close()
		_, _ = io.Copy(io.Discard, client)
	}()
	_, _ = io.Copy(client, server)
	_ = client.CloseWrite()
	_ = client.SetReadDeadline(time.Now().Add(drainLimit))
	<-up
}

// keep remembers a pair for End; false when the end has come already.
func (s *Server) keep(pair ...net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closing:
		return false
	default:
	}
	for _, c := range pair {
		s.conns[c] = struct{}{}
	}
	return true
}

func (s *Server) forget(pair ...net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range pair {
		delete(s.conns, c)
	}
}

// peer asks the kernel who is at the other end (SO_PEERCRED, unix(7)).
func peer(c *net.UnixConn) (*unix.Ucred, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("ask for the peer: %w", err)
	}
	var who *unix.Ucred
	var asked error
	err = raw.Control(func(fd uintptr) {
		who, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(err, asked); err != nil {
		return nil, fmt.Errorf("ask for the peer: %w", err)
	}
	return who, nil
}
