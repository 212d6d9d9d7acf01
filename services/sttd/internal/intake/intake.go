// SPDX-License-Identifier: Apache-2.0

// Package intake puts the messages of microphone streams together to
// recordings. It does no I/O and reads no clock.
package intake

import (
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/proto"
)

// maxStreams is how many streams may be open at once: one for each device that
// is served, and some that hang. A full one of two minutes takes 4 MB.
const maxStreams = 4

// Key names a stream.
type Key struct{ Device, Stream string }

// A Recording is what was collected of one stream.
type Recording struct {
	Key
	Turn   string
	Reason string  // of the end or abort, as in [proto.UtteranceEnded]
	PCM    []int16 // at [proto.Rate]
	Lost   int     // samples that never came; silence stands for them in PCM
	Cut    int     // samples over the limit that were dropped
}

// Outcome is what a message did to its stream.
type Outcome int

// The outcomes. With Complete and Aborted the stream is gone; of a Refused one
// nothing was kept, and all of its other messages are Ignored.
const (
	Nothing  Outcome = iota // there is nothing to do yet
	Begun                   // a new stream
	Complete                // it ended
	Aborted                 // it ended, and is to be forgotten
	Refused                 // one stream too many at once
	Ignored                 // belongs to no stream known here
)

// Desk collects streams. It is owned by one goroutine.
type Desk struct {
	limit   int // samples of one recording
	streams map[Key]*stream
	ignored uint64
}

// stream is one recording that grows.
type stream struct {
	Recording
	seq    uint64    // of the next message
	pos    uint64    // of the next sample
	heard  time.Time // when the last message came
	paused bool
}

// New makes a desk whose recordings are at most limit long.
func New(limit time.Duration) *Desk {
	return &Desk{limit: audio.Samples(limit, proto.Rate), streams: map[Key]*stream{}}
}

// Open is how many streams are being collected.
func (d *Desk) Open() int { return len(d.streams) }

// Ignored counts the messages that belonged to no stream: of one whose begin
// was before our time, repeated, or too many.
func (d *Desk) Ignored() uint64 { return d.ignored }

// Take adds a message, which is kept no longer than the call. The recording is
// whole for Complete and Aborted, and has key and turn for Begun and Refused.
func (d *Desk) Take(now time.Time, key Key, a proto.Audio) (Outcome, Recording) {
	s := d.streams[key]
	switch {
	case s == nil && a.Op == proto.AudioBegin && proto.ValidToken(a.Turn):
		return d.begin(now, key, a)
	case s == nil, a.Op == proto.AudioBegin, a.Seq < s.seq:
		d.ignored++
		return Ignored, Recording{}
	}
	s.seq, s.heard = a.Seq+1, now
	switch a.Op {
	case proto.AudioData:
		s.add(a, d.limit)
	case proto.AudioPause, proto.AudioResume:
		s.paused = a.Op == proto.AudioPause
	case proto.AudioEnd:
		s.fill(a.Pos, d.limit)
		return d.close(s, Complete, a.Reason)
	case proto.AudioAbort:
		return d.close(s, Aborted, a.Reason)
	}
	return Nothing, Recording{}
}

func (d *Desk) begin(now time.Time, key Key, a proto.Audio) (Outcome, Recording) {
	r := Recording{Key: key, Turn: a.Turn}
	if len(d.streams) == maxStreams {
		d.ignored++
		return Refused, r
	}
	d.streams[key] = &stream{Recording: r, seq: a.Seq + 1, heard: now}
	return Begun, r
}

func (d *Desk) close(s *stream, o Outcome, reason string) (Outcome, Recording) {
	delete(d.streams, s.Key)
	s.Reason = reason
	return o, s.Recording
}

// Stale gives the streams that sent nothing for quiet, and forgets them. A
// paused one may be silent for as long as a recording can be.
func (d *Desk) Stale(now time.Time, quiet time.Duration) []Recording {
	return d.remove(func(s *stream) bool {
		limit := quiet
		if s.paused {
			limit = audio.Duration(d.limit, proto.Rate)
		}
		return now.Sub(s.heard) >= limit
	})
}

// OfTurn forgets the streams of a turn, and tells whether there were any.
func (d *Desk) OfTurn(turn string) bool {
	return len(d.remove(func(s *stream) bool { return s.Turn == turn })) > 0
}

// All gives every open stream, and forgets them.
func (d *Desk) All() []Recording {
	return d.remove(func(*stream) bool { return true })
}

func (d *Desk) remove(which func(*stream) bool) []Recording {
	var list []Recording
	for key, s := range d.streams {
		if which(s) {
			delete(d.streams, key)
			list = append(list, s.Recording)
		}
	}
	return list
}

// add appends what is new in a data message.
func (s *stream) add(a proto.Audio, limit int) {
	samples, err := audio.DecodePCM(a.PCM)
	if err != nil { // half samples do not get through [proto.DecodeAudio]
		return
	}
	if a.Pos > uint64(limit) { // more than an utterance has: nothing of it fits
		s.Cut += len(samples)
		return
	}
	if a.Pos < s.pos { // repeated in part
		samples = samples[min(s.pos-a.Pos, uint64(len(samples))):]
	}
	s.fill(a.Pos, limit)
	fits := min(len(samples), max(0, limit-len(s.PCM)))
	s.PCM = append(s.PCM, samples[:fits]...)
	s.Cut += len(samples) - fits
	s.pos += uint64(len(samples))
}

// fill puts silence in the place of what did not come before pos.
func (s *stream) fill(pos uint64, limit int) {
	if pos <= s.pos || pos > uint64(limit) {
		return
	}
	missing := min(int(pos-s.pos), limit-len(s.PCM))
	s.PCM = append(s.PCM, make([]int16, missing)...)
	s.Lost += missing
	s.pos = pos
}
