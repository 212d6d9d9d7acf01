// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/landlock-lsm/go-landlock/landlock"
)

func TestMain(m *testing.M) {
	Enter()
	os.Exit(m.Run())
}

// needLevel gives what this kernel can do. Where it cannot confine files there
// is nothing to see, and the skip says so.
func needLevel(t *testing.T, abi int) Level {
	t.Helper()
	l := Detect()
	t.Logf("this kernel confines: %v", l)
	if l.Landlock < abi {
		t.Skipf("this kernel has Landlock %d, the test needs %d", l.Landlock, abi)
	}
	return l
}

// confined runs a program and gives its whole output.
func confined(t *testing.T, s Spec, l Level, argv ...string) (string, error) {
	t.Helper()
	program, err := exec.LookPath(argv[0])
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd := &exec.Cmd{Path: program, Args: argv, Stdout: &out, Stderr: &out, Env: []string{"PATH=/usr/bin:/bin", "LANG=C"}}
	report, err := Wrap(cmd, s, l)
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Start()
	report.Close()
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if why := report.Err(); why != nil {
		return out.String(), why
	}
	return out.String(), err
}

// What the sandbox lists can be read and changed, what it does not list
// cannot, whichever way it is spelt, and ordinary scripts run.
func TestFiles(t *testing.T) {
	level := needLevel(t, 3)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"read/file", "write/file", "secret/cookie", "single"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("content of "+name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "secret/cookie"), filepath.Join(dir, "read/link")); err != nil {
		t.Fatal(err)
	}
	spec := Spec{Read: []string{dir + "/read", dir + "/single", dir + "/not-there"}, Write: []string{dir + "/write"}}
	for _, c := range []struct {
		script string
		ok     bool
	}{
		{"cat read/file single write/file", true},
		{"ls read write", true},
		{"echo x > write/new && mv write/new write/newer && rm write/newer", true},
		{"mkdir write/a && mv write/file write/a/file && mv write/a/file write/file && rmdir write/a", true},
		{"python3 -c 'import json, ssl, random; print(random.random())'", true},
		{"awk 'BEGIN { print 1 }' | sort > /dev/null", true},
		{"date +%s; id -u; env | sort; nproc", true},
		{"bash -c 'cat <(echo substitution)'", true},
		{"cat secret/cookie", false},
		{"cat read/link", false},
		{"cat read/../secret/cookie", false},
		{"cat /proc/self/root" + dir + "/secret/cookie", false},
		{"ls secret", false},
		{"ls .", false},
		{"echo x > read/new", false},
		{"echo x > read/file", false},
		{": > single", false},
		{"truncate -s 0 read/file", false},
		{"rm read/file", false},
		{"ln secret/cookie write/hard", false},
		{"mv secret/cookie write/moved", false},
		{"cat /proc/$PPID/environ", false},
		{"cat /proc/1/cmdline", false},
		{"ls /root || ls /home", false},
	} {
		out, err := confined(t, spec, level, "/bin/sh", "-c", "cd "+dir+" && "+c.script)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v, %s", c.script, err, out)
		}
	}
	for _, name := range []string{"secret/cookie", "read/file", "single"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != "content of "+name+"\n" {
			t.Errorf("%s became %q, %v", name, text, err)
		}
	}
	if level.Landlock >= 6 {
		if out, err := confined(t, spec, level, "/bin/sh", "-c", fmt.Sprintf("kill -0 %d", os.Getpid())); err == nil {
			t.Errorf("it may send signals to the runner: %s", out)
		}
	}
}

const dial = `
import socket, sys
kind, address = sys.argv[1], sys.argv[2]
if kind == "unix":
    socket.socket(socket.AF_UNIX).connect(address)
else:
    port = int(address)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
    s.connect(("127.0.0.1", port))
    s.send(b"x")
print("sent")
`

// Without network no socket of the network can be had, in any protocol; with
// it all can. Sockets of the file system are another matter.
func TestNetwork(t *testing.T) {
	level := Detect()
	if !level.Seccomp {
		t.Skip("this kernel has no seccomp filters")
	}
	dir := t.TempDir()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	local, err := net.Listen("unix", dir+"/socket")
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	_, tcpPort, _ := net.SplitHostPort(tcp.Addr().String())
	_, udpPort, _ := net.SplitHostPort(udp.LocalAddr().String())
	for _, network := range []bool{false, true} {
		for kind, address := range map[string]string{"tcp": tcpPort, "udp": udpPort, "unix": dir + "/socket"} {
			out, err := confined(t, Spec{Read: []string{dir}, Network: network}, level, "/usr/bin/python3", "-c", dial, kind, address)
			if want := network || kind == "unix"; (err == nil) != want {
				t.Errorf("network %v, %s: %v, %s", network, kind, err, out)
			}
		}
	}
	// Landlock alone, as where seccomp is missing, refuses TCP.
	if l := (Level{Landlock: level.Landlock}); l.Landlock >= 4 {
		for kind, want := range map[string]bool{"tcp": false, "udp": l.Landlock < 10} {
			address := map[string]string{"tcp": tcpPort, "udp": udpPort}[kind]
			if out, err := confined(t, Spec{}, l, "/usr/bin/python3", "-c", dial, kind, address); (err == nil) != want {
				t.Errorf("Landlock alone, %s: %v, %s", kind, err, out)
			}
		}
	}
}

// Every level below that of the kernel works, down to none at all, and takes
// away what it can.
func TestLevels(t *testing.T) {
	kernel := Detect()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for abi := range kernel.Landlock + 1 {
		l := Level{Landlock: abi}
		out, err := confined(t, Spec{}, l, "cat", file)
		if readable := err == nil && out == "text"; readable != (abi == 0) {
			t.Errorf("%v: %v, %s", l, err, out)
		}
		if out, err := confined(t, Spec{Write: []string{dir}}, l, "sh", "-c", "cat "+file+" && echo -n text > "+file); err != nil || out != "text" {
			t.Errorf("%v: %v, %s", l, err, out)
		}
	}
	// A level above the kernel's is no reason to run with less: 9 knows a right that 8 does not.
	if _, err := confined(t, Spec{}, Level{Landlock: 9}, "true"); kernel.Landlock < 9 && err == nil {
		t.Error("a level above the kernel's was taken")
	}
}

// An execution that fails is told as what it is.
func TestExecutionFails(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"bare": "echo hi\n", "lost": "#!/no/such/interpreter\n", "plain": "#!/bin/sh\n"} {
		mode := os.FileMode(0o755)
		if name == "plain" {
			mode = 0o644
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]error{"bare": syscall.ENOEXEC, "lost": syscall.ENOENT, "plain": syscall.EACCES, "none": syscall.ENOENT} {
		cmd := &exec.Cmd{Path: filepath.Join(dir, name), Args: []string{name}}
		report, err := Wrap(cmd, Spec{}, Detect())
		if err != nil {
			t.Fatal(err)
		}
		err = cmd.Start()
		report.Close()
		if err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // the report says why
		if got := report.Err(); !errors.Is(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestBecomeRefuses(t *testing.T) {
	if why := become("{", []string{"true"}); !strings.HasPrefix(why.Text, "decode sandbox: ") {
		t.Errorf("%+v", why)
	}
}

// What each version of Landlock is asked for holds only what it knows, and
// nothing that a sandbox does not list is written to.
func TestRules(t *testing.T) {
	dir := t.TempDir()
	o := order{Spec: Spec{Read: []string{"/etc/passwd"}, Write: []string{dir}}, Program: "/bin/sh"}
	for abi, version := range versions {
		config, rules := o.rules(version)
		if config.HandledAccessNet != version.HandledAccessNet {
			t.Errorf("ABI %d: the network is open", abi)
		}
		writable := 0
		for _, r := range rules {
			rule := fmt.Sprint(r)
			if strings.Contains(rule, "write_file") {
				writable++
				if !strings.Contains(rule, dir) && !strings.Contains(rule, "/dev/null") && !strings.Contains(rule, "/dev/full") {
					t.Errorf("ABI %d: %s", abi, rule)
				}
			}
		}
		if abi > 0 && writable < 2 || abi == 0 && len(rules) > 0 {
			t.Errorf("ABI %d: %d rules, %d to write", abi, len(rules), writable)
		}
	}
	o.Network = true
	if config, _ := o.rules(landlock.V11); config.HandledAccessNet != 0 || config.Scoped == 0 {
		t.Errorf("with network: %v", config)
	}
}

func TestLevelText(t *testing.T) {
	for _, c := range []struct {
		level         Level
		text, missing string
	}{
		{Level{}, "nothing: this kernel has neither Landlock nor seccomp", "files and the network"},
		{Level{Seccomp: true}, "seccomp: the network; not: files, truncating files, devices, signals and abstract sockets, sockets of the file system", "files"},
		{Level{Landlock: 3}, "Landlock 3: files, truncating files; not: TCP, devices, signals and abstract sockets, sockets of the file system, UDP", "the network"},
		{Level{7, true}, "Landlock 7 and seccomp: files, truncating files, devices, signals and abstract sockets, the network; not: sockets of the file system", ""},
		{Level{12, false}, "Landlock 12: files, truncating files, TCP, devices, signals and abstract sockets, sockets of the file system, UDP", ""},
	} {
		if got := c.level.String(); got != c.text {
			t.Errorf("%+v: got  %s\nwant %s", c.level, got, c.text)
		}
		if got := c.level.Missing(Spec{}); got != c.missing {
			t.Errorf("%+v misses %q, want %q", c.level, got, c.missing)
		}
	}
	if got := (Level{Landlock: 1}).Missing(Spec{Network: true}); got != "" {
		t.Errorf("with network: %q", got)
	}
}
