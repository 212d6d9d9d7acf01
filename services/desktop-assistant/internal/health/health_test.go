// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"encoding/json"
	"testing"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/proto"
)

// Only a ttsd that says it lacks a part, and why, cannot speak.
func TestVoice(t *testing.T) {
	problem := []proto.Problem{{What: "there is none", Hint: "get one"}}
	for detail, c := range map[string]struct {
		problems []proto.Problem
		able     bool
	}{
		`{"engine":"espeak","sink":"x"}`: {problem, true},
		`{"engine":"","sink":"x"}`:       {problem, false},
		`{"engine":"espeak","sink":""}`:  {problem, false},
		`{"engine":"","sink":""}`:        {nil, true}, // it is about to look
		`{}`:                             {problem, true},
		`[]`:                             {problem, true},
		``:                               {problem, true},
	} {
		b := bustest.New(t)
		reply := proto.Status{Problems: c.problems, Detail: json.RawMessage(detail)}
		s, err := b.Connect("ttsd").Serve(t.Context(), "fake", bus.CommandOf(proto.StatusOf{Daemon: "ttsd"}, func(context.Context, proto.StatusOf) (proto.Status, error) { return reply, nil }))
		if err != nil {
			t.Fatal(err)
		}
		able, why := Voice(t.Context(), b.Connect("cli"))
		if able != c.able || (!able && why != "there is none") {
			t.Errorf("%s: %v, %q", detail, able, why)
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
	if able, _ := Voice(t.Context(), bustest.New(t).Connect("cli")); !able {
		t.Error("a ttsd on its way back counts as lost")
	}
}
