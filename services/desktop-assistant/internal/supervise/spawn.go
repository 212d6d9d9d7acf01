// SPDX-License-Identifier: Apache-2.0

package supervise

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"example.org/desktop-assistant/pkg/daemon"
)

// spawner starts every child from one thread that lives as long as it does:
// the kernel sends the parent-death signal when the thread that forked ends,
// not when the process does (prctl(2)). It is the parent of every orphan that
// a daemon leaves.
type spawner struct {
	log     *slog.Logger
	jobs    chan func()
	exits   chan os.Signal
	working sync.WaitGroup

	mu    sync.Mutex
	alive map[int]bool // children that we wait for ourselves
}

func newSpawner(log *slog.Logger) (*spawner, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become the parent of orphans: %w", err)
	}
	s := &spawner{log: log, jobs: make(chan func()), exits: make(chan os.Signal, 1), alive: map[int]bool{}}
	s.working.Go(func() {
		runtime.LockOSThread()
		for job := range s.jobs {
			job()
		}
	})
	signal.Notify(s.exits, unix.SIGCHLD)
	s.working.Go(func() {
		for range s.exits {
			s.reap()
		}
	})
	return s, nil
}

// close ends the thread. Every daemon is gone by then, and what it left.
func (s *spawner) close() {
	signal.Stop(s.exits)
	close(s.exits)
	close(s.jobs)
	s.working.Wait()
}

// process is one running child.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it is gone
}

// terminate asks it to end; kill ends it and its process group. That it is
// gone already is as good.
func (p *process) terminate() { _ = p.cmd.Process.Signal(unix.SIGTERM) }
func (p *process) kill()      { _ = unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL) }

// code is the exit status once it is gone, -1 when a signal ended it.
func (p *process) code() int { return p.cmd.ProcessState.ExitCode() }

// pipeDelay is how long a grandchild may keep the output open after its daemon
// is gone.
const pipeDelay = 500 * time.Millisecond

// start runs a program in a process group of its own, with both outputs going
// to w, which is closed after the last line, and calls ready each time it says
// so on its notify socket.
func (s *spawner) start(path string, args, env []string, w io.WriteCloser, ready func()) (*process, error) {
	// An address without a name is made up by the kernel (unix(7), autobind):
	// unlike a file it is gone with us, however we end.
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("open notify socket: %w", err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(append([]string(nil), env...), "NOTIFY_SOCKET="+notify.LocalAddr().String(), daemon.PlainLog+"=1")
	cmd.Stdout, cmd.Stderr = w, w
	cmd.WaitDelay = pipeDelay
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGTERM}
	result := make(chan error)
	s.jobs <- func() { result <- s.register(cmd) }
	if err := <-result; err != nil {
		return nil, errors.Join(err, notify.Close())
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	heard := make(chan struct{})
	go func() { defer close(heard); hear(notify, ready) }()
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // how it ended is in ProcessState
		s.forget(cmd.Process.Pid)
		_ = notify.Close() // ends hear
		<-heard
		_ = w.Close() // a console has nothing to fail with
	}()
	return p, nil
}

func (s *spawner) register(cmd *exec.Cmd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	s.alive[cmd.Process.Pid] = true
	return nil
}

func (s *spawner) forget(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.alive, pid)
}

// hear reads states as sd_notify(3) describes them.
func hear(conn *net.UnixConn, ready func()) {
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		for line := range strings.SplitSeq(string(buf[:n]), "\n") {
			if line == "READY=1" {
				ready()
			}
		}
	}
}

// reap lets go of the orphans that ended by themselves.
func (s *spawner) reap() {
	for _, pid := range s.orphans() {
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // reaped meanwhile is as good
	}
}

// sweep ends and reaps the orphans that a daemon left.
func (s *spawner) sweep() {
	for range 50 { // an orphan may have children that become ours in turn
		orphans := s.orphans()
		if len(orphans) == 0 {
			return
		}
		for _, pid := range orphans {
			_ = unix.Kill(pid, unix.SIGKILL)
			if got, err := unix.Wait4(pid, nil, 0, nil); err == nil && got == pid {
				s.log.Debug("ended a process that a daemon left behind", "pid", pid)
			}
		}
	}
}

// orphans lists children of ours that we never started.
func (s *spawner) orphans() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []int
	lists, _ := filepath.Glob("/proc/self/task/*/children") // no /proc: nothing to sweep
	for _, path := range lists {
		text, err := os.ReadFile(path)
		if err != nil { // the thread ended
			continue
		}
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && !s.alive[pid] {
				list = append(list, pid)
			}
		}
	}
	return list
}
