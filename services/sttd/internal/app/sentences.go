// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"slices"
	"sync"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/sttd/internal/grammar"
	"example.org/desktop-assistant/services/sttd/internal/recognize"
)

const (
	listLimit = 2 * time.Second
	firstWait = 250 * time.Millisecond // before toolrunner is asked again
	lastWait  = 10 * time.Second
)

// commander is an engine that hears only sentences it was given.
type commander interface {
	SetGrammar(jsgf string, words []string)
	// Unpronounceable lists the words of the grammar it cannot hear.
	Unpronounceable() ([]string, error)
}

// sentences keeps the commanders supplied with what the tools want to hear.
type sentences struct {
	env     daemon.Env
	engines []recognize.Engine

	mu      sync.Mutex // guards what follows
	grammar grammar.Grammar
	unheard []string
}

// watch lists the tools whenever stale says so, and while toolrunner does not
// answer, until ctx ends. changed is called after each change.
func (s *sentences) watch(ctx context.Context, stale <-chan struct{}, changed func()) {
	var retry <-chan time.Time
	wait := firstWait
	for {
		select {
		case <-ctx.Done():
			return
		case <-stale:
			wait = firstWait
		case <-retry:
		}
		retry = nil
		list, cancel := context.WithTimeout(ctx, listLimit)
		tools, err := bus.Request(list, s.env.Bus, proto.ToolList{})
		cancel()
		if err != nil { // toolrunner's absence is its own to show, and brain's
			s.env.Log.Debug("list tools", "error", err)
			retry, wait = time.After(wait), min(2*wait, lastWait)
			continue
		}
		if s.take(tools) {
			changed()
		}
	}
}

// take reports whether there is something new to listen for.
func (s *sentences) take(tools proto.Tools) bool {
	g, faults := grammar.Of(tools.Tools)
	s.mu.Lock()
	same := s.grammar.JSGF == g.JSGF && slices.Equal(s.grammar.Words, g.Words)
	s.grammar.Sentences = g.Sentences
	s.mu.Unlock()
	if same {
		return false
	}
	for _, err := range faults {
		s.env.Log.Warn("sentence left out", "error", err)
	}
	var unheard []string
	for _, e := range s.engines {
		c, ok := e.(commander)
		if !ok {
			continue
		}
		c.SetGrammar(g.JSGF, g.Words)
		words, err := c.Unpronounceable()
		if err != nil { // not installed, which its Ready tells better
			s.env.Log.Debug("look up words", "engine", e.Name(), "error", err)
		}
		unheard = append(unheard, words...)
	}
	if len(unheard) > 0 {
		s.env.Log.Warn("words of sentences cannot be heard", "words", unheard)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grammar, s.unheard = g, unheard
	return true
}

// describe is for the status.
func (s *sentences) describe() (count int, unheard []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grammar.Sentences, s.unheard
}
