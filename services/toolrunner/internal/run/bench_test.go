// SPDX-License-Identifier: Apache-2.0

package run

import (
	"io"
	"os/exec"
	"slices"
	"testing"
	"time"

	"example.org/desktop-assistant/services/toolrunner/internal/cgroup"
	"example.org/desktop-assistant/services/toolrunner/internal/cgroup/cgrouptest"
)

// BenchmarkCall runs a tool, and the same program with os/exec alone, by turns.
// The metric x/spawn is the median time of a call over that of a bare spawn; 1.3
// is aimed at for a call without a sandbox.
func BenchmarkCall(b *testing.B) {
	for _, c := range []struct {
		name, keys string
		grouped    bool
	}{{"plain", "", false}, {"grouped", "", true}, {"sandboxed", "sandbox = {}\n", false}} {
		b.Run(c.name, func(b *testing.B) {
			box := newBox(b)
			box.put("x.toml", "description = \"D.\"\ncommand = [\"/bin/echo\", \"{a}\"]\n"+c.keys+"[params.a]\n")
			r := box.runner(Config{})
			if c.grouped {
				tree, err := cgroup.At(cgrouptest.Dir(b))
				if err != nil {
					b.Fatal(err)
				}
				r.config.Cgroups = tree
			}
			var calls, spawns []time.Duration
			for b.Loop() {
				start := time.Now()
				if got := r.Call(b.Context(), "x", []byte(`{"a":"hello"}`), Options{}); got.Text != "hello" {
					b.Fatalf("got %+v", got)
				}
				middle := time.Now()
				spawn(b)
				calls = append(calls, middle.Sub(start))
				spawns = append(spawns, time.Since(middle))
			}
			b.ReportMetric(median(calls)/median(spawns), "x/spawn")
			b.ReportMetric(median(calls), "ns/call")
		})
	}
}

func spawn(b *testing.B) {
	b.Helper()
	cmd := exec.Command("/bin/echo", "hello")
	cmd.Stdout, cmd.Stderr = newHead(2000), io.Discard
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
}

// median in nanoseconds; it sorts the list.
func median(list []time.Duration) float64 {
	slices.Sort(list)
	return float64(list[len(list)/2])
}
