// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"example.org/desktop-assistant/proto"
)

// Policy says what happens when a subscription's handler is too slow. There is
// no default: each subscription names one, made by [Drop] or [Fail].
type Policy struct {
	limit  int // messages that may wait
	bytes  int
	failed func()
}

// Drop loses what does not fit into limit waiting messages, and counts it: for
// frames and live events, where late is worthless.
func Drop(limit int) Policy { return Policy{limit: limit, bytes: limit * 16 << 10} }

// Fail calls failed when more than limit messages wait, once per episode: for
// events, where a loss must not go unnoticed. What does not fit is lost and
// counted; failed must not block.
func Fail(limit int, failed func()) Policy {
	return Policy{limit: limit, bytes: limit * 64 << 10, failed: failed}
}

// Sub is one subscription.
type Sub struct {
	c      *Conn
	what   string
	policy Policy
	ns     *nats.Subscription
}

// lost is how many messages did not fit so far. (The client reports an
// overflow once per episode, but counts every message.)
func (s *Sub) lost() uint64 {
	n, err := s.ns.Dropped()
	if err != nil { // the subscription is closed
		return 0
	}
	return uint64(n)
}

// Close ends the subscription; a handler that runs is not waited for. Closing
// twice is fine.
func (s *Sub) Close() {
	s.c.mu.Lock()
	if _, open := s.c.subs[s.ns]; open {
		s.c.dropped.Add(s.lost())
		delete(s.c.subs, s.ns)
	}
	s.c.mu.Unlock()
	_ = s.ns.Unsubscribe() // an error means it is gone already
}

func (s *Sub) overflowed() {
	s.c.opts.Log.Warn("handler too slow, messages lost", "subscription", s.what, "lost", s.lost())
	if s.policy.failed != nil {
		s.policy.failed()
	}
}

// subscribe runs handle for each message, one at a time, in order.
func (c *Conn) subscribe(subject, what string, p Policy, handle func(*nats.Msg)) (*Sub, error) {
	if p.limit <= 0 {
		return nil, proto.Errorf(proto.CodeInvalid, "subscribe to "+what, "the subscription names no policy")
	}
	s := &Sub{c: c, what: what, policy: p}
	ns, err := c.nc.Subscribe(subject, func(m *nats.Msg) {
		start := time.Now()
		handle(m)
		if d := time.Since(start); d > slowHandler {
			c.opts.Log.Warn("slow handler", "subscription", what, "subject", m.Subject, "took", d)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", what, err)
	}
	if err := ns.SetPendingLimits(p.limit, p.bytes); err != nil {
		return nil, fmt.Errorf("limit %s: %w", what, err)
	}
	s.ns = ns
	c.mu.Lock()
	c.subs[ns] = s
	c.mu.Unlock()
	return s, nil
}

// EventHandler gets one event. It runs on the subscription's goroutine, so it
// posts to whoever does the work and returns.
type EventHandler func(ctx context.Context, env proto.Envelope, ev proto.Event)

// Events subscribes to every event of a device ([proto.Any] for all devices),
// or of the areas named ("speech", "utterance"), in the order of each source.
// Undecodable messages are counted and logged once for each subject; events
// of an unknown type are counted and not handed on. The end of a turn is handed
// on once, though a brain that is killed while it tells of it leaves the next one
// to publish it again, under the same id.
func (c *Conn) Events(ctx context.Context, dev string, p Policy, h EventHandler, areas ...string) (*Sub, error) {
	return c.events(ctx, proto.EventsOf(dev), "events", p, h, areas)
}

// Live subscribes to the lossy events of a device.
func (c *Conn) Live(ctx context.Context, dev string, p Policy, h EventHandler) (*Sub, error) {
	return c.events(ctx, proto.LiveOf(dev), "live events", p, h, nil)
}

func (c *Conn) events(ctx context.Context, subject, what string, p Policy, h EventHandler, areas []string) (*Sub, error) {
	if len(areas) > 0 {
		what += " of " + strings.Join(areas, ", ")
	}
	var ends recent // of this subscription's goroutine
	return c.subscribe(subject, what, p, func(m *nats.Msg) {
		env, ev, ok := c.decode(m.Subject, m.Data, areas)
		if _, end := ev.(proto.TurnEnded); ok && end && ends.seen(env.ID) {
			return
		}
		if ok {
			h(ctx, env, ev)
		}
	})
}

// recent remembers some ids. The zero value knows none.
type recent struct {
	ids  [64]string
	next int
}

// seen says whether id came before, and remembers it.
func (r *recent) seen(id string) bool {
	if id == "" || slices.Contains(r.ids[:], id) {
		return id != ""
	}
	r.ids[r.next] = id
	r.next = (r.next + 1) % len(r.ids)
	return false
}

// decode reads an event of one of the areas; ok is false when there is nothing
// to hand on.
func (c *Conn) decode(subject string, data []byte, areas []string) (env proto.Envelope, ev proto.Event, ok bool) {
	if len(areas) > 0 {
		if area, _ := proto.AreaOfEvent(subject); !slices.Contains(areas, area) {
			return env, nil, false
		}
	}
	env, ev, err := proto.DecodeEvent(data)
	if err == nil && subject != proto.EventSubject(env.Dev, env.Type) && subject != proto.LiveSubject(env.Dev, env.Type) {
		// Who may publish what is decided by subject, so the envelope must not say otherwise.
		err = proto.Errorf(proto.CodeInvalid, "decode event", "the envelope is of %q on device %q", env.Type, env.Dev)
	}
	if err != nil {
		c.blame(subject, err)
		return env, nil, false
	}
	if _, unknown := ev.(proto.Unknown); unknown {
		c.unknown.Add(1)
		return env, nil, false
	}
	return env, ev, true
}

// blameLimit bounds the subjects that are remembered and logged: whoever
// publishes garbage on ever new ones must fill neither memory nor log.
const blameLimit = 256

// blame counts a message that cannot be read, and logs it once per subject.
func (c *Conn) blame(subject string, err error) {
	c.undecodable.Add(1)
	c.mu.Lock()
	first := !c.blamed[subject] && len(c.blamed) < blameLimit
	if first {
		c.blamed[subject] = true
	}
	c.mu.Unlock()
	if first {
		c.opts.Log.Warn("ignored a message that cannot be read", "subject", subject, "error", err)
	}
}

// AudioHandler gets one message of a microphone stream; a.PCM is the handler's.
type AudioHandler func(ctx context.Context, dev, stream string, a proto.Audio)

// Audio subscribes to every microphone stream of a device, in order. A queue
// group is never used here: it would split one utterance over two readers.
func (c *Conn) Audio(ctx context.Context, dev string, p Policy, h AudioHandler) (*Sub, error) {
	return c.subscribe(proto.AudioIn(dev, proto.Any), "audio", p, func(m *nats.Msg) {
		a, err := proto.DecodeAudio(m.Header, m.Data)
		if err != nil {
			c.blame(m.Subject, err)
			return
		}
		if dev, stream, ok := proto.StreamOfAudio(m.Subject); ok {
			h(ctx, dev, stream, a)
		}
	})
}

// ToolCancels subscribes to the cancels of every tool call.
func (c *Conn) ToolCancels(ctx context.Context, p Policy, h func(ctx context.Context, call string)) (*Sub, error) {
	return c.subscribe(proto.ToolCancel(proto.Any), "tool cancels", p, func(m *nats.Msg) {
		if call, ok := proto.CallOfCancel(m.Subject); ok {
			h(ctx, call)
		}
	})
}
