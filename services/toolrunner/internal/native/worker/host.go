// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"example.org/desktop-assistant/services/toolrunner/internal/native/engine"
	"example.org/desktop-assistant/services/toolrunner/internal/native/fault"
)

const (
	readyLimit  = 10 * time.Second       // for a child to begin
	readyWait   = 2 * time.Second        // of a call for a child that begins
	writeLimit  = time.Second            // for a child to take a line
	answerGrace = 500 * time.Millisecond // beyond the time of a call, then the child counts as stuck
	firstPause  = 50 * time.Millisecond  // before a child that died is replaced
	maxPause    = 10 * time.Second
	wellAfter   = time.Minute // a child that lived so long starts the pauses anew
)

// errGone is what a call comes to whose child died.
var errGone = fault.Unavailable("the process of the built-in tools ended, try again")

// Starter starts a process that lives as long as ctx, as [run.Runner.Start]
// does.
type Starter func(ctx context.Context, cmd *exec.Cmd) (<-chan error, error)

// Host keeps one child running and hands it the calls. Make it with [NewHost]
// and let [Host.Serve] run; it implements native.Runner.
type Host struct {
	settings engine.Settings
	command  []string // of the child
	start    Starter
	log      *slog.Logger
	changed  func() // told when a child is ready or has ended; nil is fine

	mu    sync.Mutex
	live  *process
	ready Ready
	wake  chan struct{} // closed and made anew when live changes
	last  uint64        // id of a call
	calls int           // that run
}

// NewHost makes a host. command is the program of the child with its arguments.
func NewHost(s engine.Settings, command []string, start Starter, log *slog.Logger, changed func()) *Host {
	return &Host{settings: s, command: command, start: start, log: log, changed: changed, wake: make(chan struct{})}
}

// process is one child.
type process struct {
	resolver string // see resolverState, when it began
	orders   *os.File
	cancel   context.CancelFunc // kills it

	writing sync.Mutex // held while a line is written
	mu      sync.Mutex
	gone    bool
	waiting map[uint64]chan engine.Result
}

// Serve runs children, one after the other, until ctx ends; then it waits for
// the calls that run and lets the last child end.
func (h *Host) Serve(ctx context.Context) {
	pause := firstPause
	for ctx.Err() == nil {
		began := time.Now()
		err := h.serveOne(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > wellAfter {
			pause = firstPause
		}
		h.log.Warn("the process of the built-in tools ended, starting another", "error", err, "after", pause)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
		pause = min(2*pause, maxPause)
	}
}

// serveOne runs one child to its end. The end of ctx ends it once its calls are
// over.
func (h *Host) serveOne(ctx context.Context) error {
	stdin, orders, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	defer orders.Close()
	reports, stdout, err := os.Pipe()
	if err != nil {
		stdin.Close()
		return fmt.Errorf("make pipe: %w", err)
	}
	defer reports.Close()
	cmd := exec.Command(h.command[0], h.command[1:]...)
	cmd.Stdin, cmd.Stdout = stdin, stdout
	cmd.Env = environment()
	cmd.Dir = "/"
	killCtx, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	ended, err := h.start(killCtx, cmd)
	stdin.Close()
	stdout.Close()
	if err != nil {
		return fmt.Errorf("start process of the built-in tools: %w", err)
	}
	p := &process{resolver: resolverState(), orders: orders, cancel: kill, waiting: map[uint64]chan engine.Result{}}
	var reading sync.WaitGroup
	reading.Go(func() {
		h.read(p, reports)
		kill() // one that no longer speaks is of no use
	})
	if err := p.send(order{Settings: &h.settings}); err != nil {
		kill()
	}
	slow := time.AfterFunc(readyLimit, func() {
		if !h.isLive(p) {
			kill()
		}
	})
	defer slow.Stop()
	select {
	case err = <-ended:
	case <-ctx.Done():
		h.awaitIdle()
		kill()
		err = <-ended
	}
	h.setLive(nil, Ready{})
	p.fail()
	reports.Close()
	reading.Wait()
	return err
}

// environment is what the child gets: where certificates are, if the user says
// so, and nothing else. A proxy, a key or a path of the user is not its affair.
func environment() []string {
	env := []string{"LANG=C.UTF-8"}
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// read takes what a child says until it says no more.
func (h *Host) read(p *process, reports *os.File) {
	lines := bufio.NewReaderSize(reports, 64<<10)
	for {
		var r report
		if err := decodeLine(lines, &r); err != nil {
			return
		}
		switch {
		case r.Ready != nil:
			h.setLive(p, *r.Ready)
		case r.Result != nil:
			p.deliver(r.ID, *r.Result)
		}
	}
}

func (h *Host) setLive(p *process, r Ready) {
	h.mu.Lock()
	h.live, h.ready = p, r
	close(h.wake)
	h.wake = make(chan struct{})
	h.mu.Unlock()
	if h.changed != nil {
		h.changed()
	}
}

// drop ends a child that is of no more use. The next call waits for another.
func (h *Host) drop(p *process) {
	h.mu.Lock()
	if h.live == p {
		h.live, h.ready = nil, Ready{}
	}
	h.mu.Unlock()
	p.cancel()
}

func (h *Host) isLive(p *process) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.live == p
}

// Ready says how the child that lives now began; ok is false when there is none.
func (h *Host) Ready() (r Ready, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ready, h.live != nil
}

// Run hands a call to the child and waits for the result. Without a child it
// waits a moment for one. A call whose child dies is not made again: nobody
// knows how far it came.
func (h *Host) Run(ctx context.Context, c engine.Call) engine.Result {
	h.count(1)
	defer h.count(-1)
	p, id, result, err := h.begin(ctx, c)
	if err != nil {
		return engine.Failed(fault.Of(err))
	}
	stuck := time.NewTimer(h.settings.Timeout + answerGrace)
	defer stuck.Stop()
	select {
	case r, ok := <-result:
		if !ok {
			return engine.Failed(errGone)
		}
		return r
	case <-stuck.C:
		h.log.Error("the process of the built-in tools does not answer, ending it")
		h.drop(p)
		return engine.Failed(errGone)
	case <-ctx.Done():
		p.forget(id)
		if p.send(order{ID: id}) != nil {
			h.drop(p)
		}
		return engine.Failed(fault.Ended(ctx))
	}
}

// count keeps the number of calls that run.
func (h *Host) count(change int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls += change
	if h.calls == 0 {
		close(h.wake)
		h.wake = make(chan struct{})
	}
}

// awaitIdle waits until no call runs. Each ends by itself after a few seconds.
func (h *Host) awaitIdle() {
	for {
		h.mu.Lock()
		calls, wake := h.calls, h.wake
		h.mu.Unlock()
		if calls == 0 {
			return
		}
		<-wake
	}
}

// begin sends a call to the child.
func (h *Host) begin(ctx context.Context, c engine.Call) (*process, uint64, <-chan engine.Result, error) {
	p, err := h.await(ctx)
	if err != nil {
		return nil, 0, nil, err
	}
	h.mu.Lock()
	h.last++
	id := h.last
	h.mu.Unlock()
	result := p.expect(id)
	if err := p.send(order{ID: id, Call: &c}); err != nil {
		p.forget(id)
		h.drop(p)
		return nil, 0, nil, errGone
	}
	return p, id, result, nil
}

// await gives the child that lives, or waits a moment for one.
func (h *Host) await(ctx context.Context) (*process, error) {
	limit := time.NewTimer(readyWait)
	defer limit.Stop()
	for {
		h.mu.Lock()
		p, wake := h.live, h.wake
		h.mu.Unlock()
		if p != nil && p.resolver == resolverState() {
			return p, nil
		}
		if p != nil {
			h.log.Info("how names are looked up has changed, starting the process of the built-in tools anew")
			h.drop(p)
		}
		select {
		case <-wake:
		case <-limit.C:
			return nil, fault.Unavailable("the process of the built-in tools does not run")
		case <-ctx.Done():
			return nil, fault.Ended(ctx)
		}
	}
}

// send writes a line. A child that does not take it in time is stuck.
func (p *process) send(o order) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	if err := p.orders.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return err
	}
	return encodeLine(p.orders, o)
}

func (p *process) expect(id uint64) <-chan engine.Result {
	result := make(chan engine.Result, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		close(result)
	} else {
		p.waiting[id] = result
	}
	return result
}

func (p *process) forget(id uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, id)
}

func (p *process) deliver(id uint64, r engine.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if waiting := p.waiting[id]; waiting != nil {
		waiting <- r // it has room for the one
		delete(p.waiting, id)
	}
}

// fail ends the calls that wait: there will be no result.
func (p *process) fail() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
	for id, waiting := range p.waiting {
		close(waiting)
		delete(p.waiting, id)
	}
}

// Self is the command of a child: this very binary, also when its file was
// replaced since.
func Self() []string { return []string{"/proc/self/exe", Verb} }
