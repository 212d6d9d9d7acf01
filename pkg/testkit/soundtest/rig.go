// SPDX-License-Identifier: Apache-2.0

// Package soundtest runs a private sound server without hardware for tests: a
// loudspeaker whose sound is recorded, a microphone that hears what the test says
// in a synthetic voice, and an offline recogniser as the test's ear.
//
// [Start] gives a [Rig]; [Rig.Say] speaks into its microphone "mic"; [Rig.Record]
// records its sink "speaker"; [Recognize] turns sound into a sentence of a
// grammar. All sound is mono, 16 kHz, 16 bits. Nothing of the user's session is
// touched, and every process ends with the test.
//
// It needs pulseaudio, pulseaudio-utils, flite, espeak-ng, sox, pocketsphinx and
// pocketsphinx-en-us; a missing program fails the test and names its package.
package soundtest

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// Speaker is the default sink; what it plays is its monitor.
	Speaker = "speaker"
	// Feed is the sink that the microphone hears.
	Feed = "micfeed"
	// Mic is the default source.
	Mic = "mic"

	// maxSocket is the longest path of a Unix socket.
	maxSocket = 107
	// patience is how long a program of the rig may take for what takes it well
	// under a second; it only bounds a failure.
	patience = 20 * time.Second
	poll     = 10 * time.Millisecond
)

// A Rig is one private sound server and its devices. Its methods fail the test and
// are for the test's goroutine, except where they say otherwise.
type Rig struct {
	tb     testing.TB
	dir    string
	server *process
}

// Start starts a server; it is up when Start returns, and gone when the test is.
func Start(tb testing.TB) *Rig {
	tb.Helper()
	r := &Rig{tb: tb, dir: shortDir(tb)}
	for _, d := range []string{"home/.config", "run", "rt", "state"} {
		if err := os.MkdirAll(filepath.Join(r.dir, d), 0o700); err != nil {
			tb.Fatalf("make rig folder: %v", err)
		}
	}
	if len(r.socket()) > maxSocket {
		tb.Fatalf("socket path %q is longer than %d bytes: set TMPDIR to a shorter folder", r.socket(), maxSocket)
	}
	if err := os.WriteFile(r.script(), []byte(r.setup()), 0o600); err != nil {
		tb.Fatalf("write server script: %v", err)
	}
	tb.Cleanup(r.end)
	r.Restart()
	return r
}

// shortDir is a folder for sockets; t.TempDir holds the test's name and so is too
// long for them.
func shortDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "snd")
	if err != nil {
		tb.Fatalf("make rig folder: %v", err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Errorf("remove rig folder: %v", err)
		}
	})
	return dir
}

func (r *Rig) socket() string { return filepath.Join(r.dir, "rt/native") }
func (r *Rig) script() string { return filepath.Join(r.dir, "setup.pa") }

// setup is the server's start script. The socket comes last, so that whoever
// connects finds the devices. norewinds keeps the null sinks at blocks of 50 ms;
// without it an idle one works in blocks of 2 s.
func (r *Rig) setup() string {
	const sink = "load-module module-null-sink rate=48000 norewinds=1 "
	return strings.Join([]string{
		".fail",
		sink + "sink_name=" + Speaker + " channels=2 sink_properties=device.description=Speaker",
		sink + "sink_name=" + Feed + " channels=1 channel_map=mono sink_properties=device.description=MicFeed",
		"load-module module-remap-source source_name=" + Mic + " master=" + Feed +
			".monitor channels=1 channel_map=mono source_properties=device.description=Microphone",
		"set-default-sink " + Speaker,
		"set-default-source " + Mic,
		"load-module module-native-protocol-unix socket=" + r.socket() + " auth-cookie=" + filepath.Join(r.dir, "cookie"),
		"",
	}, "\n")
}

// Server is the address for PULSE_SERVER.
func (r *Rig) Server() string { return "unix:" + r.socket() }

// Env is what a program needs to find the server and nothing else: append it to
// the environment of a child process.
func (r *Rig) Env() []string {
	return []string{
		"PULSE_SERVER=" + r.Server(),
		"PULSE_COOKIE=" + filepath.Join(r.dir, "cookie"),
		"PULSE_RUNTIME_PATH=" + filepath.Join(r.dir, "rt"),
	}
}

// privateEnv is the whole environment of the rig's own programs, so that none
// reads or writes the user's folders.
func (r *Rig) privateEnv() []string {
	return append(r.Env(),
		"PATH="+os.Getenv("PATH"), "LC_ALL=C",
		"HOME="+filepath.Join(r.dir, "home"),
		"XDG_CONFIG_HOME="+filepath.Join(r.dir, "home/.config"),
		"XDG_RUNTIME_DIR="+filepath.Join(r.dir, "run"),
		"PULSE_STATE_PATH="+filepath.Join(r.dir, "state"),
		"TMPDIR="+r.dir,
	)
}

// Kill ends the server with SIGKILL, as a crash does, and waits for its end.
func (r *Rig) Kill() {
	r.tb.Helper()
	r.server.kill()
	r.server = nil
}

// Restart starts the server again on the same socket after Kill.
func (r *Rig) Restart() {
	r.tb.Helper()
	if r.server != nil {
		r.tb.Fatal("restart sound server: it runs")
	}
	// Without PULSE_SERVER, which makes the server think it is a client's machine.
	var env []string
	for _, v := range r.privateEnv() {
		if !strings.HasPrefix(v, "PULSE_SERVER=") && !strings.HasPrefix(v, "PULSE_COOKIE=") {
			env = append(env, v)
		}
	}
	r.server = start(r.tb, env, nil, "pulseaudio", "-n", "-F", r.script(), "--daemonize=no", "--use-pid-file=no",
		"--exit-idle-time=-1", "--realtime=no", "--high-priority=no", "--disable-shm=yes", "--log-target=stderr", "--log-level=notice")
	await(r.tb, "sound server to accept", patience, func() bool {
		select {
		case <-r.server.done:
			r.tb.Fatalf("start pulseaudio: it ended: %s", r.server.errs.String())
		default:
		}
		c, err := net.Dial("unix", r.socket())
		if err != nil {
			return false
		}
		c.Close()
		return true
	})
}

// Freeze stops the server in its tracks, as a hang does; Thaw lets it go on.
func (r *Rig) Freeze() { r.signal(syscall.SIGSTOP) }

// Thaw ends a Freeze.
func (r *Rig) Thaw() { r.signal(syscall.SIGCONT) }

func (r *Rig) signal(s syscall.Signal) {
	r.tb.Helper()
	if err := r.server.cmd.Process.Signal(s); err != nil {
		r.tb.Fatalf("signal sound server: %v", err)
	}
}

func (r *Rig) end() {
	if r.server != nil {
		r.server.kill()
	}
}

// Pactl runs pactl on the server and gives its trimmed output; for example
// Pactl("set-source-mute", soundtest.Mic, "1").
func (r *Rig) Pactl(args ...string) string {
	r.tb.Helper()
	return strings.TrimSpace(string(run(r.tb, r.privateEnv(), nil, "pactl", args...)))
}
