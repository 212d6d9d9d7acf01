// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/daemontest"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/sttd/internal/recognize"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is an engine of functions.
type fake struct {
	name    string
	ready   func() error
	hear    func(ctx context.Context, u recognize.Utterance) (recognize.Transcript, error)
	grammar atomic.Value // string, of SetGrammar
}

func (f *fake) Name() string { return f.name }

func (f *fake) Ready(context.Context) error {
	if f.ready == nil {
		return nil
	}
	return f.ready()
}

func (f *fake) Recognize(ctx context.Context, u recognize.Utterance) (recognize.Transcript, error) {
	return f.hear(ctx, u)
}

func (f *fake) SetGrammar(jsgf string, _ []string) { f.grammar.Store(jsgf) }

func (f *fake) Unpronounceable() ([]string, error) { return []string{"xyzzy"}, nil }

// saying is an engine that always hears the same.
func saying(name, text string) *fake {
	return &fake{name: name, hear: func(context.Context, recognize.Utterance) (recognize.Transcript, error) {
		return recognize.Transcript{Text: text, Language: "en", Confidence: 0.5}, nil
	}}
}

// held is an engine that answers "held" once for each token put into free.
func held(name string) (f *fake, at chan recognize.Utterance, free chan struct{}) {
	at, free = make(chan recognize.Utterance, 16), make(chan struct{})
	return &fake{name: name, hear: func(ctx context.Context, u recognize.Utterance) (recognize.Transcript, error) {
		at <- u
		select {
		case <-free:
			return recognize.Transcript{Text: name}, nil
		case <-ctx.Done():
			return recognize.Transcript{}, ctx.Err()
		}
	}}, at, free
}

func missing(text, hint string) error {
	return proto.Errorf(proto.CodeUnavailable, "probe", "%s", text).WithHint("%s", hint)
}

// bench is a running sttd with a microphone and an observer.
type bench struct {
	*testing.T
	bus  *bustest.Bus
	env  daemon.Env
	app  *App
	seen *bustest.Watcher
	mic  *bus.Conn
	stop func()
}

// start runs sttd with these engines; change may set its configuration before.
func start(t *testing.T, change func(*daemon.Env), engines ...recognize.Engine) *bench {
	t.Helper()
	b := bustest.New(t)
	env := daemontest.Env(t, b, "sttd")
	if change != nil {
		change(&env)
	}
	r := &bench{T: t, bus: b, env: env, seen: b.Watch(), mic: b.Connect("micd")}
	app, stop := daemontest.Start(t, env, func(env daemon.Env) (daemon.App, error) {
		app, err := New(env)
		if err == nil && engines != nil {
			app.(*App).Engines = engines
		}
		return app, err
	})
	r.app, r.stop = app.(*App), stop
	if err := env.Bus.Flush(t.Context()); err != nil { // the subscriptions are there
		t.Fatal(err)
	}
	return r
}

// talk is one microphone stream.
type talk struct {
	b        *bench
	turn     string
	seq, pos uint64
}

func (b *bench) begin(turn string) *talk {
	b.Helper()
	s := &talk{b: b, turn: turn}
	s.send(proto.Audio{Op: proto.AudioBegin})
	return s
}

func (s *talk) send(a proto.Audio) {
	s.b.Helper()
	a.Seq, a.Turn = s.seq, s.turn
	if a.Op != proto.AudioData || a.Pos == 0 {
		a.Pos = s.pos
	}
	s.seq++
	s.pos = a.Pos + uint64(len(a.PCM)/2)
	if err := s.b.mic.PublishAudio(s.turn, a); err != nil {
		s.b.Fatal(err)
	}
}

// data sends samples in messages of 320 ms: faster than anyone speaks, but few
// enough to wait all at once.
func (s *talk) data(samples []int16) {
	s.b.Helper()
	for len(samples) > 0 {
		n := min(len(samples), 5120)
		s.send(proto.Audio{Op: proto.AudioData, PCM: audio.EncodePCM(samples[:n])})
		samples = samples[n:]
	}
}

// say sends a whole utterance.
func (b *bench) say(turn string, samples []int16) {
	b.Helper()
	s := b.begin(turn)
	s.data(samples)
	s.send(proto.Audio{Op: proto.AudioEnd, Reason: proto.UtteranceReleased})
}

// voice is something that passes for speech: bursts of a buzz in silence.
func voice(d time.Duration) []int16 {
	samples := make([]int16, audio.Samples(d, proto.Rate))
	for i := range samples {
		if ms := i / 16; ms%400 > 150 {
			samples[i] = int16(i%80*200 - 8000)
		}
	}
	return samples
}

func (b *bench) final(turn string) proto.STTFinal {
	b.Helper()
	ev, _ := bustest.Expect(b.seen, func(s bustest.Seen, _ proto.STTFinal) bool { return s.Turn == turn })
	return ev
}

func (b *bench) rejected(turn string) proto.STTRejected {
	b.Helper()
	ev, _ := bustest.Expect(b.seen, func(s bustest.Seen, _ proto.STTRejected) bool { return s.Turn == turn })
	return ev
}

func (b *bench) failed(turn string) proto.STTFailed {
	b.Helper()
	ev, _ := bustest.Expect(b.seen, func(s bustest.Seen, _ proto.STTFailed) bool { return s.Turn == turn })
	if ev.Error.Text == "" || ev.Error.Code == "" {
		b.Errorf("an error without words: %+v", ev.Error)
	}
	return ev
}

// about gives the transcripts, rejections and failures of a turn so far.
func (b *bench) about(turn string) (types []string) {
	for _, s := range b.seen.All() {
		switch s.Event.(type) {
		case proto.STTFinal, proto.STTRejected, proto.STTFailed:
			if s.Turn == turn {
				types = append(types, s.Type)
			}
		}
	}
	return types
}

// status asks as the command line does.
func (b *bench) status() (proto.Status, detail) {
	b.Helper()
	s, err := bus.Request(b.Context(), b.mic, proto.StatusOf{Daemon: "sttd"})
	if err != nil {
		b.Fatal(err)
	}
	var d detail
	if err := json.Unmarshal(s.Detail, &d); err != nil {
		b.Fatal(err)
	}
	return s, d
}
