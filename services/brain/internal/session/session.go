// SPDX-License-Identifier: Apache-2.0

// Package session keeps the conversations: what was asked and what was really
// said, and which conversation each device is in.
//
// A conversation is a row of exchanges, never single messages, so that user
// and assistant alternate in whatever is sent to the chat server: templates of
// several models refuse anything else.
package session

import (
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"example.org/desktop-assistant/proto"
)

// Bounds of what is kept in memory; the oldest goes first.
const (
	maxSessions  = 200
	maxExchanges = 500
)

// Exchange is one question and what was said to it. Answer is never empty: a
// turn without an answer is recorded with a short note.
type Exchange struct {
	Question string
	Answer   string
	Language string // of the question
}

// Store holds the conversations of all devices, in memory. It is safe for use
// by many goroutines.
type Store struct {
	idle time.Duration

	mu       sync.Mutex
	sessions map[string]*conversation
	order    []string          // ids, oldest first
	current  map[string]string // device: id
}

type conversation struct {
	id        string
	exchanges []Exchange
	count     int // of all exchanges, dropped ones too
	title     string
	skills    []string // loaded, in load order
	used      time.Time
}

// New makes an empty store. A conversation that was not used for idle is no
// longer continued by itself; 0 continues it for ever.
func New(idle time.Duration) *Store {
	return &Store{idle: idle, sessions: map[string]*conversation{}, current: map[string]string{}}
}

// Current is the id of the device's conversation. One begins when there is
// none or the last was idle for too long.
func (s *Store) Current(dev string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.going(dev)
	if c == nil {
		c = s.begin(dev)
	}
	c.used = time.Now()
	return c.id
}

// Going is the id of the device's conversation, "" when the next question would
// begin one.
func (s *Store) Going(dev string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.going(dev); c != nil {
		return c.id
	}
	return ""
}

func (s *Store) going(dev string) *conversation {
	c := s.sessions[s.current[dev]]
	if c == nil || s.idle > 0 && time.Since(c.used) > s.idle {
		return nil
	}
	return c
}

// Has says whether a conversation exists.
func (s *Store) Has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id] != nil
}

// Begin starts a conversation and makes it the device's current one.
func (s *Store) Begin(dev string) proto.SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info(dev, s.begin(dev))
}

func (s *Store) begin(dev string) *conversation {
	c := &conversation{id: rand.Text(), used: time.Now()}
	s.sessions[c.id] = c
	s.order = append(s.order, c.id)
	s.current[dev] = c.id
	if len(s.order) > maxSessions {
		delete(s.sessions, s.order[0])
		s.order = s.order[1:]
	}
	return c
}

// Resume makes an earlier conversation the device's current one. An unknown id
// is an error with code not_found.
func (s *Store) Resume(dev, id string) (proto.SessionInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.sessions[id]
	if c == nil {
		return proto.SessionInfo{}, NotFound("session.resume", id)
	}
	s.current[dev], c.used = id, time.Now()
	return s.info(dev, c), nil
}

// NotFound is the error for a conversation that does not exist.
func NotFound(op, id string) error {
	return proto.Errorf(proto.CodeNotFound, op, "no session %q", id).
		WithHint("leave the session out to go on with the current one")
}

// List describes the conversations, newest first.
func (s *Store) List(dev string) []proto.SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]proto.SessionInfo, 0, len(s.order))
	for _, id := range slices.Backward(s.order) {
		list = append(list, s.info(dev, s.sessions[id]))
	}
	return list
}

func (s *Store) info(dev string, c *conversation) proto.SessionInfo {
	return proto.SessionInfo{ID: c.id, Title: c.title, Messages: 2 * c.count, Current: s.current[dev] == c.id}
}

// History gives the last exchanges of a conversation that fit into so many
// messages, oldest first. A question is never parted from its answer.
func (s *Store) History(id string, messages int) []Exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.sessions[id]
	if c == nil {
		return nil
	}
	from := max(0, len(c.exchanges)-messages/2)
	return slices.Clone(c.exchanges[from:])
}

// Record adds an exchange. A conversation that is gone meanwhile stays gone.
func (s *Store) Record(id string, e Exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.sessions[id]
	if c == nil {
		return
	}
	if c.title == "" {
		c.title = title(e.Question)
	}
	c.count++
	c.used = time.Now()
	c.exchanges = append(c.exchanges, e)
	if len(c.exchanges) > maxExchanges {
		c.exchanges = slices.Clone(c.exchanges[1:])
	}
}

// Trim forgets all but the last exchanges of a conversation.
func (s *Store) Trim(id string, keep int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.sessions[id]; c != nil && len(c.exchanges) > keep {
		c.exchanges = slices.Clone(c.exchanges[len(c.exchanges)-keep:])
	}
}

// Skills are the names of the skills loaded in a conversation, in load order.
func (s *Store) Skills(id string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.sessions[id]; c != nil {
		return slices.Clone(c.skills)
	}
	return nil
}

// LoadSkill keeps a skill for a conversation. It reports false when it is kept
// already, or the conversation is gone.
func (s *Store) LoadSkill(id, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.sessions[id]
	if c == nil || slices.Contains(c.skills, name) {
		return false
	}
	c.skills = append(c.skills, name)
	return true
}

// UnloadSkill lets go of a skill. It reports false when it was not kept.
func (s *Store) UnloadSkill(id, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.sessions[id]
	if c == nil || !slices.Contains(c.skills, name) {
		return false
	}
	c.skills = slices.DeleteFunc(c.skills, func(n string) bool { return n == name })
	return true
}

// Language is the language last spoken in a conversation, "" when nothing was
// said yet.
func (s *Store) Language(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.sessions[id]; c != nil && len(c.exchanges) > 0 {
		return c.exchanges[len(c.exchanges)-1].Language
	}
	return ""
}

// title is the first question, cut to what fits a list.
func title(question string) string {
	const limit = 60
	if r := []rune(question); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return question
}
