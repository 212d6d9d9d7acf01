// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/sink/sinktest"
	"example.org/desktop-assistant/services/ttsd/internal/synth"
)

const engineRate = 8000

// An engine of the test: a word lasts 100 ms; "broken" breaks it, "gone" ends it.
type engine struct {
	mu    sync.Mutex
	said  []synth.Sentence
	timed bool          // it tells where words end
	gate  chan struct{} // "wait" waits for it
}

func (e *engine) Name() string     { return "test" }
func (e *engine) Version() string  { return "7" }
func (e *engine) Voices() []string { return []string{"a", "b"} }
func (e *engine) Timed() bool      { return e.timed }
func (e *engine) Detail() any      { return nil }
func (e *engine) Close()           {}

func (e *engine) Synthesize(ctx context.Context, s synth.Sentence, emit synth.Emit) error {
	e.mu.Lock()
	e.said = append(e.said, s)
	e.mu.Unlock()
	at := 0
	for _, word := range strings.Fields(s.Text) {
		switch word {
		case "broken":
			return proto.Errorf(proto.CodeFailed, "speak", "it broke")
		case "gone":
			return proto.Errorf(proto.CodeUnavailable, "speak", "the engine is gone").WithHint("install it")
		case "wait":
			<-e.gate
		case "never":
			<-ctx.Done()
			return ctx.Err()
		}
		samples := make([]float32, engineRate/10)
		for i := range samples {
			samples[i] = 0.5
		}
		sound := synth.Sound{Rate: engineRate, Samples: samples}
		if at += strings.Index(s.Text[at:], word) + len(word); e.timed {
			sound.Words = []synth.Word{{At: len(samples), Text: at}}
		}
		emit(sound)
	}
	return ctx.Err()
}

func (e *engine) sentences() []synth.Sentence {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.said)
}

// fakes are an engine and a loudspeaker for the app.
func fakes() (*engine, *sinktest.Speaker, func(*App)) {
	e, s := &engine{}, sinktest.New()
	return e, s, func(a *App) {
		a.Sound = s
		a.soundChanged(nil, nil) // it is there
		a.Find = func(context.Context) (synth.Engine, error) { return e, nil }
		a.Quick = func(context.Context) (synth.Engine, error) { return nil, nil }
	}
}

const long = "one two three four five six seven eight nine ten one two three four five six seven eight nine ten " +
	"one two three four five six seven eight nine ten one two three four five six seven eight nine ten"

// problem waits for a list of problems for which ok holds.
func (d *desk) problem(ok func([]proto.Problem) bool) []proto.Problem {
	d.t.Helper()
	return expect(d, func(s proto.ServiceState) bool { return s.Service == "ttsd" && ok(s.Problems) }).Problems
}

func code(t *testing.T, err error, want proto.Code) {
	t.Helper()
	if !errors.Is(err, &proto.Error{Code: want}) {
		t.Errorf("error is %v, want code %s", err, want)
	}
}

func TestSpeaksAndTells(t *testing.T) {
	t.Parallel()
	e, speaker, parts := fakes()
	d := start(t, nil, parts)
	if detail := d.app.Detail().(Detail); detail.Engine != "test" || detail.Sink != "speaker" {
		t.Errorf("status at the start is %+v", detail)
	}
	d.say("t1", 0, "one two three")
	d.say("t1", 0, "one two three") // again: acknowledged, not said twice
	if s := expect[proto.SpeechStarted](d, nil); s.Turn != "t1" || s.Index != 0 || s.DelayMS < 0 {
		t.Errorf("started is %+v", s)
	}
	must(t, d.trySay(proto.SpeechSay{Turn: "t1", Index: 1, Text: "Typed by hand, 5 km."}))
	d.end("t1", 2)
	f := expect[proto.SpeechFinished](d, nil)
	if f.Heard != "one two three" || f.PlayedMS != 300 {
		t.Errorf("finished is %+v", f)
	}
	expect(d, func(f proto.SpeechFinished) bool { return f.Index == 1 })
	said := e.sentences()
	if len(said) != 2 || said[0] != (synth.Sentence{Text: "one two three", Language: "en", Soon: true}) || said[1].Language != "en" || !strings.Contains(said[1].Text, "kilomet") {
		t.Errorf("said %+v", said)
	}
	if n := len(speaker.Heard()); n < engineRate*3/10 {
		t.Errorf("heard %d samples", n)
	}
	d.say("t1", 1, "again")
	code(t, d.trySay(proto.SpeechSay{Turn: "t1", Index: 2, Spoken: "late"}), proto.CodeCancelled)
	voices, err := bus.Request(t.Context(), d.user, proto.SpeechVoices{})
	must(t, err)
	if voices.Engine != "test" || !slices.Equal(voices.Voices, []string{"a", "b"}) {
		t.Errorf("voices are %+v", voices)
	}
	status, err := bus.Request(t.Context(), d.user, proto.StatusOf{Daemon: "ttsd"})
	must(t, err)
	if detail := string(status.Detail); len(status.Problems) != 0 || !strings.Contains(detail, `"engine":"test","engine_version":"7","sink":"speaker"`) || !strings.Contains(detail, `"waiting":0`) {
		t.Errorf("status is %s, %v", detail, status.Problems)
	}
}

func TestStopPauseResume(t *testing.T) {
	t.Parallel()
	_, _, parts := fakes()
	d := start(t, nil, parts)
	d.say("t1", 0, long)
	expect[proto.SpeechStarted](d, nil)
	must(t, d.user.Publish(proto.UtteranceStarted{Turn: "t2", Stream: "s", Trigger: proto.TriggerKey}, bus.Meta{Turn: "t2"}))
	p := expect[proto.SpeechPaused](d, nil)
	_, err := bus.Request(t.Context(), d.user, proto.SpeechResume{})
	must(t, err)
	expect[proto.SpeechResumed](d, nil)
	_, err = bus.Request(t.Context(), d.user, proto.SpeechPause{})
	must(t, err)
	expect[proto.SpeechPaused](d, nil)
	stopped, err := bus.Request(t.Context(), d.user, proto.SpeechStop{Turn: "t1"})
	must(t, err)
	s := expect[proto.SpeechStopped](d, nil)
	if !slices.Equal(stopped.Turns, []string{"t1"}) || s.Reason != proto.StopAsked || s.Index != 0 || s.PlayedMS < p.PlayedMS || !strings.HasPrefix(long, s.Heard) {
		t.Errorf("stopped %v, %+v after %+v", stopped, s, p)
	}
	code(t, d.trySay(proto.SpeechSay{Turn: "t1", Index: 1, Spoken: "late"}), proto.CodeCancelled)
	stopped, err = bus.Request(t.Context(), d.user, proto.SpeechStop{})
	must(t, err)
	if len(stopped.Turns) != 0 {
		t.Errorf("stopped %v when nothing was said", stopped.Turns)
	}
	// What is said next is not held.
	d.say("t3", 0, "one")
	expect(d, func(f proto.SpeechFinished) bool { return f.Turn == "t3" })
}

func TestNewTurnSupersedesAndNoticesWait(t *testing.T) {
	t.Parallel()
	_, _, parts := fakes()
	d := start(t, nil, parts)
	d.say("t1", 0, long)
	expect[proto.SpeechStarted](d, nil)
	must(t, d.trySay(proto.SpeechSay{Turn: "n1", Text: "notice", Spoken: "notice", Behind: true}))
	d.end("n1", 1)
	d.say("t2", 0, "one")
	d.end("t2", 1)
	if s := expect[proto.SpeechStopped](d, nil); s.Turn != "t1" || s.Reason != proto.StopSuperseded {
		t.Errorf("stopped is %+v", s)
	}
	for _, want := range []string{"t2", "n1"} {
		if f := expect[proto.SpeechFinished](d, nil); f.Turn != want {
			t.Errorf("finished is %+v, want turn %s", f, want)
		}
	}
}

func TestFailingEngine(t *testing.T) {
	t.Parallel()
	e, _, parts := fakes()
	d := start(t, nil, parts)
	d.say("t1", 0, "one two broken")
	d.say("t1", 1, "three")
	if s := expect[proto.SpeechStopped](d, nil); s.Reason != proto.StopFailed || s.Index != 0 || s.Error == nil || s.Error.Text != "it broke" || s.PlayedMS != 200 {
		t.Errorf("stopped is %+v, %v", s, s.Error)
	}
	d.say("t2", 0, "broken")
	expect(d, func(s proto.SpeechStopped) bool { return s.Turn == "t2" && s.Index == -1 })
	n := 0
	for _, s := range e.sentences() {
		if s.Text == "broken" {
			n++
		}
	}
	if n != 2 {
		t.Errorf("a sentence that gave nothing was tried %d times, want 2", n)
	}
	d.say("t3", 0, "never")
	d.say("t4", 0, "one")
	expect(d, func(f proto.SpeechFinished) bool { return f.Turn == "t4" })
}

func TestMissingEngineIsSaidAndFound(t *testing.T) {
	t.Parallel()
	e, _, parts := fakes()
	var mu sync.Mutex
	var there bool
	d := start(t, nil, func(a *App) {
		parts(a)
		a.Find = func(context.Context) (synth.Engine, error) {
			mu.Lock()
			defer mu.Unlock()
			if !there {
				return nil, proto.Errorf(proto.CodeUnavailable, "find a speech engine", "the program is not there").WithHint("apt install it")
			}
			return e, nil
		}
	})
	if list := d.problem(func(l []proto.Problem) bool { return len(l) > 0 }); list[0].Hint != "apt install it" {
		t.Errorf("problems are %v", list)
	}
	err := d.trySay(proto.SpeechSay{Turn: "t1", Spoken: "one"})
	code(t, err, proto.CodeUnavailable)
	if proto.HintOf(err) == "" {
		t.Errorf("%v has no hint", err)
	}
	_, err = bus.Request(t.Context(), d.user, proto.SpeechVoices{})
	code(t, err, proto.CodeUnavailable)
	mu.Lock()
	there = true
	mu.Unlock()
	d.problem(func(l []proto.Problem) bool { return len(l) == 0 })
	d.say("t1", 0, "one")
	expect[proto.SpeechFinished](d, nil)
	mu.Lock()
	there = false
	mu.Unlock()
	d.say("t2", 0, "gone")
	d.problem(func(l []proto.Problem) bool { return len(l) > 0 })
}

// espeak-ng itself, not in PATH.
func TestWithoutEspeak(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, _, parts := fakes()
	d := start(t, nil, func(a *App) {
		find := a.Find
		parts(a)
		a.Find = find
	})
	err := d.trySay(proto.SpeechSay{Turn: "t1", Spoken: "one"})
	code(t, err, proto.CodeUnavailable)
	if list := d.env.Problems.List(); len(list) != 1 || list[0].Hint != "apt install espeak-ng" || proto.HintOf(err) != "apt install espeak-ng" {
		t.Errorf("problems are %v, hint %q", list, proto.HintOf(err))
	}
}

func TestWithoutSound(t *testing.T) {
	t.Parallel()
	_, speaker, parts := fakes()
	d := start(t, nil, parts)
	speaker.Take()
	err := d.trySay(proto.SpeechSay{Turn: "t1", Spoken: "one"})
	code(t, err, proto.CodeUnavailable)
	if proto.HintOf(err) == "" {
		t.Errorf("%v has no hint", err)
	}
	speaker.Give()
	d.say("t1", 0, "one")
	expect[proto.SpeechFinished](d, nil)
}

func TestOwnerVanishes(t *testing.T) {
	t.Parallel()
	_, _, parts := fakes()
	d := start(t, nil, parts)
	other := d.bus.Connect("brain")
	service, err := other.Serve(t.Context(), "test")
	must(t, err)
	must(t, d.trySay(proto.SpeechSay{Turn: "t1", Spoken: strings.Repeat(long+" ", 3), Owner: other.Asker()}))
	expect[proto.SpeechStarted](d, nil)
	must(t, service.Stop())
	if s := expect[proto.SpeechStopped](d, nil); s.Turn != "t1" || s.Reason != proto.StopFailed || s.Error == nil || s.Error.Code != proto.CodeUnavailable {
		t.Errorf("stopped is %+v", s)
	}
}

// An owner that stays is not lost.
func TestOwnerStays(t *testing.T) {
	t.Parallel()
	_, _, parts := fakes()
	d := start(t, nil, parts)
	service, err := d.user.Serve(t.Context(), "test")
	must(t, err)
	defer service.Stop()
	must(t, d.trySay(proto.SpeechSay{Turn: "t1", Spoken: long, Owner: d.user.Asker()}))
	expect[proto.SpeechFinished](d, nil)
}

// A breaker is a transport that can be cut.
type breaker struct {
	bus *bustest.Bus

	mu   sync.Mutex
	cut  bool
	open []net.Conn
}

func (b *breaker) dial() (net.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cut {
		return nil, errors.New("cut")
	}
	c, err := b.bus.Dial()
	if err == nil {
		b.open = append(b.open, c)
	}
	return c, err
}

func (b *breaker) set(cut bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cut = cut
	for _, c := range b.open {
		c.Close()
	}
	b.open = nil
}

func TestLostBus(t *testing.T) {
	t.Parallel()
	_, _, parts := fakes()
	b := &breaker{}
	d := start(t, func(env *daemon.Env) {
		b.bus = bustest.New(t)
		conn := bus.New(bus.Options{Service: "ttsd", Version: "0.0.0-test", Dial: b.dial, Log: env.Log})
		must(t, conn.Open(t.Context()))
		t.Cleanup(conn.Close)
		*env = daemon.NewEnv(env.Info, env.Config, conn, env.Log)
	}, parts)
	d.seen, d.user = b.bus.Watch(), b.bus.Connect("brain")
	d.say("t1", 0, "one two three four five")
	d.say("t1", 1, long)
	expect[proto.SpeechStarted](d, nil)
	b.set(true)
	until(t, func() bool { return d.app.detail.Load().Queue.Turns == 0 })
	b.set(false)
	expect(d, func(f proto.SpeechFinished) bool { return f.Index == 0 })
	if s := expect[proto.SpeechStopped](d, nil); s.Turn != "t1" || s.Index != 1 || s.PlayedMS != 0 || s.Error == nil || s.Error.Code != proto.CodeDisconnected {
		t.Errorf("stopped is %+v", s)
	}
	code(t, d.trySay(proto.SpeechSay{Turn: "t1", Index: 2, Spoken: "late"}), proto.CodeCancelled)
	d.say("t2", 0, "one")
	expect(d, func(f proto.SpeechFinished) bool { return f.Turn == "t2" })
}

// until polls for a condition.
func until(t *testing.T, cond func() bool) {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("it did not come to be")
		}
	}
}

func TestEndOfTtsdIsSaid(t *testing.T) {
	t.Parallel()
	_, _, parts := fakes()
	d := start(t, nil, parts)
	d.say("t1", 0, long)
	expect[proto.SpeechStarted](d, nil)
	d.stop()
	if s := expect[proto.SpeechStopped](d, nil); s.Turn != "t1" || s.Index != 0 || s.Error == nil || s.Error.Code != proto.CodeUnavailable {
		t.Errorf("stopped is %+v", s)
	}
}

// A sentence that would never be in its place is refused, not kept: the indexes
// begin anywhere, as after a restart of ttsd, and rise by one.
func TestIndexes(t *testing.T) {
	t.Parallel()
	_, _, parts := fakes()
	d := start(t, nil, parts)
	d.say("t1", 3, "one")
	code(t, d.trySay(proto.SpeechSay{Turn: "t1", Index: 8, Text: "far", Spoken: "far"}), proto.CodeInvalid)
	code(t, d.trySay(proto.SpeechSay{Turn: "t1", Index: 2, Text: "back", Spoken: "back"}), proto.CodeInvalid)
	d.say("t1", 4, "two")
	d.end("t1", 5)
	for i, text := range []string{"one", "two"} {
		if f := expect[proto.SpeechFinished](d, nil); f.Index != 3+i || f.Heard != text {
			t.Errorf("finished is %+v, want %q", f, text)
		}
	}
}

// An owner that cannot be looked for would be taken for one that is gone.
func TestOwnerThatIsNone(t *testing.T) {
	t.Parallel()
	_, _, parts := fakes()
	d := start(t, nil, parts)
	for _, owner := range []string{"brain", "/x", "brain/", "brain/a/b", "*/x", "brain/>", "brain/a b"} {
		code(t, d.trySay(proto.SpeechSay{Turn: "t1", Text: "one", Spoken: "one", Owner: owner}), proto.CodeInvalid)
	}
	d.say("t1", 0, "one")
	expect[proto.SpeechFinished](d, nil)
}

func TestGarbage(t *testing.T) {
	t.Parallel()
	_, _, parts := fakes()
	d := start(t, nil, parts)
	d.say("t1", 0, long)
	for _, say := range []proto.SpeechSay{{}, {Turn: "x", Index: -5}, {Turn: "x", Spoken: strings.Repeat("x", 5000)}} {
		code(t, d.trySay(say), proto.CodeInvalid)
	}
	_, err := bus.Request(t.Context(), d.user, proto.SpeechEnd{Turn: "t1", Count: -1})
	code(t, err, proto.CodeInvalid)
	for _, verb := range []string{"speech.say", "speech.end", "speech.stop", "speech.pause", "speech.resume", "speech.voices"} {
		_, err := bus.Request(t.Context(), d.user, junk{Text: verb, area: verb})
		code(t, err, proto.CodeInvalid)
	}
	must(t, d.trySay(proto.SpeechSay{Turn: "odd \x00 \"turn\" \u202e", Spoken: "\x00\x01 \u202e one", Text: "\xff", Language: "../../etc"}))
	expect(d, func(f proto.SpeechFinished) bool { return strings.HasPrefix(f.Turn, "odd") })
}

// junk is a command whose body is the JSON of something else.
type junk struct {
	Text string
	area string
}

func (j junk) Verb() string                 { return j.area }
func (junk) Reply() (r proto.Done)          { return }
func (j junk) MarshalJSON() ([]byte, error) { return []byte(`[1, "x"]`), nil }
