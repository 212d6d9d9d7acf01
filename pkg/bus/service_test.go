// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/waittest"
	"example.org/desktop-assistant/proto"
)

func spec(name string) proto.ToolSpec {
	return proto.ToolSpec{Name: name, Description: "test", Parameters: json.RawMessage(`{"type":"object"}`), TimeoutMS: 1000, Confirm: "never"}
}

// The call, its headers and its arguments arrive; results that are not ok are
// results.
func TestTool(t *testing.T) {
	b := bustest.New(t)
	serve(t, b.Connect("toolrunner"), bus.Tool(spec("echo"), func(_ context.Context, c proto.ToolCall, args []byte) proto.ToolResult {
		if c.Route == "external" {
			return proto.ToolResult{Call: c.Call, Kind: proto.KindNotAllowed, Result: "error: not\nallowed"}
		}
		return proto.ToolResult{Call: c.Call, OK: true, Result: fmt.Sprintf("%s %s %s %s", args, c.Turn, c.Timeout, c.Asker)}
	}))
	c := b.Connect("brain")
	got, err := c.CallTool(waittest.Context(t), "echo", proto.ToolCall{Call: "c1", Turn: "t1", Timeout: 1500 * time.Millisecond, Asker: c.Asker()}, []byte(`{"a":1}`))
	if want := `{"a":1} t1 1.5s ` + c.Asker(); err != nil || !got.OK || got.Call != "c1" || got.Result != want {
		t.Errorf("got %+v, %v, want %q", got, err, want)
	}
	got, err = c.CallTool(waittest.Context(t), "echo", proto.ToolCall{Call: "c2", Route: "external"}, nil)
	if err != nil || got.OK || got.Kind != proto.KindNotAllowed || got.Result != "error: not\nallowed" {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = c.CallTool(waittest.Context(t), "gone", proto.ToolCall{Call: "c3"}, nil)
	wantCode(t, err, proto.CodeUnavailable)
	_, err = c.CallTool(waittest.Context(t), "a.b", proto.ToolCall{}, nil)
	wantCode(t, err, proto.CodeInvalid)
	got, err = c.CallTool(waittest.Context(t), "echo", proto.ToolCall{Call: "c4", Route: "elsewhere"}, nil)
	if err != nil || got.OK || got.Kind != proto.KindInvalidArguments || !strings.Contains(got.Result, "elsewhere") {
		t.Errorf("with a bad header: %+v, %v", got, err) // always a result, whatever goes wrong
	}
}

// What a shell sends with natscli is a call too, and an error shows in the
// headers that natscli prints.
func TestPlainToolRequest(t *testing.T) {
	b := bustest.New(t)
	serve(t, b.Connect("toolrunner"), bus.Tool(spec("fail"), func(_ context.Context, c proto.ToolCall, _ []byte) proto.ToolResult {
		return proto.ToolResult{Call: "made", Kind: proto.KindTimeout, Result: "error: timed\nout"}
	}))
	m, err := raw(t, b).Request(proto.ToolRun("fail"), []byte(`{}`), waittest.Limit)
	if err != nil {
		t.Fatal(err)
	}
	if m.Header.Get(proto.HeaderErrorCode) != "504" || m.Header.Get(proto.HeaderError) != "error: timed out" {
		t.Errorf("headers %v", m.Header)
	}
	var r proto.ToolResult
	if err := json.Unmarshal(m.Data, &r); err != nil || r.Call != "made" || r.Result != "error: timed\nout" {
		t.Errorf("got %+v, %v", r, err)
	}
}

// Each of two calls ends only when the other has begun.
func TestToolCallsAreConcurrent(t *testing.T) {
	b := bustest.New(t)
	meet := make(chan string)
	serve(t, b.Connect("toolrunner"), bus.Tool(spec("meet"), func(ctx context.Context, c proto.ToolCall, _ []byte) proto.ToolResult {
		select {
		case meet <- c.Call:
		case <-meet:
		case <-ctx.Done():
			return proto.ToolResult{Call: c.Call, Kind: proto.KindCancelled}
		}
		return proto.ToolResult{Call: c.Call, OK: true}
	}))
	c := b.Connect("brain")
	ended := make(chan error, 2)
	for _, id := range []string{"c1", "c2"} {
		go func() {
			r, err := c.CallTool(waittest.Context(t), "meet", proto.ToolCall{Call: id}, nil)
			if err == nil && (!r.OK || r.Call != id) {
				err = fmt.Errorf("got %+v", r)
			}
			ended <- err
		}()
	}
	for range 2 {
		if err := waittest.Next(t, "the end of a call", ended); err != nil {
			t.Error(err)
		}
	}
}

// Stop cancels what runs, Drain lets it finish; both wait for it, and the
// caller gets the result.
func TestStopAndDrainWait(t *testing.T) {
	for name, end := range map[string]func(*bus.Service) error{"stop": (*bus.Service).Stop, "drain": (*bus.Service).Drain} {
		t.Run(name, func(t *testing.T) {
			b := bustest.New(t)
			started, finish := make(chan struct{}), make(chan struct{})
			var ended atomic.Bool
			s := serve(t, b.Connect("toolrunner"), bus.Tool(spec("long"), func(ctx context.Context, c proto.ToolCall, _ []byte) proto.ToolResult {
				close(started)
				defer ended.Store(true)
				select {
				case <-ctx.Done():
					return proto.ToolResult{Call: c.Call, Kind: proto.KindCancelled}
				case <-finish:
					return proto.ToolResult{Call: c.Call, OK: true}
				}
			}))
			c := b.Connect("brain")
			results := make(chan proto.ToolResult, 1)
			go func() {
				r, err := c.CallTool(waittest.Context(t), "long", proto.ToolCall{Call: "c1"}, nil)
				if err != nil {
					t.Error(err)
				}
				results <- r
			}()
			waittest.Next(t, "the call", started)
			stopped := make(chan error, 1)
			go func() {
				err := end(s)
				if !ended.Load() {
					t.Error("did not wait for the call")
				}
				stopped <- err
			}()
			if name == "drain" {
				// Off the bus, yet the call is not cancelled.
				waittest.Until(t, "nobody serves the tool", func() bool {
					peers, err := c.Peers(waittest.Context(t), "toolrunner", 1)
					return err == nil && len(peers) == 0
				})
				close(finish)
			}
			if r := waittest.Next(t, "the result", results); r.OK != (name == "drain") {
				t.Errorf("got %+v", r)
			}
			if err := waittest.Next(t, "the end", stopped); err != nil {
				t.Error(err)
			}
			if err := end(s); err != nil { // twice is fine
				t.Error(err)
			}
		})
	}
}

func TestCancelTool(t *testing.T) {
	b := bustest.New(t)
	runner, c := b.Connect("toolrunner"), b.Connect("brain")
	cancelled := make(chan string, 1)
	must[*bus.Sub](t)(runner.ToolCancels(t.Context(), bus.Fail(16, func() {}), func(_ context.Context, call string) { cancelled <- call }))
	flush(t, runner)
	if err := c.CancelTool("c1"); err != nil {
		t.Fatal(err)
	}
	if got := waittest.Next(t, "the cancel", cancelled); got != "c1" {
		t.Errorf("got %q", got)
	}
	wantCode(t, c.CancelTool("c.1"), proto.CodeInvalid)
}

// A defect in one handler is answered, and the daemon lives.
func TestPanics(t *testing.T) {
	b := bustest.New(t)
	serve(t, b.Connect("toolrunner"),
		bus.Command(func(context.Context, proto.ToolList) (proto.Tools, error) { panic("list\nbroke") }),
		bus.Tool(spec("bad"), func(context.Context, proto.ToolCall, []byte) proto.ToolResult { panic("tool broke") }),
		bus.Tool(spec("huge"), func(_ context.Context, c proto.ToolCall, _ []byte) proto.ToolResult {
			return proto.ToolResult{Call: c.Call, OK: true, Result: strings.Repeat("x", 2<<20)}
		}))
	c := b.Connect("brain")
	for range 3 {
		_, err := bus.Request(waittest.Context(t), c, proto.ToolList{})
		wantCode(t, err, proto.CodeInternal)
		_, err = c.CallTool(waittest.Context(t), "bad", proto.ToolCall{Call: "c1"}, nil)
		if e := wantCode(t, err, proto.CodeInternal); !strings.Contains(e.Text, "tool broke") {
			t.Errorf("got %v", e)
		}
		r, err := c.CallTool(waittest.Context(t), "huge", proto.ToolCall{Call: "c2"}, nil)
		if err != nil || r.OK || r.Kind != proto.KindFailed || r.Call != "c2" {
			t.Errorf("got %.80v, %v", r, err)
		}
	}
}

// Garbage on every subject is counted, answered where there is a reply, and
// logged once for each subject, however often it comes.
func TestGarbage(t *testing.T) {
	b := bustest.New(t)
	var book waittest.Output
	o := b.Options("brain")
	o.Log = slog.New(slog.NewTextHandler(&book, nil))
	c := bus.New(o)
	if err := c.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	seen := make(chan proto.Event, 16)
	must[*bus.Sub](t)(c.Events(t.Context(), proto.Any, bus.Fail(4096, func() { t.Error("events lost") }),
		func(_ context.Context, _ proto.Envelope, ev proto.Event) { seen <- ev }))
	frames := make(chan proto.Audio, 16)
	must[*bus.Sub](t)(c.Audio(t.Context(), proto.Any, bus.Drop(64), func(_ context.Context, _, _ string, a proto.Audio) { frames <- a }))
	serve(t, c, bus.Command(func(context.Context, proto.SkillLoad) (proto.Skills, error) { return proto.Skills{}, nil }),
		bus.Tool(spec("now"), func(_ context.Context, c proto.ToolCall, _ []byte) proto.ToolResult {
			return proto.ToolResult{Call: "c", OK: true}
		}))

	nc := raw(t, b)
	garbage := []string{"", "{", "null", "[]", "\x00\xff", `{"v":1}`, `{"v":2,"type":"stt.final"}`, `{"v":1,"type":"stt.final","data":[]}`,
		`{"v":1,"type":"stt.final","dev":"other","data":{}}`, `{"v":1,"type":"turn.ended","dev":"local","data":{}}`}
	for range 3 {
		for _, g := range garbage {
			for _, subject := range []string{proto.EventSubject("local", "stt.final"), proto.AudioIn("local", "s1"), proto.ToolCancel("c1")} {
				if err := nc.Publish(subject, []byte(g)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := nc.Publish(proto.EventSubject("local", "new.thing"), []byte(`{"v":1,"type":"new.thing","dev":"local","data":7,"extra":1}`)); err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range garbage[1:2] {
		m, err := nc.Request(proto.CommandSubject("local", "skill.load"), []byte(g), waittest.Limit)
		if err != nil || m.Header.Get(proto.HeaderErrorCode) != "400" {
			t.Errorf("command %q: %v, %v", g, m, err)
		}
		header := nats.Header{proto.HeaderTimeout: {"soon"}}
		m, err = nc.RequestMsg(&nats.Msg{Subject: proto.ToolRun("now"), Header: header}, waittest.Limit)
		if err != nil || m.Header.Get(proto.HeaderErrorCode) != "400" {
			t.Errorf("tool: %v, %v", m, err)
		}
	}
	// The last good ones prove that all before was read, and that all lives.
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	other := b.Connect("sttd")
	if err := other.Publish(proto.STTFinal{Text: "well"}, bus.Meta{Turn: "t1"}); err != nil {
		t.Fatal(err)
	}
	if err := other.PublishAudio("s1", proto.Audio{Op: proto.AudioBegin}); err != nil {
		t.Fatal(err)
	}
	if ev := waittest.Next(t, "the good event", seen); ev.(proto.STTFinal).Text != "well" {
		t.Errorf("got %+v", ev)
	}
	waittest.Next(t, "the good frame", frames)
	n := uint64(3 * len(garbage))
	if got := c.Counts(); got.Undecodable != n+n+2 || got.Unknown != 3 || got.Dropped != 0 {
		t.Errorf("counts %+v, want %d undecodable and 3 unknown", got, n+n+2)
	}
	if lines := strings.Count(book.String(), "cannot be read"); lines != 4 { // event, audio, command, tool
		t.Errorf("%d lines about garbage, want one for each of 4 subjects", lines)
	}
}

// Ever new subjects fill neither log nor memory.
func TestGarbageIsBounded(t *testing.T) {
	b := bustest.New(t)
	var book waittest.Output
	o := b.Options("brain")
	o.Log = slog.New(slog.NewTextHandler(&book, nil))
	c := bus.New(o)
	if err := c.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	must[*bus.Sub](t)(c.Events(t.Context(), proto.Any, bus.Fail(4096, func() { t.Error("events lost") }), ignoreEvents))
	flush(t, c)
	nc := raw(t, b)
	for i := range 1000 {
		if err := nc.Publish(proto.EventSubject("local", fmt.Sprintf("x.%d", i)), []byte("?")); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "all are counted", func() bool { return c.Counts().Undecodable == 1000 })
	if lines := strings.Count(book.String(), "cannot be read"); lines != 256 {
		t.Errorf("%d lines", lines)
	}
}

func TestServeRefusesTooMuch(t *testing.T) {
	b := bustest.New(t)
	s := spec("big")
	s.Description = strings.Repeat("x", 1<<20)
	_, err := b.Connect("toolrunner").Serve(t.Context(), "test", bus.Tool(s, nil))
	wantCode(t, err, proto.CodeInvalid)
	if _, err := b.Connect("toolrunner").Serve(t.Context(), "test", bus.Tool(spec("a.b"), nil)); err == nil {
		t.Error("a tool name with a dot is no error")
	}
}
