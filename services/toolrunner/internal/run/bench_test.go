// SPDX-License-Identifier: Apache-2.0

package run

import (
	"io"
	"os/exec"
	"testing"
)

// The overhead of a call is BenchmarkCall over BenchmarkSpawn, which runs the
// same program with os/exec alone.
func BenchmarkCall(b *testing.B) {
	box := newBox(b)
	box.put("x.toml", "description = \"D.\"\ncommand = [\"/bin/echo\", \"{a}\"]\n[params.a]\n")
	r := box.runner(Config{})
	for b.Loop() {
		if got := r.Call(b.Context(), "x", []byte(`{"a":"hello"}`), Options{}); got.Text != "hello" {
			b.Fatalf("got %+v", got)
		}
	}
}

func BenchmarkSpawn(b *testing.B) {
	for b.Loop() {
		cmd := exec.Command("/bin/echo", "hello")
		cmd.Stdout, cmd.Stderr = newHead(2000), io.Discard
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
}
