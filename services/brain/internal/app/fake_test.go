// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/daemontest"
	"example.org/desktop-assistant/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is brain on a real bus.
type rig struct {
	t    testing.TB
	bus  *bustest.Bus
	seen *bustest.Watcher
	user *bus.Conn
	env  daemon.Env
	app  *App
	stop func()
}

// unreachable is an address where no chat server listens: port 1 of loopback.
const unreachable = "http://127.0.0.1:1/v1"

func newRig(t testing.TB, b *bustest.Bus, llm string) *rig {
	r := rigOn(t, b, llm)
	r.seen = b.Watch()
	return r
}

// rigOn is a rig that does not keep what it sees.
func rigOn(t testing.TB, b *bustest.Bus, llm string) *rig {
	r := &rig{t: t, bus: b, user: b.Connect("user"), env: daemontest.Env(t, b, "brain")}
	r.env.Config.LLM = llm
	r.env.Config.TTS.AnnounceAfterMS = 0
	return r
}

// ready waits until brain knows its peers, so that it notices when they go.
func (r *rig) ready(services ...string) {
	r.t.Helper()
	for _, s := range services {
		r.app.watch.Poke(s)
		r.until("brain knows "+s, func() bool { return r.app.watch.Instance(s) != "" })
	}
}

func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	limit := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			r.t.Fatalf("waited in vain: %s", what)
		}
	}
}

func (r *rig) ask(text string) proto.TurnTicket {
	r.t.Helper()
	ticket, err := bus.Request(r.t.Context(), r.user, proto.TurnAsk{Text: text, Speak: true})
	if err != nil {
		r.t.Fatal(err)
	}
	return ticket
}

// ended waits for the end of a turn.
func (r *rig) ended(id string) proto.TurnEnded {
	r.t.Helper()
	e, _ := bustest.Expect(r.seen, func(s bustest.Seen, _ proto.TurnEnded) bool { return s.Turn == id })
	return e
}

func (r *rig) publish(turn string, ev proto.Event) {
	r.t.Helper()
	if err := r.user.Publish(ev, bus.Meta{Turn: turn}); err != nil {
		r.t.Fatal(err)
	}
}

// story lists the events of a turn.
func (r *rig) story(turn string) string {
	var list []string
	for _, s := range r.seen.All() {
		if s.Turn == turn && !s.Event.Live() {
			list = append(list, s.Type)
		}
	}
	return strings.Join(list, " ")
}

// fake is another daemon, written by hand on a connection of its own.
type fake struct {
	conn    *bus.Conn
	service *bus.Service
	once    sync.Once
}

func (r *rig) fake(name string, endpoints ...bus.Endpoint) *fake {
	r.t.Helper()
	conn := bus.New(r.bus.Options(name))
	if err := conn.Open(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	status := bus.CommandOf(proto.StatusOf{Daemon: name}, func(context.Context, proto.StatusOf) (proto.Status, error) {
		return proto.Status{Service: name, Instance: conn.Instance()}, nil
	})
	service, err := conn.Serve(r.t.Context(), "test", append(endpoints, status)...)
	if err != nil {
		r.t.Fatal(err)
	}
	f := &fake{conn: conn, service: service}
	r.t.Cleanup(f.kill)
	if err := conn.Flush(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	return f
}

// kill takes it off the bus without a word.
func (f *fake) kill() {
	f.once.Do(func() {
		f.conn.Close()
		_ = f.service.Stop() // the connection is gone
	})
}

// ttsd plays every line at once, unless it holds.
type ttsd struct {
	*fake
	mu      sync.Mutex
	hold    bool
	said    []proto.SpeechSay
	stops   []string
	resumed int
}

func (r *rig) ttsd(hold bool) *ttsd {
	r.t.Helper()
	d := &ttsd{hold: hold}
	d.fake = r.fake("ttsd",
		bus.Command(d.say),
		bus.Command(func(context.Context, proto.SpeechEnd) (proto.Done, error) { return proto.Done{}, nil }),
		bus.Command(d.stop),
		bus.Command(func(context.Context, proto.SpeechResume) (proto.Done, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.resumed++
			return proto.Done{}, nil
		}))
	return d
}

func (d *ttsd) say(_ context.Context, s proto.SpeechSay) (proto.Done, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.said = append(d.said, s)
	if d.hold {
		return proto.Done{}, nil
	}
	m := bus.Meta{Turn: s.Turn}
	if err := d.conn.Publish(proto.SpeechStarted{Turn: s.Turn, Index: s.Index, DelayMS: 5}, m); err != nil {
		return proto.Done{}, err
	}
	return proto.Done{}, d.conn.Publish(proto.SpeechFinished{Turn: s.Turn, Index: s.Index, Heard: s.Text}, m)
}

func (d *ttsd) stop(_ context.Context, s proto.SpeechStop) (proto.TurnsStopped, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stops = append(d.stops, s.Turn)
	err := d.conn.Publish(proto.SpeechStopped{Turn: s.Turn, Index: 0, Heard: "cut", Reason: proto.StopAsked}, bus.Meta{Turn: s.Turn})
	return proto.TurnsStopped{Turns: []string{s.Turn}}, err
}

func (d *ttsd) lines() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []string
	for _, s := range d.said {
		list = append(list, s.Text)
	}
	return list
}

func (d *ttsd) has(text string) func() bool {
	return func() bool { return slices.Contains(d.lines(), text) }
}

var nowSpec = proto.ToolSpec{
	Name: "now", Description: "the time", TimeoutMS: 10000, Parameters: json.RawMessage(`{"type":"object","properties":{}}`),
	Announce:  map[string][]string{"en": {"Let me see."}},
	Sentences: map[string][]string{"en": {"what time is it"}}, Reply: map[string]string{"en": "It is {output}."},
}

// toolrunner has the tool now, which takes until release is closed.
type toolrunner struct {
	*fake
	began     chan proto.ToolCall
	cancelled chan string
}

func (r *rig) toolrunner(release <-chan struct{}) *toolrunner {
	r.t.Helper()
	tr := &toolrunner{began: make(chan proto.ToolCall, 16), cancelled: make(chan string, 16)}
	tr.fake = r.fake("toolrunner",
		bus.Command(func(context.Context, proto.ToolList) (proto.Tools, error) {
			return proto.Tools{Revision: 1, Tools: []proto.ToolSpec{nowSpec}}, nil
		}),
		bus.Tool(nowSpec, func(ctx context.Context, call proto.ToolCall, arguments []byte) proto.ToolResult {
			meta := bus.Meta{Turn: call.Turn, Session: call.Session}
			_ = tr.conn.Publish(proto.ToolCalled{Call: call.Call, Name: "now", Arguments: arguments}, meta) // fails when killed
			tr.began <- call
			select {
			case <-release:
			case <-ctx.Done():
			}
			res := proto.ToolResult{Call: call.Call, OK: true, Result: "10:30"}
			_ = tr.conn.Publish(proto.ToolFinished{ToolResult: res, Name: "now"}, meta) // fails when killed
			return res
		}))
	_, err := tr.conn.ToolCancels(r.t.Context(), bus.Drop(16), func(_ context.Context, call string) { tr.cancelled <- call })
	if err != nil {
		r.t.Fatal(err)
	}
	if err := tr.conn.Flush(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	return tr
}

func closed() <-chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}
