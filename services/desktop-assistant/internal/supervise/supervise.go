// SPDX-License-Identifier: Apache-2.0

// Package supervise runs the daemons as children: prefixed output, restart
// with back-off, ordered end, nothing left behind.
package supervise

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/proto"
)

// limits are the spans of a supervisor; tests make them short.
type limits struct {
	first     time.Duration // back-off after the first crash, doubled by each further one
	last      time.Duration // longest back-off
	healthy   time.Duration // a daemon that lived this long starts over with the first back-off
	stop      time.Duration // from SIGTERM to SIGKILL; above the daemons' own limit of 5 s
	firstWait time.Duration // for the first daemon to be ready
}

var usual = limits{
	first: 200 * time.Millisecond, last: 10 * time.Second, healthy: 30 * time.Second,
	stop: 6 * time.Second, firstWait: 2 * time.Second,
}

// Options say what to run.
type Options struct {
	Daemons []string                     // in start order; the first is waited for before the others start
	Bin     string                       // folder of their programs
	Runtime string                       // runtime folder, for locks
	Config  string                       // -config, "" for the default
	Level   string                       // -log
	Env     func(daemon string) []string // the whole environment of a daemon
	Output  func(daemon string) io.WriteCloser
	Log     *slog.Logger
}

// BinDir finds the folder of the daemons' programs: beside the running
// program, or where an installation puts them.
func BinDir(daemons []string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	here := filepath.Dir(self)
	for _, dir := range []string{here, filepath.Join(here, "../libexec/desktop-assistant")} {
		if !slices.ContainsFunc(daemons, func(d string) bool { return unix.Access(filepath.Join(dir, d), unix.X_OK) != nil }) {
			return dir, nil
		}
	}
	return "", proto.Errorf(proto.CodeUnavailable, "find the daemons", "%v are neither in %s nor in ../libexec/desktop-assistant", daemons, here).
		WithHint("build them: make build")
}

// Supervisor runs a set of daemons.
type Supervisor struct {
	opts    Options
	limits  limits
	spawner *spawner
	ready   chan string
	fatal   chan error
}

// New checks that none of the daemons runs already.
func New(opts Options) (*Supervisor, error) {
	for _, d := range opts.Daemons {
		if pid := daemon.LockHolder(opts.Runtime, d); pid > 0 {
			return nil, proto.Errorf(proto.CodeBusy, "run", "%s runs already, as process %d", d, pid).
				WithHint("use it, for example: desktop-assistant ask \"what time is it\"; or end it: kill %d", pid)
		}
	}
	return &Supervisor{opts: opts, limits: usual, ready: make(chan string, 64), fatal: make(chan error, len(opts.Daemons))}, nil
}

// Ready gives the name of a daemon each time it says that it is ready.
func (s *Supervisor) Ready() <-chan string { return s.ready }

// Run starts the daemons and keeps them running until ctx ends, then ends them
// in reverse order. It returns early, with an error, when a daemon says that
// it can never run (a faulty configuration). It is called once.
func (s *Supervisor) Run(ctx context.Context) error {
	spawner, err := newSpawner(s.opts.Log)
	if err != nil {
		return err
	}
	defer spawner.close()
	s.spawner = spawner
	units := make([]*unit, 0, len(s.opts.Daemons))
	for i, name := range s.opts.Daemons {
		u := &unit{name: name, s: s, stop: make(chan struct{}), done: make(chan struct{}), started: make(chan struct{})}
		units = append(units, u)
		go u.keep()
		if i == 0 {
			err = s.await(ctx, u)
		}
		if err != nil || ctx.Err() != nil {
			break
		}
	}
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-s.fatal:
		}
	}
	for _, u := range slices.Backward(units) {
		close(u.stop)
		<-u.done
	}
	return err
}

// await gives the first daemon time to be ready: the others then find the bus
// at once, and in the output comes first what is first.
func (s *Supervisor) await(ctx context.Context, u *unit) error {
	select {
	case <-u.started:
	case err := <-s.fatal:
		return err
	case <-ctx.Done():
	case <-time.After(s.limits.firstWait):
	}
	return nil
}

// unit keeps one daemon running.
type unit struct {
	name          string
	s             *Supervisor
	stop          chan struct{} // closed: end it
	done, started chan struct{}
	once          sync.Once
}

func (u *unit) keep() {
	defer close(u.done)
	l := u.s.limits
	backoff := l.first
	for {
		begin := time.Now()
		how, err := u.live()
		select {
		case <-u.stop:
			return
		default:
		}
		if err != nil {
			u.s.fatal <- err
			<-u.stop
			return
		}
		if time.Since(begin) >= l.healthy {
			backoff = l.first
		}
		u.s.opts.Log.Warn("restarting", "daemon", u.name, "after", how, "in", backoff)
		select {
		case <-u.stop:
			return
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, l.last)
	}
}

// live runs the daemon once and says how it ended. err is set when starting it
// again cannot help.
func (u *unit) live() (how string, err error) {
	o := u.s.opts
	p, err := u.s.spawner.start(filepath.Join(o.Bin, u.name), u.args(), o.Env(u.name), o.Output(u.name), u.isReady)
	if err != nil {
		return "", proto.Errorf(proto.CodeUnavailable, "start "+u.name, "%v", err).WithHint("build the programs again: make build")
	}
	select {
	case <-p.done:
	case <-u.stop:
		p.terminate()
		select {
		case <-p.done:
		case <-time.After(u.s.limits.stop):
			o.Log.Warn("did not stop in time, killing it", "daemon", u.name)
			p.kill()
			<-p.done
		}
	}
	u.s.spawner.sweep()
	return p.cmd.ProcessState.String(), u.refused(p.code())
}

func (u *unit) isReady() {
	u.once.Do(func() { close(u.started) })
	select {
	case u.s.ready <- u.name:
	default: // nobody waits for it any more
	}
}

// refused is the error of a daemon that ended because it can never run; what
// is wrong it has printed itself.
func (u *unit) refused(code int) error {
	e := proto.Errorf(proto.CodeFailed, "run", "%s cannot start (exit status %d); its reason stands above", u.name, code)
	switch code {
	case daemon.ExitConfig:
		return e.WithHint("mend the configuration: desktop-assistant config check")
	case daemon.ExitLocked:
		return e.WithHint("see what runs: desktop-assistant status")
	case daemon.ExitUsage:
		return e.WithHint("the programs in %s are not of one version; build them again: make build", u.s.opts.Bin)
	}
	return nil
}

func (u *unit) args() []string {
	args := []string{"-log", u.s.opts.Level}
	if u.s.opts.Config != "" {
		args = append(args, "-config", u.s.opts.Config)
	}
	return args
}
