// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/proto"
)

// bin is the folder of the programs, built once for all tests, laid out like a
// checkout: programs in bin/, examples beside it.
var bin string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "da-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := 1
	if err := build(dir); err != nil {
		fmt.Fprintln(os.Stderr, "build the programs:", err)
	} else {
		code = m.Run()
	}
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func build(dir string) error {
	top, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	bin = filepath.Join(dir, "bin")
	args := []string{"build", "-o", bin + "/", "./desktop-assistant"}
	for _, d := range proto.Daemons() {
		args = append(args, "./"+d)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = filepath.Join(top, "services")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	calendar := exec.Command("go", "build", "-o", filepath.Join(bin, "agenda"), ".")
	calendar.Dir = filepath.Join(top, "examples/tools/agenda")
	calendar.Env = append(os.Environ(), "GOWORK=off") // a module of its own
	calendar.Stderr = os.Stderr
	if err := calendar.Run(); err != nil {
		return err
	}
	for _, name := range []string{"examples", "deploy", "Makefile", "go.work"} {
		if err := os.Symlink(filepath.Join(top, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// waitLimit is far above what anything here takes: only what never comes
// reaches it.
const waitLimit = 60 * time.Second

// eventually waits until ok holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.After(waitLimit)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("never: %s", what)
		}
	}
}

// A home is a user account of its own: folders and environment.
type home struct {
	dir     string
	env     []string
	command string // "" for the one in bin
}

func (h home) entry() string { return cmp.Or(h.command, filepath.Join(bin, "desktop-assistant")) }

// newHome makes an account with a configuration. env comes on top of a bare
// environment: nothing of the machine's own user gets in.
func newHome(t *testing.T, config string, env ...string) home {
	t.Helper()
	dir, err := os.MkdirTemp("", "da-") // short: a socket's path holds 107 characters
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	h := home{dir: dir}
	for name, sub := range map[string]string{
		"HOME": "home", "XDG_RUNTIME_DIR": "run", "XDG_CONFIG_HOME": "config",
		"XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache",
	} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
		h.env = append(h.env, name+"="+filepath.Join(dir, sub))
	}
	h.env = append(h.env, "PATH="+os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC", "USER=you", "TERM=dumb")
	h.env = append(h.env, env...)
	if config != "" {
		h.write(t, "config/desktop-assistant/config.toml", config)
	}
	return h
}

func (h home) write(t *testing.T, path, text string) {
	t.Helper()
	full := filepath.Join(h.dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// cli runs the command line to its end.
func (h home) cli(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.entry(), args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.Dir = h.env, &out, &errs, h.dir
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("run %v: %v", args, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// must runs the command line and fails the test unless it succeeds.
func (h home) must(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := h.cli(t, args...)
	if code != 0 {
		t.Fatalf("desktop-assistant %s: exit status %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// A stack is a running assistant.
type stack struct {
	home
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	conn  *bus.Conn
	watch *bustest.Watcher

	mu     sync.Mutex
	output []string
	ended  chan struct{}
}

// start runs `desktop-assistant run` in an account and waits until every
// daemon answers.
func start(t *testing.T, h home, args ...string) *stack {
	t.Helper()
	s := &stack{home: h, t: t, ended: make(chan struct{})}
	s.cmd = exec.Command(h.entry(), append([]string{"run", "--log", "debug"}, args...)...)
	s.cmd.Env, s.cmd.Dir = h.env, h.dir
	var err error
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stderr = s.cmd.Stdout
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go s.read(out)
	t.Cleanup(s.stop)
	s.connect()
	s.awaitDaemons()
	return s
}

func (s *stack) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		s.mu.Lock()
		s.output = append(s.output, lines.Text())
		s.mu.Unlock()
	}
	_ = s.cmd.Wait() // the exit status is read from ProcessState
	close(s.ended)
}

// printed says whether a line of the output holds all the words.
func (s *stack) printed(words ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.output, func(line string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) })
	})
}

// stop ends the assistant and checks that it ended well; a failed test shows
// its output.
func (s *stack) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // gone already is fine
	select {
	case <-s.ended:
	case <-time.After(waitLimit):
		s.t.Error("run did not end")
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
	if s.t.Failed() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.t.Logf("output of run:\n%s", strings.Join(s.output, "\n"))
	}
}

func (s *stack) connect() {
	s.t.Helper()
	runtime := filepath.Join(s.dir, "run", "desktop-assistant")
	eventually(s.t, "the bus is there", func() bool {
		_, err := os.Stat(filepath.Join(runtime, bus.SocketName))
		return err == nil
	})
	s.conn = bus.New(bus.Options{Service: "e2e", Version: "0.0.0-test", Dir: runtime, Log: bustest.Log(s.t)})
	if err := s.conn.Open(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.conn.Close)
	s.watch = bustest.Watch(s.t, s.conn)
}

// status asks one daemon how it is; nil when it does not answer.
func (s *stack) status(name string) *proto.Status {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
	defer cancel()
	status, err := bus.Request(ctx, s.conn, proto.StatusOf{Daemon: name})
	if err != nil {
		return nil
	}
	return &status
}

func (s *stack) awaitDaemons(names ...string) {
	s.t.Helper()
	if len(names) == 0 {
		names = proto.Daemons()
	}
	for _, name := range names {
		eventually(s.t, name+" answers", func() bool { return s.status(name) != nil })
	}
}

// well waits until a daemon answers without a problem.
func (s *stack) well(name string) {
	s.t.Helper()
	eventually(s.t, name+" is well", func() bool {
		st := s.status(name)
		return st != nil && len(st.Problems) == 0
	})
}

// ended waits for the end of a turn; "" takes the next one.
func (s *stack) turnEnded(turn string) (proto.TurnEnded, bustest.Seen) {
	s.t.Helper()
	return bustest.Expect(s.watch, func(seen bustest.Seen, _ proto.TurnEnded) bool { return turn == "" || seen.Turn == turn })
}

// events are the types of the events of a turn so far, in order.
func (s *stack) events(turn string) []string {
	var list []string
	for _, seen := range s.watch.All() {
		if seen.Turn == turn && !seen.Event.Live() {
			list = append(list, seen.Type)
		}
	}
	return list
}

// inOrder says whether the wanted types come in this order among those seen.
func inOrder(seen []string, want ...string) bool {
	for _, typ := range seen {
		if len(want) > 0 && typ == want[0] {
			want = want[1:]
		}
	}
	return len(want) == 0
}

// closedSet checks the promise that every turn has exactly one start and one
// ending out of the closed set.
func (s *stack) closedSet() {
	s.t.Helper()
	eventually(s.t, "every turn has ended", func() bool { // whoever else waited may have been told before us
		open := map[string]bool{}
		for _, seen := range s.watch.All() {
			switch seen.Event.(type) {
			case proto.TurnStarted:
				open[seen.Turn] = true
			case proto.TurnEnded:
				delete(open, seen.Turn)
			}
		}
		return len(open) == 0
	})
	starts, ends := map[string]int{}, map[string]int{}
	for _, seen := range s.watch.All() {
		switch e := seen.Event.(type) {
		case proto.TurnStarted:
			starts[seen.Turn]++
		case proto.TurnEnded:
			ends[seen.Turn]++
			if !slices.Contains(proto.Ends(), e.End) {
				s.t.Errorf("turn %s ended %q, which is not in the closed set", seen.Turn, e.End)
			}
		}
	}
	for turn, n := range starts {
		if n != 1 || ends[turn] != 1 {
			s.t.Errorf("turn %s has %d starts and %d endings: %v", turn, n, ends[turn], s.events(turn))
		}
	}
}

func decode[T any](t *testing.T, text []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}
