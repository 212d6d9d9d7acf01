// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"sync"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/xdg"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/toolrunner/internal/native"
	"example.org/desktop-assistant/services/toolrunner/internal/native/worker"
	"example.org/desktop-assistant/services/toolrunner/internal/watch"
)

// builtin is the built-in tools of the daemon and the process that runs them.
type builtin struct {
	Command []string // of that process

	tools   *native.Tools // nil until the first plan
	reloads chan reload
	hosts   sync.WaitGroup

	mu       sync.Mutex
	host     *worker.Host // nil while no tool is on
	stop     func()       // ends the host
	problems []string     // keys of those that the plan has
}

// reload asks for a configuration to be put into force.
type reload struct {
	config config.Config
	done   chan error
}

// startBuiltin puts the first plan into force.
func (a *App) startBuiltin(ctx context.Context) error {
	if a.Builtin.Command == nil {
		a.Builtin.Command = worker.Self()
	}
	_, err := a.planBuiltin(ctx, a.env.Config.NativeTools)
	return err
}

// stopBuiltin ends the process once its calls are over.
func (a *App) stopBuiltin() {
	a.Builtin.mu.Lock()
	stop := a.Builtin.stop
	a.Builtin.stop, a.Builtin.host = nil, nil
	a.Builtin.mu.Unlock()
	if stop != nil {
		stop()
	}
	a.Builtin.hosts.Wait()
}

// planBuiltin puts a configuration into force and says whether anything
// changed. Calls of the old plan go on to their end.
func (a *App) planBuiltin(ctx context.Context, n config.NativeTools) (changed bool, err error) {
	data, err := xdg.Data()
	if err != nil {
		return false, err
	}
	plan, err := native.NewPlan(native.Environment(n, data))
	if err != nil {
		return false, fmt.Errorf("plan built-in tools: %w", err)
	}
	b := &a.Builtin
	if b.tools != nil && reflect.DeepEqual(plan, b.tools.Plan()) {
		return false, nil
	}
	var host *worker.Host
	var stop func()
	if len(plan.On) > 0 {
		host, stop = a.startHost(ctx, plan)
	}
	b.mu.Lock()
	oldStop, oldProblems := b.stop, b.problems
	b.host, b.stop, b.problems = host, stop, nil
	for i := range plan.Problems {
		b.problems = append(b.problems, fmt.Sprint("native ", i))
	}
	kept := b.problems
	b.mu.Unlock()
	if b.tools == nil {
		b.tools = native.New(plan, host)
	} else {
		b.tools.Replace(plan, host)
	}
	if oldStop != nil {
		oldStop()
	}
	for i, p := range plan.Problems {
		a.env.Problems.Set(kept[i], p.What, p.Hint)
	}
	for _, key := range oldProblems {
		if !slices.Contains(kept, key) {
			a.env.Problems.Clear(key)
		}
	}
	if host == nil {
		a.env.Problems.Clear(problemHost)
	}
	return true, nil
}

// startHost runs a process for a plan until stop is called.
func (a *App) startHost(ctx context.Context, plan native.Plan) (host *worker.Host, stop func()) {
	ctx, stop = context.WithCancel(context.WithoutCancel(ctx))
	host = worker.NewHost(plan.Settings, a.Builtin.Command, a.runner.Start, a.env.Log, func() { a.hostChanged(host, plan) })
	a.Builtin.hosts.Go(func() { host.Serve(ctx) })
	return host, stop
}

const problemHost = "native process"

// hostChanged tells of the process of the plan in force.
func (a *App) hostChanged(host *worker.Host, plan native.Plan) {
	a.Builtin.mu.Lock()
	current := a.Builtin.host == host
	a.Builtin.mu.Unlock()
	if !current {
		return
	}
	ready, ok := host.Ready()
	switch {
	case !ok:
		a.env.Problems.Set(problemHost, "the process of the built-in tools ended", "it is started again by itself; see why in the log: desktop-assistant run")
	case !ready.Workspace && plan.Workspace != "":
		a.env.Problems.Set(problemHost, "the workspace of the built-in tools cannot be opened", "look whether the folder is there: ls -ld '"+plan.Workspace+"'")
	default:
		a.env.Problems.Clear(problemHost)
	}
}

// builtinEndpoints are those of all built-in tools: one that is off answers
// with the reason.
func (a *App) builtinEndpoints() []bus.Endpoint {
	var endpoints []bus.Endpoint
	for _, spec := range a.Builtin.tools.All() {
		endpoints = append(endpoints, bus.Tool(spec, func(ctx context.Context, c proto.ToolCall, arguments []byte) proto.ToolResult {
			return a.call(ctx, spec.Name, c, arguments)
		}))
	}
	return endpoints
}

// listBuiltin adds the built-in tools to the list of tools.
func (a *App) listBuiltin(reply *proto.Tools) {
	plan := a.Builtin.tools.Plan()
	reply.Tools = append(reply.Tools, a.Builtin.tools.Specs()...)
	reply.CallLimit = plan.CallLimit
	reply.Off = plan.Off
	reply.Origins = plan.Listed
	reply.Problems = append(reply.Problems, plan.Problems...)
}

// Reload implements [daemon.Reloader]: it puts [native_tools] into force.
func (a *App) Reload(ctx context.Context, cfg config.Config) error {
	r := reload{cfg, make(chan error, 1)}
	select {
	case a.Builtin.reloads <- r:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reloadBuiltin acts on a configuration that was read anew.
func (a *App) reloadBuiltin(ctx context.Context, r reload) {
	changed, err := a.planBuiltin(ctx, r.config.NativeTools)
	if changed {
		a.announceTools()
	}
	if err == nil && (!reflect.DeepEqual(r.config.Tools, a.env.Config.Tools) || !reflect.DeepEqual(r.config.Env, a.env.Config.Env)) {
		err = proto.Errorf(proto.CodeUnsupported, "reload toolrunner", "[tools] and [env] are read at its start only").
			WithHint("end desktop-assistant run and start it again")
	}
	r.done <- err
}

// announceTools gives the list of tools another revision and tells of it.
func (a *App) announceTools() {
	a.mu.Lock()
	a.revision++
	revision := a.revision
	a.mu.Unlock()
	a.publish(proto.ToolChanged{Revision: revision}, bus.Meta{})
}

// watchConfig reads the configuration again when its file changes.
func (a *App) watchConfig(ctx context.Context) {
	path := a.env.ConfigPath
	if path == "" {
		path = config.Path()
	}
	if path == "" {
		return
	}
	err := watch.Folder(ctx, a.env.Log, filepath.Dir(path), func() {
		cfg, err := config.Load(a.env.ConfigPath)
		if err != nil {
			a.env.Problems.Set("config", "the changed configuration cannot be used, what was read before holds", "name its faults: desktop-assistant config check")
			return
		}
		a.env.Problems.Clear("config")
		r := reload{cfg, make(chan error, 1)}
		select {
		case a.Builtin.reloads <- r:
		case <-ctx.Done():
		}
	})
	if err != nil {
		a.env.Problems.Set("watch config", err.Error(), "changes of the configuration need a restart of toolrunner: end and start desktop-assistant run")
	}
}

// builtinDetail is what status shows of the built-in tools.
type builtinDetail struct {
	On        []string `json:"on"`
	External  bool     `json:"external"` // those that may are offered to an external chat server
	CallLimit int      `json:"call_limit"`
	Workspace string   `json:"workspace,omitempty"`
	From      string   `json:"from,omitempty"` // where the choice of the workspace came from
	Origins   []string `json:"origins"`
	Confined  string   `json:"confined,omitempty"` // how far the kernel confines their process
}

func (a *App) builtinDetail() builtinDetail {
	plan := a.Builtin.tools.Plan()
	d := builtinDetail{On: append([]string{}, plan.On...), External: plan.External, CallLimit: plan.CallLimit,
		Workspace: plan.Workspace, From: plan.From, Origins: append([]string{}, plan.Origins...)}
	a.Builtin.mu.Lock()
	host := a.Builtin.host
	a.Builtin.mu.Unlock()
	if host != nil {
		if ready, ok := host.Ready(); ok {
			d.Confined = ready.Confined
		}
	}
	return d
}
