// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// Level is how far a kernel can confine a program.
type Level struct {
	Landlock int  `json:"landlock"` // ABI of Landlock, 0 for none
	Seccomp  bool `json:"seccomp"`  // filters of system calls
}

// Detect asks this kernel.
func Detect() Level {
	var l Level
	if abi, err := landlock.LandlockGetABIVersion(); err == nil {
		l.Landlock = abi
	}
	// Empty or missing where seccomp was left out of the kernel; see seccomp(2).
	actions, err := os.ReadFile("/proc/sys/kernel/seccomp/actions_avail")
	l.Seccomp = err == nil && auditArch != 0 && slices.Contains(strings.Fields(string(actions)), "errno")
	return l
}

// steps are what came with which ABI of Landlock, see the kernel's
// userspace-api/landlock documentation.
var steps = []struct {
	abi  int
	what string
}{
	{1, "files"}, {3, "truncating files"}, {4, "TCP"}, {5, "devices"},
	{6, "signals and abstract sockets"}, {9, "sockets of the file system"}, {10, "UDP"},
}

// String says what is confined, and after it what is not, for example
// "Landlock 7 and seccomp: files, …; not: …".
func (l Level) String() string {
	var held, open []string
	for _, s := range steps {
		network := s.what == "TCP" || s.what == "UDP"
		switch {
		case l.Seccomp && network: // named below as a whole
		case l.Landlock >= s.abi:
			held = append(held, s.what)
		default:
			open = append(open, s.what)
		}
	}
	if l.Seccomp {
		held = append(held, "the network")
	}
	var by []string
	if l.Landlock > 0 {
		by = append(by, fmt.Sprintf("Landlock %d", l.Landlock))
	}
	if l.Seccomp {
		by = append(by, "seccomp")
	}
	if by == nil {
		return "nothing: this kernel has neither Landlock nor seccomp"
	}
	text := strings.Join(by, " and ") + ": " + strings.Join(held, ", ")
	if open != nil {
		text += "; not: " + strings.Join(open, ", ")
	}
	return text
}

// Missing names what of a sandbox this level cannot enforce at all, "" when
// the files are confined, and the network if it must be.
func (l Level) Missing(s Spec) string {
	var missing []string
	if l.Landlock == 0 {
		missing = append(missing, "files")
	}
	if !s.Network && !l.Seccomp && l.Landlock < 4 {
		missing = append(missing, "the network")
	}
	return strings.Join(missing, " and ")
}

// auditArch is the architecture as seccomp sees it, 0 where no filter is made.
var auditArch = map[string]uint32{
	"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64,
}[goarch]
