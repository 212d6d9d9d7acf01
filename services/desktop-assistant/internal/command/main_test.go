// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/proto"
)

// bin is the folder of the programs once a test has built them.
var bin struct {
	once sync.Once
	dir  string
	err  error
}

// environ is that of the machine's own user: builds want their caches.
var environ = os.Environ()

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if bin.dir != "" {
			_ = os.RemoveAll(bin.dir)
		}
		os.Exit(code)
	}))
}

// built gives the folder with all programs, laid out like a checkout: programs
// in bin, examples beside it.
func built(t *testing.T) string {
	t.Helper()
	bin.once.Do(func() { bin.dir, bin.err = build() })
	if bin.err != nil {
		t.Fatalf("build the programs: %v", bin.err)
	}
	return filepath.Join(bin.dir, "bin")
}

func build() (string, error) {
	top, err := filepath.Abs("../../../..")
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "da-cli-")
	if err != nil {
		return "", err
	}
	args := []string{"build", "-o", filepath.Join(dir, "bin") + "/", "./desktop-assistant"}
	for _, d := range proto.Daemons() {
		args = append(args, "./"+d)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env, cmd.Stderr = filepath.Join(top, "services"), environ, os.Stderr
	if err := cmd.Run(); err != nil {
		return dir, err
	}
	for _, name := range []string{"examples", "go.work"} {
		if err := os.Symlink(filepath.Join(top, name), filepath.Join(dir, name)); err != nil {
			return dir, err
		}
	}
	return dir, nil
}

const waitLimit = 30 * time.Second

// eventually waits until ok holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.After(waitLimit)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("never: %s", what)
		}
	}
}

// home makes the test's process an account of its own and returns its folder.
func home(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "da-") // short: a socket's path holds 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	for name, sub := range map[string]string{
		"HOME": "home", "XDG_RUNTIME_DIR": "run", "XDG_CONFIG_HOME": "config",
		"XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache",
	} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv(name, filepath.Join(dir, sub))
	}
	for name, value := range map[string]string{"TERM": "dumb", "LANG": "C.UTF-8", "TZ": "UTC", "PULSE_SERVER": "", "DESKTOP_ASSISTANT_TOOLS": ""} {
		t.Setenv(name, value)
	}
	return dir
}

func configure(t *testing.T, home, text string) string {
	t.Helper()
	path := filepath.Join(home, "config/desktop-assistant/config.toml")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// rig is an account whose bus is a test's.
type rig struct {
	t   *testing.T
	dir string
	bus *bustest.Bus
}

func newRig(t *testing.T) *rig { return rigOn(t, bustest.New(t)) }

func rigOn(t *testing.T, b *bustest.Bus) *rig {
	t.Helper()
	r := &rig{t: t, dir: home(t), bus: b}
	door(t, b, filepath.Join(r.dir, "run/desktop-assistant"))
	return r
}

// door lets clients of the runtime folder dir onto a test's bus.
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

// fake is a daemon of the rig.
type fake struct {
	*bus.Conn
	service *bus.Service
}

// serve starts a daemon that answers its status, and what else is given.
func (r *rig) serve(name string, endpoints ...bus.Endpoint) *fake {
	r.t.Helper()
	return r.serveStatus(name, proto.Status{}, endpoints...)
}

func (r *rig) serveStatus(name string, s proto.Status, endpoints ...bus.Endpoint) *fake {
	r.t.Helper()
	c := r.bus.Connect(name)
	s.Service, s.Instance, s.Version = name, c.Instance(), "1.2.3"
	if s.Problems == nil {
		s.Problems = []proto.Problem{}
	}
	status := bus.CommandOf(proto.StatusOf{Daemon: name}, func(context.Context, proto.StatusOf) (proto.Status, error) { return s, nil })
	service, err := c.Serve(r.t.Context(), "fake", append(endpoints, status)...)
	if err != nil {
		r.t.Fatal(err)
	}
	f := &fake{c, service}
	r.t.Cleanup(f.stop)
	return f
}

// stop ends the daemon; twice is fine.
func (f *fake) stop() {
	_ = f.service.Stop()
	f.Close()
}

// publish says what happened in a turn.
func (r *rig) publish(c *bus.Conn, turn string, events ...proto.Event) {
	r.t.Helper()
	for _, ev := range events {
		if err := c.Publish(ev, bus.Meta{Turn: turn, Session: "s1"}); err != nil {
			r.t.Error(err)
		}
	}
}

// result is what a command line came to.
type result struct {
	out, err string
	code     int
}

// run runs a command line in this process to its end.
func run(t *testing.T, args ...string) result {
	t.Helper()
	return started(t, args...).wait()
}

// job is a command line that runs.
type job struct {
	t         *testing.T
	args      []string
	out, err  buffer
	interrupt context.CancelFunc
	code      chan int
}

func started(t *testing.T, args ...string) *job {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	j := &job{t: t, args: args, interrupt: cancel, code: make(chan int, 1)}
	a := newApp(Streams{In: strings.NewReader(""), Out: &j.out, Err: &j.err})
	a.watchEvery = 10 * time.Millisecond
	go func() { j.code <- a.main(ctx, args) }()
	return j
}

func (j *job) wait() result {
	j.t.Helper()
	defer j.interrupt()
	select {
	case code := <-j.code:
		return result{j.out.String(), j.err.String(), code}
	case <-time.After(waitLimit):
		j.t.Fatalf("%v does not end; it printed:\n%s%s", j.args, j.out.String(), j.err.String())
		return result{}
	}
}

// want checks the exit code and that the output holds the words; those that
// begin with "!" are looked for on stderr.
func (r result) want(t *testing.T, code int, words ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d; it printed:\n%s%s", r.code, code, r.out, r.err)
	}
	for _, w := range words {
		where, text := "stdout", r.out
		if rest, ok := strings.CutPrefix(w, "!"); ok {
			where, w, text = "stderr", rest, r.err
		}
		if !strings.Contains(text, w) {
			t.Errorf("%s lacks %q:\n%s", where, w, text)
		}
	}
}

// lines decodes one JSON value a line.
func lines[T any](t *testing.T, text string) (list []T) {
	t.Helper()
	for dec := json.NewDecoder(strings.NewReader(text)); ; {
		var v T
		if err := dec.Decode(&v); err == io.EOF {
			return list
		} else if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		list = append(list, v)
	}
}

// buffer may be written and read at the same time.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// receive waits for what a fake daemon got.
func receive[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(waitLimit):
		t.Fatalf("waited in vain: %s", what)
		panic("unreachable")
	}
}

// types are the types of events, in order.
func types(list []proto.Envelope) []string {
	var all []string
	for _, e := range list {
		all = append(all, e.Type)
	}
	return slices.Clip(all)
}
