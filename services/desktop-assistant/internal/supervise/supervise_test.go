// SPDX-License-Identifier: Apache-2.0

package supervise

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.org/desktop-assistant/proto"
)

// The first is ready before the others start; they end in reverse order.
func TestOrder(t *testing.T) {
	b := newBox(t, "first", "garble await=go ready", "second", "ready", "third", "await=late ready")
	s := b.supervisor("first", "second", "third")
	r := b.run(s)
	b.await("first start")
	b.write("go", "")
	b.await("second ready")
	b.await("third start")
	if got := b.history(); !strings.HasPrefix(got, "first start\nfirst ready\n") {
		t.Errorf("others started before the first was ready:\n%s", got)
	}
	b.write("late", "")
	b.await("third ready")
	var ready []string
	for range 3 {
		select {
		case name := <-s.Ready():
			ready = append(ready, name)
		case <-time.After(30 * time.Second):
			t.Fatalf("ready: %v", ready)
		}
	}
	if slices.Sort(ready); !slices.Equal(ready, []string{"first", "second", "third"}) {
		t.Errorf("ready: %v", ready)
	}
	r.end()
	if got := b.history(); !strings.HasSuffix(got, "third stop\nsecond stop\nfirst stop\n") {
		t.Errorf("ended in another order:\n%s", got)
	}
}

// A first daemon that is never ready does not keep the others from starting.
func TestFirstNeverReady(t *testing.T) {
	b := newBox(t, "first", "garble", "second", "ready")
	s := b.supervisor("first", "second")
	s.limits.firstWait = time.Millisecond
	r := b.run(s)
	b.await("second ready")
	r.end()
}

// Told to stop while the first is waited for, the others never start.
func TestStopEarly(t *testing.T) {
	b := newBox(t, "first", "", "second", "ready")
	r := b.run(b.supervisor("first", "second"))
	b.await("first start")
	r.end()
	if b.did("second start") || !b.did("first stop") {
		t.Errorf("the daemons did:\n%s", b.history())
	}
}

func TestOutput(t *testing.T) {
	b := newBox(t, "first", "out=one err=two piece=three ready", "second", "out=four ready")
	r := b.run(b.supervisor("first", "second"))
	b.await("second ready")
	r.end()
	if text, closed := b.out.get("first"); text != "one\ntwo\nthree" || closed != 1 {
		t.Errorf("first printed %q, closed %d times", text, closed)
	}
	if text, _ := b.out.get("second"); text != "four\n" {
		t.Errorf("second printed %q", text)
	}
}

// Who crashes is started again, after longer and longer pauses.
func TestRestart(t *testing.T) {
	for _, death := range []string{"crash", "exit=1", "exit=0"} {
		t.Run(death, func(t *testing.T) {
			b := newBox(t, "first", "ready", "second", "times=5 "+death)
			r := b.run(b.supervisor("first", "second"))
			b.await("second ready")
			r.end()
			if n := strings.Count(b.history(), "second start\n"); n != 6 {
				t.Errorf("started %d times", n)
			}
			if n := strings.Count(b.history(), "first start\n"); n != 1 {
				t.Errorf("the other one started %d times", n)
			}
			how := map[string]string{"crash": "signal: killed", "exit=1": "exit status 1", "exit=0": "exit status 0"}[death]
			at := 0
			for _, pause := range []string{"1ms", "2ms", "4ms", "8ms", "8ms"} {
				want := fmt.Sprintf("msg=restarting daemon=second after=%q in=%s", how, pause)
				i := strings.Index(b.log.String()[at:], want)
				if i < 0 {
					t.Fatalf("log lacks %s, or has it elsewhere:\n%s", want, b.log.String())
				}
				at += i + len(want)
			}
		})
	}
}

// Who lived long starts over with the shortest pause.
func TestHealthy(t *testing.T) {
	b := newBox(t, "first", "times=3 exit=1")
	s := b.supervisor("first")
	s.limits.healthy = 0
	r := b.run(s)
	b.await("first ready")
	r.end()
	if n := strings.Count(b.log.String(), "in=1ms"); n != 3 {
		t.Errorf("log:\n%s", b.log.String())
	}
}

// A stop during the pause between two lives ends it.
func TestStopInBackoff(t *testing.T) {
	b := newBox(t, "first", "exit=1")
	s := b.supervisor("first")
	s.limits.first, s.limits.firstWait = time.Hour, time.Millisecond
	r := b.run(s)
	eventually(t, "the pause", func() bool { return strings.Contains(b.log.String(), "restarting") })
	r.end()
}

// Who can never run ends all, with the reason and what to type.
func TestRefused(t *testing.T) {
	for code, hint := range map[int]string{78: "config check", 75: "desktop-assistant status", 64: "make build"} {
		for _, name := range []string{"first", "second"} {
			t.Run(fmt.Sprintf("%s exits with %d", name, code), func(t *testing.T) {
				b := newBox(t, "first", "ready", "second", "await=go ready", "third", "ready")
				b.write(name+".play", fmt.Sprintf("err=reason exit=%d", code))
				err := b.run(b.supervisor("first", "second", "third")).wait()
				if !errors.Is(err, &proto.Error{Code: proto.CodeFailed}) || !strings.Contains(err.Error(), fmt.Sprintf("%s cannot start (exit status %d)", name, code)) || !strings.Contains(proto.HintOf(err), hint) {
					t.Errorf("error %v, hint %q", err, proto.HintOf(err))
				}
				if n := strings.Count(b.history(), name+" start\n"); n != 1 {
					t.Errorf("started %d times", n)
				}
				if text, _ := b.out.get(name); text != "reason\n" {
					t.Errorf("printed %q", text)
				}
				if name == "first" && b.did("second start") {
					t.Error("the second was started")
				}
			})
		}
	}
}

func TestMissingProgram(t *testing.T) {
	b := newBox(t, "first", "ready")
	err := b.run(b.supervisor("first", "nosuch")).wait()
	if !errors.Is(err, &proto.Error{Code: proto.CodeUnavailable}) || !strings.Contains(err.Error(), "start nosuch: ") || !strings.Contains(proto.HintOf(err), "make build") {
		t.Errorf("error %v, hint %q", err, proto.HintOf(err))
	}
}

// Who does not heed SIGTERM is killed, with its children, and the others still
// end in order.
func TestDeaf(t *testing.T) {
	b := newBox(t, "first", "ready", "second", "child ready deaf", "third", "ready")
	s := b.supervisor("first", "second", "third")
	s.limits.stop = 50 * time.Millisecond
	r := b.run(s)
	b.await("second deaf")
	b.await("third ready")
	eventually(t, "the child", func() bool { return b.living("sleep") >= 2 })
	r.stop()
	if err := r.wait(); err != nil {
		t.Error(err)
	}
	if !strings.HasSuffix(b.history(), "third stop\nfirst stop\n") || !strings.Contains(b.log.String(), "did not stop in time") {
		t.Errorf("the daemons did:\n%s\nlog:\n%s", b.history(), b.log.String())
	}
}

// What a killed daemon leaves is ended before its next life, even in sessions
// of its own.
func TestOrphans(t *testing.T) {
	for _, kind := range []string{"child", "session"} {
		t.Run(kind, func(t *testing.T) {
			b := newBox(t, "first", "ready", "second", "times=1 "+kind+" await=go crash")
			r := b.run(b.supervisor("first", "second"))
			eventually(t, "the orphans to be", func() bool { return b.living("sleep") >= 2 })
			b.write("go", "")
			b.await("second ready")
			if n := b.living("sleep"); n > 0 {
				t.Errorf("%d orphans are left", n)
			}
			if n := b.living("-log"); n != 2 {
				t.Errorf("%d daemons run", n)
			}
			r.end()
		})
	}
}

// What a daemon that ends well leaves is ended with it.
func TestLeftovers(t *testing.T) {
	b := newBox(t, "first", "session ready")
	r := b.run(b.supervisor("first"))
	b.await("first ready")
	eventually(t, "the leftovers to be", func() bool { return b.living("sleep") >= 2 })
	r.end()
}

// An orphan that ends by itself while its daemon lives is no zombie for long.
func TestZombies(t *testing.T) {
	b := newBox(t, "first", "stray ready")
	r := b.run(b.supervisor("first"))
	b.await("first ready")
	pid, err := os.ReadFile(filepath.Join(b.dir, "stray"))
	if err != nil {
		t.Fatal(err)
	}
	stat := "/proc/" + strings.TrimSpace(string(pid)) + "/stat"
	eventually(t, "the stray is gone without a trace", func() bool { _, err := os.Stat(stat); return err != nil })
	eventually(t, "no zombies", func() bool { return len(b.children("Z")) == 0 })
	if list := b.children(""); len(list) != 1 {
		t.Errorf("children %v", list)
	}
	r.end()
}

// A supervisor that is killed takes its daemons along.
func TestKilled(t *testing.T) {
	b := newBox(t, "first", "ready", "second", "ready", "third", "ready")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, b.mark, "first", "second", "third")
	cmd.Env = append(os.Environ(), supervisorVariable+"="+b.dir)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b.await("second ready")
	b.await("third ready")
	if n := b.living("-log"); n != 3 {
		t.Errorf("%d daemons run", n)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it ended well")
	}
	eventually(t, "the daemons are gone", func() bool { return b.living("") == 0 })
	for _, name := range []string{"first", "second", "third"} {
		b.await(name + " stop") // told, not killed: they have children of their own to end
	}
	// Where we are the parent of orphans ourselves, they are ours to reap.
	for {
		if _, err := unix.Wait4(-1, nil, 0, nil); err != nil {
			break
		}
	}
	b.nothingLeft()
}

func TestRunsAlready(t *testing.T) {
	b := newBox(t, "first", "ready")
	path := filepath.Join(b.dir, "second.lock")
	b.write("second.lock", fmt.Sprintln(os.Getpid()))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
		t.Fatal(err)
	}
	_, err = New(b.options(nil, "first", "second"))
	if !errors.Is(err, &proto.Error{Code: proto.CodeBusy}) || !strings.Contains(err.Error(), fmt.Sprintf("second runs already, as process %d", os.Getpid())) || proto.HintOf(err) == "" {
		t.Errorf("error %v, hint %q", err, proto.HintOf(err))
	}
	if _, err := New(b.options(nil, "first")); err != nil {
		t.Error(err)
	}
}

func TestBinDir(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if dir, err := BinDir([]string{filepath.Base(self)}); err != nil || dir != filepath.Dir(self) {
		t.Errorf("%q, %v", dir, err)
	}
	_, err = BinDir([]string{"nosuchd"})
	if !errors.Is(err, &proto.Error{Code: proto.CodeUnavailable}) || !strings.Contains(err.Error(), "nosuchd") || proto.HintOf(err) != "build them: make build" {
		t.Errorf("error %v, hint %q", err, proto.HintOf(err))
	}
	// An installation keeps the daemons apart from the command line.
	libexec := filepath.Join(filepath.Dir(self), "../libexec/desktop-assistant")
	if err := os.MkdirAll(libexec, 0o700); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(libexec, "installedd")
	t.Cleanup(func() {
		for _, path := range []string{program, libexec, filepath.Dir(libexec)} {
			_ = os.Remove(path) // not what others put there
		}
	})
	if err := os.WriteFile(program, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if dir, err := BinDir([]string{"installedd"}); err != nil || dir != libexec {
		t.Errorf("%q, %v", dir, err)
	}
}

// The configuration and the log level are handed on.
func TestArguments(t *testing.T) {
	u := &unit{s: &Supervisor{opts: Options{Level: "debug", Config: "/etc/x.toml"}}}
	if got := u.args(); !slices.Equal(got, []string{"-log", "debug", "-config", "/etc/x.toml"}) {
		t.Errorf("%q", got)
	}
}
