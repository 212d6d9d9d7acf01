// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/toolrunner/internal/cgroup"
	"example.org/desktop-assistant/services/toolrunner/internal/cgroup/cgrouptest"
)

// With a control group a process without group, session, parent or environment
// is still known as its call's, also beside an older call, and the group goes
// with the call. All other tests of this package run without one.
func TestControlGroup(t *testing.T) {
	dir := cgrouptest.Dir(t)
	tree, err := cgroup.At(dir)
	if err != nil {
		t.Fatal(err)
	}
	b := newBox(t)
	const naked = `( env -i setsid sh -c 'sleep <mark> & exit' ); ( env -i setsid sleep <mark> & )`
	b.put("old.toml", "description = \"D.\"\ncommand = [\"sleep\", \"100\"]\ntimeout = 100\n")
	b.script("exit", "", naked+"; echo ok")
	b.script("timeout", "timeout = 0.1", naked+"; sleep <mark>")
	b.script("nested", "timeout = 0.1", `cd `+dir+`/da-call-*; mkdir below; echo 0 > below/cgroup.procs; exec sleep <mark>`)
	b.script("left", "timeout = 0.1", `( echo 0 > `+dir+`/cgroup.procs; exec setsid sleep <mark> )`)
	b.put("bare.toml", "description = \"D.\"\ncommand = [\"bare.sh\"]\n")
	b.put("bare.sh", "echo hi\n")
	r := b.runner(Config{Cgroups: tree})
	for name, kind := range map[string]string{"nested": proto.KindTimeout, "left": proto.KindTimeout, "bare": proto.KindCannotRun} {
		if got := r.Call(t.Context(), name, []byte("{}"), Options{}); got.Kind != kind {
			t.Errorf("%s: %+v", name, got)
		}
		b.nothingLeft()
		if entries, _ := os.ReadDir(dir); countDirs(entries) > 0 {
			t.Errorf("%s: groups are left: %v", name, entries)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var old sync.WaitGroup
	old.Go(func() { r.Call(ctx, "old", []byte("{}"), Options{}) })
	eventually(t, "the older call", func() bool {
		entries, _ := os.ReadDir(dir)
		return countDirs(entries) == 1
	})
	for range 6 {
		for name, kind := range map[string]string{"exit": "", "timeout": proto.KindTimeout} {
			if got := r.Call(t.Context(), name, []byte("{}"), Options{}); got.Kind != kind {
				t.Errorf("%s: %+v", name, got)
			}
			if pids := b.living(); len(pids) > 0 {
				t.Fatalf("%s: still running: %v", name, pids)
			}
		}
	}
	cancel()
	old.Wait()
	b.nothingLeft()
	if entries, _ := os.ReadDir(dir); countDirs(entries) > 0 {
		t.Errorf("groups are left: %v", entries)
	}
}

func countDirs(entries []os.DirEntry) int {
	n := 0
	for _, e := range entries {
		if e.IsDir() {
			n++
		}
	}
	return n
}

// A tree that is no longer there keeps no tool from running.
func TestControlGroupsGone(t *testing.T) {
	dir := filepath.Join(cgrouptest.Dir(t), "part")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	tree, err := cgroup.At(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	b := newBox(t)
	b.script("x", "", "echo ok")
	r := b.runner(Config{Cgroups: tree})
	if got := r.Call(t.Context(), "x", []byte("{}"), Options{}); got.Text != "ok" {
		t.Errorf("got %+v", got)
	}
}
