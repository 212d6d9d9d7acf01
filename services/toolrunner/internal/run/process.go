// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"crypto/rand"
	"errors"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/toolrunner/internal/cgroup"
	"example.org/desktop-assistant/services/toolrunner/internal/tool"
)

const (
	// killLimit bounds the wait for processes that were killed. Only one that
	// hangs in the kernel, or that changed its user, takes longer.
	killLimit = 2 * time.Second
	// pipeLimit bounds the wait for output after everything was killed: a
	// process out of our reach may still hold the pipe.
	pipeLimit = 500 * time.Millisecond
	// reapEvery is how often orphans of a long call are reaped.
	reapEvery = time.Second
)

// ending is why the wait for a process ended.
type ending int

const (
	endExit ending = iota
	endTimeout
	endCancel
)

// execute runs one call and returns when its whole process tree is gone.
func (r *Runner) execute(ctx context.Context, t *tool.Tool, a tool.Arguments, dir string, timeout time.Duration) Result {
	vars := r.config.environment(t)
	program, err := lookup(t.Command[0], dir, vars["PATH"])
	if err != nil {
		return cannotRun(t, err.Error())
	}
	call := rand.Text()
	vars[marker] = call
	stdout, stderr := newHead(t.MaxOutput), newLastLine(t.MaxOutput)
	cmd := &exec.Cmd{
		Path: program, Args: t.Argv(a), Env: pairs(vars), Stdout: stdout, Stderr: stderr, WaitDelay: pipeLimit,
	}
	report, err := r.confine(cmd, t, dir, vars)
	if err != nil {
		return cannotRun(t, err.Error())
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p, err := r.start(cmd, call, false)
	report.Close()
	if err != nil {
		_ = report.Err() // there is none, and it closes its end
		return cannotRun(t, startReason(program, err))
	}
	end, err := r.attend(ctx, p, timeout)
	if why := report.Err(); why != nil && end == endExit {
		return cannotRun(t, confinedReason(program, why))
	}
	return endedBy(end, t, stdout, stderr, err)
}

// process is the first process of a call, and the control group of all.
type process struct {
	*exec.Cmd
	call  string
	group *cgroup.Group // nil where none is delegated to us
}

// start starts the first process of a call, or one that lasts. The signal at
// our death goes out when the thread that started the child ends, so the caller
// keeps its thread locked until the child is gone.
func (r *Runner) start(cmd *exec.Cmd, call string, lasting bool) (*process, error) {
	p := &process{Cmd: cmd, call: call}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if r.config.Cgroups != nil {
		group, err := r.config.Cgroups.New(call)
		if err != nil { // the process group and the walk remain
			r.config.Log.Warn("a tool runs without a control group", "error", err)
		} else {
			p.group = group
			group.Attach(cmd.SysProcAttr)
		}
	}
	if err := r.family.start(p, lasting); err != nil {
		r.remove(p.group)
		return nil, err
	}
	return p, nil
}

// attend waits for a process that was started, then ends and reaps whatever is
// left of it and its descendants. The error is that of the wait for it, nil
// when it was given up.
func (r *Runner) attend(ctx context.Context, p *process, timeout time.Duration) (ending, error) {
	exited := make(chan struct{})
	go awaitExit(p.Process.Pid, exited)
	end := r.await(ctx, exited, timeout)
	// Until it is reaped, nobody else can get the leader's number as group.
	_ = r.kill(-p.Process.Pid, unix.SIGKILL)
	r.killGroup(p)
	if !within(exited, killLimit) {
		r.abandon(p, exited)
		return end, nil
	}
	return end, r.bury(p)
}

// killGroup kills the control group of a call and waits until nobody lives in
// it. The first process may still be on its way out.
func (r *Runner) killGroup(p *process) {
	if p.group == nil {
		return
	}
	start := time.Now()
	pause := 100 * time.Microsecond
	for {
		pids := p.group.Processes()
		r.family.doom(p.call, pids)
		if len(pids) == 0 || time.Since(start) > killLimit {
			return
		}
		if err := p.group.Kill(); err != nil {
			r.config.Log.Warn("end a tool", "error", err)
			return
		}
		time.Sleep(pause) // the kernel tells nobody when a group is gone
		pause = min(2*pause, 10*time.Millisecond)
	}
}

// bury ends and reaps what is left of a call whose first process is dead.
func (r *Runner) bury(p *process) error {
	if left := r.family.clear(p.call, killLimit); left > 0 {
		r.config.Log.Warn("processes of a tool could not be ended", "program", p.Path, "count", left)
	}
	err := p.Wait()
	r.family.forget(p.Cmd)
	r.remove(p.group)
	return err
}

func (r *Runner) remove(group *cgroup.Group) {
	if group == nil {
		return
	}
	if err := group.Remove(killLimit); err != nil {
		r.config.Log.Warn("leave a control group behind", "error", err)
	}
}

// awaitExit closes exited when the process is dead, without reaping it.
func awaitExit(pid int, exited chan<- struct{}) {
	defer close(exited)
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// await waits for the end of a process, of ctx or of the timeout, 0 for none.
func (r *Runner) await(ctx context.Context, exited <-chan struct{}, timeout time.Duration) ending {
	var deadline <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		deadline = timer.C
	}
	reap := time.NewTicker(reapEvery)
	defer reap.Stop()
	for {
		select {
		case <-exited:
			return endExit
		case <-deadline:
			return endTimeout
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return endTimeout
			}
			return endCancel
		case <-reap.C:
			r.family.reap()
		}
	}
}

func within(done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// abandon leaves a process that does not die to a goroutine that [Runner.Close]
// waits for.
func (r *Runner) abandon(p *process, exited <-chan struct{}) {
	r.config.Log.Warn("a tool's process does not die", "pid", p.Process.Pid)
	done := make(chan struct{})
	r.mu.Lock()
	r.late = append(r.late, done)
	r.mu.Unlock()
	go func() {
		defer close(done)
		<-exited
		_ = r.bury(p) // the answer was given long ago
	}()
}

// endedBy makes the result. After endExit the process was waited for.
func endedBy(end ending, t *tool.Tool, stdout *head, stderr *lastLine, err error) Result {
	switch end {
	case endTimeout:
		return failure(t, proto.KindTimeout, "timed out")
	case endCancel:
		return failure(t, proto.KindCancelled, "cancelled")
	}
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return Result{OK: true, Text: stdout.text()}
	case !errors.As(err, &exit):
		return failure(t, proto.KindFailed, "its output could not be read")
	}
	if line := stderr.text(); line != "" {
		return failure(t, proto.KindFailed, line)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return failure(t, proto.KindFailed, "ended by signal "+strconv.Itoa(int(status.Signal())))
	}
	return failure(t, proto.KindFailed, "exit status "+strconv.Itoa(exit.ExitCode()))
}

func cannotRun(t *tool.Tool, reason string) Result {
	return failure(t, proto.KindCannotRun, "cannot run "+t.Command[0]+": "+reason)
}

func failure(t *tool.Tool, kind, text string) Result {
	return Result{Kind: kind, Text: clean("error: "+text, t.MaxOutput)}
}
