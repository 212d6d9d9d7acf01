// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"example.org/desktop-assistant/proto"
)

// Meta is what an event belongs to. The zero value is a fact about the device
// as such.
type Meta struct {
	Device  string // "" = the connection's own
	Session string
	Turn    string
	Rev     int
}

// Publish says that ev happened. It does not block. While the bus is away an
// event is kept and published when the bus is back; a live event is dropped.
// The error is of an event that can never be published.
func (c *Conn) Publish(ev proto.Event, m Meta) error {
	if m.Device == "" {
		m.Device = c.opts.Device
	}
	env := proto.Envelope{
		ID: nuid.Next(), TS: proto.Time{Time: time.Now()}, Src: c.opts.Service,
		Dev: m.Device, Session: m.Session, Turn: m.Turn, Rev: m.Rev, Seq: c.seq.Add(1),
	}
	body, err := proto.EncodeEvent(env, ev)
	if err != nil {
		return err
	}
	if ev.Live() {
		if c.nc.Publish(proto.LiveSubject(m.Device, ev.EventType()), body) != nil {
			c.dropped.Add(1)
		}
		return nil
	}
	msg := &nats.Msg{Subject: proto.EventSubject(m.Device, ev.EventType()), Data: body}
	if len(msg.Data) > 900<<10 {
		return proto.Errorf(proto.CodeInvalid, "publish "+ev.EventType(), "%d bytes are over what the bus carries", len(msg.Data))
	}
	c.mu.Lock()
	waiting := len(c.outbox) > 0
	if waiting || c.nc.PublishMsg(msg) != nil {
		c.keep(msg)
	}
	c.mu.Unlock()
	return nil
}

// keep puts a message into the outbox; c.mu is held. (The client's publish
// only appends to its own buffer, so that holding the lock over it keeps the
// order of events without waiting for anything.)
func (c *Conn) keep(msg *nats.Msg) {
	if len(c.outbox) == outboxLimit {
		c.outbox = c.outbox[1:]
		c.dropped.Add(1)
	}
	c.outbox = append(c.outbox, msg)
}

// flushOutbox publishes what was kept, once the other daemons have had time to
// renew their subscriptions.
func (c *Conn) flushOutbox() {
	c.mu.Lock()
	empty := len(c.outbox) == 0
	c.mu.Unlock()
	if empty {
		return
	}
	select {
	case <-c.closing:
		return
	case <-time.After(outboxDelay):
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, msg := range c.outbox {
		if c.nc.PublishMsg(msg) != nil { // gone again; the next reconnect goes on here
			c.outbox = append([]*nats.Msg(nil), c.outbox[i:]...)
			return
		}
	}
	c.outbox = nil
}

// PublishAudio sends one message of a microphone stream. It fails at once when
// the bus is away: stale audio is worse than none.
func (c *Conn) PublishAudio(stream string, a proto.Audio) error {
	header, body := proto.EncodeAudio(a)
	msg := &nats.Msg{Subject: proto.AudioIn(c.opts.Device, stream), Header: header, Data: body}
	if err := c.nc.PublishMsg(msg); err != nil {
		return fmt.Errorf("publish audio: %w", err)
	}
	return nil
}
