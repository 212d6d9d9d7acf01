// SPDX-License-Identifier: Apache-2.0

package app

import (
	"flag"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/pulse"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/daemontest"
	"example.org/desktop-assistant/pkg/testkit/soundtest"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/duck"
	"example.org/desktop-assistant/services/ttsd/internal/sink"
)

// TestMain lets more tests run at once than there are processors: most of them wait
// for sound, which takes its time.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err) // the flag of package testing is not there
	}
	goleak.VerifyTestMain(m)
}

// A desk is ttsd on a bus, with someone who talks to it.
type desk struct {
	t    *testing.T
	bus  *bustest.Bus
	seen *bustest.Watcher
	user *bus.Conn
	app  *App
	env  daemon.Env
	stop func()
}

// start runs ttsd, until it can speak or tells why not; change may replace parts of
// it before.
func start(t *testing.T, change func(*daemon.Env), parts func(*App)) *desk {
	t.Helper()
	d := &desk{t: t, bus: bustest.New(t)}
	d.seen = d.bus.Watch()
	d.user = d.bus.Connect("brain")
	d.env = daemontest.Env(t, d.bus, "ttsd")
	if change != nil {
		change(&d.env)
	}
	app, stop := daemontest.Start(t, d.env, func(env daemon.Env) (daemon.App, error) {
		app, err := New(env)
		if err == nil {
			app.(*App).duck = duck.New(env.Config.TTS.Duck, filepath.Join(env.Dir, "lowered.json"), env.Log)
			app.(*App).finder.guard.path = filepath.Join(env.Dir, "opening.json")
		}
		if err == nil && parts != nil {
			parts(app.(*App))
		}
		return app, err
	})
	d.app, d.stop = app.(*App), stop
	// ttsd is ready without them when they take their time.
	until(t, func() bool {
		return d.app.Sound.Ready() == nil && (d.detail().Engine != "" || len(d.env.Problems.List()) > 0)
	})
	return d
}

// on is the part that plays to a rig.
func on(r *soundtest.Rig, sinkName string) func(*App) {
	return func(a *App) {
		server := sink.NewServer(pulse.Options{Name: "ttsd test", Server: r.Server()}, sinkName, a.soundChanged)
		server.Streams = a.streamsChanged
		a.Sound = server
	}
}

func (d *desk) say(turn string, index int, text string) {
	d.t.Helper()
	must(d.t, d.trySay(proto.SpeechSay{Turn: turn, Index: index, Text: text, Spoken: text, Language: "en"}))
}

func (d *desk) trySay(say proto.SpeechSay) error {
	d.t.Helper()
	_, err := bus.Request(d.t.Context(), d.user, say)
	return err
}

func (d *desk) end(turn string, count int) {
	d.t.Helper()
	_, err := bus.Request(d.t.Context(), d.user, proto.SpeechEnd{Turn: turn, Count: count})
	must(d.t, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func expect[E proto.Event](d *desk, ok func(E) bool) E {
	d.t.Helper()
	ev, _ := bustest.Expect(d.seen, func(_ bustest.Seen, e E) bool { return ok == nil || ok(e) })
	return ev
}
