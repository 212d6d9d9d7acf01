// SPDX-License-Identifier: Apache-2.0

// Package app is the work of busd.
package app

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/busd/internal/access"
	"example.org/desktop-assistant/services/busd/internal/server"
	"example.org/desktop-assistant/services/busd/internal/socket"
)

const (
	selfLimit    = 5 * time.Second // for the first word over our own socket
	goodbyeLimit = time.Second     // for bus.stopping to be on its way
)

// App is busd: the server, and the socket in front of it.
type App struct {
	env    daemon.Env
	path   string         // of the socket, "" when the bus is elsewhere
	server *server.Server // nil when the bus is elsewhere
	socket *socket.Server // with server
}

// Detail is what busd's status shows.
type Detail struct {
	Socket string `json:"socket"`           // path, "" when the bus is elsewhere
	TCP    string `json:"tcp"`              // address for natscli, or "off"
	Server string `json:"server,omitempty"` // address of the bus that is elsewhere
	// Clients counts busd itself and the command that asks.
	Clients int     `json:"clients"`
	Stream  *Stream `json:"stream"` // nil when no events are kept
}

// Stream is how much is in the memory of events.
type Stream struct {
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
}

// New makes busd; nothing runs before [App.Start].
func New(env daemon.Env) (daemon.App, error) { return &App{env: env}, nil }

// Start runs the server: when it returns, clients get in. With bus.url the
// daemons talk to another server, so that there is nothing to run here.
func (a *App) Start(ctx context.Context) error {
	cfg := a.env.Config.Bus
	if cfg.URL != "" {
		a.env.Log.Info("bus.url names another server, so none is started here", "url", cfg.URL)
		return nil
	}
	a.refuse("leaf", "bus.leaf", cfg.Leaf)
	a.refuse("listen", "bus.listen", cfg.Listen)
	path, err := bus.SocketPath(a.env.Dir)
	if err != nil {
		return err
	}
	cookie, err := access.Cookie(a.env.Dir)
	if err != nil {
		return err
	}
	listener, err := socket.Listen(path)
	if err != nil {
		return err
	}
	s, err := a.serve(ctx, cookie)
	if err != nil {
		listener.Close()
		return err
	}
	a.path, a.server = listener.Addr().String(), s
	a.socket = socket.Accept(listener, s.Conn, a.env.Log)
	a.advertise()
	return nil
}

// refuse names a setting that this version cannot honour.
func (a *App) refuse(key, name, value string) {
	if value != "" {
		a.env.Problems.Set(key, fmt.Sprintf("%s = %q is not supported yet: busd serves this machine only", name, value),
			"take "+name+" out of "+config.Path()+"; a server elsewhere is reached with bus.url")
	}
}

// serve starts the server. natscli is a convenience, so a port that cannot be
// had is a problem and no reason to have no bus.
func (a *App) serve(ctx context.Context, cookie string) (*server.Server, error) {
	cfg := server.Config{
		Dir: a.env.Dir, Cookie: cookie, KeepEvents: a.env.Config.Privacy.KeepEvents, Log: a.env.Log,
		CLI: a.env.Config.Bus.CLITCP, CLIPort: a.env.Config.Bus.CLIPort,
	}
	if cfg.CLI {
		if err := tryPort(ctx, cfg.CLIPort); err != nil {
			a.env.Problems.Set("cli", fmt.Sprintf("natscli cannot be let in: %v", err),
				"choose another bus.cli_port in "+config.Path()+", or 0 for a free one")
			cfg.CLI = false
		}
	}
	if cfg.CLI {
		password, err := access.CLIPassword(a.env.Dir)
		if err != nil {
			return nil, err
		}
		cfg.CLIPassword = password
	}
	return server.Start(ctx, cfg)
}

// tryPort says whether a loopback port can be had; the server itself would
// give up over one that is taken.
func tryPort(ctx context.Context, port int) error {
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return l.Close()
}

// advertise tells natscli where the bus is, or that it is nowhere.
func (a *App) advertise() {
	url := a.server.CLIURL()
	var err error
	if url == "" {
		err = access.Withdraw(a.env.Dir)
	} else {
		err = access.WriteContext(a.env.Dir, url)
	}
	if err != nil {
		a.env.Problems.Set("context", fmt.Sprintf("natscli does not know the bus: %v", err),
			"mend the folder, or switch natscli off with cli_tcp = false below [bus] in "+config.Path())
	}
}

// Run is there for as long as the server runs, and ends it in an order in
// which the others learn of it first.
func (a *App) Run(ctx context.Context) error {
	defer a.end()
	if a.server != nil {
		// Ready means that a client gets all the way in.
		first, cancel := context.WithTimeout(ctx, selfLimit)
		defer cancel()
		if err := a.env.Bus.Flush(first); err != nil && ctx.Err() == nil {
			return fmt.Errorf("reach own bus: %w", err)
		}
	}
	service, err := a.env.Serve(ctx)
	if err != nil {
		return err
	}
	a.env.Ready()
	<-ctx.Done()
	a.goodbye(context.WithoutCancel(ctx))
	return service.Stop()
}

func (a *App) goodbye(ctx context.Context) {
	if a.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, goodbyeLimit)
	defer cancel()
	if err := a.env.Bus.Publish(proto.BusStopping{}, bus.Meta{}); err != nil {
		a.env.Log.Warn("say goodbye", "error", err)
	}
	if err := a.env.Bus.Flush(ctx); err != nil {
		a.env.Log.Warn("say goodbye", "error", err)
	}
}

// end closes in order: our own connection, so that it does not complain; the
// socket, so that nobody comes to a server that goes; the server; what clients
// are left.
func (a *App) end() {
	a.env.Bus.Close()
	if a.server == nil {
		return
	}
	a.socket.Close()
	a.server.Stop()
	a.socket.End()
}

// Detail is for the status.
func (a *App) Detail() any {
	if a.server == nil {
		return Detail{TCP: "off", Server: a.env.Config.Bus.URL}
	}
	d := Detail{Socket: a.path, TCP: a.server.CLIURL(), Clients: a.server.Clients()}
	if d.TCP == "" {
		d.TCP = "off"
	}
	if messages, bytes, ok := a.server.Kept(); ok {
		d.Stream = &Stream{messages, bytes}
	}
	return d
}
