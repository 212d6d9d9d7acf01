// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// console lets several writers share one terminal, whole lines at a time.
type console struct {
	mu     sync.Mutex
	w      io.Writer
	prompt string // shown again after each line; "" without a person at the keyboard
}

// println writes one line and leaves the prompt below it.
func (c *console) println(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear := ""
	if c.prompt != "" {
		clear = "\r\x1b[K"
	}
	fmt.Fprintf(c.w, clear+format+"\n"+c.prompt, args...)
}

// ask shows the prompt.
func (c *console) ask() {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprint(c.w, c.prompt)
}

// prefixed gives a writer whose lines come out behind a daemon's name.
func (c *console) prefixed(name string) io.WriteCloser {
	return &lineWriter{emit: func(line string) { c.println("%-10s | %s", name, line) }}
}

// lineWriter cuts what is written into lines. A line without an end is kept
// until it has one or grows too long.
type lineWriter struct {
	mu   sync.Mutex
	rest []byte
	emit func(line string)
}

const longestLine = 8 << 10

// Write never fails.
func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 && len(l.rest) < longestLine {
			return len(p), nil
		}
		line, next := l.rest, len(l.rest)
		if i >= 0 {
			line, next = l.rest[:i], i+1
		}
		l.emit(string(bytes.TrimRight(line, "\r")))
		l.rest = append(l.rest[:0], l.rest[next:]...)
	}
}

// Close emits what is left of a last line without an end. It never fails.
func (l *lineWriter) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) > 0 {
		l.emit(string(l.rest))
		l.rest = nil
	}
	return nil
}
