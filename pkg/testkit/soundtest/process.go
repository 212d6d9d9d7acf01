// SPDX-License-Identifier: Apache-2.0

package soundtest

import (
	"bytes"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// packages names the Debian package of each program.
var packages = map[string]string{
	"pulseaudio": "pulseaudio", "pactl": "pulseaudio-utils", "pacat": "pulseaudio-utils", "parec": "pulseaudio-utils",
	"flite": "flite", "espeak-ng": "espeak-ng", "sox": "sox", "pocketsphinx_batch": "pocketsphinx",
}

// await polls until cond holds, else fails the test after limit.
func await(tb testing.TB, what string, limit time.Duration, cond func() bool) {
	tb.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline.C:
			tb.Fatalf("wait for %s: not within %v", what, limit)
		}
	}
}

// A process is a program running beside the test. The kernel ends it when the test
// binary dies; whoever starts one ends it with kill when the test does.
type process struct {
	name string
	cmd  *exec.Cmd
	errs tail
	done chan struct{} // closed when it has ended and its output is read
	err  error         // how it ended, valid after done
}

// start starts a program; set may change the command before.
func start(tb testing.TB, env []string, set func(*exec.Cmd), name string, args ...string) *process {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		tb.Fatalf("find %s: %v; type: apt install %s", name, err, packages[name])
	}
	p := &process{name: name, cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.Env = env
	p.cmd.Stderr = &p.errs
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if set != nil {
		set(p.cmd)
	}
	if err := p.cmd.Start(); err != nil {
		tb.Fatalf("start %s: %v", name, err)
	}
	go func() {
		defer close(p.done)
		p.err = p.cmd.Wait()
	}()
	return p
}

// kill ends it at once and waits; one that has ended already is fine.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// wait waits for its own end and fails the test if that is not a good one; a test
// that ends first takes the program with it.
func (p *process) wait(tb testing.TB) {
	tb.Helper()
	select {
	case <-p.done:
	case <-tb.Context().Done():
		p.kill()
	}
	if p.err != nil {
		tb.Fatalf("run %s: %v: %s", p.name, p.err, p.errs.String())
	}
}

// run runs a program to its end, feeds it input and gives its output.
func run(tb testing.TB, env []string, input []byte, name string, args ...string) []byte {
	tb.Helper()
	var out bytes.Buffer
	p := start(tb, env, func(cmd *exec.Cmd) {
		cmd.Stdin = bytes.NewReader(input)
		cmd.Stdout = &out
	}, name, args...)
	p.wait(tb)
	return out.Bytes()
}

// tailSize is how much of a program's error output is kept.
const tailSize = 8 << 10

// A tail keeps the last bytes written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if n := len(t.buf) - tailSize; n > 0 {
		t.buf = append(t.buf[:0], t.buf[n:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.buf))
}
