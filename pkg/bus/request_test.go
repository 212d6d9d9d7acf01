// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/waittest"
	"example.org/desktop-assistant/proto"
)

func TestRequest(t *testing.T) {
	b := bustest.New(t)
	serve(t, b.Connect("micd"), bus.Command(func(_ context.Context, c proto.MicStart) (proto.MicState, error) {
		return proto.MicState{Talk: true, Source: fmt.Sprint(c.Lease)}, nil
	}))
	c := b.Connect("client")
	got, err := bus.Request(waittest.Context(t), c, proto.MicStart{Lease: 2.5})
	if err != nil || !got.Talk || got.Source != "2.5" {
		t.Errorf("got %+v, %v", got, err)
	}
	// Another device has no microphone here.
	_, err = bus.RequestOn(waittest.Context(t), c, "kitchen", proto.MicStart{})
	e := wantCode(t, err, proto.CodeUnavailable)
	if e.Op != "mic.start" || e.Hint == "" {
		t.Errorf("got %+v", e)
	}
}

// An error arrives as the value it was, whatever its code.
func TestErrorCrosses(t *testing.T) {
	b := bustest.New(t)
	send := make(chan error, 1)
	serve(t, b.Connect("brain"), bus.Command(func(context.Context, proto.TurnInterrupt) (proto.TurnsStopped, error) {
		return proto.TurnsStopped{}, <-send
	}))
	c := b.Connect("client")
	for _, code := range proto.Codes() {
		want := &proto.Error{Code: code, Op: "interrupt", Text: "two\nlines, ünïcode", Hint: "type this"}
		send <- fmt.Errorf("wrapped: %w", want)
		_, err := bus.Request(waittest.Context(t), c, proto.TurnInterrupt{})
		if got := wantCode(t, err, code); *got != *want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if !errors.Is(err, &proto.Error{Code: code}) {
			t.Errorf("errors.Is does not find code %s in %v", code, err)
		}
	}
	send <- errors.New("plain")
	_, err := bus.Request(waittest.Context(t), c, proto.TurnInterrupt{})
	if e := wantCode(t, err, proto.CodeInternal); e.Text != "plain" || e.Op != "turn.interrupt" {
		t.Errorf("got %+v", e)
	}
}

func TestRequestEndsWithItsContext(t *testing.T) {
	b := bustest.New(t)
	called := make(chan struct{}, 2)
	serve(t, b.Connect("micd"), bus.Command(func(ctx context.Context, _ proto.MicStop) (proto.MicState, error) {
		called <- struct{}{}
		<-ctx.Done() // the service's: it outlives the request
		return proto.MicState{}, nil
	}))
	c := b.Connect("client")
	ctx, cancel := context.WithTimeout(t.Context(), 1)
	_, err := bus.Request(ctx, c, proto.MicStop{})
	cancel()
	wantCode(t, err, proto.CodeTimeout)

	ctx, cancel = context.WithCancel(t.Context())
	go func() { <-called; cancel() }()
	_, err = bus.Request(ctx, c, proto.MicStop{})
	wantCode(t, err, proto.CodeCancelled)
}

// Just after a connect, nobody serving may only mean not yet.
func TestRequestWaitsForResponder(t *testing.T) {
	b := bustest.New(t)
	c := b.Connect("client")
	asked, answered := make(chan struct{}), make(chan error, 1)
	go func() {
		close(asked)
		_, err := bus.Request(waittest.Context(t), c, proto.MicStop{})
		answered <- err
	}()
	<-asked
	serve(t, b.Connect("micd"), bus.Command(func(context.Context, proto.MicStop) (proto.MicState, error) {
		return proto.MicState{}, nil
	}))
	if err := waittest.Next(t, "the answer", answered); err != nil {
		t.Error(err)
	}
}

// A reply that cannot come is not waited for.
func TestRequestEndsWithTheBus(t *testing.T) {
	b := bustest.New(t)
	called := make(chan struct{})
	serve(t, b.Connect("micd"), bus.Command(func(ctx context.Context, _ proto.MicStop) (proto.MicState, error) {
		close(called)
		<-ctx.Done()
		return proto.MicState{}, nil
	}))
	c := b.Connect("client")
	answered := make(chan error, 1)
	go func() {
		_, err := bus.Request(waittest.Context(t), c, proto.MicStop{})
		answered <- err
	}()
	waittest.Next(t, "the call", called)
	b.Down()
	wantCode(t, waittest.Next(t, "the end of the request", answered), proto.CodeDisconnected)
	_, err := bus.Request(waittest.Context(t), c, proto.MicStop{})
	wantCode(t, err, proto.CodeDisconnected)
	if err := c.CancelTool("c1"); err == nil {
		t.Error("a cancel into nowhere is no error")
	}
}

func TestLargeMessages(t *testing.T) {
	b := bustest.New(t)
	serve(t, b.Connect("brain"),
		bus.Command(func(_ context.Context, c proto.TurnAsk) (proto.TurnTicket, error) {
			return proto.TurnTicket{Turn: c.Text}, nil
		}),
		bus.Command(func(context.Context, proto.SkillList) (proto.Skills, error) {
			return proto.Skills{Known: []string{strings.Repeat("x", 1<<20)}}, nil
		}))
	c := b.Connect("client")
	text := strings.Repeat("é", 400<<10)
	if got, err := bus.Request(waittest.Context(t), c, proto.TurnAsk{Text: text}); err != nil || got.Turn != text {
		t.Errorf("%d bytes came back as %d, %v", len(text), len(got.Turn), err)
	}
	_, err := bus.Request(waittest.Context(t), c, proto.TurnAsk{Text: text + text})
	wantCode(t, err, proto.CodeInvalid)
	_, err = bus.Request(waittest.Context(t), c, proto.SkillList{})
	wantCode(t, err, proto.CodeInternal)
	if err := c.Publish(proto.TurnAsked{Text: text + text}, bus.Meta{}); err == nil {
		t.Error("an event that does not fit is no error")
	}
}

func TestUnreadableReply(t *testing.T) {
	b := bustest.New(t)
	nc := raw(t, b)
	must[*nats.Subscription](t)(nc.Subscribe(proto.CommandSubject("local", "mic.stop"), func(m *nats.Msg) { _ = m.Respond([]byte("{")) }))
	must[*nats.Subscription](t)(nc.Subscribe(proto.ToolRun("now"), func(m *nats.Msg) { _ = m.Respond([]byte("{}")) }))
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	c := b.Connect("client")
	_, err := bus.Request(waittest.Context(t), c, proto.MicStop{})
	wantCode(t, err, proto.CodeFailed)
	_, err = c.CallTool(waittest.Context(t), "now", proto.ToolCall{}, nil)
	wantCode(t, err, proto.CodeFailed)
}

func TestPeers(t *testing.T) {
	b := bustest.New(t)
	first, second, c := b.Connect("ttsd"), b.Connect("ttsd"), b.Connect("client")
	serve(t, first)
	s := serve(t, second)
	peers, err := c.Peers(waittest.Context(t), "ttsd", 2)
	if err != nil || len(peers) != 2 {
		t.Fatalf("got %v, %v", peers, err)
	}
	for _, p := range peers {
		if p.Service != "ttsd" || p.Version != "0.0.0-test" || p.Instance != first.Instance() && p.Instance != second.Instance() {
			t.Errorf("got %+v", p)
		}
	}
	if all, err := c.Peers(waittest.Context(t), "", 2); err != nil || len(all) != 2 {
		t.Errorf("got %v, %v", all, err)
	}
	if none, err := c.Peers(waittest.Context(t), "nobody", 1); err != nil || len(none) != 0 {
		t.Errorf("got %v, %v", none, err)
	}
	if !c.Alive(waittest.Context(t), "ttsd", first.Instance()) || !c.Alive(waittest.Context(t), "ttsd", second.Instance()) {
		t.Error("one of two is not alive")
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	flush(t, second)
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit/100)
	defer cancel()
	if c.Alive(ctx, "ttsd", second.Instance()) {
		t.Error("alive after it stopped")
	}
	service, instance, ok := proto.SplitAsker(first.Asker())
	if !ok || service != "ttsd" || instance != first.Instance() {
		t.Errorf("asker %q gives %q, %q, %v", first.Asker(), service, instance, ok)
	}
}
