// SPDX-License-Identifier: Apache-2.0

package supervise

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// The test binary is run again as a daemon, or as a whole supervisor, whose
// folder these variables name.
const (
	daemonVariable     = "SUPERVISE_TEST_DAEMON"
	supervisorVariable = "SUPERVISE_TEST_SUPERVISOR"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(daemonVariable); dir != "" {
		os.Exit(play(dir, filepath.Base(os.Args[0])))
	}
	if dir := os.Getenv(supervisorVariable); dir != "" {
		b := &box{dir: dir, mark: os.Args[1]}
		s, err := New(b.options(slog.New(slog.DiscardHandler), os.Args[2:]...))
		if err == nil {
			err = s.Run(context.Background())
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// play is a daemon that does what the words of its file say, then waits for
// SIGTERM. What it does it writes into the folder's log.
func play(dir, name string) int {
	note := func(what string) { appendTo(filepath.Join(dir, "log"), name+" "+what+"\n") }
	term := make(chan os.Signal, 1)
	signal.Notify(term, unix.SIGTERM)
	note("start")
	text, err := os.ReadFile(filepath.Join(dir, name+".play"))
	if err != nil {
		note(err.Error())
		return 1
	}
	for _, word := range strings.Fields(string(text)) {
		verb, value, _ := strings.Cut(word, "=")
		switch verb {
		case "ready":
			notify("STATUS=fine\nREADY=1")
			note("ready")
		case "garble":
			notify("READY=0\nREADY=11\n\x00\xff")
		case "await":
			poll(func() bool { _, err := os.Stat(filepath.Join(dir, value)); return err == nil })
		case "out":
			fmt.Println(value)
		case "err":
			fmt.Fprintln(os.Stderr, value)
		case "piece":
			fmt.Print(value)
		case "times": // the rest only in the first N lives
			lives, _ := strconv.Atoi(value)
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			if strings.Count(string(log), name+" start\n") > lives {
				notify("READY=1")
				note("ready")
				<-term
				return 0
			}
		case "exit":
			code, _ := strconv.Atoi(value)
			return code
		case "crash":
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		case "child", "session":
			sleeper(dir, verb == "session")
		case "stray": // a process whose parent ends at once, and which ends itself
			_ = exec.Command("sh", "-c", "sleep 0.02 & echo $! >"+filepath.Join(dir, "stray")).Run()
		case "deaf":
			signal.Ignore(unix.SIGTERM)
			note("deaf")
			select {}
		}
	}
	<-term
	note("stop")
	return 0
}

// sleeper starts a process that outlives its daemon and holds its output.
func sleeper(dir string, session bool) {
	mark, _ := os.ReadFile(filepath.Join(dir, "mark"))
	cmd := exec.Command("sh", "-c", "sleep "+string(mark)+" & sleep "+string(mark)+" & wait")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: session}
	_ = cmd.Start()
}

func notify(state string) {
	conn, err := net.Dial("unixgram", os.Getenv("NOTIFY_SOCKET"))
	if err == nil {
		_, _ = conn.Write([]byte(state))
		_ = conn.Close()
	}
}

func appendTo(path, text string) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, _ = f.WriteString(text)
		_ = f.Close()
	}
}

// poll waits until ok holds; false means never.
func poll(ok func() bool) bool {
	limit := time.After(30 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			return false
		}
	}
	return true
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	if !poll(ok) {
		t.Fatalf("never: %s", what)
	}
}

// box is a folder with fake daemons, and the mark that all of its processes
// carry in their command line; it is a number of seconds that sleep takes.
type box struct {
	t    *testing.T
	dir  string
	mark string
	out  output
	log  lockedBuffer
}

// newBox makes fake daemons: name, what it plays, name, ...
func newBox(t *testing.T, plays ...string) *box {
	t.Helper()
	b := &box{t: t, dir: t.TempDir(), mark: fmt.Sprintf("300.%09d", time.Now().UnixNano()%1e9)}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b.write("mark", b.mark)
	for pair := range slices.Chunk(plays, 2) {
		b.write(pair[0]+".play", pair[1])
		if err := os.Symlink(self, filepath.Join(b.dir, pair[0])); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (b *box) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) options(log *slog.Logger, daemons ...string) Options {
	return Options{
		Daemons: daemons, Bin: b.dir, Runtime: b.dir, Level: b.mark,
		Env: func(string) []string {
			return append(os.Environ(), daemonVariable+"="+b.dir, "GORACE=atexit_sleep_ms=0")
		},
		Output: b.out.of, Log: log,
	}
}

// supervisor makes one with limits that no test waits for: nothing is ready
// or stops by the clock unless the test says so.
func (b *box) supervisor(daemons ...string) *Supervisor {
	b.t.Helper()
	log := slog.New(slog.NewTextHandler(io.MultiWriter(&b.log, b.t.Output()), &slog.HandlerOptions{Level: slog.LevelDebug}))
	s, err := New(b.options(log, daemons...))
	if err != nil {
		b.t.Fatal(err)
	}
	s.limits = limits{first: time.Millisecond, last: 8 * time.Millisecond, healthy: time.Hour, stop: time.Hour, firstWait: time.Hour}
	return s
}

// running is a supervisor at work.
type running struct {
	b     *box
	stop  context.CancelFunc
	ended chan error
}

func (b *box) run(s *Supervisor) *running {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	r := &running{b: b, stop: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- s.Run(ctx) }()
	return r
}

// wait gives what Run returned; nothing may be left of it.
func (r *running) wait() error {
	t := r.b.t
	t.Helper()
	defer r.stop()
	select {
	case err := <-r.ended:
		r.b.nothingLeft()
		return err
	case <-time.After(30 * time.Second):
		t.Fatalf("Run does not end; the daemons did:\n%s", r.b.history())
		return nil
	}
}

// end stops it and wants no error.
func (r *running) end() {
	r.b.t.Helper()
	r.stop()
	if err := r.wait(); err != nil {
		r.b.t.Error(err)
	}
}

// history is what the daemons did, a line each.
func (b *box) history() string {
	text, err := os.ReadFile(filepath.Join(b.dir, "log"))
	if err != nil && !os.IsNotExist(err) {
		b.t.Error(err)
	}
	return string(text)
}

func (b *box) did(what string) bool { return strings.Contains(b.history(), what+"\n") }

// await waits until a daemon did something.
func (b *box) await(what string) {
	b.t.Helper()
	eventually(b.t, what, func() bool { return b.did(what) })
}

// each calls visit for every process: its pid, command line, state and parent.
func each(t *testing.T, visit func(pid int, line, state string, parent int)) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		stat, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		if err != nil { // gone
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		parent, _ := strconv.Atoi(fields[1])
		visit(pid, string(line), fields[0], parent)
	}
}

// living counts the processes of the box whose command line holds a word too.
func (b *box) living(word string) (n int) {
	each(b.t, func(_ int, line, state string, _ int) {
		if strings.Contains(line, b.mark) && strings.Contains(line, word) && state != "Z" && state != "X" {
			n++
		}
	})
	return n
}

// children lists our own children in the given states, any for "".
func (b *box) children(states string) (list []int) {
	each(b.t, func(pid int, _, state string, parent int) {
		if parent == os.Getpid() && (states == "" || strings.Contains(states, state)) {
			list = append(list, pid)
		}
	})
	return list
}

// nothingLeft fails when processes, zombies or files are left.
func (b *box) nothingLeft() {
	b.t.Helper()
	if n := b.living(""); n > 0 {
		b.t.Errorf("%d processes are left", n)
	}
	if list := b.children(""); len(list) > 0 {
		b.t.Errorf("children are left: %v", list)
	}
	for _, pattern := range []string{"*notify*", "*.sock"} {
		if files, _ := filepath.Glob(filepath.Join(b.dir, pattern)); len(files) > 0 {
			b.t.Errorf("files are left: %v", files)
		}
	}
}

// output collects what daemons print.
type output struct {
	mu     sync.Mutex
	text   map[string]string
	closed map[string]int
}

func (o *output) of(name string) io.WriteCloser { return &stream{o, name} }

func (o *output) get(name string) (text string, closed int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text[name], o.closed[name]
}

type stream struct {
	o    *output
	name string
}

func (s *stream) Write(p []byte) (int, error) {
	s.o.mu.Lock()
	defer s.o.mu.Unlock()
	if s.o.text == nil {
		s.o.text = map[string]string{}
	}
	s.o.text[s.name] += string(p)
	return len(p), nil
}

func (s *stream) Close() error {
	s.o.mu.Lock()
	defer s.o.mu.Unlock()
	if s.o.closed == nil {
		s.o.closed = map[string]int{}
	}
	s.o.closed[s.name]++
	return nil
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
