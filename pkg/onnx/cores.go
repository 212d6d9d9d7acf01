// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Cores is how many physical cores this process may use: two threads of one core
// share what computes. It is at least 1.
func Cores() int { return cores("/sys/devices/system/cpu") }

func cores(dir string) int {
	list, _ := filepath.Glob(filepath.Join(dir, "cpu[0-9]*", "topology", "thread_siblings_list")) // a good pattern
	seen := map[string]bool{}
	for _, path := range list {
		if siblings, err := os.ReadFile(path); err == nil {
			seen[strings.TrimSpace(string(siblings))] = true
		}
	}
	if n := len(seen); n > 0 {
		return min(n, runtime.NumCPU()) // which knows the CPUs that we may not use
	}
	return runtime.NumCPU()
}
