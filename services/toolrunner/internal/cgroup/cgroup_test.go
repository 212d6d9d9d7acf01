// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.org/desktop-assistant/services/toolrunner/internal/cgroup/cgrouptest"
)

const systemd = "24 30 0:22 / /proc rw,nosuid - proc proc rw\n" +
	"33 24 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"

func TestLocate(t *testing.T) {
	const service = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/da-toolrunner.service\n"
	for _, c := range []struct{ name, self, mounts, want string }{
		{"unified", service, systemd, "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/da-toolrunner.service"},
		{"hybrid", "4:memory:/x\n1:name=systemd:/y\n0::/z\n", "40 1 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n41 1 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", "/sys/fs/cgroup/unified/z"},
		{"part of it is mounted", "0::/a/b/c\n", "1 1 0:1 /a/b /mnt/x\\040y rw - cgroup2 none rw\n", "/mnt/x y/c"},
		{"another part is mounted", "0::/a/b/c\n", "1 1 0:1 /other /mnt rw - cgroup2 none rw\n", ""},
		{"version 1 only", "4:memory:/x\n", "40 1 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", ""},
		{"not mounted", service, "24 30 0:22 / /proc rw - proc proc rw\n", ""},
		{"outside of the namespace", "0::/../x\n", systemd, ""},
		{"nonsense", "0::/x\n", "1\n - \n", ""},
	} {
		got, ok := locate(c.self, c.mounts)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, ok, c.want)
		}
	}
}

func TestUnit(t *testing.T) {
	const manager, app = "/c/user@1000.service", "/c/user@1000.service/app.slice/da-toolrunner.service"
	for _, c := range []struct {
		own    string
		marked []string
		want   string
	}{
		{app, []string{manager, app}, app},
		{app + "/main", []string{manager, app}, app},
		{app, []string{manager}, ""},
		{manager + "/init.scope", []string{manager}, ""},
		{app + "/main/deeper", []string{manager, app}, ""},
	} {
		got, _ := unit(c.own, func(dir string) bool {
			for _, m := range c.marked {
				if m == dir {
					return true
				}
			}
			return false
		})
		if got != c.want {
			t.Errorf("%s marked %v: got %q, want %q", c.own, c.marked, got, c.want)
		}
	}
}

// On a fake tree: a folder that is no control group is refused, and leaves
// nothing behind.
func TestAtRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := At(dir); err == nil || !strings.Contains(err.Error(), killFile) {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	if _, err := At(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there was taken")
	}
}

// On a fake tree: groups inside a group go with it, and one that is in use is
// an error after the limit.
func TestRemove(t *testing.T) {
	tree := &Tree{dir: t.TempDir()}
	g, err := tree.New("x")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(g.dir, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := g.Remove(0); err != nil {
		t.Error(err)
	}
	g, err = tree.New("y")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(g.dir, "busy"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := g.Remove(time.Millisecond); !errors.Is(err, unix.ENOTEMPTY) {
		t.Errorf("got %v", err)
	}
}

// On a fake tree: what a process that is gone left is taken away, what a living
// one has is not.
func TestClean(t *testing.T) {
	dir := t.TempDir()
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	for name, stays := range map[string]bool{
		fmt.Sprintf("%s%d-x", prefix, gone.Process.Pid): false,
		fmt.Sprintf("%s%d-x", prefix, os.Getppid()):     true,
		prefix + "nonsense":                             true,
		"other.service":                                 true,
	} {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		(&Tree{dir: dir}).clean()
		if _, err := os.Stat(path); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// On the real tree: processes of several sessions die at one write.
func TestKill(t *testing.T) {
	dir := cgrouptest.Dir(t)
	tree, err := At(dir)
	if err != nil {
		t.Fatal(err)
	}
	g, err := tree.New("x")
	if err != nil {
		t.Fatal(err)
	}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd := exec.Command("/bin/sh", "-c", "setsid sleep 300 & setsid sleep 300 & echo started; exec sleep 300")
	cmd.Stdout = out
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	g.Attach(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Close()
	if _, err := in.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	if pids := g.Processes(); len(pids) != 3 {
		t.Errorf("%d processes", len(pids))
	}
	if err := g.Remove(0); !errors.Is(err, unix.EBUSY) {
		t.Errorf("removed while in use: %v", err)
	}
	if err := g.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if err := g.Remove(10 * time.Second); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, prefix+"*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// On the real tree: the mark that systemd sets is seen.
func TestDelegated(t *testing.T) {
	dir := cgrouptest.Dir(t)
	if delegated(dir) {
		t.Error("delegated without the mark")
	}
	if err := unix.Setxattr(dir, "user.delegate", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	if !delegated(dir) {
		t.Error("not delegated with the mark")
	}
}

// Whatever this process runs in, the answer is one of the two.
func TestOpen(t *testing.T) {
	tree, err := Open()
	if (tree == nil) == (err == nil) {
		t.Errorf("got %v, %v", tree, err)
	}
	t.Logf("control group of this process: %v, %v", tree, err)
}
