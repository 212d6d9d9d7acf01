// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.org/desktop-assistant/services/toolrunner/internal/tool"
)

// A child outlives the calls beside it, its own descendants are not taken for
// theirs, and it is gone with all of them when its context ends.
func TestStart(t *testing.T) {
	b := newBox(t)
	b.script("x", "timeout = 0.1", `( env -i setsid sleep <mark> & ); sleep <mark>`)
	r := b.runner(Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, out := io.Pipe()
	cmd := exec.Command("/bin/sh", "-c", `( setsid sleep `+b.mark+` & ); while read line; do echo "got $line"; done; sleep `+b.mark)
	cmd.Stdout = out
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	ended, err := r.Start(ctx, cmd)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "its child", func() bool { return len(b.living()) == 2 })
	for range 3 {
		if got := r.Call(t.Context(), "x", []byte("{}"), Options{}); got.Text != "error: timed out" {
			t.Errorf("got %+v", got)
		}
		if pids := b.living(); len(pids) != 2 {
			t.Fatalf("living: %v", pids)
		}
	}
	if _, err := io.WriteString(stdin, "one\n"); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 8)
	if _, err := io.ReadFull(in, line); err != nil || string(line) != "got one\n" {
		t.Errorf("read %q, %v", line, err)
	}
	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("ended with %v", err)
	}
	b.nothingLeft()
}

// A child that ends by itself says how; one that cannot start is an error.
func TestStartEnds(t *testing.T) {
	b := newBox(t)
	r := New(Config{Log: newBoxLog(t)}, tool.Set{})
	var out strings.Builder
	cmd := exec.Command("/bin/sh", "-c", "echo last words; exit 3")
	cmd.Stdout = &out
	ended, err := r.Start(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err == nil || err.Error() != "exit status 3" || out.String() != "last words\n" {
			t.Errorf("ended with %v after %q", err, out.String())
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it did not end")
	}
	if _, err := r.Start(t.Context(), exec.Command("/no/such/program")); err == nil {
		t.Error("a program that is not there was started")
	}
	b.nothingLeft()
}

// A descriptor that toolrunner was started with goes to no tool.
func TestDescriptors(t *testing.T) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	b := newBox(t)
	b.script("x", "", `cd /proc/self/fd; echo *`)
	b.script("y", "sandbox = {}", `cd /proc/self/fd; echo *`)
	r := b.runner(Config{})
	for _, name := range []string{"x", "y"} {
		got := r.Call(t.Context(), name, []byte("{}"), Options{})
		for fd := range strings.FieldsSeq(got.Text) {
			if fd == strconv.Itoa(pipe[0]) || fd == strconv.Itoa(pipe[1]) || !got.OK {
				t.Errorf("%s has the descriptors %s", name, got.Text)
			}
		}
	}
}
