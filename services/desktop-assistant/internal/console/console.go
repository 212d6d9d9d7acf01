// SPDX-License-Identifier: Apache-2.0

// Package console shares one terminal between what is printed and what is typed.
package console

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"example.org/desktop-assistant/pkg/speech"
)

// Console lets several writers share one output, whole lines at a time. It is
// safe for use by many goroutines.
type Console struct {
	mu sync.Mutex
	w  io.Writer
}

// New makes a console that writes to w.
func New(w io.Writer) *Console { return &Console{w: w} }

// Println writes one line, without what a terminal would obey: much of what is
// shown was written by models, tools and whoever reaches the bus.
func (c *Console) Println(format string, args ...any) {
	line := speech.Plain(fmt.Sprintf(format, args...)) + "\n"
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.w, line) // a terminal that closed: SIGHUP tells
}

// Hint writes what to type next, below what it is about; nothing for "".
func (c *Console) Hint(text string) {
	if text != "" {
		c.Println("  %s", text)
	}
}

// Problem writes an error with its hint.
func (c *Console) Problem(what, hint string) {
	c.Println("! %s", what)
	c.Hint(hint)
}

// redirect makes w the output.
func (c *Console) redirect(w io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.w = w
}

// Prefixed gives a writer whose lines come out behind a daemon's name. Closing
// it writes a last line without an end.
func (c *Console) Prefixed(name string) io.WriteCloser {
	return &lineWriter{emit: func(line string) { c.Println("%-10s | %s", name, line) }}
}

// lineWriter cuts what is written into lines. A line without an end is kept
// until it has one, grows too long, or the writer is closed.
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

// Close writes what has no end.
func (l *lineWriter) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) > 0 {
		l.emit(string(l.rest))
		l.rest = nil
	}
	return nil
}
