// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/waittest"
	"example.org/desktop-assistant/proto"
)

// One subscription hears a stream in order: its end never overtakes a frame.
func TestOrder(t *testing.T) {
	b := bustest.New(t)
	micd, sttd := b.Connect("micd"), b.Connect("sttd")
	const rounds, frames = 200, 50
	bad, ended := make(chan string, rounds), make(chan struct{}, rounds)
	want := map[string]uint64{}
	must[*bus.Sub](t)(sttd.Audio(t.Context(), proto.Any, bus.Drop(rounds*(frames+2)), func(_ context.Context, dev, stream string, a proto.Audio) {
		if a.Seq != want[stream] || dev != "local" {
			bad <- fmt.Sprintf("%s of %s: seq %d, want %d", a.Op, stream, a.Seq, want[stream])
		}
		want[stream]++
		if a.Op == proto.AudioEnd {
			ended <- struct{}{}
		}
	}))
	flush(t, sttd)
	for r := range rounds {
		stream := fmt.Sprintf("s%d", r)
		for i := range uint64(frames + 2) {
			a := proto.Audio{Op: proto.AudioData, Seq: i, PCM: make([]byte, 640)}
			switch i {
			case 0:
				a = proto.Audio{Op: proto.AudioBegin}
			case frames + 1:
				a = proto.Audio{Op: proto.AudioEnd, Seq: i}
			}
			if err := micd.PublishAudio(stream, a); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range rounds {
		waittest.Next(t, "the end of a stream", ended)
	}
	if len(bad) > 0 {
		t.Errorf("%d out of order, first: %s", len(bad), <-bad)
	}
}

// Events of one source are numbered in the order in which they travel, from
// however many goroutines they come; live ones are numbered by themselves.
func TestSequence(t *testing.T) {
	b := bustest.New(t)
	c, w := b.Connect("brain"), b.Watch()
	const each = 200
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range each {
				if err := c.Publish(proto.TurnSentence{}, bus.Meta{Turn: "t1", Session: "s1", Rev: 2}); err != nil {
					t.Error(err)
				}
				if err := c.Publish(proto.TurnDelta{}, bus.Meta{Device: "kitchen"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	waittest.Until(t, "all events", func() bool { return len(w.All()) == 8*each })
	next := map[bool]uint64{}
	for _, s := range w.All() {
		live := s.Event.Live()
		next[live]++
		if !live && s.Seq != next[live] {
			t.Fatalf("%s has number %d, want %d", s.Type, s.Seq, next[live])
		}
		if live != (s.Dev == "kitchen") || s.Src != "brain" || s.ID == "" || s.TS.IsZero() || !live && (s.Turn != "t1" || s.Session != "s1" || s.Rev != 2) {
			t.Fatalf("envelope %+v", s.Envelope)
		}
	}
	wantCode(t, c.Publish(proto.MicLost{}, bus.Meta{Device: "a.b"}), proto.CodeInvalid)
}

// Drop loses frames that come too fast, counts each, and goes on.
func TestDropPolicy(t *testing.T) {
	b := bustest.New(t)
	micd, sttd := b.Connect("micd"), b.Connect("sttd")
	hold, first := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var mu sync.Mutex
	var got []uint64
	sub := must[*bus.Sub](t)(sttd.Audio(t.Context(), "local", bus.Drop(8), func(_ context.Context, _, _ string, a proto.Audio) {
		once.Do(func() { close(first) })
		<-hold
		mu.Lock()
		got = append(got, a.Seq)
		mu.Unlock()
	}))
	flush(t, sttd)
	send := func(seq uint64) {
		t.Helper()
		if err := micd.PublishAudio("s1", proto.Audio{Op: proto.AudioData, Seq: seq, PCM: make([]byte, 64)}); err != nil {
			t.Fatal(err)
		}
	}
	send(0)
	waittest.Next(t, "the first frame", first)
	for seq := range uint64(100) {
		send(seq + 1)
	}
	flush(t, micd)
	// The client counts the frame that is being handled as waiting.
	waittest.Until(t, "frames are lost", func() bool { return sttd.Counts().Dropped == 93 })
	close(hold)
	waittest.Until(t, "the rest is handled", func() bool { mu.Lock(); defer mu.Unlock(); return len(got) == 8 })
	send(101)
	waittest.Until(t, "a later frame", func() bool { mu.Lock(); defer mu.Unlock(); return got[len(got)-1] == 101 })
	sub.Close()
	sub.Close()
	if n := sttd.Counts().Dropped; n != 93 {
		t.Errorf("%d dropped after the subscription is closed", n)
	}
}

// Fail tells when events are lost.
func TestFailPolicy(t *testing.T) {
	b := bustest.New(t)
	c, brain := b.Connect("ttsd"), b.Connect("brain")
	hold, failed := make(chan struct{}), make(chan struct{}, 64)
	must[*bus.Sub](t)(brain.Events(t.Context(), "local", bus.Fail(4, func() { failed <- struct{}{} }),
		func(context.Context, proto.Envelope, proto.Event) { <-hold }))
	flush(t, brain)
	for range 32 {
		if err := c.Publish(proto.SpeechStarted{}, bus.Meta{}); err != nil {
			t.Fatal(err)
		}
	}
	waittest.Next(t, "the loss to be told", failed)
	close(hold)
	if _, err := brain.Events(t.Context(), "local", bus.Policy{}, ignoreEvents); err == nil {
		t.Error("a subscription without a policy is no error")
	}
}

// Only the areas asked for are handed on, in one order.
func TestAreas(t *testing.T) {
	b := bustest.New(t)
	c, brain := b.Connect("ttsd"), b.Connect("brain")
	seen := make(chan string, 8)
	must[*bus.Sub](t)(brain.Events(t.Context(), proto.Any, bus.Fail(16, func() {}),
		func(_ context.Context, env proto.Envelope, _ proto.Event) { seen <- env.Type }, "speech", "mic"))
	flush(t, brain)
	for _, ev := range []proto.Event{proto.SpeechStarted{}, proto.TurnAsked{}, proto.MicLost{}, proto.ServiceState{}, proto.SpeechFinished{}} {
		if err := c.Publish(ev, bus.Meta{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"speech.started", "mic.lost", "speech.finished"} {
		if got := waittest.Next(t, want, seen); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Events of the time without a bus arrive when it is back, in order, and the
// oldest go when there are too many. Audio and live events of that time never
// arrive.
func TestBusRestart(t *testing.T) {
	b := bustest.New(t)
	c, g := gated(t, b, "brain")
	changes := make(chan bool, 16)
	c.OnChange(func(up bool) { changes <- up })
	w := b.Connect("watcher")
	var mu sync.Mutex
	var seen []uint64
	var frames []uint64
	must[*bus.Sub](t)(w.Events(t.Context(), proto.Any, bus.Fail(4096, func() { t.Error("events lost") }),
		func(_ context.Context, env proto.Envelope, _ proto.Event) {
			mu.Lock()
			seen = append(seen, env.Seq)
			mu.Unlock()
		}))
	must[*bus.Sub](t)(w.Live(t.Context(), proto.Any, bus.Drop(16), func(context.Context, proto.Envelope, proto.Event) { t.Error("a live event came late") }))
	must[*bus.Sub](t)(w.Audio(t.Context(), proto.Any, bus.Drop(16), func(_ context.Context, _, _ string, a proto.Audio) {
		mu.Lock()
		frames = append(frames, a.Seq)
		mu.Unlock()
	}))
	flush(t, w)

	g.set(false)
	b.Down()
	for waittest.Next(t, "the bus to go", changes) { // it may be told late that it came
	}
	waittest.Until(t, "the watcher has noticed", func() bool { return !w.Connected() })
	const events = 1024 + 10
	for range events {
		if err := c.Publish(proto.TurnAsked{}, bus.Meta{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Publish(proto.TurnDelta{}, bus.Meta{}); err != nil {
		t.Fatal(err)
	}
	if err := c.PublishAudio("s1", proto.Audio{Op: proto.AudioData, Seq: 1}); err == nil {
		t.Error("audio into nowhere is no error")
	}
	if n := c.Counts().Dropped; n != 11 {
		t.Errorf("%d dropped, want 10 events and 1 live event", n)
	}

	b.Up()
	waittest.Until(t, "the watcher is back", w.Connected)
	flush(t, w)
	g.set(true)
	if !waittest.Next(t, "the bus to come", changes) {
		t.Error("told that the bus went")
	}
	if err := c.Publish(proto.TurnAsked{}, bus.Meta{}); err != nil { // must not overtake
		t.Fatal(err)
	}
	if err := c.PublishAudio("s1", proto.Audio{Op: proto.AudioData, Seq: 2}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the events of the outage", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(seen) == 1025 || len(seen) == 1024 && seen[1023] == events+1
	})
	mu.Lock()
	defer mu.Unlock()
	for i, seq := range seen {
		if i > 0 && seq != seen[i-1]+1 {
			t.Fatalf("event %d after %d", seq, seen[i-1])
		}
	}
	if last := seen[len(seen)-1]; last != events+1 {
		t.Errorf("last event %d, want %d", last, events+1)
	}
	if len(frames) != 1 || frames[0] != 2 {
		t.Errorf("frames %v, want only the one after the outage", frames)
	}
	if c.Counts().Reconnects != 1 || w.Counts().Reconnects != 1 {
		t.Errorf("counts %+v, %+v", c.Counts(), w.Counts())
	}
}

// Whoever closes just after the bus came back still delivers.
func TestCloseDelivers(t *testing.T) {
	b := bustest.New(t)
	c, g := gated(t, b, "brain")
	up := make(chan bool, 16)
	c.OnChange(func(now bool) { up <- now })
	g.set(false)
	b.Down()
	for waittest.Next(t, "the bus to go", up) {
	}
	b.Up()
	w := b.Watch()
	if err := c.Publish(proto.TurnAsked{Text: "kept"}, bus.Meta{}); err != nil {
		t.Fatal(err)
	}
	g.set(true)
	waittest.Next(t, "the bus to come", up)
	c.Close()
	c.Close()
	if e, _ := bustest.Expect[proto.TurnAsked](w, nil); e.Text != "kept" {
		t.Errorf("got %+v", e)
	}
}

// Who closes as soon as the bus is back loses nothing either.
func TestCloseAtOnce(t *testing.T) {
	b := bustest.New(t)
	c, g := gated(t, b, "brain")
	went := make(chan struct{})
	c.OnChange(func(up bool) {
		if up {
			c.Close()
		} else {
			close(went)
		}
	})
	g.set(false)
	b.Down()
	waittest.Next(t, "the bus to go", went)
	b.Up()
	w := b.Watch()
	if err := c.Publish(proto.TurnAsked{Text: "kept"}, bus.Meta{}); err != nil {
		t.Fatal(err)
	}
	g.set(true)
	if e, _ := bustest.Expect[proto.TurnAsked](w, nil); e.Text != "kept" {
		t.Errorf("got %+v", e)
	}
}

// A daemon may start before the bus: what it set up meanwhile holds.
func TestOpenBeforeTheBus(t *testing.T) {
	b := bustest.New(t)
	b.Down()
	c := b.Connect("micd")
	if c.Connected() || !c.Opened() {
		t.Error("connected to nothing")
	}
	seen := make(chan proto.Event, 1)
	must[*bus.Sub](t)(c.Events(t.Context(), proto.Any, bus.Fail(16, func() {}), func(_ context.Context, _ proto.Envelope, ev proto.Event) { seen <- ev }))
	s := must[*bus.Service](t)(c.Serve(t.Context(), "test", bus.Command(func(context.Context, proto.MicStop) (proto.MicState, error) { return proto.MicState{Open: true}, nil })))
	if err := c.Publish(proto.MicLost{}, bus.Meta{}); err != nil {
		t.Fatal(err)
	}
	b.Up()
	waittest.Next(t, "the event from before the bus", seen)
	if got, err := bus.Request(waittest.Context(t), b.Connect("client"), proto.MicStop{}); err != nil || !got.Open {
		t.Errorf("got %+v, %v", got, err)
	}
	b.Down()
	if err := s.Stop(); err != nil { // without a bus there is nothing to take back
		t.Error(err)
	}
}

func TestConnectErrors(t *testing.T) {
	log := bustest.Log(t)
	dir := t.TempDir()
	c := bus.New(bus.Options{Service: "cli", Dir: dir, Log: log})
	e := wantCode(t, c.Dial(t.Context()), proto.CodeDisconnected)
	if !strings.Contains(e.Text, dir+"/bus.sock") || !strings.Contains(e.Hint, "desktop-assistant run") {
		t.Errorf("got %v, hint %q", e, e.Hint)
	}
	c.Close()

	long := strings.Repeat("x", 107-len("/bus.sock"))
	if _, err := bus.SocketPath(long); err != nil {
		t.Error(err)
	}
	c = bus.New(bus.Options{Service: "cli", Dir: long + "x", Log: log})
	e = wantCode(t, c.Open(t.Context()), proto.CodeInvalid)
	if !strings.Contains(e.Text, "108 bytes") || e.Hint == "" {
		t.Errorf("got %v, hint %q", e, e.Hint)
	}
	e = wantCode(t, c.Dial(t.Context()), proto.CodeInvalid)
	if e.Hint == "" {
		t.Error("no hint")
	}
	c.Close()
	for _, url := range []string{"http://127.0.0.1:1", "unix:///tmp/x", "x"} {
		wantCode(t, bus.New(bus.Options{Service: "cli", URL: url, Log: log}).Open(t.Context()), proto.CodeInvalid)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := bus.New(bus.Options{Service: "cli", Dir: dir, Log: log}).Open(ctx); err == nil {
		t.Error("opened with a context that is over")
	}
}

func TestHistory(t *testing.T) {
	b := bustest.NewKeeping(t)
	c := b.Connect("brain")
	const turns = 600 // more than are fetched at once
	for i := range turns {
		if err := c.Publish(proto.TurnAsked{Text: fmt.Sprint(i)}, bus.Meta{}); err != nil {
			t.Fatal(err)
		}
		if err := c.Publish(proto.MicLost{}, bus.Meta{Device: "kitchen"}); err != nil {
			t.Fatal(err)
		}
		if err := c.Publish(proto.TurnDelta{}, bus.Meta{}); err != nil {
			t.Fatal(err)
		}
	}
	flush(t, c)
	read := func(dev string, areas ...string) (list []proto.Envelope) {
		t.Helper()
		err := b.Connect("reader").History(waittest.Context(t), dev, func(_ context.Context, env proto.Envelope, _ proto.Event) { list = append(list, env) }, areas...)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	var asked []proto.Envelope
	waittest.Until(t, "all events are kept", func() bool { asked = read("local"); return len(asked) == turns })
	for i := range asked {
		if asked[i].Type != "turn.asked" || i > 0 && asked[i].Seq <= asked[i-1].Seq {
			t.Fatalf("event %d: %+v", i, asked[i])
		}
	}
	if n := len(read(proto.Any)); n != 2*turns {
		t.Errorf("%d events of all devices", n)
	}
	if n := len(read(proto.Any, "mic")); n != turns {
		t.Errorf("%d events of the microphone", n)
	}
	if n := len(read("nowhere")); n != 0 {
		t.Errorf("%d events of no device", n)
	}
	b.Down()
	b.Up()
	if n := len(read(proto.Any)); n != 0 {
		t.Errorf("%d events after a restart", n)
	}
}

// A bus that keeps nothing has an empty history.
func TestNoHistory(t *testing.T) {
	c := bustest.New(t).Connect("brain")
	err := c.History(waittest.Context(t), proto.Any, func(context.Context, proto.Envelope, proto.Event) { t.Error("an event") })
	if err != nil {
		t.Error(err)
	}
}
