// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/waittest"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/sttd/internal/recognize"
)

func TestFinal(t *testing.T) {
	var got atomic.Pointer[recognize.Utterance]
	e := saying("ear", "what time is it")
	answer := e.hear
	e.hear = func(ctx context.Context, u recognize.Utterance) (recognize.Transcript, error) {
		got.Store(&u)
		return answer(ctx, u)
	}
	b := start(t, nil, e)
	said := voice(900 * time.Millisecond)
	b.say("t1", said)
	ev := b.final("t1")
	if ev.Text != "what time is it" || ev.Language != "en" || ev.Confidence != 0.5 || ev.Engine != "ear" || ev.AudioMS != 900 || ev.TookMS < 0 {
		t.Errorf("%+v", ev)
	}
	u := got.Load()
	if len(u.PCM) != len(said) || u.Rate != proto.Rate || strings.Join(u.Languages, " ") != "en it" {
		t.Errorf("the engine got %d samples at %d in %v", len(u.PCM), u.Rate, u.Languages)
	}
	s, d := b.status()
	if d.Engine != "ear" || d.Done != 1 || d.LastAudio != 900 || d.LastAt == nil || d.Queue != 0 || d.Streams != 0 || len(s.Problems) != 0 {
		t.Errorf("status %+v, %+v", s, d)
	}
	if strings.Contains(string(s.Detail), "time is it") {
		t.Errorf("the status tells what was said: %s", s.Detail)
	}
	if !b.app.Healthy() {
		t.Error("not healthy")
	}
}

func TestRejects(t *testing.T) {
	e := &fake{name: "ear", hear: func(context.Context, recognize.Utterance) (recognize.Transcript, error) {
		return recognize.Transcript{}, recognize.Reject(recognize.Invented, "thanks for watching")
	}}
	b := start(t, nil, e)
	b.say("short", voice(100*time.Millisecond))
	if ev := b.rejected("short"); ev.Reason != proto.RejectTooShort || ev.Engine != "" || ev.AudioMS != 100 {
		t.Errorf("%+v", ev)
	}
	b.say("empty", nil)
	if ev := b.rejected("empty"); ev.Reason != proto.RejectTooShort || ev.AudioMS != 0 {
		t.Errorf("%+v", ev)
	}
	b.say("silent", make([]int16, proto.Rate))
	if ev := b.rejected("silent"); ev.Reason != proto.RejectSilence || ev.Engine != "" {
		t.Errorf("%+v", ev)
	}
	b.say("invented", voice(time.Second))
	if ev := b.rejected("invented"); ev.Reason != proto.RejectInvented || ev.Engine != "ear" || ev.AudioMS != 1000 {
		t.Errorf("%+v", ev)
	}
}

func TestNoEngine(t *testing.T) {
	var there atomic.Bool
	first := &fake{name: "first", ready: func() error { return missing("nobody answers", "start it") }}
	second := saying("second", "hello")
	second.ready = func() error {
		if there.Load() {
			return nil
		}
		return missing("not installed", "apt install it")
	}
	b := start(t, nil, first, second)
	b.say("t1", voice(time.Second))
	ev := b.failed("t1")
	if ev.Error.Code != proto.CodeUnavailable || ev.Engine != "" || !strings.Contains(ev.Error.Hint, "apt install it") || !strings.Contains(ev.Error.Hint, "start it") {
		t.Errorf("%+v", ev)
	}
	s, d := b.status()
	if len(s.Problems) != 1 || !strings.Contains(s.Problems[0].What, "nobody answers") || d.Engine != "" || d.WhyNot["second"] == "" {
		t.Errorf("status %+v, %+v", s.Problems, d)
	}
	b.say("short", voice(100*time.Millisecond)) // needs no engine
	b.rejected("short")
	there.Store(true)
	b.say("t2", voice(time.Second))
	if ev := b.final("t2"); ev.Engine != "second" {
		t.Errorf("%+v", ev)
	}
	s, d = b.status()
	if len(s.Problems) != 0 || d.Engine != "second" || !strings.Contains(d.WhyNot["first"], "nobody answers") {
		t.Errorf("status %+v, %+v", s.Problems, d)
	}
}

// An engine that goes is replaced, also in the middle of an utterance, and used
// again when it is back.
func TestEngineComesAndGoes(t *testing.T) {
	var away atomic.Bool
	best, other := saying("best", "heard well"), saying("other", "heard somehow")
	answer := best.hear
	best.ready = func() error {
		if away.Load() {
			return missing("connection refused", "start it")
		}
		return nil
	}
	best.hear = func(ctx context.Context, u recognize.Utterance) (recognize.Transcript, error) {
		if err := best.ready(); err != nil {
			return recognize.Transcript{}, err
		}
		return answer(ctx, u)
	}
	b := start(t, nil, best, other)
	b.say("t1", voice(time.Second))
	b.final("t1")
	away.Store(true)
	b.say("t2", voice(time.Second)) // the last probe is young, and wrong
	if ev := b.final("t2"); ev.Engine != "other" {
		t.Errorf("%+v", ev)
	}
	if _, d := b.status(); d.Engine != "other" {
		t.Errorf("%+v", d)
	}
	away.Store(false)
	waittest.Until(b, "the best engine is back", func() bool { _, d := b.status(); return d.Engine == "best" })
	b.say("t3", voice(time.Second))
	if ev := b.final("t3"); ev.Engine != "best" {
		t.Errorf("%+v", ev)
	}
}

func TestEngineFails(t *testing.T) {
	calls := 0
	e := &fake{name: "ear", hear: func(context.Context, recognize.Utterance) (recognize.Transcript, error) {
		calls++
		switch calls {
		case 1:
			return recognize.Transcript{}, proto.Errorf(proto.CodeFailed, "ask", "it answers 500").WithHint("look at its log")
		case 2:
			return recognize.Transcript{}, missing("it left", "start it")
		}
		return recognize.Transcript{}, errors.New("boom")
	}}
	b := start(t, nil, e)
	for i, want := range []proto.Error{
		{Code: proto.CodeFailed, Text: "it answers 500", Hint: "look at its log"}, {Code: proto.CodeUnavailable, Text: "it left"}, {Code: proto.CodeInternal, Text: "boom"},
	} {
		turn := bus.NewID()
		b.say(turn, voice(time.Second))
		if ev := b.failed(turn); !errors.Is(&ev.Error, &want) || ev.Engine != "ear" {
			t.Errorf("%d: %+v", i, ev)
		}
	}
}

func TestNamedEngines(t *testing.T) {
	t.Run("not built yet", func(t *testing.T) {
		b := start(t, func(env *daemon.Env) { env.Config.STT.Engine = config.EngineWyoming }, saying("ear", "hello"))
		b.say("t1", voice(time.Second))
		b.final("t1")
		if s, _ := b.status(); len(s.Problems) != 1 || !strings.Contains(s.Problems[0].What, "wyoming") || s.Problems[0].Hint == "" {
			t.Errorf("%+v", s.Problems)
		}
	})
	t.Run("never replaced", func(t *testing.T) {
		gone := &fake{name: config.EngineWhisper, ready: func() error { return missing("no server", "start it") }}
		b := start(t, func(env *daemon.Env) { env.Config.STT.Engine = config.EngineWhisper }, gone, saying("ear", "hello"))
		b.say("t1", voice(time.Second))
		if ev := b.failed("t1"); ev.Error.Text != "no server" {
			t.Errorf("%+v", ev)
		}
	})
}

func TestDeadline(t *testing.T) {
	e, _, _ := held("ear")
	b := start(t, func(env *daemon.Env) { env.Config.STT.DeadlineS = 0.2 }, e)
	b.say("t1", voice(time.Second))
	if ev := b.failed("t1"); ev.Error.Code != proto.CodeTimeout || ev.Error.Hint == "" || ev.Engine != "ear" {
		t.Errorf("%+v", ev)
	}
}

// One utterance is at the engine; of those that wait, the newest counts.
func TestSuperseded(t *testing.T) {
	e, at, free := held("ear")
	b := start(t, nil, e)
	b.say("t1", voice(time.Second))
	<-at
	b.say("t2", voice(time.Second))
	waittest.Until(b, "one waits", func() bool { _, d := b.status(); return d.Queue == 2 })
	b.say("t3", voice(time.Second))
	if ev := b.failed("t2"); ev.Error.Code != proto.CodeCancelled {
		t.Errorf("%+v", ev)
	}
	free <- struct{}{}
	b.final("t1")
	<-at
	free <- struct{}{}
	b.final("t3")
	if n := len(at); n != 0 {
		t.Errorf("%d more reached the engine", n)
	}
}

// A turn that is over is not worked for any more.
func TestTurnEnded(t *testing.T) {
	e, at, free := held("ear")
	b := start(t, nil, e)
	brain := b.bus.Connect("brain")
	end := func(turn string) {
		t.Helper()
		if err := brain.Publish(proto.TurnEnded{End: proto.EndCancelled}, bus.Meta{Turn: turn}); err != nil {
			t.Fatal(err)
		}
	}
	recording := b.begin("t0")
	recording.data(voice(time.Second))
	b.say("t1", voice(time.Second))
	<-at
	b.say("t2", voice(time.Second))
	waittest.Until(b, "one waits, one speaks", func() bool { _, d := b.status(); return d.Queue == 2 && d.Streams == 1 })
	end("t0")
	end("t2")
	end("t1")
	waittest.Until(b, "all are forgotten", func() bool { _, d := b.status(); return d.Queue == 0 && d.Streams == 0 })
	recording.send(proto.Audio{Op: proto.AudioEnd})
	b.say("t3", voice(time.Second))
	<-at
	free <- struct{}{}
	b.final("t3")
	for _, turn := range []string{"t0", "t1", "t2"} {
		if types := b.about(turn); len(types) != 0 {
			t.Errorf("%s: %v", turn, types)
		}
	}
}

func TestAbort(t *testing.T) {
	b := start(t, nil, saying("ear", "hello"))
	s := b.begin("cancelled")
	s.data(voice(time.Second))
	s.send(proto.Audio{Op: proto.AudioAbort, Reason: proto.UtteranceCancelled})
	s = b.begin("lost")
	s.data(voice(time.Second))
	s.send(proto.Audio{Op: proto.AudioAbort, Reason: proto.UtteranceLost})
	if ev := b.failed("lost"); !strings.Contains(ev.Error.Text, "lost") || ev.Error.Hint == "" {
		t.Errorf("%+v", ev)
	}
	b.say("t1", voice(time.Second))
	b.final("t1")
	if types := b.about("cancelled"); len(types) != 0 {
		t.Errorf("cancelled: %v", types)
	}
}

// micd dies in the middle of an utterance.
func TestMicrophoneStops(t *testing.T) {
	b := start(t, nil, saying("ear", "hello"))
	s := b.begin("t1")
	s.data(voice(time.Second))
	sent := time.Now()
	ev := b.failed("t1")
	if !strings.Contains(ev.Error.Text, "stopped sending") || ev.Error.Hint == "" {
		t.Errorf("%+v", ev)
	}
	t.Logf("given up %v after the last message", time.Since(sent))
	s.data(voice(time.Second)) // comes back: too late
	s.send(proto.Audio{Op: proto.AudioEnd})
	b.say("t2", voice(time.Second))
	b.final("t2")
	if types := b.about("t1"); len(types) != 1 {
		t.Errorf("t1: %v", types)
	}
}

func TestLostSound(t *testing.T) {
	var samples atomic.Int64
	e := saying("ear", "hello")
	answer := e.hear
	e.hear = func(ctx context.Context, u recognize.Utterance) (recognize.Transcript, error) {
		samples.Store(int64(len(u.PCM)))
		return answer(ctx, u)
	}
	b := start(t, nil, e)
	s := b.begin("some")
	s.data(voice(time.Second))
	s.seq, s.pos = s.seq+2, s.pos+2560
	s.data(voice(time.Second))
	s.send(proto.Audio{Op: proto.AudioEnd})
	b.final("some")
	if n := samples.Load(); n != 2*proto.Rate+2560 {
		t.Errorf("the engine got %d samples", n)
	}
	s = b.begin("most")
	s.data(voice(time.Second))
	s.seq, s.pos = s.seq+50, s.pos+2*proto.Rate
	s.send(proto.Audio{Op: proto.AudioEnd})
	if ev := b.failed("most"); !strings.Contains(ev.Error.Text, "half of the sound") {
		t.Errorf("%+v", ev)
	}
}

// Garbage, and streams that began before us, do nothing.
func TestGarbage(t *testing.T) {
	b := start(t, nil, saying("ear", "hello"))
	for _, a := range []proto.Audio{
		{Op: "dance"}, {}, {Op: proto.AudioBegin}, {Op: proto.AudioBegin, Turn: "no token"},
		{Op: proto.AudioData, PCM: []byte{1}}, {Op: proto.AudioData, Seq: 1 << 63, Pos: 1 << 63, PCM: make([]byte, 600<<10), Turn: "t"},
		{Op: proto.AudioEnd, Turn: "t", Pos: 1<<64 - 1}, {Op: proto.AudioAbort, Turn: "t"}, {Op: proto.AudioPause}, {Op: proto.AudioResume},
	} {
		for _, stream := range []string{"s1", "_"} {
			if err := b.mic.PublishAudio(stream, a); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.say("t1", voice(time.Second))
	b.final("t1")
	s, d := b.status()
	if s.Counts.Undecodable == 0 || d.Ignored == 0 || len(s.Problems) != 0 || d.Streams != 0 {
		t.Errorf("status %+v, %+v", s, d)
	}
	for _, e := range b.seen.All() {
		if strings.HasPrefix(e.Type, "stt.") && e.Turn != "t1" {
			t.Errorf("garbage became %s of %q: %s", e.Type, e.Turn, e.Data)
		}
	}
}

func TestManyStreams(t *testing.T) {
	b := start(t, nil, saying("ear", "hello"))
	var all []*talk
	for _, turn := range []string{"t1", "t2", "t3", "t4"} {
		s := b.begin(turn)
		s.data(voice(time.Second))
		all = append(all, s)
	}
	b.say("t5", voice(time.Second))
	if ev := b.failed("t5"); ev.Error.Code != proto.CodeBusy {
		t.Errorf("%+v", ev)
	}
	for _, s := range all {
		s.send(proto.Audio{Op: proto.AudioEnd})
	}
	b.final("t4")
}

func TestLimit(t *testing.T) {
	var samples atomic.Int64
	e := saying("ear", "hello")
	answer := e.hear
	e.hear = func(ctx context.Context, u recognize.Utterance) (recognize.Transcript, error) {
		samples.Store(int64(len(u.PCM)))
		return answer(ctx, u)
	}
	b := start(t, func(env *daemon.Env) { env.Config.Mic.LimitS = 1 }, e)
	b.say("t1", voice(9*time.Second))
	b.final("t1")
	if n := samples.Load(); n != 6*proto.Rate {
		t.Errorf("the engine got %d samples of a microphone that never stops", n)
	}
}

func TestDevices(t *testing.T) {
	b := start(t, func(env *daemon.Env) { env.Config.Bus.Serve = []string{"local", "kitchen"} }, saying("ear", "hello"))
	o := b.bus.Options("micd")
	o.Device = "kitchen"
	kitchen := bus.New(o)
	if err := kitchen.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer kitchen.Close()
	desk := b.mic
	b.mic = kitchen
	b.say("k1", voice(time.Second))
	_, s := bustest.Expect(b.seen, func(s bustest.Seen, _ proto.STTFinal) bool { return s.Turn == "k1" })
	if s.Dev != "kitchen" {
		t.Errorf("published for %q", s.Dev)
	}
	b.mic = desk
	b.say("d1", voice(time.Second))
	b.final("d1")
}

func TestBusGone(t *testing.T) {
	b := start(t, nil, saying("ear", "hello"))
	s := b.begin("t1")
	s.data(voice(time.Second))
	waittest.Until(b, "it speaks", func() bool { _, d := b.status(); return d.Streams == 1 })
	b.bus.Down()
	b.bus.Up()
	waittest.Until(b, "the bus is back", func() bool { return b.mic.Connected() && b.env.Bus.Connected() })
	b.failed("t1")
	b.say("t2", voice(time.Second))
	b.final("t2")
}

func TestStop(t *testing.T) {
	t.Run("while someone speaks", func(t *testing.T) {
		b := start(t, nil, saying("ear", "hello"))
		s := b.begin("t1")
		s.data(voice(time.Second))
		waittest.Until(b, "it speaks", func() bool { _, d := b.status(); return d.Streams == 1 })
		b.stop()
		if ev := b.failed("t1"); !strings.Contains(ev.Error.Text, "stopping") {
			t.Errorf("%+v", ev)
		}
	})
	t.Run("with one at the engine and one waiting", func(t *testing.T) {
		e, at, free := held("ear")
		b := start(t, nil, e)
		b.say("t1", voice(time.Second))
		<-at
		b.say("t2", voice(time.Second))
		waittest.Until(b, "one waits", func() bool { _, d := b.status(); return d.Queue == 2 })
		var stopped sync.WaitGroup
		stopped.Go(b.stop)
		b.failed("t2")
		free <- struct{}{}
		b.final("t1")
		stopped.Wait()
	})
	t.Run("with an engine that hangs", func(t *testing.T) {
		e, at, _ := held("ear")
		b := start(t, nil, e)
		b.say("t1", voice(time.Second))
		<-at
		b.stop()
		if ev := b.failed("t1"); !strings.Contains(ev.Error.Text, "stopping") {
			t.Errorf("%+v", ev)
		}
	})
}

func TestSentences(t *testing.T) {
	e := saying("ear", "hello")
	e.grammar.Store("")
	b := start(t, nil, e)
	runner := b.bus.Connect("toolrunner")
	var list atomic.Pointer[proto.Tools]
	list.Store(&proto.Tools{Revision: 1, Tools: []proto.ToolSpec{{Name: "now", Sentences: map[string][]string{"en": {"what time is it"}}}}})
	service, err := runner.Serve(t.Context(), "tools", bus.Command(func(context.Context, proto.ToolList) (proto.Tools, error) { return *list.Load(), nil }))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = service.Stop() }()
	has := func(text string) func() bool {
		return func() bool { return strings.Contains(e.grammar.Load().(string), text) }
	}
	waittest.Until(b, "toolrunner is found by itself", has("what time is it"))
	waittest.Until(b, "the status tells", func() bool { _, d := b.status(); return d.Sentences == 1 && len(d.Unheard) == 1 })
	list.Store(&proto.Tools{Revision: 2, Tools: []proto.ToolSpec{{Name: "now", Sentences: map[string][]string{"en": {"what time is it", "tell me the date"}}}}})
	if err := runner.Publish(proto.ToolChanged{Revision: 2}, bus.Meta{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(b, "a change is followed", has("tell me the date"))
	list.Store(&proto.Tools{Revision: 1})
	if err := runner.Publish(proto.ServiceState{Service: "toolrunner", Problems: []proto.Problem{}}, bus.Meta{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(b, "another toolrunner is followed", func() bool { return e.grammar.Load().(string) == "" })
	if _, d := b.status(); d.Sentences != 0 {
		t.Errorf("%+v", d)
	}
}
