// SPDX-License-Identifier: Apache-2.0

package waittest

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
)

// lost is a test that keeps what it was ended with.
type lost struct {
	testing.TB
	why string
}

func (l *lost) Fatalf(format string, args ...any) {
	l.why = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// ended runs f as the test of its own goroutine, and gives why it ended.
func ended(t *testing.T, f func(testing.TB)) string {
	l := &lost{TB: t}
	var test sync.WaitGroup
	test.Go(func() { f(l) })
	test.Wait()
	return l.why
}

func TestComes(t *testing.T) {
	looks := 0
	Until(t, "the third look", func() bool { looks++; return looks == 3 })
	c := make(chan int, 1)
	c <- 7
	if got := Next(t, "a number", c); got != 7 {
		t.Errorf("got %d", got)
	}
	close(c)
	if got := Next(t, "the end", c); got != 0 {
		t.Errorf("got %d from a closed channel", got)
	}
	if end, ok := Context(t).Deadline(); !ok || time.Until(end) > Limit {
		t.Errorf("the context ends at %v, %v", end, ok)
	}
}

func TestComesNot(t *testing.T) {
	const want = "waited in vain: the moon"
	if got := ended(t, func(tb testing.TB) { until(tb, "the moon", poll, func() bool { return false }) }); got != want {
		t.Errorf("until: %q", got)
	}
	if got := ended(t, func(tb testing.TB) { next(tb, "the moon", poll, make(chan int)) }); got != want {
		t.Errorf("next: %q", got)
	}
}

func TestOutput(t *testing.T) {
	var o Output
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() { fmt.Fprint(&o, "word ") })
	}
	Until(t, "all words", func() bool { return len(o.String()) == 8*len("word ") })
	writers.Wait()
}
