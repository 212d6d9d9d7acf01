// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/health"
)

func TestStatus(t *testing.T) {
	r := newRig(t)
	var last *fake
	for _, name := range proto.Daemons() {
		last = r.serveStatus(name, proto.Status{PID: 42, UptimeMS: 61_000, Detail: json.RawMessage(`{"engine":"espeak","empty":"","n":3,"list":["a","b"],"none":null,"map":{"k":1}}`)})
	}
	got := run(t, "status")
	got.want(t, 0, "busd        ok       up 1m1s, process 42, version 1.2.3\n            engine: espeak\n            list: a, b\n            map: {\"k\":1}\n            n: 3\n")
	if got.err != "" || strings.Contains(got.out, "empty") || strings.Contains(got.out, "none") {
		t.Errorf("%+v", got)
	}
	var order []string
	for line := range strings.Lines(got.out) {
		if !strings.HasPrefix(line, " ") {
			order = append(order, strings.Fields(line)[0])
		}
	}
	if strings.Join(order, " ") != strings.Join(proto.Daemons(), " ") {
		t.Errorf("order %v", order)
	}
	last.stop()
	run(t, "status").want(t, ExitFailed, "micd        stopped")
}

func TestStatusOfTheUnwell(t *testing.T) {
	r := newRig(t)
	r.serveStatus("brain", proto.Status{Problems: []proto.Problem{{What: "no chat server", Hint: "start it"}, {What: "no hint"}}})
	release := make(chan struct{})
	hanging := r.bus.Connect("sttd")
	s, err := hanging.Serve(t.Context(), "hangs", bus.CommandOf(proto.StatusOf{Daemon: "sttd"}, func(context.Context, proto.StatusOf) (proto.Status, error) {
		<-release
		return proto.Status{}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { close(release); _ = s.Stop() }()
	r.serve("busd")
	run(t, "status").want(t, ExitFailed, "busd        ok", "toolrunner  stopped", "sttd        hangs",
		"brain       degraded up 0s, process 0, version 1.2.3\n            ! no chat server\n              start it\n            ! no hint\n")
	got := run(t, "status", "--json")
	got.want(t, ExitFailed)
	states := map[string]string{}
	for _, s := range lines[[]health.Report](t, got.out)[0] {
		states[s.Daemon] = s.State
		if (s.Status != nil) != (s.State == health.OK || s.State == health.Degraded) {
			t.Errorf("%+v", s)
		}
	}
	want := map[string]string{"busd": "ok", "toolrunner": "stopped", "ttsd": "stopped", "sttd": "hangs", "brain": "degraded", "micd": "stopped"}
	for name, state := range want {
		if states[name] != state {
			t.Errorf("%s: %s, want %s", name, states[name], state)
		}
	}
}

// A status bar wants an answer also when nothing runs.
func TestStatusOfNothing(t *testing.T) {
	home(t)
	got := run(t, "status", "--json")
	got.want(t, ExitUnavailable)
	list := lines[[]health.Report](t, got.out)[0]
	if len(list) != len(proto.Daemons()) || list[0].State != health.Stopped || got.err != "" {
		t.Errorf("%+v", got)
	}
}
