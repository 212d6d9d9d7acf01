// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/pulse"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/daemontest"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/micd/internal/capture"
	"example.org/desktop-assistant/services/micd/internal/mute"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is a sound server whose connections come and go as a test says.
type house struct{ next chan *room }

// Run implements [capture.Server]: a room with a fault is a connection that
// could not be made.
func (h *house) Run(ctx context.Context, down func(error), up func(context.Context, capture.Room)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case r := <-h.next:
			if r.fault != nil {
				down(r.fault)
				continue
			}
			live, cancel := context.WithCancelCause(ctx)
			stop := context.AfterFunc(r.gone, func() { cancel(pulse.ErrLost) })
			up(live, r)
			stop()
			cancel(nil)
			if ctx.Err() == nil {
				down(proto.Errorf(proto.CodeUnavailable, "open the microphone", "the sound server went away").WithHint("wait"))
			}
		}
	}
}

// room is one connection of a house.
type room struct {
	fault   error
	gone    context.Context // ends with the connection
	opened  chan *stream
	changes chan pulse.Change

	mu     sync.Mutex
	source string // the default one, "" = none
	hang   bool   // nothing is answered
}

func newRoom(source string) (r *room, lose func()) {
	gone, lose := context.WithCancel(context.Background())
	return &room{gone: gone, source: source, opened: make(chan *stream, 16), changes: make(chan pulse.Change, 1)}, lose
}

func (r *room) set(source string) {
	r.mu.Lock()
	r.source = source
	r.mu.Unlock()
	r.changes <- pulse.SourcesChanged
}

func (r *room) Find(ctx context.Context, source string) (string, error) {
	r.mu.Lock()
	hang, name := r.hang, r.source
	r.mu.Unlock()
	switch {
	case hang:
		<-ctx.Done()
		return "", proto.Errorf(proto.CodeTimeout, "open the microphone", "the sound server does not answer").WithHint("restart it")
	case name == "" || source != "" && source != name:
		return "", proto.Errorf(proto.CodeUnavailable, "open the microphone", "there is no microphone").WithHint("plug one in")
	}
	return name, nil
}

func (r *room) Open(ctx context.Context, source string) (capture.Stream, error) {
	name, err := r.Find(ctx, source)
	if err != nil {
		return nil, err
	}
	s := &stream{source: name, frames: make(chan pulse.Frame, 64)}
	r.opened <- s
	return s, nil
}

func (r *room) Changes(context.Context) (<-chan pulse.Change, error) { return r.changes, nil }

// stream is a capture of a room. It sends what the test pushes.
type stream struct {
	source string
	frames chan pulse.Frame

	mu    sync.Mutex
	ended bool
	shut  bool // by Close
	err   error
	pos   int64
}

func (s *stream) Frames() <-chan pulse.Frame { return s.frames }
func (s *stream) Source() string             { return s.source }
func (s *stream) Dropped() int64             { return 0 }

func (s *stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *stream) Close() {
	s.end(pulse.ErrClosed)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut = true
}

func (s *stream) closed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shut
}

func (s *stream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended, s.err = true, err
		close(s.frames)
	}
}

// push sends frames of 20 ms whose samples count on, all arriving now.
func (s *stream) push(frames int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range frames {
		if s.ended {
			return
		}
		samples := make([]int16, 320)
		for i := range samples {
			samples[i] = int16(s.pos + int64(i))
		}
		s.frames <- pulse.Frame{Samples: samples, Pos: s.pos, At: time.Now()}
		s.pos += 320
	}
}

// rig is a running micd with a bus, an observer and a receiver of its audio.
type rig struct {
	*testing.T
	bus   *bustest.Bus
	env   daemon.Env
	app   *App
	house *house
	seen  *bustest.Watcher
	user  *bus.Conn
	stop  func()

	mu    sync.Mutex
	heard []proto.Audio
}

// start runs micd; change may set its configuration before. With server nil it
// listens to the rig's house.
func start(t *testing.T, change func(*daemon.Env), server capture.Server) *rig {
	t.Helper()
	r := prepare(t, change)
	r.run(server)
	return r
}

// prepare makes all but the daemon. Its state is in a folder of the test.
func prepare(t *testing.T, change func(*daemon.Env)) *rig {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	b := bustest.New(t)
	r := &rig{T: t, bus: b, house: &house{make(chan *room)}, env: daemontest.Env(t, b, "micd")}
	if change != nil {
		change(&r.env)
	}
	r.seen, r.user = b.Watch(), b.Connect("cli")
	ear := b.Connect("sttd")
	lost := func() { t.Error("audio lost") }
	if _, err := ear.Audio(t.Context(), proto.DefaultDevice, bus.Fail(4096, lost), func(_ context.Context, _, stream string, a proto.Audio) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if stream != a.Turn {
			t.Errorf("turn %q on stream %q", a.Turn, stream)
		}
		r.heard = append(r.heard, a)
	}); err != nil {
		t.Fatal(err)
	}
	if err := ear.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) run(server capture.Server) {
	r.Helper()
	app, stop := daemontest.Start(r.T, r.env, func(env daemon.Env) (daemon.App, error) {
		app, err := New(env)
		if a, ok := app.(*App); ok && server == nil {
			a.Server = r.house
		}
		return app, err
	})
	r.app, r.stop = app.(*App), stop
}

// connect lets micd find a microphone.
func (r *rig) connect() (m *room, lose func()) {
	r.Helper()
	m, lose = newRoom("mic")
	r.Cleanup(lose)
	r.house.next <- m
	r.until("the source is known", func() bool { s, _ := r.status(); return len(s.Problems) == 0 && r.detail().Source == "mic" })
	return m, lose
}

// stream waits until micd has opened a capture.
func (r *rig) stream(m *room) (s *stream) {
	r.Helper()
	r.until("the microphone is opened", func() bool {
		select {
		case s = <-m.opened:
		default:
		}
		return s != nil
	})
	return s
}

func ask[C proto.Command[R], R any](r *rig, cmd C) R {
	r.Helper()
	reply, err := bus.Request(r.Context(), r.user, cmd)
	if err != nil {
		r.Fatalf("%s: %v", cmd.Verb(), err)
	}
	return reply
}

// refused asks for what must fail with a code and a hint.
func refused[C proto.Command[R], R any](r *rig, cmd C, code proto.Code) *proto.Error {
	r.Helper()
	_, err := bus.Request(r.Context(), r.user, cmd)
	var e *proto.Error
	if !errors.As(err, &e) || e.Code != code {
		r.Fatalf("%s: %v, want %s", cmd.Verb(), err, code)
	}
	return e
}

func (r *rig) status() (proto.Status, time.Duration) {
	r.Helper()
	began := time.Now()
	return ask(r, proto.StatusOf{Daemon: "micd"}), time.Since(began)
}

func (r *rig) detail() (d detail) {
	r.Helper()
	s, _ := r.status()
	if err := json.Unmarshal(s.Detail, &d); err != nil {
		r.Fatal(err)
	}
	return d
}

// of gives the audio messages of a turn so far.
func (r *rig) of(turn string) (list []proto.Audio) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.heard {
		if a.Turn == turn {
			list = append(list, a)
		}
	}
	return list
}

// whole waits for the end of a stream, checks its order and gives its sound.
func (r *rig) whole(turn string, last proto.AudioOp, reason string) []int16 {
	r.Helper()
	r.until("the end of the stream", func() bool {
		list := r.of(turn)
		return len(list) > 0 && (list[len(list)-1].Op == proto.AudioEnd || list[len(list)-1].Op == proto.AudioAbort)
	})
	var sound []int16
	list := r.of(turn)
	for i, a := range list {
		want := proto.AudioData
		switch i {
		case 0:
			want = proto.AudioBegin
		case len(list) - 1:
			want = last
		}
		if a.Op != want || a.Seq != uint64(i) || a.Pos != uint64(len(sound)) {
			r.Errorf("message %d of %d: %s, seq %d, pos %d, want %s at %d", i, len(list), a.Op, a.Seq, a.Pos, want, len(sound))
		}
		samples, err := audio.DecodePCM(a.PCM)
		if err != nil {
			r.Error(err)
		}
		sound = append(sound, samples...)
	}
	if got := list[len(list)-1].Reason; got != reason {
		r.Errorf("the stream ends because of %q, want %q", got, reason)
	}
	return sound
}

// ended waits for the end of an utterance.
func (r *rig) ended(turn, reason string) proto.UtteranceEnded {
	r.Helper()
	ev, _ := bustest.Expect(r.seen, func(s bustest.Seen, _ proto.UtteranceEnded) bool { return s.Turn == turn })
	if ev.Reason != reason {
		r.Errorf("ended because of %q, want %q", ev.Reason, reason)
	}
	return ev
}

// types lists the events so far, without service.state.
func (r *rig) types() (list []string) {
	for _, s := range r.seen.All() {
		if s.Type != "service.state" {
			list = append(list, s.Type)
		}
	}
	return list
}

// expectTypes waits until the events are these, in order.
func (r *rig) expectTypes(want ...string) {
	r.Helper()
	r.until("events", func() bool { return len(r.types()) >= len(want) })
	if got := r.types(); !slices.Equal(got, want) {
		r.Errorf("events %v, want %v", got, want)
	}
}

// until polls for a condition, at most twenty seconds.
func (r *rig) until(what string, ok func() bool) {
	r.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); !ok(); <-tick.C {
		if time.Now().After(end) {
			r.Fatalf("%s: not within 20 s; events %v", what, r.types())
		}
	}
}

func (r *rig) muteFile() mute.File {
	return mute.In(filepath.Join(os.Getenv("XDG_STATE_HOME"), "desktop-assistant"))
}
