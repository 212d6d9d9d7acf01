// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
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
	ID      string // of the event, "" = one of its own; see [Conn.Events] on one that is published again
}

// NewID makes an id for a turn, a call or a stream: unique, and a valid token.
func NewID() string { return nuid.Next() }

// Publish says that ev happened. It does not block. While the bus is away, and
// for a moment after it came back, an event is kept, and published when the
// others have had time to come back too; a live event is dropped.
// The error is of an event that can never be published.
func (c *Conn) Publish(ev proto.Event, m Meta) error {
	if m.Device == "" {
		m.Device = c.opts.Device
	}
	if !proto.ValidToken(m.Device) {
		return proto.Errorf(proto.CodeInvalid, "publish "+ev.EventType(), "%q is no device name", m.Device)
	}
	if m.ID == "" {
		m.ID = nuid.Next()
	}
	env := proto.Envelope{
		ID: m.ID, TS: proto.Time{Time: time.Now()}, Src: c.opts.Service,
		Dev: m.Device, Session: m.Session, Turn: m.Turn, Rev: m.Rev,
	}
	if ev.Live() {
		return c.publishLive(env, ev)
	}
	// Sequence, encoding and publishing are one step, or two goroutines could
	// put their events on the wire in another order than they are numbered. The
	// client's publish only appends to its own buffer, so that the lock waits
	// for nothing.
	c.mu.Lock()
	defer c.mu.Unlock()
	env.Seq = c.seq + 1
	body, err := encode(env, ev)
	if err != nil {
		return err
	}
	c.seq++
	msg := &nats.Msg{Subject: proto.EventSubject(m.Device, ev.EventType()), Data: body}
	if c.holding || len(c.outbox) > 0 {
		c.keep(msg)
		return nil
	}
	switch err := c.nc.PublishMsg(msg); {
	case errors.Is(err, nats.ErrMaxPayload): // of a server elsewhere
		return proto.Errorf(proto.CodeInvalid, "publish "+ev.EventType(), "%d bytes are over what the bus carries", len(body))
	case err != nil:
		c.keep(msg)
	}
	return nil
}

// publishLive counts on its own: who follows the events alone must not take
// the live ones between them for a loss.
func (c *Conn) publishLive(env proto.Envelope, ev proto.Event) error {
	env.Seq = c.liveSeq.Add(1)
	body, err := encode(env, ev)
	if err != nil {
		return err
	}
	if c.nc.Publish(proto.LiveSubject(env.Dev, ev.EventType()), body) != nil {
		c.dropped.Add(1)
	}
	return nil
}

func encode(env proto.Envelope, ev proto.Event) ([]byte, error) {
	body, err := proto.EncodeEvent(env, ev)
	if err == nil && len(body) > maxPayload {
		err = proto.Errorf(proto.CodeInvalid, "publish "+ev.EventType(), "%d bytes are over the %d that the bus carries", len(body), maxPayload)
	}
	return body, err
}

// keep puts a message into the outbox; c.mu is held.
func (c *Conn) keep(msg *nats.Msg) {
	c.outbox, c.kept = append(c.outbox, msg), c.kept+len(msg.Data)
	for len(c.outbox) > outboxLimit || c.kept > outboxBytes {
		c.kept -= len(c.outbox[0].Data)
		c.outbox[0], c.outbox = nil, c.outbox[1:]
		c.dropped.Add(1)
	}
}

// flushOutbox publishes what was kept, once the other daemons have had time to
// renew their subscriptions; [Conn.Close] does it else.
func (c *Conn) flushOutbox() {
	select {
	case <-c.closing:
	case <-time.After(outboxDelay):
		c.sendOutbox()
	}
}

func (c *Conn) sendOutbox() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, msg := range c.outbox {
		c.kept -= len(msg.Data)
		switch err := c.nc.PublishMsg(msg); {
		case errors.Is(err, nats.ErrMaxPayload):
			c.dropped.Add(1)
		case err != nil: // gone again; the next reconnect goes on here
			c.outbox, c.kept = append([]*nats.Msg(nil), c.outbox[i:]...), c.kept+len(msg.Data)
			return
		}
	}
	c.outbox, c.holding = nil, !c.nc.IsConnected() // it may have gone again meanwhile
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
