// SPDX-License-Identifier: Apache-2.0

// Package socket takes the bus's clients in on a private Unix socket: it makes
// the socket or takes it from systemd, checks who calls, and joins each caller
// to the server, which has no Unix listener of its own.
package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"golang.org/x/sys/unix"

	"example.org/desktop-assistant/proto"
)

// Listen gives the socket that systemd holds for us, else one made at path
// with mode 0600. A file left by a busd that was killed is replaced; a socket
// on which someone answers is an error with code busy. Clients may connect at
// once and wait until [Server.Accept].
func Listen(path string) (*net.UnixListener, error) {
	l, err := activated()
	if l != nil || err != nil {
		return l, err
	}
	if err := clear(path); err != nil {
		return nil, err
	}
	// The mode must be right from the first moment, hence no chmod afterwards.
	old := unix.Umask(0o177)
	l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	unix.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("make bus socket: %w", err)
	}
	return l, nil
}

// activated takes the socket that systemd passes (sd_listen_fds(3)); nil
// without one. The variables are unset, so that no child believes in them.
func activated() (*net.UnixListener, error) {
	files := activation.Files(true)
	if len(files) == 0 {
		return nil, nil
	}
	defer func() {
		for _, f := range files {
			f.Close() // a listener made from it has its own copy
		}
	}()
	if len(files) > 1 {
		return nil, proto.Errorf(proto.CodeInvalid, "take bus socket", "systemd passed %d sockets, not one", len(files)).
			WithHint("look at the socket unit that starts busd")
	}
	l, err := net.FileListener(files[0])
	if err != nil {
		return nil, fmt.Errorf("take bus socket from systemd: %w", err)
	}
	u, ok := l.(*net.UnixListener)
	if !ok {
		return nil, errors.Join(proto.Errorf(proto.CodeInvalid, "take bus socket", "systemd passed %s, which is no Unix socket", l.Addr()).
			WithHint("look at the socket unit that starts busd"), l.Close())
	}
	return u, nil
}

// clear removes a socket that nobody serves.
func clear(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make bus socket: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return proto.Errorf(proto.CodeBusy, "make bus socket", "%s is there and is no socket", path).
			WithHint("remove it: rm %s", path)
	}
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		c.Close()
		return proto.Errorf(proto.CodeBusy, "make bus socket", "someone serves %s already", path).
			WithHint("see who, and end it: fuser %s", path)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("make bus socket: %w", err)
	}
	return nil
}
