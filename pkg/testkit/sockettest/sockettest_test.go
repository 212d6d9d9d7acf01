// SPDX-License-Identifier: Apache-2.0

package sockettest

import (
	"net"
	"testing"
)

func TestInternetSocketIsSeen(t *testing.T) {
	if !Killed(t, func() {
		if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
			l.Close()
		}
	}) {
		t.Error("a process that opened one lives")
	}
}

func TestOthersAreLetBe(t *testing.T) {
	Without(t, func(t *testing.T) {
		l, err := net.Listen("unix", t.TempDir()+"/socket")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	})
}
