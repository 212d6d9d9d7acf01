// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestConsole(t *testing.T) {
	var b bytes.Buffer
	c := New(&b)
	c.Println("%d of %s", 1, "100%")
	c.Problem("it broke: 5%", "mend it")
	c.Problem("no idea", "")
	want := "1 of 100%\n! it broke: 5%\n  mend it\n! no idea\n"
	if b.String() != want {
		t.Errorf("%q", b.String())
	}
}

// Lines of several writers come out whole, each behind its name.
func TestPrefixed(t *testing.T) {
	var b bytes.Buffer
	c := New(&b)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			w := c.Prefixed(fmt.Sprint("d", i))
			for n := range 100 {
				for _, piece := range []string{"li", "ne ", fmt.Sprint(n), "\r\n"} {
					if _, err := io.WriteString(w, piece); err != nil {
						t.Error(err)
					}
				}
			}
			_ = w.Close()
		})
	}
	all.Wait()
	next := map[string]int{}
	for line := range strings.Lines(b.String()) {
		name, _, _ := strings.Cut(line, " ")
		if want := fmt.Sprintf("%-10s | line %d\n", name, next[name]); line != want {
			t.Fatalf("%q, want %q", line, want)
		}
		next[name]++
	}
	if len(next) != 4 || next["d3"] != 100 {
		t.Errorf("%v", next)
	}
}

// A line without an end comes with the end of the writer, one too long in parts.
func TestEndlessLines(t *testing.T) {
	var got []string
	w := &lineWriter{emit: func(line string) { got = append(got, line) }}
	long := strings.Repeat("x", 2*longestLine)
	for _, text := range []string{"a", "\n\nb\nc", "", "d", long, "\n"} {
		if n, err := io.WriteString(w, text); n != len(text) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	_, _ = io.WriteString(w, "last")
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	joined := strings.Join(got, "|")
	if !strings.HasPrefix(joined, "a||b|cdxxx") || !strings.HasSuffix(joined, "|last") || strings.Count(joined, "x") != len(long) {
		t.Errorf("%d lines, %.40q...%q", len(got), joined, joined[len(joined)-10:])
	}
}

// From a pipe come lines, the last one also without an end; then it is over.
func TestReadPipe(t *testing.T) {
	c := New(io.Discard)
	k, err := Read(t.Context(), c, strings.NewReader("one\n\nthree "+strings.Repeat("y", 1<<17)+"\nfour"), io.Discard, "> ")
	if err != nil {
		t.Fatal(err)
	}
	defer k.Release()
	if k.Resized != nil {
		t.Error("a pipe has a size")
	}
	var got []string
	limit := time.After(30 * time.Second)
	for open := true; open; {
		select {
		case line, ok := <-k.Lines:
			if open = ok; ok {
				got = append(got, strings.TrimSpace(line))
			}
		case <-limit:
			t.Fatalf("no end; lines %d", len(got))
		}
	}
	if len(got) != 4 || !slices.Equal([]string{got[0], got[1], got[3]}, []string{"one", "", "four"}) || len(got[2]) != 6+1<<17 {
		t.Errorf("%d lines", len(got))
	}
}

// Who stops listening is not waited for.
func TestReadCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	k, err := Read(ctx, New(io.Discard), r, io.Discard, "> ")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "unread\n"); err != nil {
		t.Fatal(err)
	}
	cancel()
	k.Release()
	_ = w.Close()
}
