// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Instructions of a filter of system calls, see seccomp(2), and offsets in its
// struct seccomp_data; of an argument the low half, since all architectures
// here are little-endian.
const (
	load    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	equal   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	atLeast = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	give    = unix.BPF_RET | unix.BPF_K

	number, arch, family, protocol = 0, 4, 16, 32

	x32    = 0x40000000 // bit of amd64's second set of calls
	refuse = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
)

// sockets begins a filter that lets through all calls but those that open a
// socket, about which what follows decides. Calls of another architecture are
// refused whole, since their numbers mean something else.
var sockets = []unix.SockFilter{
	{Code: load, K: arch},
	{Code: equal, K: auditArch, Jt: 1},
	{Code: give, K: refuse},
	{Code: load, K: number},
	{Code: atLeast, K: x32, Jf: 1},
	{Code: give, K: refuse},
	{Code: equal, K: unix.SYS_IO_URING_SETUP, Jf: 1}, // it opens sockets by another way
	{Code: give, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
	{Code: equal, K: unix.SYS_SOCKET, Jt: 1},
	{Code: give, K: unix.SECCOMP_RET_ALLOW},
}

// onlyLocal refuses every socket but those of the machine's file system and of
// the kernel itself (netlink), for this thread and what it becomes.
func onlyLocal() error {
	return install(0, []unix.SockFilter{
		{Code: load, K: family},
		{Code: equal, K: unix.AF_UNIX, Jt: 1},
		{Code: equal, K: unix.AF_NETLINK, Jf: 1},
		{Code: give, K: unix.SECCOMP_RET_ALLOW},
		{Code: give, K: refuse},
	})
}

// OnlyInternet refuses this whole process, for good, every socket but those of
// TCP and UDP: Landlock sees neither multipath TCP nor, before ABI 9, the
// sockets of the file system.
func OnlyInternet() error {
	return install(unix.SECCOMP_FILTER_FLAG_TSYNC, []unix.SockFilter{
		{Code: load, K: family},
		{Code: equal, K: unix.AF_INET, Jt: 1},
		{Code: equal, K: unix.AF_INET6, Jf: 5},
		{Code: load, K: protocol},
		{Code: equal, K: 0, Jt: 2}, // the one that goes with the type
		{Code: equal, K: unix.IPPROTO_TCP, Jt: 1},
		{Code: equal, K: unix.IPPROTO_UDP, Jf: 1},
		{Code: give, K: unix.SECCOMP_RET_ALLOW},
		{Code: give, K: refuse},
	})
}

// install puts a filter into force. That needs no_new_privs, which it sets.
func install(flags uintptr, decide []unix.SockFilter) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	filter := slices.Concat(sockets, decide)
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return fmt.Errorf("set filter: %w", errno)
	} else if thread != 0 { // one that has another filter
		return fmt.Errorf("set filter: thread %d takes none", thread)
	}
	return nil
}
