// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"testing"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/daemontest"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/sttd/internal/recognize"
)

// Whoever hears that sttd is ready can ask it which engine it has.
func TestChosenBeforeReady(t *testing.T) {
	away := &fake{name: "best", ready: func() error { return missing("nobody answers", "start it") }}
	for name, c := range map[string]struct {
		engines []recognize.Engine
		want    string
	}{
		"the best":    {[]recognize.Engine{saying("best", "hello"), saying("other", "hello")}, "best"},
		"the other":   {[]recognize.Engine{away, saying("other", "hello")}, "other"},
		"none at all": {[]recognize.Engine{away}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, nil, c.engines...)
			s, d := b.status()
			if none := c.want == ""; d.Engine != c.want || none != (len(s.Problems) == 1) || none && d.WhyNot["best"] == "" {
				t.Errorf("status %+v, %+v", s.Problems, d)
			}
		})
	}
}

// An engine that needs the sentences of the tools is never shown as a problem
// while they are on their way.
func TestChosenOnceTheSentencesAreThere(t *testing.T) {
	b := bustest.New(t)
	seen := b.Watch()
	runner := b.Connect("toolrunner")
	service, err := runner.Serve(t.Context(), "test", bus.Command(func(context.Context, proto.ToolList) (proto.Tools, error) {
		return proto.Tools{Revision: 1, Tools: []proto.ToolSpec{{Name: "now", Sentences: map[string][]string{"en": {"what time is it"}}}}}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = service.Stop() }()
	e := saying("commands", "what time is it")
	e.ready = func() error {
		if e.grammar.Load() == nil {
			return missing("no sentence to listen for", "enable a tool")
		}
		return nil
	}
	env := daemontest.Env(t, b, "sttd")
	app, _ := daemontest.Start(t, env, func(env daemon.Env) (daemon.App, error) {
		app, err := New(env)
		if err == nil {
			app.(*App).Engines = []recognize.Engine{e}
		}
		return app, err
	})
	if d := app.(*App).Detail().(detail); d.Engine != "commands" {
		t.Errorf("status %+v", d)
	}
	if err := env.Bus.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, s := range seen.All() {
		if st, ok := s.Event.(proto.ServiceState); ok && len(st.Problems) > 0 {
			t.Errorf("problems %+v", st.Problems)
		}
	}
}
