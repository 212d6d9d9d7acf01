// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"

	"example.org/desktop-assistant/proto"
)

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
	m.stream, m.source, m.heard = s, s.Source(), false
	m.ring.Reset()
	return nil
}

// close ends capture, and the utterance with it.
func (m *microphone) close(_ context.Context, reason string) {
	m.abort(proto.EndLost)
	if m.stream == nil {
		return
	}
	m.stream.Close()
	m.stream = nil
	m.ring.Reset()
	if m.heard {
		m.publish(proto.MicClosed{Source: m.source, Reason: reason}, "")
	}
}

// idle closes the microphone when nothing needs it: the desktop's microphone
// mark goes out between questions, unless [mic] warm keeps it open.
func (m *microphone) idle() {
	if m.stream == nil || m.cfg.Warm {
		return
	}
	m.stream.Close()
	m.stream = nil
	if m.heard {
		m.publish(proto.MicClosed{Source: m.source, Reason: "idle"}, "")
	}
}

// warm opens the microphone ahead of the key where the configuration says so.
func (m *microphone) warm(ctx context.Context) {
	if !m.cfg.Warm || m.muted || m.room == nil {
		return
	}
	if err := m.open(ctx); err != nil { // shown as a problem; the next change of devices tries again
		m.log.Debug("keep warm", "error", err)
	}
}

// lost ends what depended on a stream that ended by itself.
func (m *microphone) lost(ctx context.Context, err error) {
	m.abort(proto.EndLost)
	m.stream = nil
	m.ring.Reset()
	reason := "the sound server ended the stream"
	if err != nil {
		reason = err.Error()
	}
	m.publish(proto.MicLost{Source: m.source, Reason: reason}, "")
	m.look(ctx)
}

// linked takes a connection to the sound server that came or went.
func (m *microphone) linked(ctx context.Context, l link) {
	m.changes = l.changes
	if l.room == nil {
		m.room, m.noRoom = nil, l.err
		m.problems.SetError("sound", l.err)
		if m.stream != nil {
			m.lost(ctx, l.err)
		}
		return
	}
	m.problems.Clear("sound")
	if m.stream != nil { // of the connection before
		m.lost(ctx, m.stream.Err())
	}
	m.room = l.room
	m.look(ctx)
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
	m.problems.SetError("source", err)
	if err != nil {
		return
	}
	if m.stream != nil && name != m.source && m.talk == nil {
		m.close(ctx, "another source is the default now")
	}
	if m.stream == nil {
		m.source = name
	}
	m.warm(ctx)
}
