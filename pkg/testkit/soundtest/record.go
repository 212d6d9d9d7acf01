// SPDX-License-Identifier: Apache-2.0

package soundtest

import (
	"io"
	"os/exec"
	"slices"
	"sync"
	"time"

	"example.org/desktop-assistant/pkg/audio"
)

// recordLag is more than the sound that is on its way between sink and recording.
const recordLag = 150 * time.Millisecond

// A Recording is what a source hears, growing in real time. Positions are samples
// since its start. Reading it is for any goroutine; waiting is for the test's.
type Recording struct {
	rig *Rig
	p   *process

	mu      sync.Mutex
	samples []int16
	chunks  []chunk
}

// A chunk tells when the samples up to a position had come in.
type chunk struct {
	end int
	at  time.Time
}

// Record records what the speaker plays. It runs when Record returns.
func (r *Rig) Record() *Recording {
	r.tb.Helper()
	return r.RecordSource(Speaker + ".monitor")
}

// RecordSource records a source, for example Mic.
func (r *Rig) RecordSource(source string) *Recording {
	r.tb.Helper()
	rec := &Recording{rig: r}
	rec.p = start(r.tb, r.privateEnv(), func(cmd *exec.Cmd) {
		cmd.Stdout = rec
	}, "parec", "--raw", "--format=s16le", "--rate=16000", "--channels=1", "--latency-msec=20", "-d", source)
	r.tb.Cleanup(rec.p.kill)
	rec.wait("recording to start", patience, func() bool { return rec.Len() > 0 })
	return rec
}

var _ io.Writer = (*Recording)(nil)

// Write takes the recorder's output; it is not for tests.
func (rec *Recording) Write(data []byte) (int, error) {
	samples, err := audio.DecodePCM(data)
	if err != nil { // parec writes whole fragments of whole samples
		return 0, err
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.samples = append(rec.samples, samples...)
	rec.chunks = append(rec.chunks, chunk{len(rec.samples), time.Now()})
	return len(data), nil
}

// Len is how many samples are there, which is the position of now.
func (rec *Recording) Len() int {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return len(rec.samples)
}

// Samples is a copy of the recording from a position on.
func (rec *Recording) Samples(from int) []int16 {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return slices.Clone(rec.samples[min(from, len(rec.samples)):])
}

// At is when the sample at a position had come in; it was played up to 50 ms
// before.
func (rec *Recording) At(pos int) time.Time {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	i, _ := slices.BinarySearchFunc(rec.chunks, pos, func(c chunk, pos int) int { return c.end - pos - 1 })
	if i == len(rec.chunks) {
		rec.rig.tb.Errorf("time of sample %d: only %d recorded", pos, len(rec.samples))
		return time.Now()
	}
	return rec.chunks[i].at
}

// WaitSound waits until something audible is recorded at or after a position and
// gives the position where it begins.
func (rec *Recording) WaitSound(from int, limit time.Duration) int {
	rec.rig.tb.Helper()
	at := from
	rec.wait("sound", limit, func() bool {
		rec.mu.Lock()
		defer rec.mu.Unlock()
		for ; at < len(rec.samples); at++ {
			if v := int(rec.samples[at]); max(v, -v) >= Audible {
				return true
			}
		}
		return false
	})
	return at
}

// WaitSilence waits until nothing audible has been recorded for quiet, at or after
// a position, and gives the position where the silence begins.
func (rec *Recording) WaitSilence(from int, quiet, limit time.Duration) int {
	rec.rig.tb.Helper()
	begin, at := from, from
	rec.wait("silence", limit, func() bool {
		rec.mu.Lock()
		defer rec.mu.Unlock()
		for ; at < len(rec.samples) && at-begin < Samples(quiet); at++ {
			if v := int(rec.samples[at]); max(v, -v) >= Audible {
				begin = at + 1
			}
		}
		return at-begin >= Samples(quiet)
	})
	return begin
}

// Stop ends the recording, after what is on its way now has come in, and gives all
// of it.
func (rec *Recording) Stop() []int16 {
	rec.rig.tb.Helper()
	end := rec.Len() + Samples(recordLag)
	rec.wait("end of recording", patience, func() bool { return rec.Len() >= end })
	rec.p.kill()
	return rec.Samples(0)
}

// wait polls for a condition, as long as the recorder runs.
func (rec *Recording) wait(what string, limit time.Duration, cond func() bool) {
	rec.rig.tb.Helper()
	await(rec.rig.tb, what, limit, func() bool {
		if cond() {
			return true
		}
		select {
		case <-rec.p.done:
			rec.rig.tb.Fatalf("wait for %s: the recorder ended: %v: %s", what, rec.p.err, rec.p.errs.String())
		default:
		}
		return false
	})
}
