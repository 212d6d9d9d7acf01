// SPDX-License-Identifier: Apache-2.0

// Package sockettest proves that a program opens no socket to the internet: it
// lets the kernel end a process that tries.
package sockettest

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// variable is set in the process that may open none.
const variable = "SOCKETTEST_CHILD"

// Without runs f, the body of the test t, in a process of its own that the kernel
// kills at the first internet or packet socket; then t fails. What f reports is
// reported by t. Call it as the only statement of a test.
func Without(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	if os.Getenv(variable) == t.Name() {
		forbid(t)
		f(t)
		return
	}
	if killed, out := child(t, t.Name()); killed {
		t.Errorf("it opened an internet socket:\n%s", out)
	} else if !strings.Contains(out, "--- PASS: "+t.Name()) {
		t.Errorf("it failed without internet sockets:\n%s", out)
	}
}

// Killed says whether f, run like that of [Without], was killed: for the test that
// the kernel is watching.
func Killed(t *testing.T, f func()) bool {
	t.Helper()
	if os.Getenv(variable) == t.Name() {
		forbid(t)
		f()
		return false
	}
	killed, _ := child(t, t.Name())
	return killed
}

// child runs one test of this binary again.
func child(t *testing.T, name string) (killed bool, out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+name+"$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), variable+"="+name)
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal() == syscall.SIGSYS, string(b)
	}
	return false, string(b)
}

// forbid installs the filter in all threads of this process. It loads the system
// call's number, and for socket its first argument, the family.
func forbid(t *testing.T) {
	t.Helper()
	const (
		load = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		same = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		give = unix.BPF_RET | unix.BPF_K
	)
	filter := []unix.SockFilter{
		{Code: load, K: 0},                             // nr
		{Code: same, K: unix.SYS_SOCKET, Jf: 5},        // another: allow
		{Code: load, K: 16},                            // args[0], the lower half
		{Code: same, K: unix.AF_INET, Jt: 2},           //
		{Code: same, K: unix.AF_INET6, Jt: 1},          //
		{Code: same, K: unix.AF_PACKET, Jf: 1},         //
		{Code: give, K: unix.SECCOMP_RET_KILL_PROCESS}, //
		{Code: give, K: unix.SECCOMP_RET_ALLOW},        //
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		t.Fatal(errno)
	}
}
