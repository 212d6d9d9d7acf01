// SPDX-License-Identifier: Apache-2.0

// Package pulse records from and plays to a PulseAudio or PipeWire server.
//
// A [Conn] is one connection, thrown away once it is lost; [Redial] makes the
// next one. On it live [Capture] and [Playback] streams, devices and change
// events. It stands on the wire codec of jfreymuth/pulse (its proto package) and
// not on that library's client, which can block for ever, hides killed streams
// and cannot play two streams at once.
//
// Everything that waits takes a context. Whatever the server takes from us (a
// stream, the connection) ends the stream's Done channel with a typed cause:
// [ErrKilled], [ErrStalled], [ErrLost] or, after our own Close, [ErrClosed].
package pulse

import (
	"errors"
	"slices"
	"strings"
	"syscall"

	"example.org/desktop-assistant/pkg/pulse/internal/wire"
)

// Causes, to be found with errors.Is.
var (
	// ErrNoServer means that no server could be reached or none let us in; the
	// error around it is a *ServerError.
	ErrNoServer = errors.New("no sound server")
	// ErrLost means that the connection broke or the server stopped answering.
	ErrLost = wire.ErrLost
	// ErrClosed means that our side closed the connection or the stream.
	ErrClosed = wire.ErrClosed
	// ErrKilled means that the server ended the stream, as it does for a capture
	// stream whose source is unplugged.
	ErrKilled = errors.New("stream ended by the sound server")
	// ErrStalled means that a running capture stream delivered nothing for 2 s.
	ErrStalled = errors.New("source delivers nothing")
	// ErrNoDevice means that the named source or sink does not exist, or that
	// there is no default one.
	ErrNoDevice = wire.ErrNoDevice
	// ErrStopped means that Playback.Stop cut off a Write or a Drain.
	ErrStopped = errors.New("playback stopped")
)

// A ServerError says why no server could be used. It is an ErrNoServer.
type ServerError struct {
	// Tried are the addresses asked, in order, as "unix:/path" or "tcp:host:port".
	Tried []string
	// Cause joins the failure of each address.
	Cause error
}

// Error lists what was tried, on one line.
func (e *ServerError) Error() string {
	switch {
	case len(e.Tried) == 0:
		return "connect to sound server: no address known"
	case e.absent():
		return "no sound server answers at " + strings.Join(e.Tried, " or ")
	}
	return "connect to sound server: " + strings.ReplaceAll(e.Cause.Error(), "\n", "; ")
}

// absent says that nobody listens at any of the addresses.
func (e *ServerError) absent() bool {
	joined, ok := e.Cause.(interface{ Unwrap() []error })
	if !ok {
		return errors.Is(e.Cause, syscall.ENOENT) || errors.Is(e.Cause, syscall.ECONNREFUSED)
	}
	return !slices.ContainsFunc(joined.Unwrap(), func(err error) bool {
		return !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.ECONNREFUSED)
	})
}

// Unwrap gives ErrNoServer and the causes.
func (e *ServerError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrNoServer}
	}
	return []error{ErrNoServer, e.Cause}
}

// Hint says what a person can type next.
func (e *ServerError) Hint() string {
	if wire.Refused(e.Cause) {
		return "the sound server refused this program: run it as the user who owns the session, or set PULSE_COOKIE to the server's cookie file"
	}
	return `start the sound server with "systemctl --user start pipewire-pulse" or "pulseaudio --start"; ` +
		`if there is none, install one, for example "sudo apt install pipewire-pulse"; ` +
		`a server elsewhere is named by PULSE_SERVER`
}
