// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"example.org/desktop-assistant/proto"
)

// processes lists what runs with the environment of this account: daemons,
// tools and whatever they started. Dead ones that nobody has reaped are none.
func (h home) processes(t *testing.T) map[int]string {
	t.Helper()
	own := []byte("=" + h.dir + "/")
	list, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]string{}
	for _, dir := range list {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !bytes.Contains(env, own) {
			continue // gone meanwhile, or not ours to read
		}
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		pid, bad := strconv.Atoi(filepath.Base(dir))
		if err != nil || bad != nil || len(line) == 0 {
			continue
		}
		found[pid] = strings.ReplaceAll(strings.TrimRight(string(line), "\x00"), "\x00", " ")
	}
	return found
}

// alive says whether a process runs; one that is dead and not yet reaped does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the name before may hold anything
	return !strings.HasPrefix(rest, "Z")
}

// pids are the processes of the daemons, as each tells itself.
func (s *stack) pids() map[string]int {
	s.t.Helper()
	list := map[string]int{}
	for _, name := range proto.Daemons() {
		eventually(s.t, name+" answers", func() bool {
			status := s.status(name)
			if status != nil {
				list[name] = status.PID
			}
			return status != nil
		})
	}
	return list
}

// kill ends a process as the kernel does when memory runs out.
func kill(t *testing.T, pid int) {
	t.Helper()
	if pid <= 1 {
		t.Fatalf("there is no process %d to kill", pid)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill %d: %v", pid, err)
	}
}

// slowTool is a tool that says who it is, leaves a grandchild in a session of
// its own, and works until the file go is there.
type slowTool struct{ dir string }

// addSlowTool gives an account the tool "slow".
func (h home) addSlowTool(t *testing.T) slowTool {
	t.Helper()
	tool := slowTool{filepath.Join(h.dir, "slow")}
	h.write(t, "config/desktop-assistant/tools/slow.toml", `
description = "Works for a while."
command = ["slow.sh"]
timeout = 120
sentences.en = ["work for a while"]
`)
	h.write(t, "config/desktop-assistant/tools/slow.sh", `#!/bin/sh
mkdir -p `+tool.dir+`
setsid sh -c 'echo $$ > `+tool.dir+`/grandchild.new; mv `+tool.dir+`/grandchild.new `+tool.dir+`/grandchild; exec sleep 300' &
echo $$ > `+tool.dir+`/child.new
mv `+tool.dir+`/child.new `+tool.dir+`/child
while [ ! -e `+tool.dir+`/go ]; do sleep 0.05; done
echo "worked"
`)
	return tool
}

// running waits until the tool and its grandchild run, and gives both.
func (tool slowTool) running(t *testing.T) []int {
	t.Helper()
	var list []int
	for _, name := range []string{"child", "grandchild"} {
		eventually(t, "the tool's "+name+" runs", func() bool {
			text, err := os.ReadFile(filepath.Join(tool.dir, name))
			if err != nil {
				return false
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err == nil {
				list = append(list, pid)
			}
			return err == nil
		})
	}
	return list
}

// finish lets the tool end by itself.
func (tool slowTool) finish(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(tool.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// reset forgets the last call.
func (tool slowTool) reset(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(tool.dir); err != nil {
		t.Fatal(err)
	}
}

// gone waits until none of the processes is left.
func gone(t *testing.T, what string, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		eventually(t, what+" "+strconv.Itoa(pid)+" is gone", func() bool { return !alive(pid) })
	}
}
