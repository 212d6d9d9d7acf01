// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/proto"
)

const flushLimit = time.Second // for the bus to take the subscriptions of a start

// Env is what a daemon is built from. It is copied freely; all copies share
// the connection and the problems.
type Env struct {
	Info
	Config     config.Config
	ConfigPath string // as given by -config, "" for the default
	Dir        string // runtime folder, 0700
	Log        *slog.Logger
	Bus        *bus.Conn // open once Run is called
	Problems   *Problems
	OnReady    func() // told once the daemon is ready; nil is fine

	inner *inner
}

// inner is what the copies of an Env share.
type inner struct {
	app   App
	start time.Time
}

// NewEnv makes an environment around a connection. [Main] calls it, and tests.
func NewEnv(info Info, cfg config.Config, conn *bus.Conn, log *slog.Logger) Env {
	return Env{
		Info: info, Config: cfg, Bus: conn, Log: log,
		Problems: newProblems(info.Name, conn, log),
		inner:    &inner{start: time.Now()},
	}
}

// Attach names the app whose detail and reload the service answers with.
// [Main] does it; tests that start an app themselves call it.
func (e Env) Attach(app App) { e.inner.app = app }

// Serve registers the daemon's endpoints beside those that every daemon has:
// <daemon>.status and <daemon>.reload. The caller stops the service.
func (e Env) Serve(ctx context.Context, endpoints ...bus.Endpoint) (*bus.Service, error) {
	all := append([]bus.Endpoint{
		bus.CommandOf(proto.StatusOf{Daemon: e.Name}, e.status),
		bus.CommandOf(proto.ReloadOf{Daemon: e.Name}, e.reload),
	}, endpoints...)
	return e.Bus.Serve(ctx, e.Summary, all...)
}

// Ready tells systemd and whoever started the daemon that it is initialised,
// after its subscriptions have reached the bus. An absent bus does not keep it
// from being ready.
func (e Env) Ready() {
	if e.Bus.Connected() {
		ctx, cancel := context.WithTimeout(context.Background(), flushLimit)
		defer cancel()
		if err := e.Bus.Flush(ctx); err != nil {
			e.Log.Warn("the bus is slow", "error", err)
		}
	}
	e.Log.Info("ready", "version", Version, "pid", os.Getpid())
	notify("READY=1")
	if e.OnReady != nil {
		e.OnReady()
	}
}

func (e Env) status(context.Context, proto.StatusOf) (proto.Status, error) {
	s := proto.Status{
		Service: e.Name, Version: Version, Instance: e.Bus.Instance(), PID: os.Getpid(),
		UptimeMS: time.Since(e.inner.start).Milliseconds(),
		Problems: e.Problems.List(), Counts: e.Bus.Counts(),
	}
	if d, ok := e.inner.app.(Detailer); ok {
		detail, err := json.Marshal(d.Detail())
		if err != nil {
			return proto.Status{}, err
		}
		s.Detail = detail
	}
	return s, nil
}

func (e Env) reload(ctx context.Context, _ proto.ReloadOf) (proto.Done, error) {
	op := "reload " + e.Name
	cfg, err := config.Load(e.ConfigPath)
	if err != nil {
		return proto.Done{}, proto.Errorf(proto.CodeInvalid, op, "%v", err).WithHint("check it with: desktop-assistant config check")
	}
	r, ok := e.inner.app.(Reloader)
	if !ok {
		return proto.Done{}, proto.Errorf(proto.CodeUnsupported, op, "%s reads its configuration at start only", e.Name).
			WithHint("end it, and run starts it again: kill %d", os.Getpid())
	}
	return proto.Done{}, r.Reload(ctx, cfg)
}

// busChanged publishes the problems again when the bus is back, since whoever
// keeps them may have started meanwhile.
func (e Env) busChanged(up bool) {
	if up {
		e.Problems.publish()
	}
}
