// SPDX-License-Identifier: Apache-2.0

// Package app joins toolrunner: tool files and calls in, results out.
package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/toolrunner/internal/cgroup"
	"example.org/desktop-assistant/services/toolrunner/internal/run"
	"example.org/desktop-assistant/services/toolrunner/internal/sandbox"
	"example.org/desktop-assistant/services/toolrunner/internal/tool"
	"example.org/desktop-assistant/services/toolrunner/internal/watch"
)

const (
	askerEvery  = 1500 * time.Millisecond // how often the asker of a running call is pinged
	askerAnswer = 500 * time.Millisecond  // how long it may take to answer
	closeLimit  = 2 * time.Second         // for processes that do not die when killed
	// maxCalls is how many calls may run or wait; each may hold a message's
	// worth of arguments.
	maxCalls = 64
	// maxProblems is how many problems of tool files are told to others, each of
	// at most 3 kB: the bus carries 900 kB a message.
	maxProblems = 50
)

// App is the daemon. Dir, Config and the command in Builtin are its seams:
// change them between New and [App.Run].
type App struct {
	Dir     string     // of the tools
	Config  run.Config // how tools are run
	Builtin builtin    // the built-in tools

	env    daemon.Env
	runner *run.Runner
	calls  calls

	mu       sync.Mutex
	revision int
	faults   []string // keys of the problems of tool files
}

// New makes the daemon's app.
func New(env daemon.Env) (daemon.App, error) {
	dir, err := toolsDir(env.Config)
	if err != nil {
		return nil, err
	}
	groups, err := cgroup.Open()
	if err != nil && !errors.Is(err, cgroup.ErrNone) {
		env.Log.Warn("calls get no control group", "error", err)
	}
	level := sandbox.Detect()
	return &App{
		Dir: dir, env: env, Builtin: builtin{reloads: make(chan reload)},
		Config: run.Config{
			Log: env.Log, MaxParallel: env.Config.Tools.MaxParallel,
			Env: env.Config.Env, Secrets: env.Config.Secrets(env.Name),
			Sandbox: &level, Private: private(env.Config, env.Dir), Cgroups: groups,
		},
	}, nil
}

// Run implements [daemon.App].
func (a *App) Run(ctx context.Context) error {
	a.runner = run.New(a.Config, tool.LoadDir(a.Dir).Without(taken()))
	defer func() {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
		defer cancel()
		if err := a.runner.Close(limit); err != nil {
			a.env.Log.Error("stop", "error", err)
		}
	}()
	cancels, err := a.env.Bus.ToolCancels(ctx, bus.Fail(1024, func() { a.env.Log.Error("cancels were lost") }),
		func(_ context.Context, call string) { a.calls.cancel(call) })
	if err != nil {
		return err
	}
	defer cancels.Close()
	a.env.Bus.OnChange(func(up bool) {
		if !up { // whoever waited for a result has given it up
			a.calls.cancelAll()
		}
	})
	defer a.stopBuiltin()
	if err := a.startBuiltin(ctx); err != nil {
		return err
	}
	service, err := a.serve(ctx)
	if err != nil {
		return err
	}
	changed := make(chan struct{}, 1)
	var watching sync.WaitGroup
	watching.Go(func() {
		err := watch.Folder(ctx, a.env.Log, a.Dir, func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		})
		if err != nil {
			a.env.Problems.Set("watch", err.Error(), "changes of tools need a restart of toolrunner: end and start desktop-assistant run")
		}
	})
	watching.Go(func() { a.watchConfig(ctx) })
	a.env.Ready()
	for {
		select {
		case r := <-a.Builtin.reloads:
			a.reloadBuiltin(ctx, r)
		case <-ctx.Done():
			watching.Wait()
			return service.Stop()
		case <-changed:
			service = a.reload(ctx, service, &watching)
		}
	}
}

// serve registers the tools of now. A new service is made for each list of
// tools, since an endpoint cannot be taken back.
func (a *App) serve(ctx context.Context) (*bus.Service, error) {
	set := a.runner.Tools()
	a.mu.Lock()
	a.revision++
	old := a.faults
	a.faults = nil
	problems := shown(a.problems(set))
	for _, p := range problems {
		a.faults = append(a.faults, p.String())
	}
	faults := a.faults
	a.mu.Unlock()
	for _, key := range old {
		if !slices.Contains(faults, key) {
			a.env.Problems.Clear(key)
		}
	}
	for _, p := range problems {
		a.env.Problems.Set(p.String(), p.What(), hint(p))
	}
	endpoints := append(a.builtinEndpoints(), bus.Command(a.list))
	for _, t := range set.Tools {
		endpoints = append(endpoints, bus.Tool(t.Spec(), func(ctx context.Context, c proto.ToolCall, arguments []byte) proto.ToolResult {
			return a.call(ctx, t.Name, c, arguments)
		}))
	}
	return a.env.Serve(ctx, endpoints...)
}

// reload reads the tools again. Calls of the old list go on to their end.
func (a *App) reload(ctx context.Context, old *bus.Service, wait *sync.WaitGroup) *bus.Service {
	set := tool.LoadDir(a.Dir).Without(taken())
	if reflect.DeepEqual(set, a.runner.Tools()) {
		return old // a program or a file of notes changed, no tool did
	}
	a.runner.Replace(set)
	next, err := a.serve(ctx)
	if err != nil {
		a.env.Problems.Set("reload", fmt.Sprintf("the changed tools cannot be offered: %v", err), proto.HintOf(err))
		return old
	}
	a.env.Problems.Clear("reload")
	wait.Go(func() {
		if err := old.Drain(); err != nil {
			a.env.Log.Warn("take back the old tools", "error", err)
		}
	})
	a.mu.Lock()
	revision := a.revision
	a.mu.Unlock()
	a.publish(proto.ToolChanged{Revision: revision}, bus.Meta{})
	return next
}

func (a *App) list(context.Context, proto.ToolList) (proto.Tools, error) {
	set := a.runner.Tools()
	a.mu.Lock()
	reply := proto.Tools{Revision: a.revision, Tools: []proto.ToolSpec{}, Dir: set.Dir}
	a.mu.Unlock()
	for _, t := range set.Tools {
		reply.Tools = append(reply.Tools, t.Spec())
	}
	for _, p := range shown(a.problems(set)) {
		reply.Problems = append(reply.Problems, proto.Problem{What: p.What(), Hint: hint(p)})
	}
	a.listBuiltin(&reply)
	return reply, nil
}

// problems are those of the files, and of the tools that nothing confines here
// although their files ask for it.
func (a *App) problems(set tool.Set) []tool.Problem {
	problems := slices.Clone(set.Problems)
	for _, t := range set.Tools {
		if p, ok := a.Config.Unconfined(t); ok {
			problems = append(problems, p)
		}
	}
	return problems
}

// shown are as many problems as fit into a message, and how many more there are.
func shown(all []tool.Problem) []tool.Problem {
	if len(all) <= maxProblems {
		return all
	}
	return append(slices.Clone(all[:maxProblems]), tool.Problem{
		File: filepath.Dir(all[0].File), Text: fmt.Sprintf("%d more files or keys are wrong", len(all)-maxProblems),
		Hint: "see them all: desktop-assistant tool check",
	})
}

// hint says what to do about a tool file; of most the text says it already.
func hint(p tool.Problem) string {
	if p.Hint != "" {
		return p.Hint
	}
	return "mend the file, then see whether it is right: desktop-assistant tool check"
}

func (a *App) publish(ev proto.Event, m bus.Meta) {
	if err := a.env.Bus.Publish(ev, m); err != nil {
		a.env.Log.Error("publish", "error", err)
	}
}

// detail is what status shows of toolrunner.
type detail struct {
	Dir     string   `json:"dir"`
	Tools   []string `json:"tools"`
	Running int      `json:"running"`
	Sandbox string   `json:"sandbox"` // how far a tool with a sandbox is confined
	Cgroups bool     `json:"cgroups"` // each call has a control group

	Builtin builtinDetail `json:"native"`
}

// Detail implements [daemon.Detailer].
func (a *App) Detail() any {
	set := a.runner.Tools()
	d := detail{Dir: a.Dir, Tools: []string{}, Running: a.calls.running(), Cgroups: a.Config.Cgroups != nil}
	if a.Config.Sandbox != nil {
		d.Sandbox = a.Config.Sandbox.String()
	}
	for _, t := range set.Tools {
		d.Tools = append(d.Tools, t.Name)
	}
	d.Builtin = a.builtinDetail()
	return d
}
