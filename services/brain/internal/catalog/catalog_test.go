// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"

	"example.org/desktop-assistant/proto"
)

var light = proto.ToolSpec{
	Name:       "light",
	Parameters: json.RawMessage(`{"type":"object","properties":{"room":{"type":"string","enum":["kitchen","hall"]},"level":{"type":"integer"}},"required":["room"]}`),
	Sentences: map[string][]string{
		"en": {"set {room} light to {level}", "light in [the] {room}"},
		"it": {"luce in {room}"},
	},
	Reply: map[string]string{"en": "The {room} says {output}"},
}

func offer(t *testing.T, specs ...proto.ToolSpec) Offer {
	t.Helper()
	o, err := NewOffer(proto.Tools{Revision: 7, Tools: specs})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestMatch(t *testing.T) {
	o := offer(t, proto.ToolSpec{Name: "bare", External: true}, light)
	in, ok := o.Match("Set kitchen light to 40", "en")
	if !ok || in.Tool.Name != "light" || string(in.Arguments) != `{"level":40,"room":"kitchen"}` {
		t.Fatalf("match %+v, %s", in, in.Arguments)
	}
	if got := in.Reply("ok."); got != "The kitchen says ok." {
		t.Errorf("reply %q", got)
	}
	in, ok = o.Match("luce in hall", "en") // the language was guessed wrongly
	if !ok || in.Language != "it" || in.Reply("fatto") != "fatto" {
		t.Errorf("match %+v", in)
	}
	if in, ok = o.Match("set kitchen light to half", "en"); ok && string(in.Arguments) != `{"level":"half","room":"kitchen"}` {
		t.Errorf("arguments %s", in.Arguments)
	}
	if _, ok := o.Match("make me a sandwich", "en"); ok {
		t.Error("matched nonsense")
	}
	if _, ok := (Offer{}).Match("light in the hall", "en"); ok {
		t.Error("the empty offer matched")
	}
	if e := o.External(); len(e.Specs) != 1 || e.Specs[0].Name != "bare" || len(o.Specs) != 2 {
		t.Errorf("external %+v", e.Specs)
	}
	if got := o.Examples("en-us", 3); len(got) != 1 || got[0] != "light in the kitchen" && got[0] != "light in kitchen" {
		t.Errorf("examples %q", got)
	}
}

func TestBadSentencesAreNamed(t *testing.T) {
	bad := light
	bad.Sentences = map[string][]string{"en": {"light in {room}", "((", "turn off {attic}"}}
	o, err := NewOffer(proto.Tools{Tools: []proto.ToolSpec{bad}})
	if err == nil {
		t.Error("no error")
	}
	if _, ok := o.Match("light in hall", "en"); !ok {
		t.Error("the good sentence does not work")
	}
	for _, schema := range []string{``, `[]`, `{"properties":{"room":{"type":["string","null"],"enum":[1,2]}}}`} {
		odd := light
		odd.Parameters = json.RawMessage(schema)
		_, _ = NewOffer(proto.Tools{Tools: []proto.ToolSpec{odd}}) // an odd schema must not panic
	}
}

func TestCatalogAsksWhenItKnowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answer error = proto.Errorf(proto.CodeUnavailable, "tool.list", "nobody answers")
		asked := 0
		c := New(func(ctx context.Context) (proto.Tools, error) {
			asked++
			if _, bounded := ctx.Deadline(); !bounded {
				t.Error("no deadline")
			}
			return proto.Tools{Tools: []proto.ToolSpec{light}}, answer
		}, slog.New(slog.NewTextHandler(t.Output(), nil)))
		if o := c.Offer(t.Context()); len(o.Specs) != 0 || asked != 1 {
			t.Errorf("offer %+v after %d", o, asked)
		}
		answer = nil
		if o := c.Offer(t.Context()); len(o.Specs) != 1 || asked != 2 {
			t.Errorf("offer %+v after %d", o, asked)
		}
		if c.Offer(t.Context()); asked != 2 {
			t.Error("asked for what is known")
		}
		c.Forget()
		if _, known := c.Known(); known {
			t.Error("known after all")
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { c.Run(ctx); close(done) }()
		c.Refresh()
		synctest.Wait()
		if o, known := c.Known(); !known || len(o.Specs) != 1 {
			t.Error("not read again")
		}
		cancel()
		<-done
	})
}
