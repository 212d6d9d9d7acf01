// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"example.org/desktop-assistant/proto"
)

// The files of the runtime folder that clients and busd agree on.
const (
	SocketName = "bus.sock"
	CookieName = "bus.cookie"
	// LocalUser is the user of every client on the socket; the cookie is its password.
	LocalUser = "local"
)

// pathLimit is what fits into the address of a Unix socket with its closing
// zero (sun_path in unix(7)).
const pathLimit = 107

// SocketPath gives the bus's socket in the runtime folder dir. A path that no
// socket can have is an error with code invalid.
func SocketPath(dir string) (string, error) {
	path := filepath.Join(dir, SocketName)
	if len(path) > pathLimit {
		return "", proto.Errorf(proto.CodeInvalid, "find the bus socket", "the path %s has %d bytes, a socket can have %d", path, len(path), pathLimit).
			WithHint("choose a shorter folder: XDG_RUNTIME_DIR=/run/user/$(id -u)")
	}
	return path, nil
}

const (
	connectTimeout = 2 * time.Second
	flushLimit     = 10 * time.Second
	settleTime     = time.Second            // after a (re)connect, "no responders" may only mean "not yet"
	outboxDelay    = 300 * time.Millisecond // after a reconnect, for the others' subscriptions to be back
	outboxLimit    = 1024                   // events kept while the bus is away; the oldest go first
	outboxBytes    = 4 << 20                // of their bodies, for an event can be large
	slowHandler    = 50 * time.Millisecond  // a handler above this is named in the log
)

// Options say who connects and where.
type Options struct {
	Service string // the daemon's name; also names the connection
	Version string
	Device  string       // token in every subject; "" = [proto.DefaultDevice]
	Dir     string       // runtime folder with socket and cookie, for URL ""
	URL     string       // "" = the socket in Dir; else nats:// or tls:// of an external server
	Creds   string       // credentials file for URL
	CA      string       // root certificates for URL
	Log     *slog.Logger // required

	// Dial, when set, replaces the socket: for tests, and for busd inside its
	// own process. With Dir "" it sends no cookie.
	Dial func() (net.Conn, error)
}

// Conn is one daemon's connection. It is safe for use by many goroutines.
// Create it with [New], use it after [Conn.Open] or [Conn.Dial].
type Conn struct {
	opts     Options
	instance string
	nc       *nats.Conn
	opened   atomic.Bool
	liveSeq  atomic.Uint64

	undecodable, unknown, dropped, reconnects atomic.Uint64
	since                                     atomic.Int64 // Unix ns of the last (re)connect

	mu      sync.Mutex
	seq     uint64 // of events; taken together with the order of publishing
	subs    map[*nats.Subscription]*Sub
	outbox  []*nats.Msg
	kept    int             // bytes in it
	holding bool            // events go to the outbox: the bus is away or has just come back
	blamed  map[string]bool // subjects already logged for undecodable messages
	changed []func(up bool)
	waiting map[*waiter]struct{} // requests under way
	closed  bool
	flusher sync.WaitGroup // started under mu while not closed
	closing chan struct{}
	once    sync.Once
	first   sync.Once // told of the first connect
}

// New makes a connection that is not yet open.
func New(opts Options) *Conn {
	if opts.Device == "" {
		opts.Device = proto.DefaultDevice
	}
	return &Conn{
		opts: opts, instance: nuid.Next(),
		subs: map[*nats.Subscription]*Sub{}, blamed: map[string]bool{},
		waiting: map[*waiter]struct{}{}, closing: make(chan struct{}),
	}
}

// Open connects, and keeps trying for ever when the bus is not there yet: it
// returns an error only for options that can never work. Subscriptions may be
// made at once.
func (c *Conn) Open(ctx context.Context) error {
	return c.open(ctx, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1))
}

// Dial connects once, for a command line: an absent bus is an error with code
// disconnected.
func (c *Conn) Dial(ctx context.Context) error {
	err := c.open(ctx, nats.MaxReconnects(-1))
	if err == nil {
		return nil
	}
	var e *proto.Error
	if errors.As(err, &e) {
		return e
	}
	e = proto.Errorf(proto.CodeDisconnected, "connect to the bus", "%v", err)
	if c.opts.URL == "" && (errors.Is(err, os.ErrNotExist) || errors.Is(err, nats.ErrNoServers)) {
		e.Text = fmt.Sprintf("nothing answers at %s", filepath.Join(c.opts.Dir, SocketName))
		return e.WithHint("start the assistant: desktop-assistant run")
	}
	return e.WithHint("look at it with: desktop-assistant status")
}

func (c *Conn) open(ctx context.Context, extra ...nats.Option) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	options, url, err := c.options()
	if err != nil {
		return err
	}
	nc, err := nats.Connect(url, append(options, extra...)...)
	if err != nil {
		return err
	}
	c.nc = nc
	c.opened.Store(true)
	c.since.CompareAndSwap(0, time.Now().UnixNano())
	if nc.IsConnected() { // the connect handler may have run too early to publish
		c.first.Do(func() { c.tell(true) })
	}
	return nil
}

func (c *Conn) options() ([]nats.Option, string, error) {
	o := []nats.Option{
		nats.Name(c.opts.Service + "/" + c.opts.Version),
		nats.CustomInboxPrefix("_INBOX_" + inboxToken(c.opts.Service)),
		nats.CustomReconnectDelay(reconnectDelay),
		nats.ReconnectBufSize(-1), nats.IgnoreAuthErrorAbort(), nats.Timeout(connectTimeout),
		nats.PingInterval(20 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(c.onError), nats.ConnectHandler(c.onConnect), nats.ReconnectHandler(c.onReconnect),
		nats.DisconnectErrHandler(c.onDisconnect),
	}
	switch {
	case c.opts.Dial != nil:
		return c.local(o, c.opts.Dial), localURL, nil
	case c.opts.URL == "":
		path, err := SocketPath(c.opts.Dir)
		if err != nil {
			return nil, "", err
		}
		return c.local(o, func() (net.Conn, error) { return net.DialTimeout("unix", path, connectTimeout) }), localURL, nil
	case !strings.HasPrefix(c.opts.URL, "nats://") && !strings.HasPrefix(c.opts.URL, "tls://"):
		return nil, "", proto.Errorf(proto.CodeInvalid, "connect to the bus", "bus.url %q begins with neither nats:// nor tls://", c.opts.URL)
	}
	if c.opts.Creds != "" {
		o = append(o, nats.UserCredentials(c.opts.Creds))
	}
	if c.opts.CA != "" {
		o = append(o, nats.RootCAs(c.opts.CA))
	}
	return o, c.opts.URL, nil
}

// localURL stands for the bus of this machine; nothing is looked up or dialled there.
const localURL = "nats://127.0.0.1:4222"

// local adds what goes with a transport of our own.
func (c *Conn) local(o []nats.Option, dial dialFunc) []nats.Option {
	o = append(o, nats.SetCustomDialer(dial), nats.SkipHostLookup(), nats.IgnoreDiscoveredServers())
	if c.opts.Dir != "" {
		o = append(o, nats.UserInfoHandler(c.userInfo))
	}
	return o
}

// userInfo reads the cookie anew for each connect, since busd may have made it
// meanwhile. Without one the server refuses, and the client tries again.
func (c *Conn) userInfo() (user, password string) {
	cookie, err := os.ReadFile(filepath.Join(c.opts.Dir, CookieName))
	if err != nil {
		c.opts.Log.Debug("read bus cookie", "error", err)
	}
	return LocalUser, strings.TrimSpace(string(cookie))
}

// Between attempts to connect: a bus that restarts is back at once, one that
// stays away is looked for so often that it costs nothing to wait for it.
const (
	reconnectSoon  = 100 * time.Millisecond
	reconnectLate  = time.Second
	reconnectTries = 30 // of the first
)

// reconnectDelay spreads the clients, so that they do not all come at once.
func reconnectDelay(attempts int) time.Duration {
	delay := reconnectSoon
	if attempts > reconnectTries {
		delay = min(reconnectLate, delay*time.Duration(attempts-reconnectTries))
	}
	return delay + rand.N(delay/2)
}

func inboxToken(service string) string {
	if proto.ValidToken(service) {
		return service
	}
	return "client"
}

// dialFunc is a dialer that ignores the address: the client must not resolve
// or wrap anything.
type dialFunc func() (net.Conn, error)

func (d dialFunc) Dial(_, _ string) (net.Conn, error) { return d() }
func (d dialFunc) SkipTLSHandshake() bool             { return true }

// Close ends the connection; what was published before, and what was kept for a
// bus that is back, is flushed for at most a second. Closing twice is fine.
func (c *Conn) Close() {
	c.once.Do(func() {
		c.mu.Lock()
		c.closed = true
		c.mu.Unlock()
		close(c.closing)
		c.flusher.Wait()
		if c.nc != nil {
			if c.nc.IsConnected() {
				c.sendOutbox()
				_ = c.nc.FlushTimeout(time.Second) // best effort: the bus may be going too
			}
			c.nc.Close()
		}
	})
}

// Device is the device token of this connection.
func (c *Conn) Device() string { return c.opts.Device }

// Service is the name this connection was opened with.
func (c *Conn) Service() string { return c.opts.Service }

// Instance names this process on the bus, for [Conn.Alive].
func (c *Conn) Instance() string { return c.instance }

// Connected says whether the bus answers now.
func (c *Conn) Connected() bool { return c.nc != nil && c.nc.IsConnected() }

// OnChange adds a function that is told when the bus goes (false) and comes
// (true), also for the first time when it is added before Open. It must not
// block.
func (c *Conn) OnChange(f func(up bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed = append(c.changed, f)
}

func (c *Conn) tell(up bool) {
	c.mu.Lock()
	list := slices.Clone(c.changed)
	c.mu.Unlock()
	for _, f := range list {
		f(up)
	}
}

// Opened says whether [Conn.Open] or [Conn.Dial] succeeded, whether or not the
// bus answers now.
func (c *Conn) Opened() bool { return c.opened.Load() }

// Flush waits until the server has processed all that was sent, for at most
// ten seconds.
func (c *Conn) Flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushLimit)
	defer cancel()
	if err := c.nc.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("flush bus: %w", err)
	}
	return nil
}

// Counts gives what was ignored or lost so far.
func (c *Conn) Counts() proto.Counts {
	dropped := c.dropped.Load()
	c.mu.Lock()
	for _, s := range c.subs {
		dropped += s.lost()
	}
	c.mu.Unlock()
	return proto.Counts{
		Undecodable: c.undecodable.Load(), Unknown: c.unknown.Load(),
		Dropped: dropped, Reconnects: c.reconnects.Load(),
	}
}

func (c *Conn) onConnect(*nats.Conn) {
	c.since.Store(time.Now().UnixNano())
	if c.opened.Load() { // else open tells
		c.first.Do(func() { c.tell(true) })
	}
	c.release()
}

func (c *Conn) onReconnect(*nats.Conn) {
	c.since.Store(time.Now().UnixNano())
	c.reconnects.Add(1)
	c.opts.Log.Info("bus is back")
	c.tell(true)
	c.release()
}

// release lets go of what was kept, in a moment.
func (c *Conn) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed && (c.holding || len(c.outbox) > 0) {
		c.flusher.Go(c.flushOutbox)
	}
}

func (c *Conn) onDisconnect(_ *nats.Conn, err error) {
	select {
	case <-c.closing:
		return
	default:
	}
	c.opts.Log.Warn("bus is gone, reconnecting", "error", err)
	c.mu.Lock()
	c.holding = true
	c.mu.Unlock()
	c.abandon()
	c.tell(false)
}

// onError is where slow consumers and permission errors arrive, and only here.
func (c *Conn) onError(_ *nats.Conn, ns *nats.Subscription, err error) {
	c.mu.Lock()
	s := c.subs[ns]
	c.mu.Unlock()
	if s != nil && errors.Is(err, nats.ErrSlowConsumer) {
		s.overflowed()
		return
	}
	c.opts.Log.Error("bus error", "error", err)
}

// settling says that a missing responder may still be on its way.
func (c *Conn) settling() bool {
	return time.Since(time.Unix(0, c.since.Load())) < settleTime
}
