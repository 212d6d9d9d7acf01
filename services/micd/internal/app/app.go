// SPDX-License-Identifier: Apache-2.0

// Package app joins micd: commands and sound server in, utterances out. One
// goroutine owns the microphone; everything else posts to it.
package app

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/pulse"
	"example.org/desktop-assistant/pkg/xdg"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/micd/internal/capture"
	"example.org/desktop-assistant/services/micd/internal/mute"
)

// openLimit bounds what is asked of the sound server: it answers in
// milliseconds, or not at all.
const openLimit = 2 * time.Second

// stuck is more than the sound server can hold up one step.
const stuck = 10 * time.Second

// App is the daemon. The exported fields are its seams: change them between
// New and Run.
type App struct {
	Server capture.Server
	Mute   mute.File

	env   daemon.Env
	posts chan func(*microphone)
	links chan link
	shown atomic.Pointer[detail] // as of the last step
	busy  atomic.Int64           // when the step under way began, Unix ns; 0 = none
}

// link is a connection to the sound server that came, or, with a nil room,
// went.
type link struct {
	room    capture.Room
	changes <-chan pulse.Change
	err     error
}

// New makes the daemon's app.
func New(env daemon.Env) (daemon.App, error) {
	dir, err := xdg.State()
	if err != nil {
		return nil, err
	}
	return &App{
		Server: capture.Pulse{Version: daemon.Version, Log: env.Log}, Mute: mute.In(dir),
		env: env, posts: make(chan func(*microphone)), links: make(chan link),
	}, nil
}

// Run implements [daemon.App].
func (a *App) Run(ctx context.Context) error {
	m := newMicrophone(a.env, a.Mute)
	for _, g := range a.env.Config.MicGates() {
		if g != config.GatePushToTalk {
			a.env.Problems.Set("gate "+g, fmt.Sprintf("the gate %q is not built yet: push-to-talk works", g),
				"leave it out of [mic] gate")
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() {
		served <- a.Server.Run(ctx, func(err error) { a.tell(ctx, link{err: err}) }, a.up)
	}()
	defer func() { // without the connection nothing hangs
		cancel()
		<-served
		m.closing.Wait()
	}()
	service, err := a.env.Serve(ctx, a.endpoints()...)
	if err != nil {
		return err
	}
	a.env.Ready()
	a.loop(ctx, m)
	m.close("stopped")
	_ = service.Stop() // the bus may be gone already, which is no fault of ours
	return nil
}

// loop is the one goroutine that owns the microphone.
func (a *App) loop(ctx context.Context, m *microphone) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if d := m.deadline(); d.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(d))
		}
		a.shown.Store(m.detail())
		a.busy.Store(0)
		var step func()
		select {
		case <-ctx.Done():
			return
		case post := <-a.posts:
			step = func() { post(m) }
		case l := <-a.links:
			step = func() { m.linked(ctx, l) }
		case c, ok := <-m.changes:
			step = func() { m.changed(ctx, c, ok) }
		case f, ok := <-m.frames():
			step = func() { m.frame(ctx, f, ok) }
		case now := <-timer.C:
			step = func() { m.expire(ctx, now) }
		}
		a.busy.Store(time.Now().UnixNano())
		step()
	}
}

// Healthy implements [daemon.Healthy]: the owner's goroutine does not hang.
func (a *App) Healthy() bool {
	since := a.busy.Load()
	return since == 0 || time.Since(time.Unix(0, since)) < stuck
}

// up holds one connection to the sound server until it is lost.
func (a *App) up(ctx context.Context, r capture.Room) {
	changes, err := r.Changes(ctx)
	if err != nil {
		return // lost already; the server's runner says why
	}
	a.tell(ctx, link{room: r, changes: changes})
	<-ctx.Done()
}

func (a *App) tell(ctx context.Context, l link) {
	select {
	case a.links <- l:
	case <-ctx.Done():
	}
}

// do runs f on the owner's goroutine.
func (a *App) do(ctx context.Context, f func(*microphone) error) (proto.MicState, error) {
	type answer struct {
		state proto.MicState
		err   error
	}
	done := make(chan answer, 1)
	select {
	case a.posts <- func(m *microphone) {
		err := f(m)
		done <- answer{m.state(), err}
	}:
	case <-ctx.Done():
		return proto.MicState{}, proto.Errorf(proto.CodeUnavailable, "mic", "micd is stopping")
	}
	r := <-done
	return r.state, r.err
}

func (a *App) endpoints() []bus.Endpoint {
	return []bus.Endpoint{
		bus.Command(func(ctx context.Context, c proto.MicStart) (proto.MicState, error) {
			return a.do(ctx, func(m *microphone) error { return m.start(ctx, c.Lease) })
		}),
		bus.Command(func(ctx context.Context, _ proto.MicStop) (proto.MicState, error) {
			return a.do(ctx, func(m *microphone) error { m.stop(proto.UtteranceReleased); return nil })
		}),
		bus.Command(func(ctx context.Context, _ proto.MicCancel) (proto.MicState, error) {
			return a.do(ctx, func(m *microphone) error { m.cancel(ctx); return nil })
		}),
		bus.Command(func(ctx context.Context, c proto.MicToggle) (proto.MicState, error) {
			return a.do(ctx, func(m *microphone) error {
				if m.talking() {
					m.stop(proto.UtteranceReleased)
					return nil
				}
				return m.start(ctx, c.Lease)
			})
		}),
		bus.Command(func(ctx context.Context, _ proto.MicMute) (proto.MicState, error) {
			return a.do(ctx, func(m *microphone) error { return m.mute(ctx, true) })
		}),
		bus.Command(func(ctx context.Context, _ proto.MicUnmute) (proto.MicState, error) {
			return a.do(ctx, func(m *microphone) error { return m.mute(ctx, false) })
		}),
	}
}

// detail is what status shows of micd.
type detail struct {
	Source  string   `json:"source,omitempty"`
	Gates   []string `json:"gates"`
	Open    bool     `json:"open"`
	Talk    bool     `json:"talk"`
	Muted   bool     `json:"muted"`
	Dropped int64    `json:"dropped_samples"` // of the stream that is or was open
}

// Detail implements [daemon.Detailer]. It does not wait, also while the sound
// server does not answer.
func (a *App) Detail() any { return a.shown.Load() }
