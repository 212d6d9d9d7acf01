// SPDX-License-Identifier: Apache-2.0

package daemontest

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/waittest"
	"example.org/desktop-assistant/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// idle is an App that only answers its status.
type idle struct{ env daemon.Env }

func (i idle) Run(ctx context.Context) error {
	service, err := i.env.Serve(ctx)
	if err != nil {
		return err
	}
	i.env.Ready()
	<-ctx.Done()
	return service.Stop()
}

func TestStart(t *testing.T) {
	b := bustest.New(t)
	env := Env(t, b, "idle")
	_, stop := Start(t, env, func(env daemon.Env) (daemon.App, error) { return idle{env}, nil })
	c := b.Connect("cli")
	if s, err := bus.Request(t.Context(), c, proto.StatusOf{Daemon: "idle"}); err != nil || s.Service != "idle" {
		t.Errorf("status: %+v, %v", s, err)
	}
	stop()
	stop()                                             // twice is fine
	if err := env.Bus.Flush(t.Context()); err != nil { // or the bus may still count on it
		t.Error(err)
	}
	if c.Alive(waittest.Context(t), "idle", "anyone") {
		t.Error("it still answers")
	}
}
