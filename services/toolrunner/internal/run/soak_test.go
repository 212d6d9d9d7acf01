// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/toolrunner/internal/cgroup"
	"example.org/desktop-assistant/services/toolrunner/internal/cgroup/cgrouptest"
)

// calls of the soak; make soak asks for more.
var calls = flag.Int("calls", 60, "calls of TestSoak")

// hostile are tools that try to stay, each with the kinds it may end in.
var hostile = []struct {
	keys, script string
	kinds        []string
}{
	{"timeout = 0.1", `sleep <mark>`, []string{proto.KindTimeout}},
	{"timeout = 0.1", `trap '' TERM; setsid sleep <mark> & setsid sleep <mark> & wait`, []string{proto.KindTimeout}},
	{"timeout = 0.1", `( env -i setsid sh -c 'sleep <mark> & exit' ); sleep <mark>`, []string{proto.KindTimeout}},
	{"timeout = 0.1", `yes <mark>`, []string{proto.KindTimeout}},
	{"timeout = 0.1", `yes <mark> >&2`, []string{proto.KindTimeout}},
	{"timeout = 0.1\nsandbox = {}", `setsid sleep <mark> & sleep <mark>`, []string{proto.KindTimeout}},
	{"", `setsid sleep <mark> & sleep <mark> & echo ok`, []string{""}},
	{"", `for i in 1 2 3 4 5 6 7 8 9; do ( setsid true & ) & done; echo ok`, []string{""}},
	{"", `head -c 300000 /dev/zero | tr '\0' e >&2; exit 7`, []string{proto.KindFailed}},
	{"", `exec 0<&- 1>&- 2>&-; exit 0`, []string{""}},
	{"", `kill -9 $$`, []string{proto.KindFailed}},
	{"", `kill -STOP $$ & sleep <mark>`, []string{proto.KindCancelled}}, // always killed mid-way
}

// Calls in six lanes, a third of them hostile, a fifth of those killed mid-way,
// the others with arguments from nothing to too much, leave no process, zombie,
// descriptor, goroutine or memory behind.
func TestSoak(t *testing.T) {
	t.Run("walk", func(t *testing.T) { soak(t, nil) })
	t.Run("control groups", func(t *testing.T) {
		dir := cgrouptest.Dir(t)
		groups, err := cgroup.At(dir)
		if err != nil {
			t.Fatal(err)
		}
		soak(t, groups)
		if entries, err := os.ReadDir(dir); err != nil || countDirs(entries) > 0 {
			t.Errorf("groups are left: %v, %v", entries, err)
		}
	})
}

func soak(t *testing.T, groups *cgroup.Tree) {
	b := newBox(t)
	b.put("good.toml", "description = \"D.\"\ncommand = [\"printf\", \"%s\", \"{a}\"]\n[params.a]\n")
	for i, h := range hostile {
		b.script(fmt.Sprint("h", i), h.keys, h.script)
	}
	r := b.runner(Config{MaxParallel: 4, Cgroups: groups})
	good(t, r, 3) // whatever is set up once
	files, routines, memory := openFiles(t), runtime.NumGoroutine(), heap()
	start := time.Now()
	var next atomic.Int64
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			for n := int(next.Add(1)); n <= *calls; n = int(next.Add(1)) {
				if n%3 == 0 {
					bad(t, r, n/3)
				} else {
					good(t, r, n)
				}
			}
		})
	}
	group.Wait()
	b.nothingLeft()
	eventually(t, "goroutines to end", func() bool { return runtime.NumGoroutine() <= routines })
	if n := openFiles(t); n > files {
		t.Errorf("%d files are open, %d before", n, files)
	}
	grown := int64(heap()) - int64(memory)
	if grown > 2<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	t.Logf("%d calls in %v, heap grew by %d bytes, %d files and %d goroutines before and after", *calls, time.Since(start).Round(time.Millisecond), grown, files, routines)
}

// good is a call with an argument that grows with n, at times beyond what the
// kernel takes (131071 bytes).
func good(t *testing.T, r *Runner, n int) {
	text := strings.Repeat("v", n*997%140_000)
	got := r.Call(t.Context(), "good", []byte(`{"a":"`+text+`"}`), Options{})
	if len(text) > 131_071 {
		if got.Kind != proto.KindCannotRun {
			t.Errorf("%d bytes: %+v", len(text), got)
		}
		return
	}
	if !got.OK || len(got.Text) != min(2000, len(text)) {
		t.Errorf("%d bytes: %s of %d", len(text), got.Kind, len(got.Text))
	}
}

// bad is a hostile call; every fifth is killed mid-way.
func bad(t *testing.T, r *Runner, n int) {
	ctx := t.Context()
	h := hostile[n%len(hostile)]
	cancelled := n%5 == 0 || h.kinds[0] == proto.KindCancelled
	if cancelled {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		stop := time.AfterFunc(time.Duration(n%40)*time.Millisecond, cancel)
		defer func() { stop.Stop(); cancel() }()
	}
	got := r.Call(ctx, fmt.Sprint("h", n%len(hostile)), []byte("{}"), Options{})
	if !slices.Contains(h.kinds, got.Kind) && (!cancelled || got.Kind != proto.KindCancelled) {
		t.Errorf("%s: %+v", h.script, got)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
