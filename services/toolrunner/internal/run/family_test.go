// SPDX-License-Identifier: Apache-2.0

package run

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// An orphan that died during a sweep may have left us children that the sweep
// did not see.
func TestSweepIsNotSettledAfterADeath(t *testing.T) {
	f, err := newFamily()
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("/bin/sh", "-c", "( : & )").Run(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a dead orphan", func() bool {
		pids, err := children()
		if err != nil || len(pids) != 1 {
			return false
		}
		status, ok := readStatus(pids[0])
		return ok && status.state == 'Z'
	})
	if left, settled := f.sweep("", false); left != 0 || settled {
		t.Errorf("first sweep: left %d, settled %v", left, settled)
	}
	if left, settled := f.sweep("", false); left != 0 || !settled {
		t.Errorf("second sweep: left %d, settled %v", left, settled)
	}
}

func TestReadStatus(t *testing.T) {
	status, ok := readStatus(os.Getpid())
	// In a process namespace the leader of the group may be outside: then it is 0.
	if !ok || status.ticks == 0 || status.group != syscall.Getpgrp() {
		t.Errorf("own status %+v, %v", status, ok)
	}
	if _, ok := readStatus(-1); ok {
		t.Error("no such process has a status")
	}
}
