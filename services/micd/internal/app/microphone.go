// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/pulse"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/micd/internal/capture"
	"example.org/desktop-assistant/services/micd/internal/mute"
	"example.org/desktop-assistant/services/micd/internal/utterance"
)

const (
	preRoll = 800 * time.Millisecond // kept from before the key while warm
	// tail is how long capture goes on after the key: sound that was in the
	// air is up to 40 ms on its way to us.
	tail = 60 * time.Millisecond
)

// microphone is the state of micd. One goroutine owns it.
type microphone struct {
	log      *slog.Logger
	conn     *bus.Conn
	problems *daemon.Problems
	cfg      config.Mic
	gates    []string
	file     mute.File

	muted   bool
	room    capture.Room // nil while there is no sound server
	changes <-chan pulse.Change
	noRoom  error // why room is nil
	source  string

	stream  capture.Stream // nil while closed
	closing sync.WaitGroup // streams being closed, which a hanging server can draw out
	heard   bool           // the first frame came and mic.opened was published
	moved   bool           // another source became the default one while someone talked
	retry   time.Time      // when to open again for [mic] warm; zero = not
	dropped int64
	ring    *audio.Ring

	talk    *utterance.Utterance
	stopped time.Time // when the key went up, while the tail is awaited
	reason  string    // of that end
}

func newMicrophone(env daemon.Env, file mute.File) *microphone {
	m := &microphone{
		log: env.Log, conn: env.Bus, problems: env.Problems, cfg: env.Config.Mic,
		gates: env.Config.MicGates(), file: file,
		ring:   audio.NewRing(audio.Samples(preRoll, proto.Rate)),
		noRoom: proto.Errorf(proto.CodeUnavailable, "open the microphone", "the sound server is still looked for").WithHint("try again in a moment"),
	}
	muted, err := file.Read()
	m.muted = muted
	if err != nil {
		m.problems.Set("mute", err.Error()+"; so the microphone stays muted", "unmute it: desktop-assistant mute off")
	}
	return m
}

func (m *microphone) talking() bool { return m.talk != nil && m.stopped.IsZero() }

func (m *microphone) state() proto.MicState {
	s := proto.MicState{Open: m.stream != nil, Talk: m.talking(), Muted: m.muted, Source: m.source}
	if s.Talk {
		s.Turn = m.talk.Turn
	}
	return s
}

func (m *microphone) detail() *detail {
	return &detail{m.source, m.gates, m.stream != nil, m.talking(), m.muted, m.dropped}
}

// publish tells what happened, about the turn being recorded if there is one.
func (m *microphone) publish(ev proto.Event, turn string) {
	if err := m.conn.Publish(ev, bus.Meta{Turn: turn}); err != nil {
		m.log.Error("publish", "error", err)
	}
}

// frames is the channel of the open stream, nil while closed.
func (m *microphone) frames() <-chan pulse.Frame {
	if m.stream == nil {
		return nil
	}
	return m.stream.Frames()
}

// start opens the gate; while it is open it renews the lease.
func (m *microphone) start(ctx context.Context, lease float64) error {
	if m.muted {
		return proto.Errorf(proto.CodeDenied, "listen", "the microphone is muted").WithHint("unmute it: desktop-assistant mute off")
	}
	if lease < 0 {
		return proto.Errorf(proto.CodeInvalid, "listen", "a lease of %v seconds", lease)
	}
	if lease == 0 {
		lease = float64(m.cfg.LeaseS)
	}
	lease = min(lease, float64(m.cfg.LimitS)) // no utterance is longer
	until := time.Now().Add(time.Duration(lease * float64(time.Second)))
	if m.talking() {
		m.talk.Lease = until
		return nil
	}
	if m.talk != nil { // pressed again within the tail of the last question
		m.finish()
	}
	if err := m.open(ctx); err != nil {
		return err
	}
	return m.begin(ctx, until)
}

// begin starts an utterance on the open stream, with what the ring holds.
func (m *microphone) begin(ctx context.Context, until time.Time) error {
	turn := bus.NewID()
	m.publish(proto.UtteranceStarted{Turn: turn, Stream: turn, Trigger: proto.TriggerKey}, turn)
	u, err := utterance.Begin(turn, func(a proto.Audio) error { return m.conn.PublishAudio(turn, a) })
	if err == nil {
		err = u.Add(m.ring.Take())
	}
	if err != nil {
		m.publish(proto.UtteranceEnded{Reason: proto.UtteranceLost}, turn)
		m.idle(ctx)
		return proto.Errorf(proto.CodeDisconnected, "listen", "%v", err).WithHint("see what runs: desktop-assistant status")
	}
	u.Lease, u.Limit = until, time.Now().Add(m.cfg.LimitS.Duration())
	m.talk, m.stopped = u, time.Time{}
	return nil
}

// stop ends the utterance after its tail. Without one it does nothing.
func (m *microphone) stop(reason string) {
	if m.talking() {
		m.stopped, m.reason = time.Now(), reason
	}
}

// finish ends the utterance now, with all that was captured.
func (m *microphone) finish() {
	for waiting := true; waiting; {
		select {
		case f, ok := <-m.frames():
			if waiting = ok; ok {
				m.take(f)
			}
		default:
			waiting = false
		}
	}
	if m.talk == nil { // the bus went
		return
	}
	u := m.talk
	m.talk = nil
	if err := u.End(m.reason); err != nil {
		m.log.Warn("end the utterance", "turn", u.Turn, "error", err)
	}
	m.publish(proto.UtteranceEnded{
		Samples: u.Samples(), AgeMS: time.Since(m.stopped).Milliseconds(), Reason: m.reason,
	}, u.Turn)
	m.stopped = time.Time{}
}

// cancel ends the utterance and has it forgotten.
func (m *microphone) cancel(ctx context.Context) {
	m.abort(proto.UtteranceCancelled)
	m.idle(ctx)
}

func (m *microphone) abort(reason string) {
	if m.talk == nil {
		return
	}
	u := m.talk
	m.talk, m.stopped = nil, time.Time{}
	if err := u.Abort(reason); err != nil {
		m.log.Warn("abort the utterance", "turn", u.Turn, "error", err)
	}
	m.publish(proto.UtteranceEnded{Samples: u.Samples(), Reason: reason}, u.Turn)
}

// cut ends the utterance because no more sound will come. What was whole but
// for its tail counts.
func (m *microphone) cut() {
	if m.stopped.IsZero() {
		m.abort(proto.UtteranceLost)
	} else {
		m.finish()
	}
}

// mute switches the assistant's own mute. Muting takes effect even when it
// cannot be kept; unmuting only once it is on disk.
func (m *microphone) mute(ctx context.Context, on bool) error {
	if on {
		m.abort(proto.UtteranceCancelled)
		m.close("muted")
		m.setMuted(true)
	}
	if err := m.file.Write(on); err != nil {
		text := "still muted: "
		if on {
			text = "muted now, but not after a restart: "
		}
		return proto.Errorf(proto.CodeFailed, "mute", "%s%v", text, err).WithHint("make its folder writable, and try again")
	}
	m.problems.Clear("mute")
	m.setMuted(on)
	if !on {
		m.warm(ctx)
	}
	return nil
}

func (m *microphone) setMuted(on bool) {
	if m.muted != on {
		m.muted = on
		m.publish(proto.MicMuted{Muted: on}, "")
	}
}

// deadline is when expire is to be called next; zero = not.
func (m *microphone) deadline() time.Time {
	switch {
	case m.talk == nil:
		return m.retry
	case !m.stopped.IsZero():
		return m.stopped.Add(tail)
	}
	return m.talk.Deadline()
}

// expire acts on a deadline that has passed.
func (m *microphone) expire(ctx context.Context, now time.Time) {
	d := m.deadline()
	switch {
	case d.IsZero() || now.Before(d):
	case m.talk == nil:
		m.warm(ctx)
	case m.stopped.IsZero():
		m.stop(proto.UtteranceLimit)
	default:
		m.finish()
		m.idle(ctx)
	}
}

// frame takes one frame of the open stream; ok is false when the stream ended.
func (m *microphone) frame(ctx context.Context, f pulse.Frame, ok bool) {
	if !ok {
		m.lost(ctx, m.stream.Err())
		return
	}
	m.take(f)
	switch {
	case m.talk == nil:
		m.idle(ctx)
	case !m.stopped.IsZero() && f.At.Sub(m.stopped) > tail*2/3: // it holds the last of what was in the air
		m.finish()
		m.idle(ctx)
	}
}

// take adds a frame to the utterance, or to what is kept from before one.
func (m *microphone) take(f pulse.Frame) {
	if !m.heard {
		m.heard = true
		m.publish(proto.MicOpened{Source: m.source, Rate: proto.Rate}, "")
	}
	m.dropped = m.stream.Dropped()
	if m.talk == nil {
		m.ring.Write(f.Samples)
		return
	}
	if err := m.talk.Add(f.Samples); err != nil {
		m.log.Warn("send audio", "turn", m.talk.Turn, "error", err)
		m.abort(proto.UtteranceLost)
	}
}
