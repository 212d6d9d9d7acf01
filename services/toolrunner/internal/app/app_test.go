// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/daemontest"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/toolrunner/internal/native/worker"
	"example.org/desktop-assistant/services/toolrunner/internal/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Enter()
	if len(os.Args) == 2 && os.Args[1] == worker.Verb { // the process of the built-in tools
		os.Exit(worker.Main(context.Background()))
	}
	goleak.VerifyTestMain(m)
}

const echo = "description = \"says it\"\ncommand = [\"printf\", \"%s\", \"{text}\"]\n[params.text]\ntype = \"string\"\n"
const long = "description = \"takes long\"\ncommand = [\"sleep\", \"300\"]\ntimeout = 600\n"

// start runs toolrunner on a folder with the given files.
func start(t *testing.T, b *bustest.Bus, files map[string]string) (dir string, stop func()) {
	t.Helper()
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME"} {
		if os.Getenv(name) == "" {
			t.Setenv(name, t.TempDir())
		}
	}
	dir = t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	_, stop = daemontest.Start(t, daemontest.Env(t, b, "toolrunner"), func(env daemon.Env) (daemon.App, error) {
		app, err := New(env)
		if err == nil {
			app.(*App).Dir = dir
		}
		return app, err
	})
	return dir, stop
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

func call(t *testing.T, c *bus.Conn, name string, head proto.ToolCall, arguments string) proto.ToolResult {
	t.Helper()
	r, err := c.CallTool(t.Context(), name, head, []byte(arguments))
	if err != nil {
		t.Fatalf("call %s: %v", name, err)
	}
	return r
}

func TestCall(t *testing.T) {
	b := bustest.New(t)
	w := b.Watch()
	start(t, b, map[string]string{"echo.toml": echo})
	c := b.Connect("brain")
	r := call(t, c, "echo", proto.ToolCall{Call: "c1", Turn: "t1"}, `{"text":"hello"}`)
	if !r.OK || r.Result != "hello" || r.Call != "c1" {
		t.Errorf("got %+v", r)
	}
	called, seen := bustest.Expect[proto.ToolCalled](w, nil)
	if seen.Turn != "t1" || called.Name != "echo" || string(called.Arguments) != `{"text":"hello"}` {
		t.Errorf("told %+v of turn %s", called, seen.Turn)
	}
	if done, _ := bustest.Expect[proto.ToolFinished](w, nil); done.Call != "c1" || done.Result != "hello" {
		t.Errorf("told %+v", done)
	}
	if r := call(t, c, "echo", proto.ToolCall{}, `not json`); r.OK || r.Result != "error: arguments are not valid JSON" {
		t.Errorf("got %+v", r)
	}
	_, err := c.CallTool(t.Context(), "nothing", proto.ToolCall{}, nil)
	if !errors.Is(err, &proto.Error{Code: proto.CodeUnavailable}) {
		t.Errorf("an unknown tool gave %v", err)
	}
}

// TestRoutes: what the list says a tool may do is held against every call.
func TestRoutes(t *testing.T) {
	b := bustest.New(t)
	start(t, b, map[string]string{
		"asks.toml": "description = \"D.\"\ncommand = [\"echo\", \"ran\"]\nconfirm = \"voice\"\n",
		"here.toml": "description = \"D.\"\ncommand = [\"echo\", \"ran\"]\n",
		"open.toml": "description = \"D.\"\ncommand = [\"echo\", \"ran\"]\nexternal = true\n",
	})
	c := b.Connect("brain")
	tools, err := bus.Request(t.Context(), c, proto.ToolList{})
	if err != nil || len(tools.Tools) != 3 {
		t.Fatalf("list: %+v, %v", tools, err)
	}
	if asks, here, open := tools.Tools[0], tools.Tools[1], tools.Tools[2]; asks.Confirm != proto.ConfirmVoice ||
		here.External || !strings.Contains(here.Held, "external = true") || !open.External || open.Held != "" {
		t.Errorf("list: %+v", tools.Tools)
	}
	for _, tc := range []struct {
		name string
		head proto.ToolCall
		kind string
	}{
		{"asks", proto.ToolCall{}, proto.KindNotAllowed},
		{"asks", proto.ToolCall{Confirmed: true}, ""},
		{"here", proto.ToolCall{Route: "local"}, ""},
		{"here", proto.ToolCall{Route: "external"}, proto.KindNotAllowed},
		{"open", proto.ToolCall{Route: "external"}, ""},
	} {
		if r := call(t, c, tc.name, tc.head, `{}`); r.Kind != tc.kind || r.OK != (tc.kind == "") {
			t.Errorf("%s %+v: %+v", tc.name, tc.head, r)
		}
	}
}

func TestTooManyCalls(t *testing.T) {
	b := bustest.New(t)
	w := b.Watch()
	start(t, b, map[string]string{"long.toml": long})
	c := b.Connect("brain")
	var calls sync.WaitGroup
	for i := range maxCalls {
		calls.Go(func() { call(t, c, "long", proto.ToolCall{Call: fmt.Sprint("c", i)}, `{}`) })
		bustest.Expect[proto.ToolCalled](w, nil)
	}
	if r := call(t, c, "long", proto.ToolCall{Call: "more"}, `{}`); r.OK || r.Kind != proto.KindUnavailable {
		t.Errorf("got %+v", r)
	}
	for i := range maxCalls {
		if err := c.CancelTool(fmt.Sprint("c", i)); err != nil {
			t.Error(err)
		}
	}
	calls.Wait()
}

func TestCancel(t *testing.T) {
	b := bustest.New(t)
	w := b.Watch()
	start(t, b, map[string]string{"long.toml": long})
	c := b.Connect("brain")
	got := make(chan proto.ToolResult, 1)
	go func() {
		r, err := c.CallTool(t.Context(), "long", proto.ToolCall{Call: "c1"}, nil)
		if err != nil {
			t.Error(err)
		}
		got <- r
	}()
	bustest.Expect[proto.ToolCalled](w, nil)
	if err := c.CancelTool("c1"); err != nil {
		t.Fatal(err)
	}
	if r := <-got; r.OK || r.Kind != proto.KindCancelled || r.Result != "error: cancelled" {
		t.Errorf("got %+v", r)
	}
}

// TestAskerGone: nobody waits for the result any more, so the tool ends.
func TestAskerGone(t *testing.T) {
	b := bustest.New(t)
	w := b.Watch()
	start(t, b, map[string]string{"long.toml": long})
	c := b.Connect("brain")
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // its requester gives up at once; the tool does not know
		_, err := c.CallTool(ctx, "long", proto.ToolCall{Call: "c1", Asker: "brain/nobody"}, nil)
		if err == nil {
			t.Error("an answer came")
		}
	}()
	bustest.Expect[proto.ToolCalled](w, nil)
	cancel()
	if done, _ := bustest.Expect[proto.ToolFinished](w, nil); done.Kind != proto.KindCancelled {
		t.Errorf("told %+v", done)
	}
}

// TestReload: files that come, change, break and go take effect, and a running
// call is not cut.
func TestReload(t *testing.T) {
	b := bustest.New(t)
	w := b.Watch()
	dir, _ := start(t, b, map[string]string{"slow.toml": "description = \"waits\"\ncommand = [\"wait.sh\"]\n",
		"wait.sh": "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.05; done\necho waited\n"})
	write(t, filepath.Join(dir, "wait.sh"), "#!/bin/sh\nwhile [ ! -e "+dir+"/go ]; do sleep 0.05; done\necho waited\n")
	c := b.Connect("brain")
	got := make(chan proto.ToolResult, 1)
	go func() {
		r, err := c.CallTool(t.Context(), "slow", proto.ToolCall{}, nil)
		if err != nil {
			t.Error(err)
		}
		got <- r
	}()
	bustest.Expect[proto.ToolCalled](w, nil)
	write(t, filepath.Join(dir, "echo.toml"), echo)
	bustest.Expect[proto.ToolChanged](w, nil)
	if r := call(t, c, "echo", proto.ToolCall{}, `{"text":"new"}`); r.Result != "new" {
		t.Errorf("got %+v", r)
	}
	write(t, filepath.Join(dir, "echo.toml"), "description = 7\n")
	state, _ := bustest.Expect(w, func(_ bustest.Seen, s proto.ServiceState) bool { return len(s.Problems) > 0 })
	if !strings.Contains(state.Problems[0].What, "echo.toml:1") || !strings.Contains(state.Problems[0].Hint, "desktop-assistant tool check") {
		t.Errorf("the problem does not name its place and what to type: %+v", state.Problems)
	}
	tools, err := bus.Request(t.Context(), c, proto.ToolList{})
	if err != nil || len(tools.Tools) != 1 || len(tools.Problems) == 0 {
		t.Errorf("list: %+v, %v", tools, err)
	}
	write(t, filepath.Join(dir, "go"), "")
	if r := <-got; r.Result != "waited" {
		t.Errorf("the running call came to %+v", r)
	}
	if err := os.Remove(filepath.Join(dir, "echo.toml")); err != nil {
		t.Fatal(err)
	}
	bustest.Expect(w, func(_ bustest.Seen, s proto.ServiceState) bool { return len(s.Problems) == 0 })
}

// TestProblems: a problem says what is wrong and what to do about it, each once.
func TestProblems(t *testing.T) {
	b := bustest.New(t)
	start(t, b, map[string]string{"x.toml": "tiemout = 3\n" + echo, "y.toml": "command = [\"true\"]\n"})
	tools, err := bus.Request(t.Context(), b.Connect("user"), proto.ToolList{})
	if err != nil || len(tools.Problems) != 2 {
		t.Fatalf("list: %+v, %v", tools, err)
	}
	typo, broken := tools.Problems[0], tools.Problems[1]
	if !strings.HasSuffix(typo.What, `unknown key "tiemout"`) || typo.Hint != `did you mean "timeout"?` {
		t.Errorf("the typo: %+v", typo)
	}
	if !strings.HasSuffix(broken.What, "y.toml:1: no description") || !strings.Contains(broken.Hint, "desktop-assistant tool check") {
		t.Errorf("the broken file: %+v", broken)
	}
}

// TestListFits: a folder full of faults and of long descriptions fits into a
// message, in the list, in status and in service.state.
func TestListFits(t *testing.T) {
	b := bustest.New(t)
	w := b.Watch()
	files := map[string]string{}
	for i := range 2 * maxProblems {
		files[fmt.Sprintf("bad%03d.toml", i)] = "description = \"D.\"\n" + strings.Repeat("k", 3000) + " = 1\n"
	}
	for i := range 8 {
		files[fmt.Sprint("long", i, ".toml")] = "description = \"" + strings.Repeat("d", 100_000) + "\"\ncommand = [\"true\"]\n"
	}
	start(t, b, files)
	c := b.Connect("user")
	tools, err := bus.Request(t.Context(), c, proto.ToolList{})
	if err != nil || len(tools.Tools) != 5 || len(tools.Problems) != maxProblems+1 {
		t.Fatalf("%d tools, %d problems, %v", len(tools.Tools), len(tools.Problems), err)
	}
	if last := tools.Problems[maxProblems]; !strings.Contains(last.What, "more files or keys are wrong") {
		t.Errorf("the last problem is %+v", last)
	}
	s, err := bus.Request(t.Context(), c, proto.StatusOf{Daemon: "toolrunner"})
	if err != nil || len(s.Problems) != maxProblems+1 {
		t.Errorf("status: %d problems, %v", len(s.Problems), err)
	}
	bustest.Expect(w, func(_ bustest.Seen, s proto.ServiceState) bool { return len(s.Problems) == maxProblems+1 })
	if r := call(t, c, "long0", proto.ToolCall{}, `{}`); !r.OK {
		t.Errorf("got %+v", r)
	}
}

// TestUnconfined: where the kernel confines nothing, whoever looks is told.
func TestUnconfined(t *testing.T) {
	b := bustest.New(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.toml"), "description = \"D.\"\ncommand = [\"echo\", \"ran\"]\nsandbox = {}\n")
	daemontest.Start(t, daemontest.Env(t, b, "toolrunner"), func(env daemon.Env) (daemon.App, error) {
		app, err := New(env)
		if err == nil {
			app.(*App).Dir, app.(*App).Config.Sandbox = dir, &sandbox.Level{}
		}
		return app, err
	})
	c := b.Connect("user")
	s, err := bus.Request(t.Context(), c, proto.StatusOf{Daemon: "toolrunner"})
	if err != nil || len(s.Problems) != 1 || !strings.HasSuffix(s.Problems[0].What, "x.toml:3: warning: the sandbox does not hold here: nothing keeps the tool from files and the network") {
		t.Errorf("status %+v, %v", s.Problems, err)
	}
	if !strings.Contains(string(s.Detail), "neither Landlock nor seccomp") {
		t.Errorf("detail %s", s.Detail)
	}
	if tools, err := bus.Request(t.Context(), c, proto.ToolList{}); err != nil || len(tools.Problems) != 1 {
		t.Errorf("list %+v, %v", tools.Problems, err)
	}
	if r := call(t, c, "x", proto.ToolCall{}, `{}`); r.Result != "ran" {
		t.Errorf("got %+v", r)
	}
}

// TestStop: stopping cancels what runs and leaves nothing.
func TestStop(t *testing.T) {
	b := bustest.New(t)
	w := b.Watch()
	_, stop := start(t, b, map[string]string{"long.toml": long})
	c := b.Connect("brain")
	got := make(chan proto.ToolResult, 1)
	go func() {
		r, _ := c.CallTool(t.Context(), "long", proto.ToolCall{}, nil)
		got <- r
	}()
	bustest.Expect[proto.ToolCalled](w, nil)
	stop()
	if r := <-got; r.Kind != proto.KindCancelled {
		t.Errorf("got %+v", r)
	}
}

// TestBusLost: with the bus goes whoever waits for a result, so that the call is
// cancelled. Its end is told when the bus is back.
func TestBusLost(t *testing.T) {
	b := bustest.New(t)
	w := b.Watch()
	start(t, b, map[string]string{"long.toml": long})
	c := b.Connect("brain")
	got := make(chan error, 1)
	go func() {
		_, err := c.CallTool(t.Context(), "long", proto.ToolCall{}, nil)
		got <- err
	}()
	bustest.Expect[proto.ToolCalled](w, nil)
	b.Down()
	if err := <-got; err == nil {
		t.Error("a call was answered without a bus")
	}
	b.Up()
	finished, _ := bustest.Expect[proto.ToolFinished](w, nil)
	if finished.Kind != proto.KindCancelled {
		t.Errorf("got %+v", finished)
	}
}

func TestStatus(t *testing.T) {
	b := bustest.New(t)
	start(t, b, map[string]string{"echo.toml": echo})
	s, err := bus.Request(t.Context(), b.Connect("cli"), proto.StatusOf{Daemon: "toolrunner"})
	if err != nil {
		t.Fatal(err)
	}
	var d detail
	if err := json.Unmarshal(s.Detail, &d); err != nil || len(d.Tools) != 1 || d.Tools[0] != "echo" {
		t.Errorf("detail %s: %v", s.Detail, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := bus.Request(ctx, b.Connect("cli"), proto.ReloadOf{Daemon: "toolrunner"}); err != nil {
		t.Error(err)
	}
}
