// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"os"
	"runtime"

	"github.com/landlock-lsm/go-landlock/landlock"
	right "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

const goarch = runtime.GOARCH

// Basics are the folders and files that any confined program may read and run:
// the system's programs, libraries, certificates and settings, and what
// runtimes ask the kernel about. None holds what belongs to a user. Those that
// a system does not have are passed over.
var Basics = []string{
	"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr", "/etc",
	"/nix/store", "/gnu/store", "/run/current-system", "/run/booted-system", // NixOS and Guix keep theirs here
	"/var/lib/ca-certificates", // openSUSE's /etc/ssl points here
	"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf", "/run/nscd",
	"/proc/self", "/proc/sys", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime",
	"/proc/version", "/proc/filesystems", "/sys/devices/system/cpu", "/sys/devices/system/node",
	"/dev/random", "/dev/urandom", "/dev/zero",
}

// devices may be written to as well.
var devices = []string{"/dev/null", "/dev/full"}

const (
	readRights  landlock.AccessFSSet = right.AccessFSExecute | right.AccessFSReadFile | right.AccessFSReadDir
	writeRights landlock.AccessFSSet = readRights | right.AccessFSWriteFile | right.AccessFSTruncate |
		right.AccessFSRemoveDir | right.AccessFSRemoveFile | right.AccessFSMakeDir | right.AccessFSMakeReg |
		right.AccessFSMakeSock | right.AccessFSMakeFifo | right.AccessFSMakeSym | right.AccessFSRefer
	// fileRights are those that make sense of anything but a folder.
	fileRights landlock.AccessFSSet = right.AccessFSExecute | right.AccessFSReadFile | right.AccessFSWriteFile |
		right.AccessFSTruncate | right.AccessFSIoctlDev | right.AccessFSResolveUnix
)

// versions of Landlock by ABI. A kernel that knows more is asked for the last.
var versions = []landlock.Config{
	{}, landlock.V1, landlock.V2, landlock.V3, landlock.V4, landlock.V5, landlock.V6,
	landlock.V7, landlock.V8, landlock.V9, landlock.V10, landlock.V11,
}

// restrict confines this process and must be followed by an execution from the
// same goroutine, whose thread it locks: the filter holds for that thread only.
func (o order) restrict() error {
	runtime.LockOSThread()
	if abi := min(o.Level.Landlock, len(versions)-1); abi > 0 {
		config, rules := o.rules(versions[abi])
		if err := config.Restrict(rules...); err != nil {
			return fmt.Errorf("restrict files: %w", err)
		}
	}
	if o.Level.Seccomp && !o.Network {
		if err := onlyLocal(); err != nil {
			return fmt.Errorf("restrict network: %w", err)
		}
	}
	return nil
}

// rules are what Landlock is to allow of what a version of it can refuse.
func (o order) rules(config landlock.Config) (landlock.Config, []landlock.Rule) {
	if o.Network {
		config.HandledAccessNet = 0
	}
	var rules []landlock.Rule
	allow := func(rights landlock.AccessFSSet, paths ...string) {
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil {
				continue // there is nothing to reach
			}
			granted := rights & config.HandledAccessFS
			if !info.IsDir() {
				granted &= fileRights
			}
			if granted == 0 { // the kernel refuses a rule that allows nothing
				continue
			}
			rules = append(rules, landlock.PathAccess(granted, path).IgnoreIfMissing())
		}
	}
	allow(readRights, Basics...)
	allow(right.AccessFSResolveUnix, "/run/systemd/resolve", "/run/nscd") // to look up names
	allow(right.AccessFSReadFile|right.AccessFSWriteFile, devices...)
	allow(right.AccessFSExecute|right.AccessFSReadFile, o.Program)
	allow(readRights|right.AccessFSResolveUnix, o.Read...)
	allow(writeRights|right.AccessFSResolveUnix|right.AccessFSIoctlDev, o.Write...)
	return config, rules
}
