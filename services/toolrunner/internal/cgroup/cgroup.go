// SPDX-License-Identifier: Apache-2.0

// Package cgroup gives each call of a tool a control group of version 2, where
// the service manager delegated a part of that tree to us. Whatever a process
// does to leave its parents, it stays in the group, and one write kills all.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// prefix of our groups; the number of the process that made them follows.
const prefix = "da-call-"

// ErrNone says that no part of the tree is delegated to this process.
var ErrNone = errors.New("no control group is delegated")

// Tree is the folder in which groups are made.
type Tree struct{ dir string }

// Open finds the group of this process, and its folder if it was delegated:
// systemd marks such a unit (Delegate=yes) with an extended attribute. Groups
// that an earlier process left are ended. The error is [ErrNone] where nothing
// is delegated, or says what the tree lacks.
func Open() (*Tree, error) {
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("read own control group: %w", err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	own, ok := locate(string(self), string(mounts))
	if !ok {
		return nil, ErrNone
	}
	dir, ok := unit(own, delegated)
	if !ok {
		return nil, ErrNone
	}
	return At(dir)
}

// At uses a folder of the tree that this process may write to.
func At(dir string) (*Tree, error) {
	t := &Tree{dir: dir}
	t.clean()
	// Where the kernel cannot start a process in a group, this is ENOSYS (or
	// what a filter of system calls makes of it); else the empty call is EINVAL.
	if _, _, errno := unix.Syscall(unix.SYS_CLONE3, 0, 0, 0); errno != unix.EINVAL {
		return nil, fmt.Errorf("start in a control group: %w", errno)
	}
	probe, err := t.New("probe")
	if err != nil {
		return nil, err
	}
	_, err = os.Stat(filepath.Join(probe.dir, killFile)) // since Linux 5.14
	if err = errors.Join(err, probe.Remove(0)); err != nil {
		return nil, fmt.Errorf("try control group: %w", err)
	}
	return t, nil
}

// locate gives the folder of the group that /proc/self/cgroup names.
func locate(self, mounts string) (dir string, ok bool) {
	own := ""
	for line := range strings.Lines(self) {
		if path, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); found {
			own = path
		}
	}
	if own == "" || strings.HasPrefix(own, "/..") { // outside of our namespace
		return "", false
	}
	for line := range strings.Lines(mounts) {
		// ID PARENT DEVICE ROOT POINT OPTIONS [TAGS]... - TYPE SOURCE OPTIONS, by proc_pid_mountinfo(5)
		place, kind, found := strings.Cut(line, " - ")
		fields := strings.Fields(place)
		if !found || len(fields) < 6 || !strings.HasPrefix(kind, "cgroup2 ") {
			continue
		}
		rest, err := filepath.Rel(unescape(fields[3]), own)
		if err == nil && filepath.IsLocal(rest) {
			return filepath.Join(unescape(fields[4]), rest), true
		}
	}
	return "", false
}

// unescape undoes the octal escapes of mountinfo.
func unescape(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '\\' && i+3 < len(path) {
			if n, err := strconv.ParseUint(path[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(path[i])
	}
	return b.String()
}

// unit is the folder of the delegated unit that a group belongs to: the group
// itself, or its parent where the manager puts services into a subgroup
// (DelegateSubgroup=). Further up lies what is delegated to the manager.
func unit(own string, delegated func(dir string) bool) (string, bool) {
	if delegated(own) {
		return own, true
	}
	parent := filepath.Dir(own)
	name := filepath.Base(parent)
	single := strings.HasSuffix(name, ".service") || strings.HasSuffix(name, ".scope")
	if single && !strings.HasPrefix(name, "user@") && delegated(parent) {
		return parent, true
	}
	return "", false
}

func delegated(dir string) bool {
	mark := make([]byte, 8)
	n, err := unix.Getxattr(dir, "user.delegate", mark)
	return err == nil && string(mark[:n]) == "1" && unix.Access(dir, unix.W_OK) == nil
}

// clean ends the groups of processes that are gone.
func (t *Tree) clean() {
	old, err := filepath.Glob(filepath.Join(t.dir, prefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range old {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), prefix), "-")
		pid, err := strconv.Atoi(owner)
		if err != nil || unix.Kill(pid, 0) == nil {
			continue
		}
		g := &Group{dir: dir}
		_ = g.Kill() // what cannot be ended stays, as before
		_ = g.Remove(cleanLimit)
	}
}

const (
	killFile   = "cgroup.kill"
	cleanLimit = time.Second
)

// Group is the control group of one call.
type Group struct {
	dir  string
	file *os.File
}

// New makes an empty group. The name must be unused in this process.
func (t *Tree) New(name string) (*Group, error) {
	g := &Group{dir: filepath.Join(t.dir, fmt.Sprintf("%s%d-%s", prefix, os.Getpid(), name))}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, fmt.Errorf("make control group: %w", err)
	}
	file, err := os.Open(g.dir)
	if err != nil {
		return nil, fmt.Errorf("open control group: %w", errors.Join(err, os.Remove(g.dir)))
	}
	g.file = file
	return g, nil
}

// Attach makes a process start inside the group.
func (g *Group) Attach(a *syscall.SysProcAttr) {
	a.UseCgroupFD, a.CgroupFD = true, int(g.file.Fd())
}

// Processes lists the living processes of the group and of groups below it.
func (g *Group) Processes() []int {
	var pids []int
	_ = filepath.WalkDir(g.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil // a group may go while we look
		}
		list, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		for field := range strings.FieldsSeq(string(list)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids
}

// Kill sends SIGKILL to all processes of the group and of groups below it, also
// to such that are being born.
func (g *Group) Kill() error {
	file, err := os.OpenFile(filepath.Join(g.dir, killFile), os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteString("1")
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return fmt.Errorf("kill control group: %w", err)
	}
	return nil
}

// Remove takes the group away, and whatever groups a tool made below it, as
// soon as no process lives in them. After the limit it is an error.
func (g *Group) Remove(limit time.Duration) error {
	if g.file != nil {
		g.file.Close()
	}
	start := time.Now()
	pause := 100 * time.Microsecond
	for {
		err := g.remove()
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if time.Since(start) >= limit {
			return fmt.Errorf("remove control group: %w", err)
		}
		time.Sleep(pause) // the kernel tells nobody when it can be removed
		pause = min(2*pause, 10*time.Millisecond)
	}
}

// remove removes the folders from the bottom up; files go with their folder.
func (g *Group) remove() error {
	err := unix.Rmdir(g.dir)
	if err == nil || err == unix.ENOENT {
		return nil
	}
	var below []string
	_ = filepath.WalkDir(g.dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			below = append(below, path)
		}
		return nil
	})
	for i := len(below) - 1; i >= 0; i-- {
		err = unix.Rmdir(below[i])
	}
	return err
}
