// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"crypto/rand"
	"encoding/json"
	"strings"

	"example.org/desktop-assistant/services/brain/internal/markup"
)

// A fragment is one entry of a tool_calls list. "" means absent.
type fragment struct {
	index    *int
	id, name string
	args     string
}

// A slot is a call under construction.
type slot struct {
	id, name string
	args     strings.Builder
}

// An assembler decides which fragment belongs to which call. The index is a key
// and not a position, and it cannot be trusted alone: servers leave it out, send
// 0 for all, or open a call under another index than the rest.
type assembler struct {
	offer   markup.Offer
	slots   []*slot
	byIndex map[int]*slot
	byID    map[string]*slot
	last    *slot
}

func newAssembler(offer markup.Offer) *assembler {
	return &assembler{offer: offer, byIndex: map[int]*slot{}, byID: map[string]*slot{}}
}

func (a *assembler) add(f fragment) {
	if f.name == "null" && !a.offered(f.name) {
		f.name = ""
	}
	if f.id == "" && f.name == "" && f.args == "" && (f.index == nil || len(a.slots) == 0) {
		return
	}
	s := a.route(f)
	a.last = s
	if f.id != "" {
		if s.id == "" {
			s.id = f.id
		}
		if a.byID[f.id] == nil {
			a.byID[f.id] = s
		}
	}
	a.mergeName(s, f.name)
	s.args.WriteString(f.args)
}

// mergeName sets the name once. Names that come in pieces are appended while no
// argument came; a name repeated in each fragment is no news.
func (a *assembler) mergeName(s *slot, piece string) {
	switch {
	case piece == "" || piece == s.name:
	case s.name == "":
		s.name = piece
	case strings.HasPrefix(piece, s.name) && a.begins(piece): // all of it so far
		s.name = piece
	case s.args.Len() == 0 && (!a.offered(s.name) || a.begins(s.name+piece)):
		s.name += piece
	}
}

func (a *assembler) route(f fragment) *slot {
	if f.index == nil {
		return a.routeBare(f)
	}
	s := a.byIndex[*f.index]
	if s == nil && f.id == "" && f.name == "" && a.last != nil {
		return a.last
	}
	if s == nil || a.opens(s, f) {
		s = a.open()
		a.byIndex[*f.index] = s
	}
	return s
}

// opens tells that a fragment under a known index is the start of another call.
func (a *assembler) opens(s *slot, f fragment) bool {
	if f.name == "" || s.name == "" && (s.id == "" || f.id == "" || f.id == s.id) {
		return false
	}
	if f.name != s.name && a.offered(f.name) && a.offered(s.name) {
		return true
	}
	if f.id != "" && s.id != "" && f.id != s.id {
		return true
	}
	if !fullObject(s.args.String()) {
		return false
	}
	if f.id != "" && f.id == s.id {
		return f.name != s.name
	}
	return f.name != s.name || strings.HasPrefix(f.args, "{")
}

// routeBare places a fragment that has no index: a known id continues its call,
// a new id opens one, a name opens one unless it repeats the unfinished last
// call's, and anything else continues the last call.
func (a *assembler) routeBare(f fragment) *slot {
	if f.id != "" {
		s := a.byID[f.id]
		if s == nil {
			return a.open()
		}
		again := f.name != "" && fullObject(s.args.String()) && (f.name != s.name || strings.HasPrefix(f.args, "{"))
		if again {
			return a.open()
		}
		return s
	}
	if a.last == nil {
		return a.open()
	}
	if f.name == "" {
		return a.last
	}
	repeats := f.name == a.last.name && !json.Valid([]byte(a.last.args.String()))
	piece := a.last.args.Len() == 0 && !a.offered(a.last.name) && a.begins(a.last.name+f.name)
	if repeats || piece {
		return a.last
	}
	return a.open()
}

func (a *assembler) open() *slot {
	s := &slot{}
	a.slots = append(a.slots, s)
	return s
}

func (a *assembler) offered(name string) bool {
	_, ok := a.offer[name]
	return ok
}

// begins tells that some offered tool's name begins with s.
func (a *assembler) begins(s string) bool {
	for name := range a.offer {
		if strings.HasPrefix(name, s) {
			return true
		}
	}
	return false
}

// fullObject tells that s is one complete JSON object with something in it.
func fullObject(s string) bool {
	var v map[string]json.RawMessage
	return json.Unmarshal([]byte(s), &v) == nil && len(v) > 0
}

// calls returns the assembled calls in the order in which they opened. Nameless
// ones and exact repeats (same id, name and arguments) are dropped and counted.
func (a *assembler) calls() (calls []Call, dropped int) {
	seen := map[[3]string]bool{}
	used := map[string]bool{}
	for _, s := range a.slots {
		raw := s.args.String()
		key := [3]string{s.id, s.name, canonical(raw)}
		if strings.TrimSpace(s.name) == "" || s.id != "" && seen[key] {
			dropped++
			continue
		}
		seen[key] = true
		c := newCall(s.id, s.name, raw, a.offer)
		for c.ID == "" || used[c.ID] {
			c.ID = newID()
		}
		used[c.ID] = true
		calls = append(calls, c)
	}
	return calls, dropped
}

// canonical gives equal JSON values one form; what is no JSON stays as it is.
func canonical(raw string) string {
	dec := json.NewDecoder(strings.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || dec.More() {
		return raw
	}
	b, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return string(b)
}

// newID makes an id of nine letters and digits, the one form that every known
// chat template accepts (Mistral's insists on it).
func newID() string {
	return rand.Text()[:9]
}
