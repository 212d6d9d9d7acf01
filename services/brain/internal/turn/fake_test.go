// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/catalog"
	"example.org/desktop-assistant/services/brain/internal/model"
	"example.org/desktop-assistant/services/brain/internal/session"
	"example.org/desktop-assistant/services/brain/internal/skill"
	"example.org/desktop-assistant/services/brain/internal/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is everything around one turn, in virtual time.
type world struct {
	t       *testing.T
	cancel  context.CancelFunc
	turn    *Turn
	book    *session.Store
	notices []string
	endings []Result // told before turn.ended is published
	ends    []Result
	env     Env
	spec    Spec

	mu     sync.Mutex
	events []proto.Event

	model *fakeModel
	tools *fakeTools
	mouth *fakeMouth
}

// in runs f with a world, in a bubble of virtual time, and checks what holds
// for every turn.
func in(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		f(w)
		if w.turn == nil {
			return
		}
		w.cancel()
		<-w.turn.Done()
		synctest.Wait()
		w.check()
	})
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, book: session.New(0)}
	w.model, w.tools, w.mouth = &fakeModel{}, &fakeTools{w: w, running: map[string]context.CancelFunc{}}, &fakeMouth{w: w}
	w.spec = Spec{ID: "t1", Session: w.book.Current("local"), Device: "local", Origin: proto.OriginText, Speak: true}
	w.env = Env{
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
		Bus: w, Model: w.model, Tools: w.tools, Mouth: w.mouth, Book: w.book, Skills: skill.New("", nil), Asker: "brain/test", Languages: []string{"en", "it"},
		Settings: Settings{
			System: "Be brief.", Rounds: 3, Intents: "fallback", Route: "local", HistoryMessages: 20,
			STTDeadline: 30 * time.Second, ListenLimit: 130 * time.Second,
			AnnounceAfter: 300 * time.Millisecond, LoadingLimit: 120 * time.Second,
		},
		Ending: func(res Result) { w.mu.Lock(); w.endings = append(w.endings, res); w.mu.Unlock() },
		Ended:  func(res Result) { w.mu.Lock(); w.ends = append(w.ends, res); w.mu.Unlock() },
		Notice: func(_, text, _ string) { w.mu.Lock(); w.notices = append(w.notices, text); w.mu.Unlock() },
		Phrase: func(phrases []string) string { return phrases[0] },
	}
	return w
}

func (w *world) Publish(ev proto.Event, m bus.Meta) error {
	if m.Turn != w.spec.ID || m.Session != w.spec.Session || m.Device != "local" {
		w.t.Errorf("event %s belongs to %+v", ev.EventType(), m)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if e, ok := ev.(proto.TurnEnded); ok && (len(w.endings) != 1 || w.endings[0].End != e.End) {
		w.t.Errorf("turn.ended is published before it is told: %+v", w.endings)
	}
	w.events = append(w.events, ev)
	return nil
}

func (w *world) start() *Turn {
	ctx, cancel := context.WithCancel(w.t.Context())
	w.cancel = cancel
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn = Start(ctx, w.spec, w.env)
	return w.turn
}

// heard tells the turn of speech.
func (w *world) heard(ev proto.Event) {
	w.mu.Lock()
	turn := w.turn
	w.mu.Unlock()
	turn.Event(ev)
}

// ask starts a typed turn and waits for its end.
func (w *world) ask(text string) proto.TurnEnded {
	w.t.Helper()
	w.start().Ask(text, "")
	return w.end()
}

func (w *world) end() proto.TurnEnded {
	w.t.Helper()
	select {
	case <-w.turn.Over():
	case <-time.After(time.Hour):
		w.t.Fatalf("the turn does not end; events %s", w.story())
	}
	for _, ev := range w.all() {
		if e, ok := ev.(proto.TurnEnded); ok {
			return e
		}
	}
	w.t.Fatal("no turn.ended")
	return proto.TurnEnded{}
}

func (w *world) all() []proto.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}

// story is what happened, in short.
func (w *world) story() string {
	var s []string
	for _, ev := range w.all() {
		switch ev := ev.(type) {
		case proto.TurnSentence:
			s = append(s, fmt.Sprintf("say%d(%s)", ev.Index, ev.Text))
		case proto.TurnAnnounced:
			s = append(s, fmt.Sprintf("announce%d(%s)", ev.Index, ev.Text))
		case proto.TurnQuestion:
			s = append(s, fmt.Sprintf("question%d(%s)", ev.Index, ev.Text))
		case proto.ToolCalled:
			s = append(s, "called("+ev.Name+")")
		case proto.ToolFinished:
			s = append(s, fmt.Sprintf("finished(%s %s)", ev.Name, ev.Result))
		case proto.TurnEnded:
			s = append(s, string(ev.End))
		case proto.TurnDelta, proto.TurnStarted, proto.TurnAsked:
		default:
			s = append(s, ev.EventType())
		}
	}
	return strings.Join(s, " ")
}

func (w *world) want(story string) {
	w.t.Helper()
	if got := w.story(); got != story {
		w.t.Errorf("story\n got %s\nwant %s", got, story)
	}
}

// check holds for every turn: one start first, one end last, told once, and
// what was begun is ended.
func (w *world) check() {
	w.t.Helper()
	events := w.all()
	starts, ends, calls := 0, 0, map[string]int{}
	for _, ev := range events {
		switch ev := ev.(type) {
		case proto.TurnStarted:
			starts++
		case proto.TurnEnded:
			ends++
			if !slices.Contains(proto.Ends(), ev.End) || (ev.End == proto.EndFailed) != (ev.Error != nil) && ev.End != proto.EndSilent {
				w.t.Errorf("ending %+v", ev)
			}
		case proto.ToolFinished:
			if calls[ev.Call]++; calls[ev.Call] > 1 {
				w.t.Errorf("call %s finished twice", ev.Call)
			}
		}
	}
	if starts != 1 || ends != 1 {
		w.t.Errorf("%d starts, %d ends: %s", starts, ends, w.story())
	}
	if len(events) > 0 {
		_, first := events[0].(proto.TurnStarted)
		_, last := events[len(events)-1].(proto.TurnEnded)
		if !first || !last {
			w.t.Errorf("does not begin with the start and end with the end: %s", w.story())
		}
	}
	if len(w.ends) != 1 {
		w.t.Errorf("told of %d ends", len(w.ends))
	}
	if n := len(w.tools.running); n > 0 {
		w.t.Errorf("%d tools still run", n)
	}
}

// fakeModel answers with one script after the other.
type fakeModel struct {
	mu      sync.Mutex
	asked   []model.Request
	scripts []func(ctx context.Context, emit func(string)) (model.Reply, error)
}

func (m *fakeModel) Chat(ctx context.Context, req model.Request, emit func(string)) (model.Reply, error) {
	m.mu.Lock()
	m.asked = append(m.asked, req)
	n := len(m.asked) - 1
	m.mu.Unlock()
	if n >= len(m.scripts) {
		return model.Reply{}, &model.Error{Kind: model.KindUnreachable, Text: "connection refused", Hint: "start the chat server"}
	}
	return m.scripts[n](ctx, emit)
}

func (m *fakeModel) requests() []model.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

type script = func(ctx context.Context, emit func(string)) (model.Reply, error)

// says writes the pieces, 50 ms apart.
func says(pieces ...string) script {
	return func(ctx context.Context, emit func(string)) (model.Reply, error) {
		for _, p := range pieces {
			select {
			case <-ctx.Done():
				return model.Reply{}, &model.Error{Kind: model.KindCancelled, Text: "cancelled"}
			case <-time.After(50 * time.Millisecond):
			}
			emit(p)
		}
		return model.Reply{Text: strings.Join(pieces, ""), Finish: "stop"}, nil
	}
}

// calls asks for tools; each is "name" or "name {arguments}".
func calls(text string, names ...string) script {
	return func(ctx context.Context, emit func(string)) (model.Reply, error) {
		if text != "" {
			emit(text)
		}
		r := model.Reply{Text: text, Finish: "tool_calls"}
		for i, n := range names {
			name, args, ok := strings.Cut(n, " ")
			c := model.Call{ID: fmt.Sprint("id", i), Name: name, Arguments: json.RawMessage("{}")}
			if ok {
				c.Raw = args
				if json.Valid([]byte(args)) {
					c.Arguments = json.RawMessage(args)
				} else {
					c.Problem = stream.ProblemArguments
				}
			}
			r.Calls = append(r.Calls, c)
		}
		return r, nil
	}
}

func fails(kind model.Kind, retry model.Retry) script {
	return func(context.Context, func(string)) (model.Reply, error) {
		return model.Reply{}, &model.Error{Kind: kind, Text: string(kind), Retry: retry, After: time.Second}
	}
}

func hangs(text string) script {
	return func(ctx context.Context, emit func(string)) (model.Reply, error) {
		if text != "" {
			emit(text)
		}
		select {
		case <-ctx.Done():
			return model.Reply{Text: text}, &model.Error{Kind: model.KindCancelled, Text: "cancelled"}
		case <-time.After(300 * time.Second): // as the client bounds it
			return model.Reply{Text: text}, &model.Error{Kind: model.KindStalled, Text: "the answer took too long"}
		}
	}
}

// fakeTools runs each tool for the time it is given.
type fakeTools struct {
	w         *world
	specs     []proto.ToolSpec
	took      map[string]time.Duration
	results   map[string]proto.ToolResult
	mu        sync.Mutex
	running   map[string]context.CancelFunc
	order     []string
	calls     []proto.ToolCall
	cancelled []string
	gone      bool
	known     bool // the list is known when the turn starts
	limit     int  // of calls of built-in tools
}

func (f *fakeTools) Known() (catalog.Offer, bool) {
	if !f.known {
		return catalog.Offer{}, false
	}
	return f.Offer(context.Background()), true
}

func (f *fakeTools) Offer(context.Context) catalog.Offer {
	o, err := catalog.NewOffer(proto.Tools{Tools: f.specs, CallLimit: f.limit})
	if err != nil {
		f.w.t.Error(err)
	}
	return o
}

func (f *fakeTools) Call(ctx context.Context, name string, call proto.ToolCall, args []byte) (proto.ToolResult, error) {
	if f.gone {
		return proto.ToolResult{}, proto.Errorf(proto.CodeUnavailable, "tool "+name, "nobody answers")
	}
	own, cancel := context.WithCancel(ctx)
	f.mu.Lock()
	f.running[call.Call] = cancel
	f.order = append(f.order, "start "+name)
	f.calls = append(f.calls, call)
	f.mu.Unlock()
	res, ok := f.results[name]
	if !ok {
		res = proto.ToolResult{OK: true, Result: name + " " + string(args)}
	}
	res.Call = call.Call
	if res.Kind == proto.KindUnconfirmed && call.Confirmed {
		res = proto.ToolResult{Call: call.Call, OK: true, Result: name + " confirmed"}
	}
	defer func() {
		cancel()
		f.mu.Lock()
		delete(f.running, call.Call)
		f.order = append(f.order, "end "+name)
		f.mu.Unlock()
	}()
	select {
	case <-time.After(f.took[name]):
		return res, nil
	case <-own.Done():
		if ctx.Err() != nil {
			return proto.ToolResult{}, proto.Errorf(proto.CodeCancelled, "tool "+name, "cancelled")
		}
		return proto.ToolResult{Call: call.Call, Kind: proto.KindCancelled, Result: "error: cancelled"}, nil
	}
}

func (f *fakeTools) Cancel(call string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cancelled = append(f.cancelled, call)
	return nil
}

// fakeMouth plays one line after the other, 500 ms each.
type fakeMouth struct {
	w       *world
	mu      sync.Mutex
	said    []proto.SpeechSay
	ends    []proto.SpeechEnd
	stops   int
	fail    func(proto.SpeechSay) error // nil takes everything
	silent  bool                        // takes lines and never plays them
	known   map[int]bool
	playing int // index, -1 for none
	timers  []*time.Timer
	free    time.Time
}

const lineTime = 500 * time.Millisecond

func (m *fakeMouth) Say(_ context.Context, _ string, s proto.SpeechSay) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		if err := m.fail(s); err != nil {
			return err
		}
	}
	if m.known == nil {
		m.known, m.playing = map[int]bool{}, -1
	}
	m.said = append(m.said, s)
	if m.known[s.Index] || m.silent {
		return nil
	}
	m.known[s.Index] = true
	now := time.Now()
	begin := now
	if m.free.After(now) {
		begin = m.free
	}
	m.free = begin.Add(lineTime)
	m.at(begin.Sub(now), func() {
		m.playing = s.Index
		m.w.heard(proto.SpeechStarted{Turn: s.Turn, Index: s.Index, DelayMS: begin.Sub(now).Milliseconds()})
	})
	m.at(m.free.Sub(now), func() {
		if m.playing == s.Index {
			m.playing = -1
		}
		m.w.heard(proto.SpeechFinished{Turn: s.Turn, Index: s.Index, Heard: s.Text})
	})
	return nil
}

func (m *fakeMouth) at(d time.Duration, f func()) {
	m.timers = append(m.timers, time.AfterFunc(d, func() { m.mu.Lock(); f(); m.mu.Unlock() }))
}

func (m *fakeMouth) End(_ context.Context, _ string, e proto.SpeechEnd) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		if err := m.fail(proto.SpeechSay{Index: -1}); err != nil {
			return err
		}
	}
	m.ends = append(m.ends, e)
	return nil
}

// reset is a new ttsd that knows nothing; nothing more of the old is heard.
func (m *fakeMouth) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.timers {
		t.Stop()
	}
	m.timers, m.known, m.free, m.playing = nil, map[int]bool{}, time.Time{}, -1
}

func (m *fakeMouth) Stop(context.Context, string, string) error {
	m.mu.Lock()
	playing, any := m.playing, len(m.said) > 0
	m.stops++
	m.mu.Unlock()
	m.reset()
	if any {
		m.w.heard(m.stopped(playing, proto.StopAsked))
	}
	return nil
}

func (m *fakeMouth) stopped(playing int, reason string) proto.SpeechStopped {
	ev := proto.SpeechStopped{Turn: m.w.spec.ID, Index: playing, Reason: reason}
	if playing >= 0 {
		ev.Heard, ev.PlayedMS = "half a line", 250
	}
	return ev
}
