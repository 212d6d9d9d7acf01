// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/pkg/testkit/waittest"
	"example.org/desktop-assistant/proto"
)

// As a child of a test, this program only tries to get in.
const dialVariable = "SOCKET_TEST_DIAL"

func TestMain(m *testing.M) {
	if path := os.Getenv(dialVariable); path != "" {
		fmt.Print(tryIn(path))
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// tryIn says what a client meets at the socket.
func tryIn(path string) string {
	c, err := net.Dial("unix", path)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	greeting, err := io.ReadAll(c)
	return fmt.Sprintf("%q %v", greeting, err)
}

const greeting = "welcome"

// greet is a message server that says one word and hangs up.
func greet() (net.Conn, error) {
	ours, theirs := net.Pipe()
	go func() {
		_, _ = ours.Write([]byte(greeting))
		ours.Close()
	}()
	return theirs, nil
}

// folder is a short one, and open to other users.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// open serves a new socket with dial.
func open(t *testing.T, dial func() (net.Conn, error)) (path string, s *Server, log *waittest.Output) {
	t.Helper()
	path = filepath.Join(folder(t), "bus.sock")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	log = &waittest.Output{}
	s = Accept(l, dial, slog.New(slog.NewTextHandler(log, nil)))
	t.Cleanup(s.End)
	return path, s, log
}

func TestOwnUser(t *testing.T) {
	path, s, log := open(t, greet)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("mode %s", info.Mode())
	}
	if got, want := tryIn(path), fmt.Sprintf("%q <nil>", greeting); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	s.Close()
	s.Close()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if log.String() != "" {
		t.Errorf("log: %s", log)
	}
}

// Another user does not get past the mode of the socket, and not past the
// check of who calls when the mode is wrong.
func TestOtherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to become another user")
	}
	path, _, log := open(t, greet)
	as := func(uid uint32) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
		cmd.Env = []string{dialVariable + "=" + path}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("run as %d: %v", uid, err)
		}
		return string(out)
	}
	if got := as(65534); !strings.HasSuffix(got, "permission denied") {
		t.Errorf("another user meets %s", got)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := as(65534); strings.Contains(got, greeting) {
		t.Errorf("another user meets %s", got)
	}
	if got := log.String(); !strings.Contains(got, "another user") || !strings.Contains(got, "uid=65534") || !strings.Contains(got, "pid=") {
		t.Errorf("log: %s", got)
	}
	if got := as(0); !strings.Contains(got, greeting) {
		t.Errorf("we ourselves meet %s", got)
	}
}

// What a killed one left is replaced; what is in use, or is no socket, is not.
func TestListen(t *testing.T) {
	path := filepath.Join(folder(t), "bus.sock")
	first, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Listen(path)
	if !errors.Is(err, &proto.Error{Code: proto.CodeBusy}) || !strings.Contains(err.Error(), path) || proto.HintOf(err) == "" {
		t.Errorf("got %v, hint %q", err, proto.HintOf(err))
	}
	first.SetUnlinkOnClose(false) // as if killed
	first.Close()
	second, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
	if err := os.WriteFile(path, []byte("notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Listen(path)
	if !errors.Is(err, &proto.Error{Code: proto.CodeBusy}) || !strings.Contains(proto.HintOf(err), "rm "+path) {
		t.Errorf("got %v, hint %q", err, proto.HintOf(err))
	}
	if _, err := Listen(filepath.Join(path, "x", "bus.sock")); err == nil {
		t.Error("a folder that is a file is no error")
	}
}

// A client whose words nobody reads any more still gets to read why: nothing
// the server said is lost however much the client sends meanwhile.
func TestLastWords(t *testing.T) {
	path, _, _ := open(t, greet)
	for range 200 {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for range 8 { // an error means that the end came first
				if _, err := c.Write(make([]byte, 4096)); err != nil {
					return
				}
			}
		}()
		got, err := io.ReadAll(c)
		if string(got) != greeting || err != nil {
			t.Fatalf("read %q, %v", got, err)
		}
		<-sent
		c.Close()
	}
}

// A server that takes nobody sends the client away; End cuts off who is in,
// even a client that does not read.
func TestEnd(t *testing.T) {
	path, s, log := open(t, func() (net.Conn, error) { return nil, errors.New("stopping") })
	if got := tryIn(path); strings.Contains(got, greeting) {
		t.Errorf("got %s", got)
	}
	s.End()
	if !strings.Contains(log.String(), "stopping") {
		t.Errorf("log: %s", log)
	}

	joined := make(chan net.Conn, 1)
	path, s, _ = open(t, func() (net.Conn, error) {
		ours, theirs := net.Pipe()
		joined <- ours
		return theirs, nil
	})
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	server := <-joined
	flooded := make(chan struct{})
	go func() {
		defer close(flooded)
		for {
			if _, err := server.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}()
	s.Close()
	if _, err := net.Dial("unix", path); err == nil {
		t.Error("got in after Close")
	}
	s.End()
	s.End()
	select {
	case <-flooded:
	case <-time.After(30 * time.Second):
		t.Fatal("the server is still joined to a client")
	}
	server.Close()
}
