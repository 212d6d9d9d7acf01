// SPDX-License-Identifier: Apache-2.0

// Package run runs tools: it finds the program, fills in the arguments, waits
// in the queue, bounds time and output, and sees to it that no process of a
// call outlives the call.
package run

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/toolrunner/internal/cgroup"
	"example.org/desktop-assistant/services/toolrunner/internal/sandbox"
	"example.org/desktop-assistant/services/toolrunner/internal/tool"
)

const (
	defaultParallel = 4
	maxWait         = time.Minute // in the queue
)

// Config says how tools are run. All but Log may be left empty.
type Config struct {
	Log         *slog.Logger
	MaxParallel int               // calls that run at once, default 4
	Env         map[string]string // [env] of the configuration
	Secrets     []string          // names of variables that no tool ever gets
	Environ     []string          // environment to choose from, default [os.Environ]
	BinDir      string            // appended to the PATH of tools, default the folder of this binary
	Sandbox     *sandbox.Level    // how far tools are confined, default what the kernel can
	Private     []string          // paths that no confined tool may reach: the bus's folder, keys
	Cgroups     *cgroup.Tree      // where each call gets a control group, nil for none
}

// Options of one call.
type Options struct {
	Timeout  time.Duration // shortens the tool's own, counted from its start; 0 leaves it
	External bool          // the call comes from an external chat server
	// Confirmed says that the user said yes to a tool that has to ask.
	Confirmed bool
}

// Result is the outcome of a call. Text is what the model gets: the trimmed
// output, or "error: " and why; always valid UTF-8.
type Result struct {
	OK   bool
	Kind string // one of the kinds in proto, empty when OK
	Text string // at most max_output runes
}

// Runner runs the tools of a set. Its methods may be called at the same time.
// There must be one in a process, because it looks after all of its children.
type Runner struct {
	config Config
	family *family
	queue  *queue
	kill   func(pid int, signal unix.Signal) error // replaced in tests

	mu    sync.Mutex
	tools tool.Set
	late  []<-chan struct{} // processes that did not die in time
}

// complete fills in what was left empty.
func (c Config) complete() Config {
	if c.MaxParallel <= 0 {
		c.MaxParallel = defaultParallel
	}
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	if c.BinDir == "" {
		if binary, err := os.Executable(); err == nil {
			c.BinDir = filepath.Dir(binary)
		}
	}
	if c.Sandbox == nil {
		level := sandbox.Detect()
		c.Sandbox = &level
	}
	return c
}

// New makes a runner. It makes this process the one that inherits orphaned
// descendants (PR_SET_CHILD_SUBREAPER), and hands on none of the descriptors
// that it was started with.
func New(c Config, tools tool.Set) *Runner {
	c = c.complete()
	if err := keepDescriptors(); err != nil {
		c.Log.Warn("tools get the descriptors that toolrunner was started with", "error", err)
	}
	family, err := newFamily()
	if err != nil {
		c.Log.Warn("processes that leave their group will not be found", "error", err)
	}
	return &Runner{config: c, family: family, queue: newQueue(c.MaxParallel), kill: unix.Kill, tools: tools}
}

// Replace sets the tools of all calls from now on; running ones go on.
func (r *Runner) Replace(tools tool.Set) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tools = tools
}

// Tools returns the current set.
func (r *Runner) Tools() tool.Set {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tools
}

// Call runs a tool and blocks until it and all of its processes are gone.
// Whatever goes wrong is the result. When ctx ends, the call is cancelled, or
// timed out if its deadline passed.
func (r *Runner) Call(ctx context.Context, name string, arguments []byte, o Options) Result {
	tools := r.Tools()
	t, ok := tools.Find(name)
	if !ok {
		return Result{Kind: proto.KindUnknownTool, Text: clean("error: no tool named "+name, tool.DefaultOutput)}
	}
	if o.External && !t.External {
		return failure(t, proto.KindNotAllowed, name+" is not offered to an external chat server")
	}
	a, err := tool.DecodeArguments(arguments)
	if err == nil {
		err = t.Check(a)
	}
	if err != nil {
		return failure(t, proto.KindInvalidArguments, err.Error())
	}
	if t.Confirm != proto.ConfirmNever && !o.Confirmed {
		return failure(t, proto.KindNotAllowed, name+" must be confirmed by the user first")
	}
	key := ""
	if !t.Parallel {
		key = name
	}
	if result, ok := r.wait(ctx, t, key); !ok {
		return result
	}
	defer r.queue.leave(key)
	timeout := t.Timeout
	if o.Timeout > 0 {
		timeout = min(timeout, o.Timeout)
	}
	return r.execute(ctx, t, a, tools.Dir, timeout)
}

// wait takes a place in the queue.
func (r *Runner) wait(ctx context.Context, t *tool.Tool, key string) (Result, bool) {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	err := r.queue.enter(ctx, key)
	switch {
	case err == nil:
		return Result{}, true
	case errors.Is(err, context.DeadlineExceeded):
		return failure(t, proto.KindTimeout, "timed out"), false
	}
	return failure(t, proto.KindCancelled, "cancelled"), false
}

// Close waits for processes that did not die when they were killed, or until
// ctx ends. Calls must have returned before; a second Close is fine.
func (r *Runner) Close(ctx context.Context) error {
	r.mu.Lock()
	late := slices.Clone(r.late)
	r.mu.Unlock()
	for _, done := range late {
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
