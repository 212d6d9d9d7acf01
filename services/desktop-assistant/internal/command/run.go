// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/xdg"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/supervise"
)

// readyLimit is how long the daemons may take to be ready before run goes on
// and shows what it has.
const readyLimit = 15 * time.Second

func (a *app) runCommand() *cobra.Command {
	var only []string
	c := &cobra.Command{
		Use: "run", Short: "Start the assistant in this terminal", Args: args(0, 0),
		Long: `Start the assistant in this terminal: all daemons, output prefixed by daemon,
whoever dies is restarted, Ctrl-C ends all.

A line that is typed is a question. An empty line begins to listen, the next one
ends it.`,
		RunE: func(c *cobra.Command, _ []string) error { return a.run(c.Context(), only) },
	}
	c.Flags().StringSliceVar(&only, "only", nil, "start only these `daemons`, for example brain,toolrunner")
	c.Flags().StringVar(&a.level, "log", "info", "log `level` of the daemons: debug, info, warn or error")
	return c
}

func (a *app) run(ctx context.Context, only []string) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	daemons, err := chosen(only)
	if err != nil {
		return err
	}
	console := &console{w: a.Out}
	options, err := a.options(cfg, daemons, console)
	if err != nil {
		return err
	}
	s, err := supervise.New(options)
	if err != nil {
		return err
	}
	for _, w := range cfg.Warnings {
		console.println("warning: %s", w)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- s.Run(ctx)
	}()
	if waitReady(ctx, s, daemons) {
		a.attend(ctx, console, len(only) == 0)
	}
	<-ctx.Done()
	return <-ended
}

// chosen gives the daemons to start, in order.
func chosen(only []string) ([]string, error) {
	all := proto.Daemons()
	if len(only) == 0 {
		return all, nil
	}
	for _, name := range only {
		if !slices.Contains(all, name) {
			return nil, usageError{proto.Errorf(proto.CodeInvalid, "run", "no daemon named %q", name).WithHint("one of: %s", strings.Join(all, " "))}
		}
	}
	return slices.DeleteFunc(all, func(d string) bool { return !slices.Contains(only, d) }), nil
}

func (a *app) options(cfg config.Config, daemons []string, c *console) (supervise.Options, error) {
	bin, err := supervise.BinDir(daemons)
	if err != nil {
		return supervise.Options{}, err
	}
	dir, err := xdg.Runtime()
	if err != nil {
		return supervise.Options{}, err
	}
	env := os.Environ()
	if tools, ok := exampleTools(cfg, bin); ok {
		c.println("no tools folder yet: using the examples in %s", tools)
		env = append(env, config.ToolsEnv+"="+tools)
	}
	return supervise.Options{
		Daemons: daemons, Bin: bin, Runtime: dir, Config: a.configPath, Level: a.level, Env: env,
		Output: c.prefixed,
		Log:    slog.New(slog.NewTextHandler(c.prefixed("run"), &slog.HandlerOptions{ReplaceAttr: withoutTime})),
	}, nil
}

func withoutTime(groups []string, attr slog.Attr) slog.Attr {
	if len(groups) == 0 && attr.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return attr
}

// exampleTools finds the examples of a checkout, for a user who has no tools
// folder yet. Nothing is written to the user's configuration.
func exampleTools(cfg config.Config, bin string) (string, bool) {
	if cfg.Tools.Dir != "" {
		return "", false
	}
	if dir, err := cfg.ToolsDir(); err == nil {
		if _, err := os.Stat(dir); err == nil {
			return "", false
		}
	}
	top := filepath.Dir(bin)
	tools := filepath.Join(top, "examples", "tools")
	if _, err := os.Stat(filepath.Join(top, "go.work")); err != nil {
		return "", false
	}
	_, err := os.Stat(tools)
	return tools, err == nil
}

// waitReady waits until each daemon was ready once; false means that the run
// is over already.
func waitReady(ctx context.Context, s *supervise.Supervisor, daemons []string) bool {
	waiting := map[string]bool{}
	for _, d := range daemons {
		waiting[d] = true
	}
	limit := time.After(readyLimit)
	for len(waiting) > 0 {
		select {
		case d := <-s.Ready():
			delete(waiting, d)
		case <-limit:
			return true
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// attend shows the conversation and reads questions until ctx or the input ends.
func (a *app) attend(ctx context.Context, c *console, whole bool) {
	conn, _, err := a.dial(ctx)
	if err != nil {
		c.println("%v", err) // the daemons run all the same
		return
	}
	context.AfterFunc(ctx, conn.Close)
	if _, err := conn.Events(ctx, conn.Device(), bus.Fail(4096, func() {}), func(_ context.Context, env proto.Envelope, ev proto.Event) {
		showEvent(c, env, ev)
	}, "turn", "tool", "utterance"); err != nil {
		c.println("%v", err)
		return
	}
	greet(ctx, c, conn, whole)
	if terminal(a.In) && terminal(a.Out) {
		c.prompt = "you> "
		c.ask()
	}
	go func() { // ends with the process: a read from a terminal cannot be cut short
		lines := bufio.NewScanner(a.In)
		for lines.Scan() {
			converse(ctx, c, conn, strings.TrimSpace(lines.Text()))
		}
	}()
}

// greet says what works, what does not and why, and how to talk.
func greet(ctx context.Context, c *console, conn *bus.Conn, whole bool) {
	mic := true
	for _, s := range statuses(ctx, conn) {
		if s.Status == nil {
			mic = mic && s.Daemon != "micd"
			continue
		}
		for _, p := range s.Status.Problems {
			mic = mic && s.Daemon != "micd"
			c.println("! %s: %s", s.Daemon, p.What)
			if p.Hint != "" {
				c.println("  %s", p.Hint)
			}
		}
	}
	if !whole {
		return
	}
	c.println("Type a question, for example: what time is it")
	if mic {
		c.println("Or talk: press Enter, ask, press Enter again. From anywhere: desktop-assistant listen toggle")
	} else {
		c.println("There is no microphone, so no voice: see above.")
	}
}

// converse acts on one typed line.
func converse(ctx context.Context, c *console, conn *bus.Conn, line string) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	var err error
	if line == "" {
		var state proto.MicState
		state, err = bus.Request(ctx, conn, proto.MicToggle{})
		if err == nil {
			c.println("(%s)", micWords(state))
		}
	} else {
		_, err = bus.Request(ctx, conn, proto.TurnAsk{Text: line, Speak: true})
	}
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		c.println("! %v", err)
		if h := proto.HintOf(err); h != "" {
			c.println("  %s", h)
		}
	}
}

const resultShown = 120 // characters of a tool's result on its line

// showEvent prints what a person at the terminal wants to follow.
func showEvent(c *console, _ proto.Envelope, ev proto.Event) {
	switch e := ev.(type) {
	case proto.TurnAsked:
		c.println("you:       %s", e.Text)
	case proto.TurnSentence:
		c.println("assistant: %s", e.Text)
	case proto.ToolCalled:
		c.println("tool:      %s %s", e.Name, e.Arguments)
	case proto.ToolFinished:
		c.println("tool:      %s: %s", e.Name, shorten(e.Result, resultShown))
	case proto.TurnEnded:
		if e.End == proto.EndFailed && e.Error != nil {
			c.println("! %v", e.Error)
			if e.Error.Hint != "" {
				c.println("  %s", e.Error.Hint)
			}
		}
	}
}

func shorten(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "..."
	}
	return s
}

// askOnce starts the daemons for one question and ends them after it.
func (a *app) askOnce(ctx context.Context, q proto.TurnAsk) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	daemons := []string{"busd", "toolrunner", "brain"}
	if q.Speak {
		daemons = []string{"busd", "toolrunner", "ttsd", "brain"}
	}
	a.level = "error"
	options, err := a.options(cfg, daemons, &console{w: a.Err})
	if err != nil {
		return err
	}
	s, err := supervise.New(options)
	if err != nil {
		return err
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx)) // an interrupt first ends the turn, then the daemons
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(run) }()
	err = a.askStarted(ctx, s, daemons, ended, q)
	cancel()
	select {
	case runErr := <-ended:
		if err == nil {
			err = runErr
		}
	case <-time.After(time.Minute):
		err = errors.Join(err, fmt.Errorf("end the daemons: %w", context.DeadlineExceeded))
	}
	return err
}

func (a *app) askStarted(ctx context.Context, s *supervise.Supervisor, daemons []string, ended chan error, q proto.TurnAsk) error {
	ready, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		select {
		case err := <-ended:
			ended <- err
			failed <- err
			cancel()
		case <-ready.Done():
		}
	}()
	if !waitReady(ready, s, daemons) {
		select {
		case err := <-failed:
			return err
		default:
			return ctx.Err()
		}
	}
	conn, _, err := a.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return a.follow(ctx, conn, q)
}
