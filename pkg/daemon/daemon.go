// SPDX-License-Identifier: Apache-2.0

// Package daemon is the frame that every daemon runs in: flags, configuration,
// log, lock, bus, status, ready notice and ordered, bounded shutdown.
package daemon

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/xdg"
	"example.org/desktop-assistant/proto"
)

// Version is set by the linker: -X example.org/desktop-assistant/pkg/daemon.Version=1.2.3.
var Version = "0.0.0-devel"

// Exit codes of a daemon, from sysexits.h where one fits.
const (
	ExitFault  = 1  // something went wrong while running
	ExitUsage  = 64 // unknown flag
	ExitLocked = 75 // another one runs
	ExitConfig = 78 // the configuration cannot be used
)

const stopLimit = 5 * time.Second // a shutdown that takes longer is forced

// Info names a daemon: its service name and one line about it.
type Info struct {
	Name    string
	Summary string
}

// App is one daemon's work. Run blocks until ctx ends or it cannot go on; it
// calls [Env.Serve] and [Env.Ready] when it is initialised. The end of ctx is
// no error.
type App interface {
	Run(ctx context.Context) error
}

// Starter is an App with work to do before the bus is opened: busd, which is
// the bus. When Start fails, Run is not called.
type Starter interface {
	Start(ctx context.Context) error
}

// Detailer is an App with something of its own to show in its status.
type Detailer interface{ Detail() any }

// Reloader is an App that can take a new configuration while it runs.
type Reloader interface {
	Reload(ctx context.Context, cfg config.Config) error
}

// Healthy is an App whose watchdog pings depend on real progress.
type Healthy interface{ Healthy() bool }

// Main runs a daemon and exits the process with its code. build makes the app
// from its environment, without touching the bus, which is opened afterwards.
func Main(info Info, build func(Env) (App, error)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// Two signals that must not end us before everything is put back: a line of
	// the log to nobody, and SIGTERM again, which a supervisor that is killed
	// sends for each of its threads (PR_SET_PDEATHSIG in prctl(2)). Taken here,
	// since what is ignored stays so in our children.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGTERM)
	code := run(ctx, stop, info, build, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, stop func(), info Info, build func(Env) (App, error), args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet(info.Name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	path := flags.String("config", "", "configuration `file` (default "+config.Path()+")")
	level := flags.String("log", "info", "log `level`: debug, info, warn or error")
	version := flags.Bool("version", false, "print the version and exit")
	flags.Usage = func() {
		fmt.Fprintf(stderr, "%s: %s\n\nusage: %s [flags]\n", info.Name, info.Summary, info.Name)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return ExitUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "%s: unknown argument %q\n", info.Name, flags.Arg(0))
		return ExitUsage
	}
	if *version {
		fmt.Fprintln(stdout, info.Name, Version)
		return 0
	}
	log, err := logger(stderr, info.Name, *level)
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", info.Name, err)
		return ExitUsage
	}
	cfg, err := config.Load(*path)
	if err != nil {
		Explain(stderr, "", err)
		return ExitConfig
	}
	for _, w := range cfg.Warnings {
		log.Warn(w)
	}
	return serve(ctx, stop, info, build, log, cfg, *path)
}

func serve(ctx context.Context, stop func(), info Info, build func(Env) (App, error), log *slog.Logger, cfg config.Config, path string) int {
	dir, err := xdg.Runtime()
	if err != nil {
		log.Error("find the runtime folder", "error", err)
		return ExitFault
	}
	lock, err := takeLock(dir, info.Name)
	if err != nil {
		log.Error("start", "error", err, "hint", proto.HintOf(err))
		if errors.Is(err, &proto.Error{Code: proto.CodeBusy}) {
			return ExitLocked
		}
		return ExitFault
	}
	defer lock.Close()
	conn := bus.New(bus.Options{
		Service: info.Name, Version: Version, Device: cfg.Bus.Device, Dir: dir,
		URL: cfg.Bus.URL, Creds: cfg.Bus.Creds, CA: cfg.Bus.CA, Log: log,
	})
	env := NewEnv(info, cfg, conn, log)
	env.Dir, env.ConfigPath = dir, path
	app, err := build(env)
	if err != nil {
		log.Error("start", "error", err, "hint", proto.HintOf(err))
		return ExitFault
	}
	if s, ok := app.(Starter); ok {
		if err := s.Start(ctx); err != nil && ctx.Err() == nil {
			log.Error("start", "error", err, "hint", proto.HintOf(err))
			return ExitFault
		}
	}
	conn.OnChange(env.busChanged)
	if err := conn.Open(ctx); err != nil {
		if ctx.Err() != nil {
			return 0 // told to stop before it began
		}
		log.Error("start", "error", err, "hint", proto.HintOf(err))
		return ExitConfig
	}
	defer conn.Close()
	env.Attach(app)
	return supervise(ctx, stop, app, log, stopLimit)
}

// supervise runs the app until it returns, and forces the end when it does not
// return in time or on a second interrupt.
func supervise(ctx context.Context, stop func(), app App, log *slog.Logger, limit time.Duration) int {
	done := make(chan error, 1)
	go func() { done <- app.Run(ctx) }()
	watchdog := newWatchdog(app)
	defer watchdog.stop()
	for {
		select {
		case err := <-done:
			notify("STOPPING=1")
			return ended(ctx, err, log)
		case <-watchdog.tick():
			watchdog.ping()
		case <-ctx.Done():
			stop() // from now on an interrupt kills
			notify("STOPPING=1")
			log.Debug("stopping")
			select {
			case err := <-done:
				return ended(ctx, err, log)
			case <-time.After(limit):
				log.Error("did not stop in time", "limit", limit)
				return ExitFault
			}
		}
	}
}

func ended(ctx context.Context, err error, log *slog.Logger) int {
	switch {
	case ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)):
		log.Info("stopped")
		return 0
	case err == nil:
		log.Error("ended by itself")
		return ExitFault
	default:
		log.Error("ended", "error", err, "hint", proto.HintOf(err))
		return ExitFault
	}
}

// Explain writes an error for a person: one line, and its hint on the next.
// Several configuration faults are written one below the other.
func Explain(w io.Writer, prefix string, err error) {
	if faults := config.Faults(err); len(faults) > 0 {
		for _, f := range faults {
			fmt.Fprintln(w, prefix+f.Error())
			if f.Hint != "" {
				fmt.Fprintln(w, "  hint: "+f.Hint)
			}
		}
		return
	}
	fmt.Fprintln(w, prefix+err.Error())
	if h := proto.HintOf(err); h != "" {
		fmt.Fprintln(w, "  hint: "+h)
	}
}

// logger writes text lines that carry the daemon's name. Under systemd the
// journal knows the time.
func logger(w io.Writer, name, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("log level %q is none of debug, info, warn, error", level)
	}
	opts := &slog.HandlerOptions{Level: l}
	if os.Getenv("JOURNAL_STREAM") != "" || os.Getenv(PlainLog) != "" {
		opts.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}
	}
	return slog.New(slog.NewTextHandler(w, opts)).With("daemon", name), nil
}

// PlainLog is the environment variable with which a supervisor that stamps
// lines itself turns the time in them off.
const PlainLog = "DESKTOP_ASSISTANT_PLAIN_LOG"

// Interruptible gives the first context of a program: it ends on an interrupt,
// SIGTERM, or when the terminal closes (SIGHUP), unless nohup asked to stay.
// The next signal kills.
func Interruptible() (ctx context.Context, stop func()) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop = signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
