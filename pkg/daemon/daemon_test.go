// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/waittest"
	"example.org/desktop-assistant/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is an App made of functions; nil ones do what is right.
type fake struct {
	start func(context.Context) error
	run   func(context.Context) error
}

func (f fake) Start(ctx context.Context) error {
	if f.start == nil {
		return nil
	}
	return f.start(ctx)
}

func (f fake) Run(ctx context.Context) error {
	if f.run == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	return f.run(ctx)
}

var info = Info{Name: "testd", Summary: "for tests"}

// home gives a daemon folders of its own and returns the runtime folder.
func home(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "d") // short: a socket goes below
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv("XDG_RUNTIME_DIR", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("NOTIFY_SOCKET", "")
	return filepath.Join(dir, "desktop-assistant")
}

// result is a daemon that was run.
type result struct {
	cancel context.CancelFunc
	done   chan int
	stdout waittest.Output
	stderr waittest.Output
}

// begin runs a daemon until cancel is called, at the latest with the test.
func begin(t *testing.T, build func(Env) (App, error), args ...string) *result {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &result{cancel: cancel, done: make(chan int, 1)}
	go func() { r.done <- run(ctx, func() {}, info, build, args, &r.stdout, &r.stderr) }()
	return r
}

func (r *result) wait(t *testing.T) int {
	t.Helper()
	defer r.cancel()
	select {
	case code := <-r.done:
		return code
	case <-time.After(waittest.Limit):
		t.Fatalf("does not end; stderr:\n%s", r.stderr.String())
		return -1
	}
}

func (r *result) want(t *testing.T, code int, texts ...string) {
	t.Helper()
	if got := r.wait(t); got != code {
		t.Errorf("exit code %d, want %d; stderr:\n%s", got, code, r.stderr.String())
	}
	for _, text := range texts {
		if !strings.Contains(r.stderr.String(), text) {
			t.Errorf("stderr lacks %q:\n%s", text, r.stderr.String())
		}
	}
}

func building(app App) func(Env) (App, error) { return func(Env) (App, error) { return app, nil } }

// readying builds an App that is ready at once and tells so.
func readying(ready chan<- Env) func(Env) (App, error) {
	return func(env Env) (App, error) {
		return fake{run: func(ctx context.Context) error {
			env.Ready()
			ready <- env
			<-ctx.Done()
			return ctx.Err()
		}}, nil
	}
}

func TestUsage(t *testing.T) {
	dir := home(t)
	never := func(Env) (App, error) { t.Error("built"); return fake{}, nil }
	begin(t, never, "-no-such-flag").want(t, ExitUsage, "no-such-flag", "usage: testd [flags]")
	begin(t, never, "start").want(t, ExitUsage, `testd: unknown argument "start"`)
	begin(t, never, "-log", "loud").want(t, ExitUsage, `log level "loud" is none of debug, info, warn, error`)
	begin(t, never, "-h").want(t, 0, "testd: for tests", "-config")
	r := begin(t, never, "-version")
	r.want(t, 0)
	if got := r.stdout.String(); got != "testd "+Version+"\n" {
		t.Errorf("-version prints %q", got)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the runtime folder is there: %v", err)
	}
}

func TestBadConfig(t *testing.T) {
	dir := home(t)
	file := filepath.Join(filepath.Dir(dir), "bad.toml")
	if err := os.WriteFile(file, []byte("[whisper]\nprot = 1\n[bus]\ndevice = 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	never := func(Env) (App, error) { t.Error("built"); return fake{}, nil }
	begin(t, never, "-config", file).want(t, ExitConfig, "config: "+file+":2:1: ", "hint: ", "config: "+file+":4:")
	begin(t, never, "-config", file+"x").want(t, ExitConfig, file+"x")
	if err := os.WriteFile(file, []byte("[bus]\nurl = \"unix:///tmp/x\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	begin(t, building(fake{}), "-config", file).want(t, ExitConfig, "bus.url")
}

func TestEndings(t *testing.T) {
	home(t)
	hinted := proto.Errorf(proto.CodeUnavailable, "open engine", "gone").WithHint("plug it in")
	begin(t, func(Env) (App, error) { return nil, hinted }).want(t, ExitFault, "open engine: gone", "plug it in")
	started := fake{
		start: func(context.Context) error { return hinted },
		run:   func(context.Context) error { t.Error("run after a failed start"); return nil },
	}
	begin(t, building(started)).want(t, ExitFault, "plug it in")
	begin(t, building(fake{run: func(context.Context) error { return hinted }})).want(t, ExitFault, "open engine: gone", "plug it in")
	begin(t, building(fake{run: func(context.Context) error { return nil }})).want(t, ExitFault, "ended by itself")

	for name, c := range map[string]struct {
		err  error
		code int
	}{
		"well":      {nil, 0},
		"cancelled": {context.Canceled, 0},
		"wrapped":   {fmt.Errorf("wait: %w", context.Canceled), 0},
		"fault":     {errors.New("disk full"), ExitFault},
	} {
		t.Run(name, func(t *testing.T) {
			running := make(chan struct{})
			r := begin(t, building(fake{run: func(ctx context.Context) error { close(running); <-ctx.Done(); return c.err }}))
			waittest.Next(t, "the app to run", running)
			r.cancel()
			r.want(t, c.code)
		})
	}
	r := begin(t, func(Env) (App, error) { return fake{}, nil })
	r.cancel() // before, while or after it begins
	r.want(t, 0)
}

// A shutdown that hangs is cut short.
func TestForcedStop(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	signalled := 0
	code := supervise(ctx, func() { signalled++ }, fake{run: func(context.Context) error { <-release; return nil }}, bustest.Log(t), time.Millisecond)
	if code != ExitFault || signalled != 1 {
		t.Errorf("exit code %d, signals given back %d times", code, signalled)
	}
}

func TestLock(t *testing.T) {
	dir := home(t)
	ready := make(chan Env, 1)
	first := begin(t, readying(ready))
	waittest.Next(t, "the first", ready)
	pid := os.Getpid()
	if got := LockHolder(dir, "testd"); got != pid {
		t.Errorf("holder %d, want %d", got, pid)
	}
	begin(t, building(fake{})).want(t, ExitLocked, fmt.Sprintf("testd runs already, as process %d", pid), fmt.Sprintf("kill %d", pid))
	first.cancel()
	first.want(t, 0)
	if got := LockHolder(dir, "testd"); got != 0 {
		t.Errorf("holder %d after the end", got)
	}
	if got := LockHolder(dir, "other"); got != 0 {
		t.Errorf("holder %d of what never ran", got)
	}
	// Who asks does not take: the next one starts.
	r := begin(t, readying(ready))
	waittest.Next(t, "the next", ready)
	r.cancel()
	r.want(t, 0)
	// A lock that cannot be had at all is a fault, not another daemon.
	if err := os.Remove(filepath.Join(dir, "testd.lock")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "testd.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	begin(t, building(fake{})).want(t, ExitFault, "open lock")
}

// The service manager hears of ready and stopping, and of progress as long as
// there is some.
func TestNotify(t *testing.T) {
	for _, healthy := range []bool{true, false} {
		t.Run(fmt.Sprintf("healthy %v", healthy), func(t *testing.T) {
			dir := filepath.Dir(home(t))
			l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "n"), Net: "unixgram"})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			t.Setenv("NOTIFY_SOCKET", filepath.Join(dir, "n"))
			t.Setenv("WATCHDOG_USEC", "4000")
			t.Setenv("WATCHDOG_PID", fmt.Sprint(os.Getpid()))
			app := &watched{healthy: healthy, asked: make(chan struct{}, 64)}
			r := begin(t, func(env Env) (App, error) { app.env = env; return app, nil })
			for range 3 {
				waittest.Next(t, "the question for progress", app.asked)
			}
			r.cancel()
			r.want(t, 0)
			pings, states := 0, ""
			for buf := make([]byte, 256); !strings.HasSuffix(states, "STOPPING=1 "); {
				if err := l.SetReadDeadline(time.Now().Add(waittest.Limit)); err != nil {
					t.Fatal(err)
				}
				n, err := l.Read(buf)
				if err != nil {
					t.Fatal(err)
				}
				if s := string(buf[:n]); s == "WATCHDOG=1" {
					pings++
				} else {
					states += s + " "
				}
			}
			if states != "READY=1 STOPPING=1 " || (pings > 0) != healthy {
				t.Errorf("states %q, %d pings", states, pings)
			}
		})
	}
}

type watched struct {
	env     Env
	healthy bool
	asked   chan struct{}
}

func (w *watched) Run(ctx context.Context) error {
	w.env.Ready()
	<-ctx.Done()
	return nil
}

func (w *watched) Healthy() bool {
	select {
	case w.asked <- struct{}{}:
	default:
	}
	return w.healthy
}

func TestExplain(t *testing.T) {
	var b strings.Builder
	Explain(&b, "x: ", proto.Errorf(proto.CodeBusy, "lock", "taken").WithHint("wait"))
	Explain(&b, "", errors.New("plain"))
	if want := "x: lock: taken\n  hint: wait\nplain\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestLogger(t *testing.T) {
	for variable, timed := range map[string]bool{"": true, "JOURNAL_STREAM": false, PlainLog: false} {
		t.Setenv("JOURNAL_STREAM", "")
		t.Setenv(PlainLog, "")
		if variable != "" {
			t.Setenv(variable, "1")
		}
		var b strings.Builder
		log, err := logger(&b, "testd", "warn")
		if err != nil {
			t.Fatal(err)
		}
		log.Info("not this")
		log.Warn("this")
		if got := b.String(); strings.Contains(got, "not this") || !strings.Contains(got, "daemon=testd") || strings.HasPrefix(got, "time=") != timed {
			t.Errorf("%s: %q", variable, got)
		}
	}
}

// door lets daemons of the runtime folder dir onto a test's bus.
func door(t *testing.T, b *bustest.Bus, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, bus.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { l.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := b.Dial()
			if err != nil {
				client.Close()
				continue
			}
			wg.Go(func() { _, _ = io.Copy(server, client); server.Close() })
			wg.Go(func() { _, _ = io.Copy(client, server); client.Close() })
		}
	})
}

// full is an App with everything.
type full struct {
	env      Env
	reloaded chan config.Config
}

func (f *full) Run(ctx context.Context) error {
	s, err := f.env.Serve(ctx, bus.Command(func(context.Context, proto.MicStop) (proto.MicState, error) { return proto.MicState{Open: true}, nil }))
	if err != nil {
		return err
	}
	f.env.Ready()
	<-ctx.Done()
	return s.Stop()
}

func (f *full) Detail() any { return map[string]int{"frames": 3} }

func (f *full) Reload(_ context.Context, cfg config.Config) error {
	f.reloaded <- cfg
	return nil
}

// A whole daemon: what was wrong before the bus came is published when it is
// there; status, reload and own commands are answered.
func TestWholeDaemon(t *testing.T) {
	dir := home(t)
	b := bustest.New(t)
	w, c := b.Watch(), b.Connect("client")
	door(t, b, dir)
	ready := make(chan struct{})
	app := &full{reloaded: make(chan config.Config, 1)}
	r := begin(t, func(env Env) (App, error) {
		env.Problems.Set("engine", "no engine", "install one")
		env.OnReady = func() { close(ready) }
		app.env = env
		return app, nil
	})
	waittest.Next(t, "ready", ready)
	e, seen := bustest.Expect[proto.ServiceState](w, nil)
	if seen.Src != "testd" || e.Service != "testd" || len(e.Problems) != 1 || e.Problems[0] != (proto.Problem{What: "no engine", Hint: "install one"}) {
		t.Errorf("state %+v", e)
	}

	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit)
	defer cancel()
	s, err := bus.Request(ctx, c, proto.StatusOf{Daemon: "testd"})
	if err != nil || s.Service != "testd" || s.Version != Version || s.Instance != app.env.Bus.Instance() || s.PID != os.Getpid() ||
		s.UptimeMS < 0 || len(s.Problems) != 1 || string(s.Detail) != `{"frames":3}` {
		t.Errorf("status %+v, detail %s, %v", s, s.Detail, err)
	}
	if m, err := bus.Request(ctx, c, proto.MicStop{}); err != nil || !m.Open {
		t.Errorf("got %+v, %v", m, err)
	}
	if _, err := bus.Request(ctx, c, proto.ReloadOf{Daemon: "testd"}); err != nil {
		t.Error(err)
	}
	waittest.Next(t, "the new configuration", app.reloaded)
	file := filepath.Join(dir, "config.toml") // both folders are below the same one here
	if err := os.WriteFile(file, []byte("tool_runds = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = bus.Request(ctx, c, proto.ReloadOf{Daemon: "testd"})
	if !errors.Is(err, &proto.Error{Code: proto.CodeInvalid}) || !strings.Contains(err.Error(), "tool_runds") || proto.HintOf(err) == "" {
		t.Errorf("got %v", err)
	}

	app.env.Problems.Clear("engine")
	if e, _ := bustest.Expect[proto.ServiceState](w, func(_ bustest.Seen, e proto.ServiceState) bool { return len(e.Problems) == 0 }); e.Problems == nil {
		t.Error("no problems is not an empty list")
	}
	// The bus goes and comes: the state is told anew.
	b.Down()
	b.Up()
	bustest.Expect[proto.ServiceState](w, nil)
	r.cancel()
	r.want(t, 0)
}

// What cannot be reloaded says so, and how to restart it.
func TestNoReload(t *testing.T) {
	b := bustest.New(t)
	home(t)
	env := NewEnv(info, config.Default(), b.Connect("testd"), bustest.Log(t))
	env.Attach(fake{})
	s, err := env.Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit)
	defer cancel()
	c := b.Connect("client")
	_, err = bus.Request(ctx, c, proto.ReloadOf{Daemon: "testd"})
	if !errors.Is(err, &proto.Error{Code: proto.CodeUnsupported}) || !strings.Contains(proto.HintOf(err), "run starts it again") {
		t.Errorf("got %v", err)
	}
	if s, err := bus.Request(ctx, c, proto.StatusOf{Daemon: "testd"}); err != nil || s.Problems == nil || s.Detail != nil {
		t.Errorf("status %+v, %v", s, err)
	}
}

// However many change the problems at once, the last list told is the one
// that holds.
func TestProblemsSettle(t *testing.T) {
	b := bustest.New(t)
	w := b.Watch()
	env := NewEnv(info, config.Default(), b.Connect("testd"), slog.New(slog.DiscardHandler))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			key := fmt.Sprint(i)
			for range 50 {
				env.Problems.SetError(key, errors.New(key))
				env.Problems.SetError(key, nil)
			}
			if i%2 == 0 {
				env.Problems.Set(key, key, "")
				env.Problems.Set(key, key, "") // again changes nothing
			}
		})
	}
	wg.Wait()
	if n := len(env.Problems.List()); n != 4 {
		t.Fatalf("%d problems, want 4", n)
	}
	bustest.Expect(w, func(_ bustest.Seen, e proto.ServiceState) bool { return len(e.Problems) == 4 })
	if err := env.Bus.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := env.Bus.Publish(proto.BusStopping{}, bus.Meta{}); err != nil {
		t.Fatal(err)
	}
	bustest.Expect[proto.BusStopping](w, nil)
	all := w.All()
	if last := all[len(all)-2].Event.(proto.ServiceState); len(last.Problems) != 4 {
		t.Errorf("the last list told has %d problems", len(last.Problems))
	}
}
