// SPDX-License-Identifier: Apache-2.0

// Package utterance cuts captured frames into the messages of one microphone
// stream.
package utterance

import (
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/proto"
)

// chunk is how much one message carries: 80 ms cost a fifth of the CPU of
// 20 ms messages on the bus, and are heard as soon as anyone needs.
const chunk = proto.Rate * 80 / 1000

// Utterance is one stretch of speech on its way to sttd. It is owned by one
// goroutine; it does no I/O itself.
type Utterance struct {
	Turn  string    // also the stream's name
	Lease time.Time // ends by itself then; zero = never
	Limit time.Time // ends by itself then, lease or not

	send func(proto.Audio) error
	rest []int16
	seq  uint64
	pos  uint64
}

// Begin starts an utterance: it sends the begin message with send, which is
// used for all that follow.
func Begin(turn string, send func(proto.Audio) error) (*Utterance, error) {
	u := &Utterance{Turn: turn, send: send}
	return u, u.message(proto.Audio{Op: proto.AudioBegin})
}

// Add sends the samples, in messages of 80 ms; what is less waits for more.
func (u *Utterance) Add(samples []int16) error {
	u.rest = append(u.rest, samples...)
	for len(u.rest) >= chunk {
		if err := u.data(u.rest[:chunk]); err != nil {
			return err
		}
		u.rest = append(u.rest[:0], u.rest[chunk:]...)
	}
	return nil
}

// End sends what waits and the end message, with the total of samples.
func (u *Utterance) End(reason string) error {
	if len(u.rest) > 0 {
		if err := u.data(u.rest); err != nil {
			return err
		}
		u.rest = nil
	}
	return u.message(proto.Audio{Op: proto.AudioEnd, Reason: reason})
}

// Abort sends the abort message: what was said is to be forgotten.
func (u *Utterance) Abort(reason string) error {
	return u.message(proto.Audio{Op: proto.AudioAbort, Reason: reason})
}

// Samples is how many were sent.
func (u *Utterance) Samples() uint64 { return u.pos }

// Deadline is when the utterance ends by itself; the zero time when it does not.
func (u *Utterance) Deadline() time.Time {
	if u.Limit.IsZero() || !u.Lease.IsZero() && u.Lease.Before(u.Limit) {
		return u.Lease
	}
	return u.Limit
}

func (u *Utterance) data(samples []int16) error {
	err := u.message(proto.Audio{Op: proto.AudioData, PCM: audio.EncodePCM(samples)})
	if err == nil {
		u.pos += uint64(len(samples))
	}
	return err
}

func (u *Utterance) message(a proto.Audio) error {
	a.Seq, a.Pos, a.Turn = u.seq, u.pos, u.Turn
	if err := u.send(a); err != nil {
		return err
	}
	u.seq++
	return nil
}
