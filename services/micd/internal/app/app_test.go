// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/pulse"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/proto"
)

// counting checks that sound counts on without a gap.
func counting(t *testing.T, sound []int16, n int) {
	t.Helper()
	if len(sound) != n {
		t.Errorf("%d samples, want %d", len(sound), n)
	}
	for i := 1; i < len(sound); i++ {
		if sound[i] != sound[i-1]+1 {
			t.Fatalf("sample %d is %d after %d: a gap", i, sound[i], sound[i-1])
		}
	}
}

func TestUtterance(t *testing.T) {
	r := start(t, nil, nil)
	room, _ := r.connect()
	state := ask(r, proto.MicStart{})
	if !state.Open || !state.Talk || state.Muted || state.Turn == "" || state.Source != "mic" {
		t.Errorf("%+v", state)
	}
	s := r.stream(room)
	r.expectTypes("utterance.started") // and not mic.opened: nothing was heard yet
	began, _ := bustest.Expect[proto.UtteranceStarted](r.seen, nil)
	if began.Turn != state.Turn || began.Stream != state.Turn || began.Trigger != proto.TriggerKey {
		t.Errorf("%+v", began)
	}
	s.push(10)
	opened, _ := bustest.Expect[proto.MicOpened](r.seen, nil)
	if opened.Source != "mic" || opened.Rate != proto.Rate {
		t.Errorf("%+v", opened)
	}
	if state := ask(r, proto.MicStop{}); state.Talk || state.Turn != "" {
		t.Errorf("%+v", state)
	}
	s.push(2) // what was in the air
	ev := r.ended(state.Turn, proto.UtteranceReleased)
	if ev.Samples != 12*320 || ev.AgeMS < 40 {
		t.Errorf("%+v", ev)
	}
	counting(t, r.whole(state.Turn, proto.AudioEnd, proto.UtteranceReleased), 12*320)
	closed, _ := bustest.Expect[proto.MicClosed](r.seen, nil)
	if closed.Source != "mic" || closed.Reason != "idle" {
		t.Errorf("%+v", closed)
	}
	r.until("capture is closed", s.closed)
	r.expectTypes("utterance.started", "mic.opened", "utterance.ended", "mic.closed")
	if state := ask(r, proto.MicStop{}); state.Open || state.Talk { // again is fine
		t.Errorf("%+v", state)
	}
}

// A frame that comes once the tail is over ends it; what waits is not lost.
func TestTail(t *testing.T) {
	r := start(t, nil, nil)
	room, _ := r.connect()
	turn := ask(r, proto.MicStart{}).Turn
	s := r.stream(room)
	s.push(3)
	bustest.Expect[proto.MicOpened](r.seen, nil)
	block := make(chan struct{})
	r.app.posts <- func(m *microphone) { // micd gets no processor for longer than the tail
		m.stop(proto.UtteranceReleased)
		<-block
	}
	r.until("the tail is over", func() bool { s.push(1); return len(s.frames) == 30 })
	close(block)
	r.ended(turn, proto.UtteranceReleased)
	sound := r.whole(turn, proto.AudioEnd, proto.UtteranceReleased)
	counting(t, sound, len(sound))
	if len(sound) < 4*320 {
		t.Errorf("%d samples", len(sound))
	}
	t.Run("the source goes in it", func(t *testing.T) {
		turn := ask(r, proto.MicStart{}).Turn
		s := r.stream(room)
		s.push(3)
		ask(r, proto.MicStop{})
		s.end(pulse.ErrKilled)
		ev := r.ended(turn, proto.UtteranceReleased) // nothing was lost but some of the tail
		if ev.Samples != 3*320 {
			t.Errorf("%+v", ev)
		}
		bustest.Expect[proto.MicLost](r.seen, nil)
	})
	t.Run("the key is pressed again in it", func(t *testing.T) {
		first := ask(r, proto.MicStart{}).Turn
		s := r.stream(room)
		s.push(3)
		ask(r, proto.MicStop{})
		second := ask(r, proto.MicStart{}).Turn
		s.push(3)
		if first == second {
			t.Error("one turn for two questions")
		}
		r.ended(first, proto.UtteranceReleased)
		ask(r, proto.MicStop{})
		s.push(1)
		r.ended(second, proto.UtteranceReleased)
		a, b := r.whole(first, proto.AudioEnd, proto.UtteranceReleased), r.whole(second, proto.AudioEnd, proto.UtteranceReleased)
		counting(t, append(a, b...), 7*320) // nothing between them is lost
		if len(room.opened) != 0 {
			t.Error("the microphone was opened twice")
		}
	})
}

func TestEnds(t *testing.T) {
	r := start(t, func(env *daemon.Env) { env.Config.Mic.LimitS = 0.3 }, nil)
	room, _ := r.connect()
	t.Run("lease", func(t *testing.T) {
		began := time.Now()
		turn := ask(r, proto.MicStart{Lease: 0.1}).Turn
		ev := r.ended(turn, proto.UtteranceLimit)
		t.Logf("lease of 100 ms over after %v, age %d ms", time.Since(began), ev.AgeMS)
		r.until("capture is closed", r.stream(room).closed)
	})
	t.Run("limit", func(t *testing.T) {
		turn := ask(r, proto.MicStart{Lease: 1e300}).Turn // no overflow either
		r.ended(turn, proto.UtteranceLimit)
		r.stream(room)
	})
	t.Run("renewed", func(t *testing.T) {
		first := ask(r, proto.MicStart{Lease: 0.001})
		second := ask(r, proto.MicStart{Lease: 60})
		if first.Turn == second.Turn { // else it had ended already, which is right too
			r.ended(first.Turn, proto.UtteranceLimit)
		}
		ask(r, proto.MicCancel{})
	})
	t.Run("cancel", func(t *testing.T) {
		for len(room.opened) > 0 {
			<-room.opened
		}
		turn := ask(r, proto.MicStart{}).Turn
		s := r.stream(room)
		s.push(5)
		if state := ask(r, proto.MicCancel{}); state.Open || state.Talk {
			t.Errorf("%+v", state)
		}
		r.ended(turn, proto.UtteranceCancelled)
		r.whole(turn, proto.AudioAbort, proto.UtteranceCancelled)
		r.until("capture is closed", s.closed)
		ask(r, proto.MicCancel{}) // again is fine
	})
	t.Run("toggle", func(t *testing.T) {
		state := ask(r, proto.MicToggle{})
		if !state.Talk {
			t.Errorf("%+v", state)
		}
		if state := ask(r, proto.MicToggle{}); state.Talk {
			t.Errorf("%+v", state)
		}
		r.ended(state.Turn, proto.UtteranceReleased)
	})
}

func TestRenew(t *testing.T) {
	r := start(t, nil, nil)
	r.connect()
	first := ask(r, proto.MicStart{Lease: 0.5})
	began := time.Now()
	for again := ask(r, proto.MicStart{Lease: 1.2}); again.Turn != first.Turn; again = ask(r, proto.MicStart{Lease: 1.2}) {
		r.ended(first.Turn, proto.UtteranceLimit) // the lease was over before we came to renew it
		first, began = again, time.Now()
	}
	r.ended(first.Turn, proto.UtteranceLimit)
	if d := time.Since(began); d < time.Second {
		t.Errorf("ended after %v, though renewed", d)
	}
}

func TestMute(t *testing.T) {
	r := start(t, nil, nil)
	room, _ := r.connect()
	turn := ask(r, proto.MicStart{}).Turn
	s := r.stream(room)
	s.push(3)
	bustest.Expect[proto.MicOpened](r.seen, nil)
	if state := ask(r, proto.MicMute{}); !state.Muted || state.Open || state.Talk {
		t.Errorf("%+v", state)
	}
	if muted, err := r.muteFile().Read(); !muted || err != nil {
		t.Errorf("acknowledged, but on disk %v, %v", muted, err)
	}
	r.ended(turn, proto.UtteranceCancelled)
	r.whole(turn, proto.AudioAbort, proto.UtteranceCancelled)
	r.until("capture is closed", s.closed)
	ask(r, proto.MicMute{})
	r.expectTypes("utterance.started", "mic.opened", "utterance.ended", "mic.closed", "mic.muted")
	refuse := func() {
		t.Helper()
		for _, e := range []*proto.Error{refused(r, proto.MicStart{}, proto.CodeDenied), refused(r, proto.MicToggle{}, proto.CodeDenied)} {
			if e.Hint == "" || !strings.Contains(e.Text, "muted") {
				t.Errorf("%+v", e)
			}
		}
	}
	refuse()
	r.stop()
	r.run(nil) // restarted
	room, _ = r.connect()
	if !r.detail().Muted {
		t.Error("not muted after a restart")
	}
	refuse()
	if state := ask(r, proto.MicUnmute{}); state.Muted || state.Open {
		t.Errorf("%+v", state)
	}
	ask(r, proto.MicStart{})
	r.stream(room)
}

func TestMuteUnreadable(t *testing.T) {
	r := prepare(t, nil)
	if err := r.muteFile().Write(false); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(os.Getenv("XDG_STATE_HOME"), "desktop-assistant", "mute")
	if err := os.WriteFile(path, []byte("perhaps"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.run(nil)
	s, _ := r.status()
	if !r.detail().Muted || len(s.Problems) != 1 || s.Problems[0].Hint == "" {
		t.Errorf("%+v", s)
	}
	refused(r, proto.MicStart{}, proto.CodeDenied)
	ask(r, proto.MicUnmute{})
	r.until("the problem is solved", func() bool { s, _ := r.status(); return len(s.Problems) == 0 })
}

// When the state cannot be kept, muting works for now and unmuting does not.
func TestMuteUnwritable(t *testing.T) {
	r := start(t, nil, nil)
	room, _ := r.connect()
	if err := os.WriteFile(filepath.Join(os.Getenv("XDG_STATE_HOME"), "desktop-assistant"), nil, 0o600); err != nil {
		t.Fatal(err) // a file where the folder has to be
	}
	ask(r, proto.MicStart{})
	s := r.stream(room)
	if e := refused(r, proto.MicMute{}, proto.CodeFailed); !strings.Contains(e.Text, "not after a restart") || e.Hint == "" {
		t.Errorf("%+v", e)
	}
	r.until("capture is closed", s.closed)
	if e := refused(r, proto.MicUnmute{}, proto.CodeFailed); !strings.Contains(e.Text, "still muted") {
		t.Errorf("%+v", e)
	}
	refused(r, proto.MicStart{}, proto.CodeDenied)
}

func TestWarm(t *testing.T) {
	r := start(t, func(env *daemon.Env) { env.Config.Mic.Warm = true }, nil)
	room, lose := r.connect()
	s := r.stream(room) // without a key
	for range 5 {
		s.push(10)
		r.until("the frames are taken", func() bool { return len(s.frames) == 0 })
	}
	bustest.Expect[proto.MicOpened](r.seen, nil)
	turn := ask(r, proto.MicStart{}).Turn
	s.push(2)
	ask(r, proto.MicStop{})
	s.push(1)
	ev := r.ended(turn, proto.UtteranceReleased)
	sound := r.whole(turn, proto.AudioEnd, proto.UtteranceReleased)
	counting(t, sound, int(ev.Samples))
	if ms := len(sound) / 16; ms < 820 || ms > 880 {
		t.Errorf("%d ms, want 800 ms from before the key and up to 60 ms after", ms)
	}
	if sound[0] != 10*320 { // 50 frames, the last 40 of which are kept
		t.Errorf("the pre-roll begins at sample %d", sound[0])
	}
	if s.closed() || !r.detail().Open {
		t.Error("not kept open")
	}
	t.Run("the default source changes", func(t *testing.T) {
		turn := ask(r, proto.MicStart{}).Turn
		room.set("headset") // while someone talks: not yet
		s.push(1)
		r.until("the change is seen", func() bool { return len(room.changes) == 0 && len(s.frames) == 0 })
		if !r.detail().Talk {
			t.Error("a new default source cut someone off")
		}
		ask(r, proto.MicStop{})
		s.push(1)
		r.ended(turn, proto.UtteranceReleased)
		s = r.stream(room)
		if s.source != "headset" {
			t.Errorf("opened %q", s.source)
		}
		room.set("mic") // while nobody talks
		old := s
		s = r.stream(room)
		r.until("the old one is closed", old.closed)
	})
	t.Run("the source comes back", func(t *testing.T) {
		room.set("")
		s.end(pulse.ErrKilled)
		r.until("the problem is shown", func() bool { s, _ := r.status(); return len(s.Problems) == 1 })
		room.set("mic")
		s = r.stream(room)
	})
	t.Run("the server comes back", func(t *testing.T) {
		s.end(pulse.ErrLost)
		lose()
		room, _ = r.connect()
		s = r.stream(room)
	})
	t.Run("muted", func(t *testing.T) {
		ask(r, proto.MicMute{})
		r.until("capture is closed", s.closed)
		ask(r, proto.MicUnmute{})
		s = r.stream(room)
	})
	t.Run("it stalls, and no device changes", func(t *testing.T) {
		room.mu.Lock()
		room.source = ""
		room.mu.Unlock()
		s.end(pulse.ErrStalled)
		r.until("the problem is shown", func() bool { s, _ := r.status(); return len(s.Problems) == 1 })
		room.mu.Lock()
		room.source = "mic"
		room.mu.Unlock()
		s = r.stream(room) // by itself
	})
}

func TestSourceLost(t *testing.T) {
	r := start(t, nil, nil)
	room, _ := r.connect()
	turn := ask(r, proto.MicStart{}).Turn
	s := r.stream(room)
	s.push(5)
	bustest.Expect[proto.MicOpened](r.seen, nil)
	room.set("")
	s.end(pulse.ErrKilled)
	r.ended(turn, proto.UtteranceLost)
	bustest.Expect[proto.MicLost](r.seen, nil)
	r.whole(turn, proto.AudioAbort, proto.UtteranceLost)
	r.until("the problem is shown", func() bool { s, _ := r.status(); return len(s.Problems) == 1 && s.Problems[0].Hint != "" })
	if e := refused(r, proto.MicStart{}, proto.CodeUnavailable); e.Hint == "" {
		t.Errorf("%+v", e)
	}
	r.until("the stream is tidied up at the server", s.closed)
	ask(r, proto.MicStop{}) // the key goes up
	room.set("mic")
	r.until("the problem is solved", func() bool { s, _ := r.status(); return len(s.Problems) == 0 })
	if again := ask(r, proto.MicStart{}); again.Turn == turn || !again.Talk {
		t.Errorf("%+v", again)
	}
}

func TestServer(t *testing.T) {
	r := start(t, nil, nil)
	if e := refused(r, proto.MicStart{}, proto.CodeUnavailable); e.Hint == "" { // not looked for yet
		t.Errorf("%+v", e)
	}
	fault := proto.Errorf(proto.CodeUnavailable, "open the microphone", "no sound server").WithHint("start one")
	r.house.next <- &room{fault: fault}
	r.until("the problem is shown", func() bool {
		s, _ := r.status()
		return len(s.Problems) == 1 && s.Problems[0].Hint == "start one"
	})
	if e := refused(r, proto.MicStart{}, proto.CodeUnavailable); !errors.Is(e, fault) {
		t.Errorf("%+v", e)
	}
	room, lose := r.connect()
	turn := ask(r, proto.MicStart{}).Turn
	s := r.stream(room)
	s.push(5)
	s.end(pulse.ErrLost)
	lose()
	r.ended(turn, proto.UtteranceLost)
	r.until("the problem is shown", func() bool { s, _ := r.status(); return len(s.Problems) == 1 })
	room, _ = r.connect()
	ask(r, proto.MicStart{})
	r.stream(room)
	ask(r, proto.MicStop{})
}

// A sound server that does not answer holds up commands for a while, and the
// status not at all.
func TestServerHangs(t *testing.T) {
	r := start(t, nil, nil)
	room, _ := r.connect()
	room.mu.Lock()
	room.hang = true
	room.mu.Unlock()
	failed := make(chan *proto.Error, 1)
	go func() {
		_, err := bus.Request(r.Context(), r.user, proto.MicStart{})
		failed <- proto.AsError("", err)
	}()
	r.until("micd is held up", func() bool { return r.app.busy.Load() != 0 })
	_, took := r.status()
	t.Logf("the status took %v", took)
	if r.app.busy.Load() == 0 {
		t.Error("the status came only after the command")
	}
	if !r.app.Healthy() {
		t.Error("not healthy because of the sound server")
	}
	if e := <-failed; e == nil || e.Code != proto.CodeTimeout || e.Hint == "" {
		t.Errorf("%+v", e)
	}
	room.mu.Lock()
	room.hang = false
	room.mu.Unlock()
	ask(r, proto.MicStart{})
	if s, _ := r.status(); len(s.Problems) != 0 {
		t.Errorf("%+v", s.Problems)
	}
	r.app.busy.Store(1)
	if r.app.Healthy() {
		t.Error("healthy, though busy since 1970")
	}
}

func TestBusGone(t *testing.T) {
	r := start(t, nil, nil)
	room, _ := r.connect()
	turn := ask(r, proto.MicStart{}).Turn
	s := r.stream(room)
	s.push(5)
	bustest.Expect[proto.MicOpened](r.seen, nil)
	r.bus.Down()
	r.until("capture is closed", func() bool { s.push(1); return s.closed() })
	r.bus.Up()
	r.until("the bus is back", func() bool { return r.user.Connected() && r.env.Bus.Connected() })
	r.ended(turn, proto.UtteranceLost)
	r.until("commands work", func() bool { _, err := bus.Request(t.Context(), r.user, proto.MicStart{}); return err == nil })
	s = r.stream(room)
	s.push(5)
	again := ask(r, proto.MicStart{}).Turn
	ask(r, proto.MicStop{})
	s.push(1)
	r.ended(again, proto.UtteranceReleased)
	r.whole(again, proto.AudioEnd, proto.UtteranceReleased)
}

// A daemon that stops while someone talks says so, and closes the microphone.
func TestStop(t *testing.T) {
	r := start(t, nil, nil)
	room, _ := r.connect()
	turn := ask(r, proto.MicStart{}).Turn
	s := r.stream(room)
	s.push(5)
	bustest.Expect[proto.MicOpened](r.seen, nil)
	r.stop()
	r.ended(turn, proto.UtteranceLost)
	if ev, _ := bustest.Expect[proto.MicClosed](r.seen, nil); ev.Reason != "stopped" {
		t.Errorf("%+v", ev)
	}
	r.whole(turn, proto.AudioAbort, proto.UtteranceLost)
	if !s.closed() {
		t.Error("capture runs on")
	}
}

// raw is a command with a body that is none.
type raw struct{ verb, body string }

func (c raw) Verb() string                 { return c.verb }
func (raw) Reply() (r proto.MicState)      { return }
func (c raw) MarshalJSON() ([]byte, error) { return []byte(c.body), nil }

func TestGarbage(t *testing.T) {
	r := start(t, nil, nil)
	r.connect()
	for _, c := range []raw{
		{"mic.start", `{"lease":"long"}`}, {"mic.start", `[]`}, {"mic.start", `7`}, {"mic.toggle", `"x"`}, {"mic.start", `{"lease":-1}`},
		{"mic.toggle", `{"lease":-0.5}`}, {"mic.mute", `[1]`}, {"mic.start", `{"lease":1e999}`},
	} {
		refused(r, c, proto.CodeInvalid)
	}
	if state := ask(r, raw{"mic.start", `null`}); !state.Talk {
		t.Errorf("%+v", state)
	}
	if state := ask(r, raw{"mic.stop", `{"why":"a later version asks"}`}); state.Talk {
		t.Errorf("%+v", state)
	}
	refused(r, raw{"mic.dance", `{}`}, proto.CodeUnavailable)
	if d := r.detail(); d.Talk || d.Muted {
		t.Errorf("%+v", d)
	}
}

func TestGates(t *testing.T) {
	r := start(t, func(env *daemon.Env) { env.Config.Mic.Gate = []string{"push-to-talk", "voice"} }, nil)
	if s, _ := r.status(); len(s.Problems) != 1 || !strings.Contains(s.Problems[0].What, "voice") || s.Problems[0].Hint == "" {
		t.Errorf("%+v", s.Problems)
	}
}
