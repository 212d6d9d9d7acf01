// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/services/toolrunner/internal/sandbox"
	"example.org/desktop-assistant/services/toolrunner/internal/tool"
)

// helperVariable makes the test binary a runner of its own that a test can
// kill: its value is a tools folder, whose tool x is called.
const helperVariable = "RUN_TEST_HELPER"

func TestMain(m *testing.M) {
	sandbox.Enter()
	if dir := os.Getenv(helperVariable); dir != "" {
		r := New(Config{Log: slog.New(slog.DiscardHandler)}, tool.LoadDir(dir))
		fmt.Println(r.Call(context.Background(), "x", []byte("{}"), Options{}).Text)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// box is a tools folder being filled, and the mark that all of its processes
// carry in their command line; it is a number of seconds that sleep takes.
type box struct {
	t    testing.TB
	dir  string
	mark string
}

func newBox(t testing.TB) *box {
	return &box{t: t, dir: t.TempDir(), mark: fmt.Sprintf("300.%09d", time.Now().UnixNano()%1e9)}
}

// put writes a file; <mark> stands for the mark.
func (b *box) put(name, text string) {
	b.t.Helper()
	mode := os.FileMode(0o755)
	if strings.HasSuffix(name, ".toml") {
		mode = 0o644
	}
	text = strings.ReplaceAll(text, "<mark>", b.mark)
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), mode); err != nil {
		b.t.Fatal(err)
	}
}

// script adds a tool that runs a shell script.
func (b *box) script(name, keys, script string) {
	b.t.Helper()
	b.put(name+".toml", fmt.Sprintf("description = \"D.\"\ncommand = [\"%s.sh\"]\n%s\n", name, keys))
	b.put(name+".sh", "#!/bin/sh\n"+script+"\n")
}

func (b *box) runner(c Config) *Runner {
	b.t.Helper()
	set := tool.LoadDir(b.dir)
	for _, p := range set.Problems {
		b.t.Error(p)
	}
	if c.Log == nil {
		c.Log = newBoxLog(b.t)
	}
	return New(c, set)
}

func newBoxLog(t testing.TB) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

// processes calls visit for every process of the machine.
func processes(t testing.TB, visit func(pid int, line, stat string)) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		stat, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		if err == nil { // it may be gone by now
			visit(pid, string(line), string(stat[bytes.LastIndexByte(stat, ')')+2:]))
		}
	}
}

// living lists the processes that carry the mark; zombies do not count.
func (b *box) living() []int {
	var pids []int
	processes(b.t, func(pid int, line, stat string) {
		if strings.Contains(line, b.mark) && stat[0] != 'Z' && stat[0] != 'X' {
			pids = append(pids, pid)
		}
	})
	return pids
}

// nothingLeft fails when the box's processes or any children of ours remain.
func (b *box) nothingLeft() {
	b.t.Helper()
	if pids := b.living(); len(pids) > 0 {
		b.t.Errorf("still running: %v", pids)
	}
	processes(b.t, func(pid int, line, stat string) {
		if fields := strings.Fields(stat); fields[1] == strconv.Itoa(os.Getpid()) {
			b.t.Errorf("child %d is left in state %s: %q", pid, fields[0], line)
		}
	})
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for !condition() {
		select {
		case <-poll.C:
		case <-deadline.C:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
