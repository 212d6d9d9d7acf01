// SPDX-License-Identifier: Apache-2.0

// Package cgrouptest makes a part of the real tree of control groups for a test.
package cgrouptest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Dir gives an empty control group of version 2, which goes with the test. It
// skips the test where none can be made; what needs none is tested on plain
// folders.
func Dir(t testing.TB) string {
	t.Helper()
	var why error
	for _, root := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err != nil {
			why = errors.Join(why, err)
			continue
		}
		dir, err := os.MkdirTemp(root, "da-test-")
		if err != nil {
			why = errors.Join(why, err)
			continue
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		})
		return dir
	}
	t.Skipf("no control group can be made on this machine: %v", why)
	return ""
}
