// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/desktop-assistant/proto"
)

// hostile are tools that try to stay, each with the kinds it may end in.
var hostile = []struct {
	keys, script string
	kinds        []string
}{
	{"timeout = 0.1", `sleep <mark>`, []string{proto.KindTimeout}},
	{"timeout = 0.1", `trap '' TERM; setsid sleep <mark> & setsid sleep <mark> & wait`, []string{proto.KindTimeout}},
	{"timeout = 0.1", `( env -i setsid sh -c 'sleep <mark> & exit' ); sleep <mark>`, []string{proto.KindTimeout}},
	{"timeout = 0.1", `yes <mark>`, []string{proto.KindTimeout}},
	{"", `setsid sleep <mark> & sleep <mark> & echo ok`, []string{""}},
	{"", `for i in 1 2 3 4 5 6 7 8 9; do ( setsid true & ) & done; echo ok`, []string{""}},
	{"", `head -c 300000 /dev/zero | tr '\0' e >&2; exit 7`, []string{proto.KindFailed}},
	{"", `exec 0<&- 1>&- 2>&-; exit 0`, []string{""}},
	{"", `kill -9 $$`, []string{proto.KindFailed}},
}

// 300 calls, a good half of them hostile and every fifth one cancelled, leave
// no process, zombie, descriptor, goroutine or memory behind.
func TestSoak(t *testing.T) {
	const calls, lanes = 300, 6
	b := newBox(t)
	b.put("good.toml", "description = \"D.\"\ncommand = [\"printf\", \"%s\", \"{a}\"]\n[params.a]\n")
	names := map[string][]string{}
	for i, h := range hostile {
		name := "h" + string(rune('a'+i))
		b.script(name, h.keys, h.script)
		names[name] = h.kinds
	}
	r := b.runner(Config{MaxParallel: 4})
	one := func(ctx context.Context, n int) {
		if n%2 == 0 {
			text := strings.Repeat("v", n*300)
			if got := r.Call(ctx, "good", []byte(`{"a":"`+text+`"}`), Options{}); !got.OK || len(got.Text) != min(2000, len(text)) {
				t.Errorf("good: %+v", got)
			}
			return
		}
		name := "h" + string(rune('a'+n/2%len(hostile)))
		cancelled := n%5 == 0
		if cancelled {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			stop := time.AfterFunc(time.Duration(n%40)*time.Millisecond, cancel)
			defer func() { stop.Stop(); cancel() }()
		}
		got := r.Call(ctx, name, []byte("{}"), Options{})
		for _, kind := range names[name] {
			if got.Kind == kind || cancelled && got.Kind == proto.KindCancelled {
				return
			}
		}
		t.Errorf("%s: %+v", name, got)
	}
	one(t.Context(), 2) // whatever is set up once
	files, routines, memory := openFiles(t), runtime.NumGoroutine(), heap()
	var next atomic.Int64
	var group sync.WaitGroup
	for range lanes {
		group.Go(func() {
			for n := int(next.Add(1)); n <= calls; n = int(next.Add(1)) {
				one(t.Context(), n)
			}
		})
	}
	group.Wait()
	b.nothingLeft()
	eventually(t, "goroutines to end", func() bool { return runtime.NumGoroutine() <= routines })
	if n := openFiles(t); n > files {
		t.Errorf("%d files are open, %d before", n, files)
	}
	if grown := int64(heap()) - int64(memory); grown > 2<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
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
