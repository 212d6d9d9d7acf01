// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// logger brings the server's lines into ours. Its notices are about its own
// start and connections: of interest only when one looks for something.
type logger struct {
	log *slog.Logger

	mu      sync.Mutex
	first   string // of the fatal texts during the start
	running bool
	since   time.Time // when the minute of complaints began
	lines   int       // complaints in it
}

func (l *logger) Noticef(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l *logger) Debugf(format string, v ...any)  { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l *logger) Tracef(format string, v ...any)  { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l *logger) Errorf(format string, v ...any) {
	l.limited(slog.LevelError, fmt.Sprintf(format, v...))
}

func (l *logger) Warnf(format string, v ...any) {
	// The passwords are random, made at start and never in a file of the server's.
	if strings.HasPrefix(format, "Plaintext passwords detected") {
		return
	}
	l.limited(slog.LevelWarn, fmt.Sprintf(format, v...))
}

// A minute holds so many lines of the server's complaints. Whoever can reach
// the loopback port can cause some thousand a second, and must not fill a disk.
const (
	linesEach = 20
	every     = time.Minute
)

// limited writes a line, or counts it when the minute has had enough.
func (l *logger) limited(level slog.Level, text string) {
	l.mu.Lock()
	now := time.Now()
	passed := 0
	if now.Sub(l.since) >= every {
		passed = max(0, l.lines-linesEach)
		l.since, l.lines = now, 0
	}
	l.lines++
	write := l.lines <= linesEach
	l.mu.Unlock()
	say := l.log.Warn
	if level == slog.LevelError {
		say = l.log.Error
	}
	if passed > 0 {
		say("more complaints of the bus were not written", "count", passed)
	}
	if write {
		say(text)
	}
}

// Fatalf is called where the stand-alone server would exit. During the start
// it is an error of [Start].
func (l *logger) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.mu.Lock()
	running := l.running
	if !running && l.first == "" {
		l.first = text
	}
	l.mu.Unlock()
	if running {
		l.log.Error(text)
	}
}

// started ends the start; it gives what was fatal to it, else "".
func (l *logger) started() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = true
	return l.first
}
