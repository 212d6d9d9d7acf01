// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/daemontest"
	"example.org/desktop-assistant/pkg/testkit/waittest"
	"example.org/desktop-assistant/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is busd in this process, on a real socket.
type running struct {
	t    *testing.T
	dir  string // runtime folder
	app  *App
	env  daemon.Env
	stop func()
}

// folders gives busd a runtime folder of its own, with a path that fits a
// socket, and a folder of configurations.
func folders(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "cfg"))
	return dir
}

// environment is busd's, before anything runs.
func environment(t *testing.T, dir string, change func(*config.Config)) daemon.Env {
	t.Helper()
	cfg := config.Default()
	if change != nil {
		change(&cfg)
	}
	log := bustest.Log(t)
	conn := bus.New(bus.Options{Service: "busd", Version: "0.0.0-test", Device: cfg.Bus.Device, Dir: dir, URL: cfg.Bus.URL, Log: log})
	env := daemon.NewEnv(daemon.Info{Name: "busd", Summary: "test"}, cfg, conn, log)
	env.Dir = dir
	return env
}

func start(t *testing.T, dir string, change func(*config.Config)) *running {
	t.Helper()
	env := environment(t, dir, change)
	a, stop := daemontest.Start(t, env, New)
	return &running{t, dir, a.(*App), env, stop}
}

// connect opens a client as the other daemons do.
func (r *running) connect(service string) *bus.Conn {
	r.t.Helper()
	c := bus.New(bus.Options{Service: service, Version: "0.0.0-test", Dir: r.dir, Log: r.env.Log})
	if err := c.Open(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	if err := c.Flush(waittest.Context(r.t)); err != nil {
		r.t.Fatal(err)
	}
	return c
}

// status asks as the command line does.
func (r *running) status() (proto.Status, Detail) {
	r.t.Helper()
	c := r.connect("client")
	defer c.Close()
	s, err := bus.Request(waittest.Context(r.t), c, proto.StatusOf{Daemon: "busd"})
	if err != nil {
		r.t.Fatal(err)
	}
	var d Detail
	if err := json.Unmarshal(s.Detail, &d); err != nil {
		r.t.Fatal(err)
	}
	return s, d
}

func contextFile(dir string) string {
	return filepath.Join(dir, "cfg/nats/context/desktop-assistant.json")
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func TestStatus(t *testing.T) {
	dir := folders(t)
	r := start(t, dir, nil)
	s, d := r.status()
	if s.Service != "busd" || len(s.Problems) != 0 {
		t.Errorf("status %+v", s)
	}
	if d.Socket != filepath.Join(dir, "bus.sock") || !strings.HasPrefix(d.TCP, "nats://127.0.0.1:") || d.Clients != 2 || d.Stream == nil || d.Server != "" {
		t.Errorf("detail %+v", d)
	}
	for name, mode := range map[string]fs.FileMode{
		"bus.sock": fs.ModeSocket | 0o600, "bus.cookie": 0o600, "cli.pw": 0o600,
		"jetstream": fs.ModeDir | 0o700, "cfg/nats/context/desktop-assistant.json": 0o600,
	} {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v, want mode %s", name, info, err, mode)
		}
	}
	r.stop()
	if !missing(d.Socket) {
		t.Error("the socket is left behind")
	}
}

// Events are kept from the start, live ones are not, and after a restart the
// memory is there again, empty. Who is connected hears of the end first and
// comes back by itself with the same cookie.
func TestRestart(t *testing.T) {
	dir := folders(t)
	r := start(t, dir, nil)
	c := r.connect("brain")
	changes, stopping := make(chan bool, 16), make(chan bool, 1)
	c.OnChange(func(up bool) { changes <- up })
	if _, err := c.Events(t.Context(), proto.Any, bus.Fail(64, func() { t.Error("events lost") }), func(_ context.Context, env proto.Envelope, _ proto.Event) {
		if env.Src == "busd" {
			stopping <- c.Connected()
		}
	}, "bus"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := c.Publish(proto.TurnAsked{Text: "kept"}, bus.Meta{}); err != nil {
			t.Fatal(err)
		}
		if err := c.Publish(proto.TurnDelta{}, bus.Meta{}); err != nil {
			t.Fatal(err)
		}
	}
	kept := func() (n int) {
		err := c.History(waittest.Context(t), proto.Any, func(context.Context, proto.Envelope, proto.Event) { n++ }, "turn")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	waittest.Until(t, "the events are kept", func() bool { return kept() == 3 })
	if _, d := r.status(); d.Stream.Messages < 3 || d.Stream.Bytes == 0 {
		t.Errorf("stream %+v", d.Stream)
	}
	cookie, err := os.ReadFile(filepath.Join(dir, bus.CookieName))
	if err != nil {
		t.Fatal(err)
	}
	r.stop()
	if !waittest.Next(t, "bus.stopping", stopping) {
		t.Error("heard of the end after the end")
	}
	for waittest.Next(t, "the bus to go", changes) {
	}
	start(t, dir, nil)
	if !waittest.Next(t, "the bus to come", changes) {
		t.Error("told twice that it went")
	}
	if n := kept(); n != 0 {
		t.Errorf("%d events survived", n)
	}
	again, err := os.ReadFile(filepath.Join(dir, bus.CookieName))
	if err != nil || string(again) != string(cookie) {
		t.Errorf("the cookie changed: %v", err)
	}
	if _, err := bus.Request(waittest.Context(t), c, proto.StatusOf{Daemon: "busd"}); err != nil {
		t.Error(err)
	}
}

// The memory of events is bounded and the oldest go first; asking busd does
// not grow with it.
func TestMemoryIsBounded(t *testing.T) {
	r := start(t, folders(t), nil)
	c := r.connect("brain")
	text := strings.Repeat("x", 500<<10)
	for range 64 {
		if err := c.Publish(proto.TurnAsked{Text: text}, bus.Meta{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Flush(waittest.Context(t)); err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	waittest.Until(t, "the last event is kept", func() bool {
		err := c.History(waittest.Context(t), proto.Any, func(_ context.Context, env proto.Envelope, _ proto.Event) { last = env.Seq }, "turn")
		if err != nil {
			t.Fatal(err)
		}
		return last == 64
	})
	if _, d := r.status(); d.Stream.Bytes > 16<<20 || d.Stream.Bytes < 15<<20 {
		t.Errorf("stream %+v", d.Stream)
	}
}

func TestKeepNothing(t *testing.T) {
	dir := folders(t)
	r := start(t, dir, func(c *config.Config) { c.Privacy.KeepEvents = false })
	c := r.connect("brain")
	if err := c.Publish(proto.TurnAsked{Text: "secret"}, bus.Meta{}); err != nil {
		t.Fatal(err)
	}
	if err := c.History(waittest.Context(t), proto.Any, func(context.Context, proto.Envelope, proto.Event) { t.Error("an event was kept") }); err != nil {
		t.Error(err)
	}
	if _, d := r.status(); d.Stream != nil {
		t.Errorf("stream %+v", d.Stream)
	}
	if !missing(filepath.Join(dir, "jetstream")) {
		t.Error("there is a store")
	}
}

// Without natscli there is no port, and what an earlier start wrote is gone.
func TestNoCLI(t *testing.T) {
	dir := folders(t)
	start(t, dir, nil).stop()
	if missing(contextFile(dir)) {
		t.Fatal("no context to begin with")
	}
	r := start(t, dir, func(c *config.Config) { c.Bus.CLITCP = false })
	if s, d := r.status(); d.TCP != "off" || len(s.Problems) != 0 {
		t.Errorf("detail %+v, problems %v", d, s.Problems)
	}
	if !missing(contextFile(dir)) || !missing(filepath.Join(dir, "cli.pw")) {
		t.Error("natscli's context or password is left behind")
	}
}

// A port that is taken costs natscli, not the bus.
func TestPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	withPort := func(c *config.Config) { c.Bus.CLIPort = port }
	r := start(t, folders(t), withPort)
	s, d := r.status()
	if d.TCP != "off" || len(s.Problems) != 1 || !strings.Contains(s.Problems[0].What, fmt.Sprint(port)) || !strings.Contains(s.Problems[0].Hint, "bus.cli_port") {
		t.Errorf("detail %+v, problems %v", d, s.Problems)
	}
	r.stop()
	l.Close()
	if _, d := start(t, folders(t), withPort).status(); d.TCP != fmt.Sprintf("nats://127.0.0.1:%d", port) {
		t.Errorf("detail %+v", d)
	}
}

// A context that cannot be written costs natscli, not the bus.
func TestNoFolderForContext(t *testing.T) {
	dir := folders(t)
	if err := os.WriteFile(filepath.Join(dir, "cfg"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := start(t, dir, nil).status()
	if len(s.Problems) != 1 || !strings.Contains(s.Problems[0].What, "natscli") || !strings.Contains(s.Problems[0].Hint, "cli_tcp = false") {
		t.Errorf("problems %v", s.Problems)
	}
}

// What is not supported is said, not passed over.
func TestNoLeaf(t *testing.T) {
	r := start(t, folders(t), func(c *config.Config) {
		c.Bus.Device, c.Bus.Leaf, c.Bus.Listen = "kitchen", "tls://example.org:7422", "0.0.0.0:7422"
	})
	s, err := bus.RequestOn(waittest.Context(t), r.connect("client"), "kitchen", proto.StatusOf{Daemon: "busd"})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Problems) != 2 {
		t.Fatalf("problems %v", s.Problems)
	}
	for i, name := range []string{"bus.leaf", "bus.listen"} {
		if p := s.Problems[i]; !strings.Contains(p.What, name) || !strings.Contains(p.What, "not supported yet") || !strings.Contains(p.Hint, name) {
			t.Errorf("problem %+v", p)
		}
	}
}

// With a server elsewhere nothing runs here, and that is no problem.
func TestBusElsewhere(t *testing.T) {
	dir := folders(t)
	other := start(t, folders(t), nil)
	_, d := other.status()
	env := environment(t, dir, func(c *config.Config) { c.Bus.URL = d.TCP })
	a, _ := daemontest.Start(t, env, New)
	got := a.(*App).Detail().(Detail)
	if got.Server != d.TCP || got.Socket != "" || got.TCP != "off" || len(env.Problems.List()) != 0 {
		t.Errorf("detail %+v, problems %v", got, env.Problems.List())
	}
	if !missing(filepath.Join(dir, "bus.sock")) {
		t.Error("there is a socket")
	}
}

// What cannot work says why and what to do.
func TestCannotStart(t *testing.T) {
	try := func(dir string) error {
		t.Helper()
		env := environment(t, dir, nil)
		a, err := New(env)
		if err != nil {
			t.Fatal(err)
		}
		return a.(*App).Start(waittest.Context(t))
	}
	long := filepath.Join(folders(t), strings.Repeat("x", 100))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	err := try(long)
	if !errors.Is(err, &proto.Error{Code: proto.CodeInvalid}) || !strings.Contains(err.Error(), "107") || !strings.Contains(proto.HintOf(err), "XDG_RUNTIME_DIR") {
		t.Errorf("got %v, hint %q", err, proto.HintOf(err))
	}
	r := start(t, folders(t), nil)
	if err := try(r.dir); !errors.Is(err, &proto.Error{Code: proto.CodeBusy}) {
		t.Errorf("a second busd: got %v", err)
	}
	if err := try(filepath.Join(r.dir, "absent")); err == nil {
		t.Error("a folder that is not there is no error")
	}
	dir := folders(t)
	if err := os.WriteFile(filepath.Join(dir, "jetstream"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := try(dir); err == nil || !strings.HasPrefix(err.Error(), "start server: ") {
		t.Errorf("a store that is a file: got %v", err)
	}
	if !missing(filepath.Join(dir, "bus.sock")) {
		t.Error("the socket is left behind")
	}
}
