// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// Start starts a child that is no call of a tool and lives longer than one,
// such as the process of the built-in tools. It is the only way for other code
// of this program to start a process: any child that the runner does not know
// is taken for what a call left behind, and killed.
//
// The child gets a process group of its own, a variable that marks its
// descendants, and the end of this process ends it. When ctx ends, it is killed
// with all its descendants that kept the variable or the group. The channel gives what [exec.Cmd.Wait] returned,
// once, when all of them are gone (nil when the kernel does not let it die);
// the caller must receive it before [Runner.Close], and must not call Wait.
// Cmd.Env is taken as [exec.Cmd.Environ] gives it, Cmd.SysProcAttr is replaced.
// Do not use StdoutPipe, whose last lines are lost at the wait: set Cmd.Stdout
// to a writer or to the end of an [os.Pipe].
func (r *Runner) Start(ctx context.Context, cmd *exec.Cmd) (<-chan error, error) {
	call := rand.Text()
	cmd.Env = append(cmd.Environ(), marker+"="+call)
	started, ended := make(chan error), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		p, err := r.start(cmd, call, true)
		started <- err
		if err != nil {
			return
		}
		_, err = r.attend(ctx, p, 0)
		ended <- err
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return ended, nil
}

// keepDescriptors sees to it that no child gets what whoever started this
// process left open: it would be out of reach of every sandbox. What Go opens
// itself stays with us anyhow.
func keepDescriptors() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("list descriptors: %w", err)
	}
	for _, entry := range open {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
