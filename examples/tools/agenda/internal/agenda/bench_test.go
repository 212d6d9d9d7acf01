// SPDX-License-Identifier: Apache-2.0

package agenda

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// BenchmarkFiles and BenchmarkFile measure whole calls of the built program
// against testdata/naive.py on the same calendars, in one run, each by the best
// of some calls: without a cache (cold-x: how many times as fast), with one
// (warm-x), the same by the time of the processor alone, which a busy machine
// does not change (-cpu-x), and the most memory that a call took. Both programs
// must print the same.

func BenchmarkFiles(b *testing.B) {
	compare(b, func(dir string) { writeMany(b, dir, 10_000) })
}

func BenchmarkFile(b *testing.B) {
	compare(b, func(dir string) { writeOne(b, dir, 20_000_000) })
}

const tries = 3

func compare(b *testing.B, write func(dir string)) {
	dir, cache := b.TempDir(), b.TempDir()
	write(dir)
	program := filepath.Join(b.TempDir(), "agenda")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", program, "../..").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	memory := int64(0)
	call := func(best *cost, name ...string) string {
		b.Helper()
		cmd := exec.CommandContext(b.Context(), name[0], append(name[1:], corpusDay, "7")...)
		cmd.Env = []string{"TZ=Europe/Rome", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "CALENDAR_DIR=" + dir, "XDG_CACHE_HOME=" + cache}
		cmd.Stderr = os.Stderr
		began := time.Now()
		out, err := cmd.Output()
		took := time.Since(began)
		if err != nil {
			b.Fatal(err)
		}
		best.wall = min(best.wall, took)
		best.cpu = min(best.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && name[0] == program {
			memory = max(memory, usage.Maxrss)
		}
		return string(out)
	}
	for b.Loop() {
		naive, cold, warm := endless, endless, endless
		for range tries {
			want := call(&naive, "python3", "testdata/naive.py")
			if err := os.RemoveAll(cache); err != nil {
				b.Fatal(err)
			}
			first := call(&cold, program)
			for range 2 * tries {
				if again := call(&warm, program); first != want || again != want {
					b.Fatalf("naive.py printed %d bytes, agenda %d and then %d of other lines", len(want), len(first), len(again))
				}
			}
		}
		b.ReportMetric(naive.wall.Seconds(), "naive-s")
		b.ReportMetric(cold.wall.Seconds()*1000, "cold-ms")
		b.ReportMetric(warm.wall.Seconds()*1000, "warm-ms")
		b.ReportMetric(naive.wall.Seconds()/cold.wall.Seconds(), "cold-x")
		b.ReportMetric(naive.wall.Seconds()/warm.wall.Seconds(), "warm-x")
		b.ReportMetric(naive.cpu.Seconds()/cold.cpu.Seconds(), "cold-cpu-x")
		b.ReportMetric(naive.cpu.Seconds()/warm.cpu.Seconds(), "warm-cpu-x")
		b.ReportMetric(float64(memory)/1024, "peak-MB")
	}
}

// cost is what a call took.
type cost struct{ wall, cpu time.Duration }

var endless = cost{time.Hour, time.Hour}
