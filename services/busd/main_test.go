// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/waittest"
	"example.org/desktop-assistant/proto"
)

// As a child of a test, this program is busd.
const asBusd = "BUSD_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asBusd) != "" {
		main()
	}
	os.Exit(m.Run())
}

// home is a user with nothing but a runtime folder and configurations.
type home struct {
	t   *testing.T
	dir string
}

func newHome(t *testing.T) home {
	t.Helper()
	dir, err := os.MkdirTemp("", "h") // short: a socket goes below
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return home{t, dir}
}

func (h home) runtime() string { return filepath.Join(h.dir, "desktop-assistant") }

// process is a running busd.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr *waittest.Output
	done   chan struct{}
}

// command is busd with this home; own replaces the program that is started.
func (h home) command(own ...string) *exec.Cmd {
	h.t.Helper()
	if len(own) == 0 {
		own = []string{"/proc/self/exe"}
	}
	cmd := exec.CommandContext(h.t.Context(), own[0], own[1:]...)
	cmd.Env = []string{asBusd + "=1", "HOME=" + h.dir, "XDG_RUNTIME_DIR=" + h.dir, "XDG_CONFIG_HOME=" + h.dir, "PATH=" + os.Getenv("PATH")}
	return cmd
}

func (h home) begin(cmd *exec.Cmd) *process {
	h.t.Helper()
	p := &process{h.t, cmd, &waittest.Output{}, make(chan struct{})}
	cmd.Stderr = p.stderr
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // the state says how it ended
		close(p.done)
	}()
	h.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-p.done
	})
	return p
}

// ready waits for the daemon's word that it is.
func (p *process) ready() *process {
	p.t.Helper()
	waittest.Until(p.t, "busd is ready", func() bool {
		select {
		case <-p.done:
			p.t.Fatalf("busd ended: %s", p.stderr)
		default:
		}
		return strings.Contains(p.stderr.String(), "msg=ready")
	})
	return p
}

// end sends a signal and gives the exit code.
func (p *process) end(s syscall.Signal) int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
	return p.wait()
}

func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(waittest.Limit):
		p.t.Fatalf("busd does not end: %s", p.stderr)
		return -1
	}
}

func (h home) connect(service string) *bus.Conn {
	h.t.Helper()
	c := bus.New(bus.Options{Service: service, Version: "0.0.0-test", Dir: h.runtime(), Log: bustest.Log(h.t)})
	if err := c.Open(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(c.Close)
	return c
}

// TestLife: ready, found by its lock, second one refused, ended by a signal
// without a trace. What it costs is for the log.
func TestLife(t *testing.T) {
	h := newHome(t)
	begun := time.Now()
	p := h.begin(h.command()).ready()
	t.Logf("ready %s after exec", time.Since(begun).Round(time.Millisecond))
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmRSS:") {
			t.Log(strings.Join(strings.Fields(line), " "))
		}
	}
	if got := daemon.LockHolder(h.runtime(), "busd"); got != p.cmd.Process.Pid {
		t.Errorf("lock holder %d, want %d", got, p.cmd.Process.Pid)
	}
	second := h.begin(h.command())
	if code := second.wait(); code != daemon.ExitLocked || !strings.Contains(second.stderr.String(), fmt.Sprint("as process ", p.cmd.Process.Pid)) {
		t.Errorf("a second one: exit code %d, %s", code, second.stderr)
	}
	if code := p.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, p.stderr)
	}
	if _, err := os.Stat(filepath.Join(h.runtime(), bus.SocketName)); !os.IsNotExist(err) {
		t.Errorf("the socket: %v", err)
	}
	if lines := strings.Count(p.stderr.String(), "\n"); lines != 2 { // ready, stopped
		t.Errorf("an uneventful life takes %d lines:\n%s", lines, p.stderr)
	}
}

// frames is a microphone and a recogniser with 50 frames a second between them.
type frames struct {
	mu            sync.Mutex
	sent, refused map[uint64]bool
	heard         []uint64
}

func (f *frames) last() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.heard) == 0 {
		return 0
	}
	return f.heard[len(f.heard)-1]
}

func (f *frames) talk(ctx context.Context, mic *bus.Conn) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for seq := uint64(0); ; seq++ {
		err := mic.PublishAudio("s1", proto.Audio{Op: proto.AudioData, Seq: seq, PCM: make([]byte, 640)})
		f.mu.Lock()
		if err == nil {
			f.sent[seq] = true
		} else {
			f.refused[seq] = true
		}
		f.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// check gives the frames that are missing; none came twice, late or although
// it was refused.
func (f *frames) check(t *testing.T) (gaps uint64) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, seq := range f.heard {
		if f.refused[seq] || !f.sent[seq] {
			t.Errorf("frame %d came although its sender was told that it was lost", seq)
		}
		if i > 0 {
			if seq <= f.heard[i-1] {
				t.Errorf("frame %d came after %d", seq, f.heard[i-1])
			}
			gaps += seq - f.heard[i-1] - 1
		}
	}
	return gaps
}

// TestKill: busd is killed while someone speaks, and started again at once.
// Everyone is back, what is missing shows in the numbers of the frames, and
// nothing stale is played.
func TestKill(t *testing.T) {
	h := newHome(t)
	p := h.begin(h.command()).ready()
	mic, ear, client := h.connect("micd"), h.connect("sttd"), h.connect("client")
	f := &frames{sent: map[uint64]bool{}, refused: map[uint64]bool{}}
	if _, err := ear.Audio(t.Context(), "local", bus.Drop(64), func(_ context.Context, _, _ string, a proto.Audio) {
		f.mu.Lock()
		f.heard = append(f.heard, a.Seq)
		f.mu.Unlock()
	}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var talking sync.WaitGroup
	talking.Go(func() { f.talk(ctx, mic) })
	defer func() { stop(); talking.Wait() }()

	waittest.Until(t, "frames come", func() bool { return f.last() > 10 })
	killed := time.Now()
	p.end(syscall.SIGKILL)
	p = h.begin(h.command()).ready()
	ready := time.Since(killed)
	for _, c := range []*bus.Conn{mic, ear, client} {
		waittest.Until(t, c.Service()+" is back", func() bool { return c.Counts().Reconnects == 1 && c.Connected() })
	}
	back := time.Since(killed)
	before := f.last()
	waittest.Until(t, "frames come again", func() bool { return f.last() > before+10 })
	within, cancel := context.WithTimeout(t.Context(), waittest.Limit)
	defer cancel()
	if _, err := bus.Request(within, client, proto.StatusOf{Daemon: "busd"}); err != nil {
		t.Error(err)
	}
	stop()
	talking.Wait()
	gaps := f.check(t)
	t.Logf("kill to ready %s, to all clients back %s; %d frames of 20 ms lost, %d of them refused to the sender",
		ready.Round(time.Millisecond), back.Round(time.Millisecond), gaps, len(f.refused))
	if gaps == 0 {
		t.Error("no gap: the kill was not felt")
	}
	if code := p.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, p.stderr)
	}
}

// TestActivation: busd takes a socket that someone else holds, as systemd
// does. Clients that come while it is away wait in the queue, and it does not
// take the socket with it.
func TestActivation(t *testing.T) {
	h := newHome(t)
	if err := os.Mkdir(h.runtime(), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(h.runtime(), bus.SocketName)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	held, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	activated := func() *process {
		t.Helper()
		program, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := h.command("/bin/sh", "-c", `LISTEN_PID=$$ exec "$0"`, program)
		cmd.Env = append(cmd.Env, "LISTEN_FDS=1")
		cmd.ExtraFiles = []*os.File{held} // becomes descriptor 3
		return h.begin(cmd)
	}
	first := bus.New(bus.Options{Service: "first", Version: "0.0.0-test", Dir: h.runtime(), Log: bustest.Log(t)})
	t.Cleanup(first.Close)
	opened := make(chan error, 1)
	go func() { opened <- first.Open(t.Context()) }() // before anyone takes it in
	p := activated()
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the first is in", first.Connected)
	if code := p.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, p.stderr)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the socket went with busd: %v", err)
	}
	p = activated().ready()
	waittest.Until(t, "the first is back", func() bool { return first.Counts().Reconnects > 0 && first.Connected() })
	p.end(syscall.SIGKILL)

	// A descriptor that is no socket of ours is refused by name.
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	wrong, err := tcp.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer wrong.Close()
	held = wrong
	p = activated()
	if code := p.wait(); code != daemon.ExitFault || !strings.Contains(p.stderr.String(), "no Unix socket") || !strings.Contains(p.stderr.String(), "socket unit") {
		t.Errorf("exit code %d: %s", code, p.stderr)
	}
}
