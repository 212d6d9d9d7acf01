// SPDX-License-Identifier: Apache-2.0

// Package server configures and runs the embedded NATS server.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/services/busd/internal/access"
)

const (
	inProcess = "IN_PROCESS" // connection types as the server names them
	overTCP   = "STANDARD"

	readyLimit  = 10 * time.Second
	memoryLimit = 64 << 20      // bytes, for the stream and what the server keeps beside it
	storeLimit  = 1 << 20       // bytes; nothing is kept on disk, but 0 would mean most of it
	eventBytes  = 16 << 20      // of kept events; the oldest go first
	eventAge    = 1 * time.Hour // of kept events
)

// Config is what the server is started with.
type Config struct {
	Dir         string // for the store's empty folders
	Cookie      string // password of [bus.LocalUser], who comes through [Server.Conn] only
	CLI         bool   // open the loopback port
	CLIPort     int    // 0 = a free one
	CLIPassword string // of [access.CLIUser], who comes over TCP only
	KeepEvents  bool   // keep events in memory
	Log         *slog.Logger
}

// Server is a running NATS server.
type Server struct {
	nats *server.Server
	cli  bool
	kept bool
}

// Start runs a server and returns when it is ready and keeps events. A port
// that is taken is an error.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	log := &logger{log: cfg.Log}
	n, err := server.NewServer(options(cfg))
	if err != nil {
		return nil, fmt.Errorf("make server: %w", err)
	}
	n.SetLoggerV2(log, false, false, false)
	n.Start()
	s := &Server{nats: n, cli: cfg.CLI, kept: cfg.KeepEvents}
	// The server reports what is fatal to its log only; it never returns it.
	if fatal := log.started(); fatal != "" {
		s.Stop()
		return nil, errors.New("start server: " + fatal)
	}
	if !n.ReadyForConnections(readyLimit) {
		s.Stop()
		return nil, fmt.Errorf("start server: not ready within %s", readyLimit)
	}
	if cfg.KeepEvents {
		if err := s.keepEvents(ctx, cfg); err != nil {
			s.Stop()
			return nil, err
		}
	}
	return s, nil
}

func options(cfg Config) *server.Options {
	// Neither user may come in by the other's door.
	users := []*server.User{{
		Username: bus.LocalUser, Password: cfg.Cookie,
		AllowedConnectionTypes: map[string]struct{}{inProcess: {}},
	}}
	o := &server.Options{
		ServerName: "desktop-assistant", NoSigs: true, DontListen: !cfg.CLI,
		JetStream: cfg.KeepEvents, StoreDir: cfg.Dir,
		JetStreamMaxMemory: memoryLimit, JetStreamMaxStore: storeLimit,
	}
	if cfg.CLI {
		o.Host, o.Port = "127.0.0.1", cfg.CLIPort
		if o.Port == 0 {
			o.Port = server.RANDOM_PORT
		}
		users = append(users, &server.User{
			Username: access.CLIUser, Password: cfg.CLIPassword,
			AllowedConnectionTypes: map[string]struct{}{overTCP: {}},
		})
	}
	o.Users = users
	return o
}

// keepEvents makes the stream anew: a memory stream is gone with its
// configuration when the server ends.
func (s *Server) keepEvents(ctx context.Context, cfg Config) error {
	c := bus.New(bus.Options{Service: "busd-events", Version: "0.0.0", Dir: cfg.Dir, Dial: s.Conn, Log: cfg.Log})
	if err := c.Dial(ctx); err != nil {
		return err
	}
	defer c.Close()
	return c.KeepEvents(ctx, eventBytes, eventAge)
}

// Conn gives a new connection to the server, inside this process. Whoever
// holds it must still name a user.
func (s *Server) Conn() (net.Conn, error) { return s.nats.InProcessConn() }

// CLIURL is the address of the loopback port, "" when it is off.
func (s *Server) CLIURL() string {
	addr, ok := s.nats.Addr().(*net.TCPAddr)
	if !s.cli || !ok {
		return ""
	}
	return "nats://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(addr.Port))
}

// Clients is the number of connections.
func (s *Server) Clients() int { return s.nats.NumClients() }

// Kept is how many events are kept; ok is false when none are by choice.
func (s *Server) Kept() (messages, bytes uint64, ok bool) {
	if !s.kept {
		return 0, 0, false
	}
	info, err := s.nats.Jsz(nil)
	if err != nil || info.Disabled {
		return 0, 0, false
	}
	return info.Messages, info.Bytes, true
}

// Stop ends the server and all of its connections, and waits.
func (s *Server) Stop() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}
