// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// timeLayout is RFC 3339 with exactly three digits, always in UTC.
const timeLayout = "2006-01-02T15:04:05.000Z"

// Time is a moment on the wire: RFC 3339, milliseconds, UTC. It is for people
// and logs; durations inside a turn never come from comparing two clocks.
type Time struct{ time.Time }

// MarshalJSON writes the wire form.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.UTC().Format(timeLayout) + `"`), nil
}

// UnmarshalJSON reads any RFC 3339 time.
func (t *Time) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("read time: %w", err)
	}
	v, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return fmt.Errorf("read time %q: %w", s, err)
	}
	t.Time = v.UTC()
	return nil
}

// Envelope is what every event travels in: one JSON object, readable in
// `nats sub`.
type Envelope struct {
	V       int             `json:"v"`                 // major version, 1
	Type    string          `json:"type"`              // the subject's tail, such as "stt.final"
	ID      string          `json:"id"`                // unique
	TS      Time            `json:"ts"`                // when it was published
	Src     string          `json:"src"`               // the daemon that says so
	Dev     string          `json:"dev"`               // the device it is about
	Session string          `json:"session,omitempty"` // empty before brain knows it
	Turn    string          `json:"turn,omitempty"`    // empty when it belongs to no turn
	Rev     int             `json:"rev,omitempty"`     // revision of a speculative turn
	Seq     uint64          `json:"seq"`               // counts the events of this source since its start
	Data    json.RawMessage `json:"data"`              // the event itself
}

// Event is something that happened. Implementations are the structs of this
// package, used by value.
type Event interface {
	// EventType is the subject's tail, "area.event".
	EventType() string
	// Live says that the event is for screens only, may be lost and is not stored.
	Live() bool
}

// past and live give the structs below their Live method.
type past struct{}

func (past) Live() bool { return false }

type live struct{}

func (live) Live() bool { return true }

// Unknown is an event of a type this build does not know: to be ignored and
// counted, never an error.
type Unknown struct {
	past
	Type string
	Data json.RawMessage
}

// EventType is the unknown type.
func (u Unknown) EventType() string { return u.Type }

// EncodeEvent fills in the envelope's version, type and data and gives its
// bytes. The caller fills in the rest.
func EncodeEvent(env Envelope, ev Event) ([]byte, error) {
	data, err := json.Marshal(ev)
	if err != nil {
		return nil, fmt.Errorf("encode event %q: %w", ev.EventType(), err)
	}
	env.V, env.Type, env.Data = Version, ev.EventType(), data
	out, err := json.Marshal(env)
	if err != nil {
		return nil, fmt.Errorf("encode envelope %q: %w", env.Type, err)
	}
	return out, nil
}

// DecodeEvent reads an envelope and the event in it. A type this build does
// not know gives [Unknown]; everything that is not a valid envelope is an
// error with code invalid.
func DecodeEvent(b []byte) (Envelope, Event, error) {
	var env Envelope
	if err := json.Unmarshal(b, &env); err != nil {
		return Envelope{}, nil, Errorf(CodeInvalid, "decode event", "%v", err)
	}
	if env.V != Version {
		return Envelope{}, nil, Errorf(CodeInvalid, "decode event", "envelope version %d, not %d", env.V, Version)
	}
	if area, name, ok := strings.Cut(env.Type, "."); !ok || area == "" || name == "" {
		return Envelope{}, nil, Errorf(CodeInvalid, "decode event", "type %q is not area.event", env.Type)
	}
	read, known := events[env.Type]
	if !known {
		return env, Unknown{Type: env.Type, Data: env.Data}, nil
	}
	data := env.Data
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}")
	}
	ev, err := read(data)
	if err != nil {
		return Envelope{}, nil, Errorf(CodeInvalid, "decode event "+env.Type, "%v", err)
	}
	return env, ev, nil
}

// events holds the reader of every type of this package; a test walks the
// package's source so that none is missing.
var events = readers(
	reader[MicOpened](), reader[MicClosed](), reader[MicLost](), reader[MicMuted](), reader[MicLevel](),
	reader[UtteranceStarted](), reader[UtteranceEnded](),
	reader[STTPartial](), reader[STTFinal](), reader[STTRejected](), reader[STTFailed](),
	reader[TurnStarted](), reader[TurnAsked](), reader[TurnDelta](), reader[TurnSentence](),
	reader[TurnAnnounced](), reader[TurnQuestion](), reader[TurnEnded](),
	reader[ToolCalled](), reader[ToolFinished](), reader[ToolChanged](),
	reader[SkillLoaded](), reader[SkillUnloaded](),
	reader[SpeechStarted](), reader[SpeechPaused](), reader[SpeechResumed](),
	reader[SpeechFinished](), reader[SpeechStopped](),
	reader[ServiceState](), reader[BusStopping](),
)

type eventReader struct {
	typ  string
	read func([]byte) (Event, error)
}

func reader[E Event]() eventReader {
	var zero E
	return eventReader{zero.EventType(), func(b []byte) (Event, error) {
		var e E
		if err := json.Unmarshal(b, &e); err != nil {
			return nil, err
		}
		return e, nil
	}}
}

func readers(list ...eventReader) map[string]func([]byte) (Event, error) {
	m := make(map[string]func([]byte) (Event, error), len(list))
	for _, r := range list {
		m[r.typ] = r.read
	}
	return m
}

// EventTypes lists every type this build knows, in no order.
func EventTypes() []string {
	list := make([]string, 0, len(events))
	for t := range events {
		list = append(list, t)
	}
	return list
}
