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
// not when the process does.
type spawner struct {
	jobs chan func()
	done chan struct{}

	mu    sync.Mutex
	alive map[int]bool // children that we wait for ourselves
}

func newSpawner() *spawner {
	s := &spawner{jobs: make(chan func()), done: make(chan struct{}), alive: map[int]bool{}}
	go func() {
		defer close(s.done)
		runtime.LockOSThread()
		for job := range s.jobs {
			job()
		}
	}()
	return s
}

// close ends the thread; every child is gone by then.
func (s *spawner) close() { close(s.jobs); <-s.done }

// process is one running child.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it is gone
	code int           // valid then; -1 when a signal ended it
}

func (p *process) signal(sig unix.Signal) { _ = unix.Kill(p.cmd.Process.Pid, sig) } // gone is as good
func (p *process) kill()                  { _ = unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL) }

// start runs a program in a process group of its own, with both outputs going
// to w, and calls ready when it says so on its notify socket.
func (s *spawner) start(path string, args, env []string, dir string, w io.Writer, ready func()) (*process, error) {
	name := filepath.Base(path)
	notify, address, err := listenNotify(dir, name)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(append([]string(nil), env...), "NOTIFY_SOCKET="+address, daemon.PlainLog+"=1")
	cmd.Stdout, cmd.Stderr = w, w
	cmd.WaitDelay = time.Second // a grandchild that keeps the pipe must not keep us
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGTERM}
	result := make(chan error)
	s.jobs <- func() {
		s.mu.Lock()
		err := cmd.Start()
		if err == nil {
			s.alive[cmd.Process.Pid] = true
		}
		s.mu.Unlock()
		result <- err
	}
	if err := <-result; err != nil {
		return nil, errors.Join(err, notify.Close())
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	heard := make(chan struct{})
	go func() { defer close(heard); hear(notify, ready) }()
	go func() {
		defer close(p.done)
		err := cmd.Wait()
		s.mu.Lock()
		delete(s.alive, cmd.Process.Pid)
		s.mu.Unlock()
		p.code = cmd.ProcessState.ExitCode()
		if err != nil && p.code == 0 { // only the pipe was late
			p.code = -1
		}
		_ = notify.Close() // ends hear
		<-heard
	}()
	return p, nil
}

// listenNotify opens the socket on which a daemon says that it is ready, as
// sd_notify(3) describes.
func listenNotify(dir, name string) (*net.UnixConn, string, error) {
	path := filepath.Join(dir, "notify-"+strconv.Itoa(os.Getpid())+"-"+name)
	_ = os.Remove(path) // of an earlier start; the listen below tells what is really wrong
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, "", fmt.Errorf("open notify socket: %w", err)
	}
	return conn, path, nil
}

func hear(conn *net.UnixConn, ready func()) {
	defer os.Remove(conn.LocalAddr().String())
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		for _, line := range strings.Split(string(buf[:n]), "\n") {
			if line == "READY=1" {
				ready()
			}
		}
	}
}

// sweep ends and reaps the orphans that a daemon left: children of ours that
// we never started.
func (s *spawner) sweep(log *slog.Logger) {
	for range 50 { // an orphan may have children that become ours in turn
		orphans := s.orphans()
		if len(orphans) == 0 {
			return
		}
		for _, pid := range orphans {
			_ = unix.Kill(pid, unix.SIGKILL)
			var status unix.WaitStatus
			if got, err := unix.Wait4(pid, &status, 0, nil); err == nil && got == pid {
				log.Debug("ended a process that a daemon left behind", "pid", pid)
			}
		}
	}
}

func (s *spawner) orphans() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []int
	lists, _ := filepath.Glob("/proc/self/task/*/children") // no /proc: nothing to sweep
	for _, path := range lists {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for _, field := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && !s.alive[pid] {
				list = append(list, pid)
			}
		}
	}
	return list
}
