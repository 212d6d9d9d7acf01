// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/chattest"
	"example.org/desktop-assistant/proto"
)

// recorded are the tools that the recorded answers call.
var recorded = []proto.ToolSpec{
	{Name: "get_weather", Description: "the weather", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)},
	{Name: "set_timer", Description: "a timer", Parameters: json.RawMessage(`{"type":"object","properties":{"minutes":{"type":"number"},"label":{"type":"string"}}}`)},
	{Name: "get_time", Description: "the time", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)},
	{Name: "set_light", Description: "a light", Parameters: json.RawMessage(`{"type":"object","properties":{"room":{"type":"string"},"state":{"type":"string"}}}`)},
}

// tools runs them: each answers at once.
func (r *rig) tools() {
	r.t.Helper()
	var f *fake
	endpoints := []bus.Endpoint{bus.Command(func(context.Context, proto.ToolList) (proto.Tools, error) {
		return proto.Tools{Revision: 1, Tools: recorded}, nil
	})}
	for i := range recorded {
		recorded[i].TimeoutMS = 10000
		endpoints = append(endpoints, bus.Tool(recorded[i], func(_ context.Context, call proto.ToolCall, arguments []byte) proto.ToolResult {
			meta := bus.Meta{Turn: call.Turn, Session: call.Session}
			_ = f.conn.Publish(proto.ToolCalled{Call: call.Call, Name: recorded[i].Name, Arguments: arguments}, meta) // fails when killed
			res := proto.ToolResult{Call: call.Call, OK: true, Result: "done with " + string(arguments)}
			_ = f.conn.Publish(proto.ToolFinished{ToolResult: res, Name: recorded[i].Name}, meta) // fails when killed
			return res
		}))
	}
	f = r.fake("toolrunner", endpoints...)
}

// cases reads the recorded answers, by name.
func cases(t *testing.T) map[string]chattest.Case {
	t.Helper()
	found := map[string]chattest.Case{}
	for _, dir := range []string{"../model/testdata/llm-streams", "../model/testdata/shapes"} {
		list, err := chattest.ReadCases(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			found[c.Name] = c
		}
	}
	return found
}

func exchange(t *testing.T, c chattest.Case) chattest.Exchange {
	t.Helper()
	ex, err := c.Exchange()
	if err != nil {
		t.Fatal(err)
	}
	return ex
}

// Questions through brain against a server as strict as the strictest, which
// refuses a history that breaks any of its rules.
func TestStrictServer(t *testing.T) {
	nine := regexp.MustCompile(`^[A-Za-z0-9]{9}$`)
	for _, s := range []struct {
		name, answer string // a recorded answer
		questions    int
		check        func(second *chattest.Request) string // what is wrong with the second request
	}{
		{"tool then answer", "088-text-before-call", 1, func(r *chattest.Request) string {
			if result, ok := r.Result(); !ok || !strings.HasPrefix(result, "done with") {
				return "no result"
			}
			return ""
		}},
		{"ids made up", "060-no-ids-at-all", 1, func(r *chattest.Request) string {
			seen := map[string]bool{}
			for _, m := range r.Messages {
				for _, c := range m.Calls {
					if !nine.MatchString(c.ID) || seen[c.ID] {
						return "id " + c.ID
					}
					seen[c.ID] = true
				}
			}
			return ""
		}},
		{"no parameters", "070-arguments-empty-string", 1, func(r *chattest.Request) string {
			if !strings.Contains(string(r.Body), `"arguments":"{}"`) {
				return "arguments"
			}
			return ""
		}},
		{"bad arguments", "calls-args-text", 1, func(r *chattest.Request) string {
			if result, _ := r.Result(); !strings.HasPrefix(result, "error: arguments") {
				return "result " + result
			}
			return ""
		}},
		{"repaired arguments", "079-arguments-single-quotes", 1, nil},
		{"nameless call", "086-call-without-a-name", 2, nil},
		{"harmony name", "095-channel-token-in-name", 1, nil},
		{"harmony kept out", "121-leak-harmony-channels", 2, nil},
		{"call in text", "114-leak-qwen-xml", 1, nil},
		{"unknown tool", "calls-unknown-and-known", 1, nil},
		{"one id for two calls", "calls-shared-id", 1, nil},
		{"broke off", "mid-cut", 2, nil},
		{"thinking", "105-think-block-in-one-chunk", 2, nil},
		{"cut by length", "calls-cut-length", 2, nil},
	} {
		t.Run(s.name, func(t *testing.T) {
			chat := chattest.New(t, chattest.Rule{Say: "Done now."})
			chat.Strict()
			chat.Script(exchange(t, cases(t)[s.answer]))
			r := newRig(t, bustest.New(t), chat.URL)
			speech := r.ttsd(false)
			r.tools()
			r.start()
			for range s.questions {
				ticket := r.ask("please")
				if e := r.ended(ticket.Turn); e.End != proto.EndSpoken && e.End != proto.EndFailed || len(speech.lines()) == 0 {
					t.Errorf("the turn ended %+v, said %q", e, speech.lines())
				}
			}
			requests := chat.Requests()
			if len(requests) < 2 {
				t.Fatalf("%d requests", len(requests))
			}
			if s.check != nil {
				if wrong := s.check(requests[1]); wrong != "" {
					t.Errorf("%s in %s", wrong, requests[1].Body)
				}
			}
		})
	}
}

var (
	soakTurns = flag.Int("turns", 100, "turns of TestSoak")
	soakLLM   = flag.String("llm", "", "chat server for TestSoak, which answers what it likes; empty: the recorded answers")
)

// account is what the bus told of the turns, in numbers only.
type account struct {
	mu      sync.Mutex
	started int
	ended   map[string]int
	said    map[string]int
	ends    map[proto.End]int
	over    chan string
}

func (a *account) event(_ context.Context, env proto.Envelope, ev proto.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch ev := ev.(type) {
	case proto.TurnStarted:
		a.started++
	case proto.TurnSentence:
		if strings.TrimSpace(ev.Spoken) != "" {
			a.said[env.Turn]++
		}
	case proto.TurnEnded:
		a.ended[env.Turn]++
		a.ends[ev.End]++
		if a.ended[env.Turn] == 1 {
			a.over <- env.Turn
		}
	}
}

// sentences is how many were said in a turn that is over; it is forgotten.
func (a *account) sentences(turn string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.said[turn]
	delete(a.said, turn)
	return n
}

// promise: whatever a chat server sends, each turn ends once and something is
// said; goroutines and memory do not grow with the turns.
func TestSoak(t *testing.T) {
	llm := *soakLLM
	var chat *chattest.Server
	if llm == "" {
		chat = chattest.New(t, chattest.Rule{Say: "All done."})
		llm = chat.URL
	}
	r := rigOn(t, bustest.New(t), llm)
	r.env.Config.Model.ConnectS, r.env.Config.Model.FirstTokenS, r.env.Config.Model.IdleS, r.env.Config.Model.TotalS = 2, 2, 2, 20
	r.mouth()
	r.tools()
	a := &account{ended: map[string]int{}, said: map[string]int{}, ends: map[proto.End]int{}, over: make(chan string, 16)}
	listener := r.bus.Connect("screen")
	sub, err := listener.Events(t.Context(), "local", bus.Fail(4096, func() { t.Error("events lost") }), a.event, "turn")
	if err == nil {
		err = listener.Flush(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	r.start()
	list := mixed(t, *soakTurns)
	var early, late load
	begin := time.Now()
	for i := range *soakTurns {
		question := fmt.Sprintf("question %d", i)
		if chat != nil {
			chat.Forget()
			ex := exchange(t, list[i%len(list)])
			ex.Match = func(r *chattest.Request) bool { return r.LastUser() == question }
			chat.Script(ex)
		}
		ticket := r.ask(question)
		if turn := <-a.over; turn != ticket.Turn {
			t.Fatalf("turn %s ended, not %s", turn, ticket.Turn)
		}
		if n := a.sentences(ticket.Turn); n == 0 {
			t.Errorf("%s: nothing was said", list[i%len(list)].Name)
		}
		if i == *soakTurns/4 {
			early = measure()
		}
	}
	late = measure()
	took := time.Since(begin)
	a.mu.Lock()
	defer a.mu.Unlock()
	for turn, n := range a.ended {
		if n != 1 {
			t.Errorf("turn %s ended %d times", turn, n)
		}
	}
	if a.started != *soakTurns || len(a.ended) != *soakTurns {
		t.Errorf("%d turns started, %d ended, of %d", a.started, len(a.ended), *soakTurns)
	}
	t.Logf("%d turns in %v: %v; goroutines %d, then %d; heap %d KiB, then %d KiB",
		*soakTurns, took.Round(time.Millisecond), a.ends, early.goroutines, late.goroutines, early.heap>>10, late.heap>>10)
	if late.goroutines > early.goroutines+10 {
		t.Errorf("goroutines grow: %d, then %d", early.goroutines, late.goroutines)
	}
	if late.heap > early.heap+2<<20+uint64(*soakTurns)<<10 {
		t.Errorf("the heap grows: %d bytes, then %d", early.heap, late.heap)
	}
}

// mixed are the recorded answers in an order that mixes their kinds; a short soak
// takes those that do not make brain wait.
func mixed(t *testing.T, turns int) []chattest.Case {
	all := cases(t)
	var names []string
	for name, c := range all {
		waits := c.Status == 503 || c.Status == 429 || c.Close == "stall" || strings.Contains(name, "loading") || strings.Contains(name, "gemini")
		if turns >= len(all) || !waits {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	var list []chattest.Case
	for _, name := range names {
		list = append(list, all[name])
	}
	return list
}

type load struct {
	goroutines int
	heap       uint64
}

func measure() load {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return load{runtime.NumGoroutine(), m.HeapAlloc}
}

// mouth is a ttsd that plays every line at once and keeps none.
func (r *rig) mouth() {
	r.t.Helper()
	var f *fake
	f = r.fake("ttsd",
		bus.Command(func(_ context.Context, s proto.SpeechSay) (proto.Done, error) {
			m := bus.Meta{Turn: s.Turn}
			if err := f.conn.Publish(proto.SpeechStarted{Turn: s.Turn, Index: s.Index, DelayMS: 1}, m); err != nil {
				return proto.Done{}, err
			}
			return proto.Done{}, f.conn.Publish(proto.SpeechFinished{Turn: s.Turn, Index: s.Index, Heard: s.Text}, m)
		}),
		bus.Command(func(context.Context, proto.SpeechEnd) (proto.Done, error) { return proto.Done{}, nil }),
		bus.Command(func(_ context.Context, s proto.SpeechStop) (proto.TurnsStopped, error) {
			return proto.TurnsStopped{}, nil
		}))
}
