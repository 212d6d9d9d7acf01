// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"time"

	"example.org/desktop-assistant/pkg/pulse"
	"example.org/desktop-assistant/proto"
)

// retryEvery is the pause before a microphone that is kept warm is opened
// again; a device that comes is noticed at once.
const retryEvery = 2 * time.Second

// open starts to capture, unless it runs already.
func (m *microphone) open(ctx context.Context) error {
	if m.stream != nil {
		return nil
	}
	if m.room == nil {
		return m.noRoom
	}
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	s, err := m.room.Open(ctx, m.cfg.Source)
	if err != nil {
		m.problems.SetError("source", err)
		return err
	}
	m.problems.Clear("source")
	m.stream, m.source, m.heard, m.moved = s, s.Source(), false, false
	m.ring.Reset()
	return nil
}

// close ends capture, and the utterance with it.
func (m *microphone) close(reason string) {
	m.cut()
	if m.stream == nil {
		return
	}
	m.drop()
	if m.heard {
		m.publish(proto.MicClosed{Source: m.source, Reason: reason}, "")
	}
}

// drop lets the stream go. Nothing of it is heard from here on; the server is
// told beside, since it may not answer.
func (m *microphone) drop() {
	m.closing.Go(m.stream.Close)
	m.stream = nil
	m.ring.Reset()
}

// idle closes the microphone when nothing needs it: the desktop's microphone
// mark goes out between questions, unless [mic] warm keeps it open.
func (m *microphone) idle(ctx context.Context) {
	switch {
	case !m.cfg.Warm:
		m.close("idle")
	case m.moved:
		m.close("another source is the default one now")
		m.warm(ctx)
	}
}

// warm opens the microphone ahead of the key where the configuration says so.
func (m *microphone) warm(ctx context.Context) {
	m.retry = time.Time{}
	if !m.cfg.Warm || m.muted || m.room == nil {
		return
	}
	if err := m.open(ctx); err != nil { // shown as a problem
		m.log.Debug("keep warm", "error", err)
		m.later()
	}
}

// later has a microphone that is kept warm opened again after a pause.
func (m *microphone) later() {
	if m.cfg.Warm && m.stream == nil {
		m.retry = time.Now().Add(retryEvery)
	}
}

// lost ends what depended on a stream that ended by itself.
func (m *microphone) lost(ctx context.Context, err error) {
	m.cut()
	m.drop()
	reason := "the sound server ended the stream"
	if err != nil {
		reason = err.Error()
	}
	m.publish(proto.MicLost{Source: m.source, Reason: reason}, "")
	if !errors.Is(err, pulse.ErrLost) { // else the next connection looks
		m.look(ctx)
	}
}

// linked takes a connection to the sound server that came or went.
func (m *microphone) linked(ctx context.Context, l link) {
	if m.stream != nil { // of the connection before, which is gone
		m.lost(ctx, pulse.ErrLost)
	}
	m.room, m.noRoom, m.changes = l.room, l.err, l.changes
	m.problems.SetError("sound", l.err)
	if m.room == nil {
		m.problems.Clear("source") // nobody knows
		return
	}
	m.look(ctx)
}

// changed takes a change of devices; ok is false when no more will come. Sound
// that is played changes nothing for us.
func (m *microphone) changed(ctx context.Context, c pulse.Change, ok bool) {
	switch {
	case !ok:
		m.changes = nil
	case c.Has(pulse.SourcesChanged | pulse.ServerChanged):
		m.look(ctx)
	}
}

// look finds out whether the source is there, and follows the default one
// while nobody talks.
func (m *microphone) look(ctx context.Context) {
	if m.room == nil {
		return
	}
	limit, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	name, err := m.room.Find(limit, m.cfg.Source)
	if ctx.Err() != nil {
		return
	}
	m.problems.SetError("source", err)
	switch {
	case m.stream == nil:
		m.source = name
	case err != nil: // the stream itself tells when it ends
	case m.talk != nil:
		m.moved = name != m.source
	case name != m.source:
		m.close("another source is the default one now")
	}
	if err == nil {
		m.warm(ctx)
	} else {
		m.later()
	}
}
