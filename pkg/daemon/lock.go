// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"example.org/desktop-assistant/proto"
)

// takeLock makes sure that a daemon runs once per user. The lock goes with the
// process; the file stays and names the last holder.
func takeLock(dir, name string) (io.Closer, error) {
	path := filepath.Join(dir, name+".lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	// An open file description lock: it goes with the last descriptor, and one
	// can ask for it without taking it (fcntl(2)).
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
		defer f.Close()
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		pid, _ := io.ReadAll(io.LimitReader(f, 32)) // unreadable: the message goes without
		holder := strings.TrimSpace(string(pid))
		if holder == "" {
			holder = "unknown"
		}
		return nil, proto.Errorf(proto.CodeBusy, "lock "+name, "%s runs already, as process %s", name, holder).
			WithHint("end it first: kill %s", holder)
	}
	if err := f.Truncate(0); err == nil {
		_, err = fmt.Fprintln(f, os.Getpid())
		if err != nil {
			return nil, errors.Join(fmt.Errorf("write lock %s: %w", path, err), f.Close())
		}
	}
	return f, nil
}

// LockHolder gives the process that runs a daemon, by its lock in dir: 0 when
// none does.
func LockHolder(dir, name string) int {
	f, err := os.Open(filepath.Join(dir, name+".lock"))
	if err != nil {
		return 0
	}
	defer f.Close()
	asked := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &asked); err != nil || asked.Type == unix.F_UNLCK {
		return 0
	}
	var pid int
	if _, err := fmt.Fscan(f, &pid); err != nil {
		return 0
	}
	return pid
}
