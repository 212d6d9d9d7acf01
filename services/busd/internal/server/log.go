// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// logger brings the server's lines into ours. Its notices are about its own
// start and connections: of interest only when one looks for something.
type logger struct {
	log *slog.Logger

	mu      sync.Mutex
	first   string // of the fatal texts during the start
	running bool
}

func (l *logger) Noticef(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l *logger) Debugf(format string, v ...any)  { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l *logger) Tracef(format string, v ...any)  { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l *logger) Errorf(format string, v ...any)  { l.log.Error(fmt.Sprintf(format, v...)) }

func (l *logger) Warnf(format string, v ...any) {
	// The passwords are random, made at start and never in a file of the server's.
	if strings.HasPrefix(format, "Plaintext passwords detected") {
		return
	}
	l.log.Warn(fmt.Sprintf(format, v...))
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
