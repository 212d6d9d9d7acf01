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

const (
	firstBackoff = 200 * time.Millisecond
	lastBackoff  = 10 * time.Second
	healthyAfter = 30 * time.Second // a daemon that lived this long starts over with the first back-off
	stopLimit    = 6 * time.Second  // above the daemons' own limit of 5 s
)

// Options say what to run.
type Options struct {
	Daemons []string // in start order; the first is waited for before the others start
	Bin     string   // folder of their programs
	Runtime string   // runtime folder, for locks and notify sockets
	Config  string   // -config, "" for the default
	Level   string   // -log
	Env     []string // of the daemons, whole
	Output  func(daemon string) io.Writer
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
	spawner *spawner
	ready   chan string
	fatal   chan error
}

// New checks that none of the daemons runs already.
func New(opts Options) (*Supervisor, error) {
	for _, d := range opts.Daemons {
		if pid := daemon.LockHolder(opts.Runtime, d); pid > 0 {
			return nil, proto.Errorf(proto.CodeBusy, "run", "%s runs already, as process %d", d, pid).
				WithHint("use it, for example: desktop-assistant ask \"what time is it\"; or end it: systemctl --user stop desktop-assistant.target, or kill %d", pid)
		}
	}
	// Orphans of a daemon that is killed become ours, and we end them.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become the reaper of orphans: %w", err)
	}
	return &Supervisor{
		opts: opts, spawner: newSpawner(),
		ready: make(chan string, 64), fatal: make(chan error, len(opts.Daemons)),
	}, nil
}

// Ready gives the name of a daemon each time it says that it is ready.
func (s *Supervisor) Ready() <-chan string { return s.ready }

// Run starts the daemons and keeps them running until ctx ends, then ends them
// in reverse order. It returns early, with an error, when a daemon says that
// it can never run (a faulty configuration).
func (s *Supervisor) Run(ctx context.Context) error {
	defer s.spawner.close()
	var err error
	units := make([]*unit, 0, len(s.opts.Daemons))
	for i, name := range s.opts.Daemons {
		u := &unit{name: name, s: s, stop: make(chan struct{}), done: make(chan struct{}), started: make(chan struct{})}
		units = append(units, u)
		go u.keep()
		if i > 0 {
			continue
		}
		select { // the others find the bus at once, and in the log comes first what is first
		case <-u.started:
		case err = <-s.fatal:
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
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
	s.spawner.sweep(s.opts.Log)
	return err
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
	backoff := firstBackoff
	for {
		begin := time.Now()
		code, err := u.live()
		select {
		case <-u.stop:
			return
		default:
		}
		switch {
		case err != nil:
			u.s.fatal <- err
			<-u.stop
			return
		case code == daemon.ExitConfig || code == daemon.ExitUsage || code == daemon.ExitLocked:
			u.s.fatal <- proto.Errorf(proto.CodeFailed, "run", "%s cannot start (exit status %d); its reason stands above", u.name, code)
			<-u.stop
			return
		}
		if time.Since(begin) >= healthyAfter {
			backoff = firstBackoff
		}
		u.s.opts.Log.Warn("restarting", "daemon", u.name, "in", backoff)
		select {
		case <-u.stop:
			return
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, lastBackoff)
	}
}

// live runs the daemon once. err is set only when it cannot be started at all.
func (u *unit) live() (code int, err error) {
	o := u.s.opts
	p, err := u.s.spawner.start(filepath.Join(o.Bin, u.name), u.args(), o.Env, o.Runtime, o.Output(u.name), func() {
		u.once.Do(func() { close(u.started) })
		select {
		case u.s.ready <- u.name:
		default:
		}
	})
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", u.name, err)
	}
	select {
	case <-p.done:
	case <-u.stop:
		p.signal(unix.SIGTERM)
		select {
		case <-p.done:
		case <-time.After(stopLimit):
			o.Log.Warn("did not stop in time, killing it", "daemon", u.name)
			p.kill()
			<-p.done
		}
	}
	u.s.spawner.sweep(o.Log)
	return p.code, nil
}

func (u *unit) args() []string {
	args := []string{"-log", u.s.opts.Level}
	if u.s.opts.Config != "" {
		args = append(args, "-config", u.s.opts.Config)
	}
	return args
}
