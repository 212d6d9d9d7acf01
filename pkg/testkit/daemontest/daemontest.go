// SPDX-License-Identifier: Apache-2.0

// Package daemontest runs a daemon's App in a test, on a real in-process bus.
package daemontest

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/waittest"
)

// Env makes the environment of a daemon on a test's bus, with the default
// configuration and a temporary runtime folder. Change it before building the
// App from it.
func Env(t testing.TB, b *bustest.Bus, name string) daemon.Env {
	t.Helper()
	env := daemon.NewEnv(daemon.Info{Name: name, Summary: "test"}, config.Default(), b.Connect(name), bustest.Log(t))
	env.Dir = t.TempDir()
	return env
}

// Start builds an App and runs it until the returned stop function is called,
// at the latest at the end of the test. It returns when the App is ready. An
// error of Run fails the test.
func Start(t testing.TB, env daemon.Env, build func(daemon.Env) (daemon.App, error)) (app daemon.App, stop func()) {
	t.Helper()
	ready := make(chan struct{})
	env.OnReady = func() { close(ready) }
	app, err := build(env)
	if err != nil {
		t.Fatalf("build %s: %v", env.Name, err)
	}
	env.Attach(app)
	ctx, cancel := context.WithCancel(context.Background())
	if s, ok := app.(daemon.Starter); ok {
		if err := s.Start(ctx); err != nil {
			cancel()
			t.Fatalf("start %s: %v", env.Name, err)
		}
	}
	if !env.Bus.Opened() { // as the frame does, after Start
		if err := env.Bus.Open(ctx); err != nil {
			cancel()
			t.Fatalf("open bus of %s: %v", env.Name, err)
		}
		t.Cleanup(env.Bus.Close)
	}
	done := make(chan error, 1)
	go func() { done <- app.Run(ctx) }()
	stopped := false
	stop = func() {
		t.Helper()
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s ended: %v", env.Name, err)
			}
		case <-time.After(waittest.Limit):
			t.Errorf("%s did not stop", env.Name)
		}
	}
	t.Cleanup(stop)
	select {
	case <-ready:
	case err := <-done:
		stopped = true
		cancel()
		t.Fatalf("%s ended before it was ready: %v", env.Name, err)
	case <-time.After(waittest.Limit):
		t.Fatalf("%s is not ready", env.Name)
	}
	return app, stop
}
