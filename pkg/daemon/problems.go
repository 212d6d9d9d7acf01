// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"log/slog"
	"slices"
	"sync"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
)

// Problems is the list of what is wrong with a daemon now. Each change is
// logged and published as service.state with the whole list.
type Problems struct {
	service string
	bus     *bus.Conn
	log     *slog.Logger

	mu         sync.Mutex
	keys       []string
	list       map[string]proto.Problem
	publishing bool // by one goroutine at a time, so that lists go out in order
	again      bool // something changed meanwhile
}

func newProblems(service string, conn *bus.Conn, log *slog.Logger) *Problems {
	return &Problems{service: service, bus: conn, log: log, list: map[string]proto.Problem{}}
}

// Set records a problem under a key of the daemon's own ("source", "engine").
// The same problem again changes nothing.
func (p *Problems) Set(key, what, hint string) {
	next := proto.Problem{What: what, Hint: hint}
	p.mu.Lock()
	old, had := p.list[key]
	if !had {
		p.keys = append(p.keys, key)
	}
	p.list[key] = next
	p.mu.Unlock()
	if had && old == next {
		return
	}
	p.log.Warn("problem", "what", what, "hint", hint)
	p.publish()
}

// SetError records an error under a key, with its hint; nil clears the key.
func (p *Problems) SetError(key string, err error) {
	if err == nil {
		p.Clear(key)
		return
	}
	p.Set(key, err.Error(), proto.HintOf(err))
}

// Clear removes a problem; clearing what is not there changes nothing.
func (p *Problems) Clear(key string) {
	p.mu.Lock()
	_, had := p.list[key]
	delete(p.list, key)
	p.keys = slices.DeleteFunc(p.keys, func(k string) bool { return k == key })
	p.mu.Unlock()
	if had {
		p.log.Info("problem solved", "key", key)
		p.publish()
	}
}

// List gives the problems in the order in which they came, never nil.
func (p *Problems) List() []proto.Problem {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.snapshot()
}

// snapshot is the list; p.mu is held.
func (p *Problems) snapshot() []proto.Problem {
	list := make([]proto.Problem, 0, len(p.keys))
	for _, k := range p.keys {
		list = append(list, p.list[k])
	}
	return list
}

// publish says what holds now. The last list that goes out is the last one
// that held, whoever changes it meanwhile.
func (p *Problems) publish() {
	if !p.bus.Opened() {
		return // published when the bus comes
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.again = true
	if p.publishing {
		return
	}
	p.publishing = true
	for p.again {
		p.again = false
		state := proto.ServiceState{Service: p.service, Problems: p.snapshot()}
		p.mu.Unlock()
		if err := p.bus.Publish(state, bus.Meta{}); err != nil {
			p.log.Error("publish state", "error", err)
		}
		p.mu.Lock()
	}
	p.publishing = false
}
