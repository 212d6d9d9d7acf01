// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// execLimit bounds the wait for a process in the middle of exec.
const execLimit = 5 * time.Millisecond

// family knows the child processes of this process and finds those that left
// the process group of their call.
//
// This process is a subreaper: when a process dies, its children become ours,
// on the main thread. So everything that a call left behind is, or hangs below,
// a direct child of ours that os/exec did not start, and only such children are
// ever killed: their numbers cannot be reused before we reap them. Killing one
// brings its own children up, until none is left.
//
// No other code of the process may start a child except through start (others
// by [Runner.Start]), or the family takes it for an orphan.
type family struct {
	mu      sync.Mutex
	leaders map[int]*exec.Cmd // started by os/exec, reaped by it alone
	calls   map[string]birth  // running calls by marker
	doomed  map[int]string    // processes of running calls that were killed
}

// birth of a call's first process.
type birth struct {
	group int    // its process group
	ticks uint64 // when it started, in clock ticks since boot
}

func newFamily() (*family, error) {
	f := &family{leaders: map[int]*exec.Cmd{}, calls: map[string]birth{}, doomed: map[int]string{}}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return f, fmt.Errorf("become subreaper: %w", err)
	}
	_, err := children()
	return f, err
}

// start starts the first process of a call, or one that lasts. The lock keeps
// it from being taken for an orphan before it is known. Of one that lasts no
// orphan of unknown owner is held to be, or none would be ended while it lives.
func (f *family) start(p *process, lasting bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := p.Start(); err != nil {
		return err
	}
	pid := p.Process.Pid
	f.leaders[pid] = p.Cmd
	status, _ := readStatus(pid) // it is not reaped yet, so there is one
	b := birth{group: pid, ticks: status.ticks}
	if lasting {
		b.ticks = math.MaxUint64
	}
	f.calls[p.call] = b
	return nil
}

// doom notes that processes of a call were or will be killed.
func (f *family) doom(call string, pids []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, pid := range pids {
		if f.leaders[pid] == nil {
			f.doomed[pid] = call
		}
	}
}

// forget is called after the first process was reaped.
func (f *family) forget(cmd *exec.Cmd) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.leaders[cmd.Process.Pid] == cmd {
		delete(f.leaders, cmd.Process.Pid)
	}
}

// clear kills and reaps what a call left behind, and then the call no longer
// counts as running. Its first process must be dead and not yet reaped. It
// gives up after the limit and returns how many processes could not be ended.
func (f *family) clear(call string, limit time.Duration) int {
	start := time.Now()
	pause := 100 * time.Microsecond
	for {
		age := time.Since(start)
		left, done := f.finish(call, age < execLimit, age > limit)
		if done {
			return left
		}
		time.Sleep(pause) // the kernel tells nobody when a group is gone
		pause = min(2*pause, 10*time.Millisecond)
	}
}

// finish sweeps for a call and strikes it off when nothing of it is left, or
// when it is told to give up. Both happen under one lock, or of two calls that
// end together each would leave an orphan of unknown owner to the other.
func (f *family) finish(call string, patient, giveUp bool) (left int, done bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	left, settled := f.sweep(call, patient)
	if settled || giveUp {
		delete(f.calls, call)
		// Not all were ours to reap, and numbers are used again.
		maps.DeleteFunc(f.doomed, func(_ int, owner string) bool { return owner == call })
		return left, true
	}
	return left, false
}

// reap reaps dead orphans without killing any.
func (f *family) reap() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sweep("", false)
}

// sweep reaps dead orphans, kills living ones of the call ("" for none) and
// returns how many of its own it saw alive. Things are settled when it found
// neither: an orphan that died during the sweep has left us its children, and
// they are not in the list yet. With patience they are not settled either while
// there is one that may tell its call in a moment. The lock must be held.
func (f *family) sweep(call string, patient bool) (left int, settled bool) {
	pids, err := children()
	if err != nil {
		return 0, true
	}
	settled = true
	for _, pid := range pids {
		if f.leaders[pid] != nil {
			continue
		}
		status, ok := readStatus(pid)
		switch {
		case !ok:
			settled = false
		case status.state == 'Z':
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
			delete(f.doomed, pid)
			settled = false
		case call != "":
			owner, sure := f.owner(pid, status)
			if owner == call {
				_ = unix.Kill(pid, unix.SIGKILL)
				f.doomed[pid] = call // a dying process tells nothing about itself
				left++
			}
			settled = settled && owner != call && (sure || !patient)
		}
	}
	return left, settled
}

// owner names the running call that an orphan belongs to, "" when that cannot
// be told now: by its process group, by the marker in its environment, else by
// its age. One that dropped its environment belongs to whichever calls ran when
// it started, and the last of them to end finds it. It is not sure of one that
// has no environment at all, as in the middle of exec.
func (f *family) owner(pid int, status status) (call string, sure bool) {
	if call, ok := f.doomed[pid]; ok {
		return call, true
	}
	for call, b := range f.calls {
		if b.group == status.group {
			return call, true
		}
	}
	call, sure = markerOf(pid)
	if _, running := f.calls[call]; running {
		return call, true
	}
	owner, candidates := "", 0
	for call, b := range f.calls {
		if b.ticks <= status.ticks {
			owner = call
			candidates++
		}
	}
	switch candidates {
	case 0:
		return "", true
	case 1:
		return owner, true
	}
	return "", sure
}

// children lists the children of the main thread, to which the kernel gives
// orphans. Children that os/exec started from other threads are not among them
// as a rule.
func children() ([]int, error) {
	self := strconv.Itoa(os.Getpid())
	data, err := os.ReadFile("/proc/" + self + "/task/" + self + "/children")
	if err != nil {
		return nil, fmt.Errorf("list children: %w", err)
	}
	var pids []int
	for field := range strings.FieldsSeq(string(data)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("list children: %w", err)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// status is what /proc/PID/stat says, by proc_pid_stat(5).
type status struct {
	state byte
	group int
	ticks uint64
}

func readStatus(pid int) (status, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return status{}, false
	}
	// The name in parentheses may hold anything, so count from its end.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 20 {
		return status{}, false
	}
	group, err1 := strconv.Atoi(fields[2])
	ticks, err2 := strconv.ParseUint(fields[19], 10, 64)
	return status{state: fields[0][0], group: group, ticks: ticks}, err1 == nil && err2 == nil
}

// markerOf is the call in a process's environment, "" when there is none or it
// may not be read. Known is false when the environment is empty for now.
func markerOf(pid int) (call string, known bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return "", true
	}
	for pair := range bytes.SplitSeq(data, []byte{0}) {
		if value, ok := bytes.CutPrefix(pair, []byte(marker+"=")); ok {
			return string(value), true
		}
	}
	return "", len(data) > 0
}
