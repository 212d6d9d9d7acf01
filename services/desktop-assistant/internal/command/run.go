// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/xdg"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/console"
	"example.org/desktop-assistant/services/desktop-assistant/internal/conversation"
	"example.org/desktop-assistant/services/desktop-assistant/internal/supervise"
	"example.org/desktop-assistant/services/desktop-assistant/internal/toolbox"
	"example.org/desktop-assistant/services/desktop-assistant/internal/usage"
)

// readyLimit is how long the daemons may take to be ready before run goes on
// and shows what it has.
const readyLimit = 15 * time.Second

func (a *app) runCommand() *cobra.Command {
	var only []string
	var level string
	c := &cobra.Command{
		Use: "run", Short: "Start the assistant in this terminal", Args: usage.Args(0, 0),
		Long: `Start the assistant in this terminal: all daemons, output prefixed by daemon,
whoever dies is restarted, Ctrl-C ends all.

A line that is typed is a question. An empty line begins to listen, the next one
ends it. At a terminal only errors of the daemons are logged, so that the
conversation can be read; problems are shown all the same. Elsewhere the log
begins with level info. --log sets it.`,
		RunE: func(c *cobra.Command, _ []string) error { return a.run(c.Context(), only, level) },
	}
	c.Flags().StringSliceVar(&only, "only", nil, "start only these `daemons`, for example brain,toolrunner")
	c.Flags().StringVar(&level, "log", "", "log `level` of the daemons: debug, info, warn or error (default: see above)")
	complete(c, "only", proto.Daemons())
	complete(c, "log", logLevels)
	return c
}

var logLevels = []string{"debug", "info", "warn", "error"}

// complete lets the shell complete the values of a flag.
func complete(c *cobra.Command, flag string, values []string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is defined a line above
	}
}

func (a *app) run(ctx context.Context, only []string, level string) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	daemons, err := chosen(only)
	if err != nil {
		return err
	}
	switch {
	case level == "" && console.Person(a.In, a.Out):
		level = "error"
	case level == "":
		level = "info"
	case !slices.Contains(logLevels, level):
		return usage.New(proto.Errorf(proto.CodeInvalid, "run", "no log level %q", level).WithHint("one of: %s", strings.Join(logLevels, " ")))
	}
	screen := console.New(a.Out)
	options, err := a.options(cfg, daemons, level, screen)
	if err != nil {
		return err
	}
	s, err := supervise.New(options)
	if err != nil {
		return err
	}
	for _, w := range cfg.Warnings {
		screen.Println("warning: %s", w)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- s.Run(ctx)
	}()
	if waitReady(ctx, s, daemons) && a.attend(ctx, screen, daemons) {
		cancel()
	}
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
			return nil, usage.New(proto.Errorf(proto.CodeInvalid, "run", "no daemon named %q", name).WithHint("one of: %s", strings.Join(all, " ")))
		}
	}
	return slices.DeleteFunc(all, func(d string) bool { return !slices.Contains(only, d) }), nil
}

func (a *app) options(cfg config.Config, daemons []string, level string, c *console.Console) (supervise.Options, error) {
	bin, err := supervise.BinDir(daemons)
	if err != nil {
		return supervise.Options{}, err
	}
	dir, err := xdg.Runtime()
	if err != nil {
		return supervise.Options{}, err
	}
	env := os.Environ()
	if tools, ok := toolbox.Examples(cfg, bin); ok {
		c.Println("no tools folder yet: using the examples in %s", tools)
		env = append(env, config.ToolsEnv+"="+tools)
	}
	return supervise.Options{
		Daemons: daemons, Bin: bin, Runtime: dir, Config: a.configPath, Level: level, Env: func(daemon string) []string { return without(env, cfg.Secrets(daemon)) },
		Output: c.Prefixed,
		Log:    slog.New(slog.NewTextHandler(c.Prefixed("run"), &slog.HandlerOptions{ReplaceAttr: withoutTime})),
	}, nil
}

func withoutTime(groups []string, attr slog.Attr) slog.Attr {
	if len(groups) == 0 && attr.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return attr
}

// without takes variables out of an environment.
func without(env, names []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}

// waitReady waits until each daemon was ready once, or that took too long;
// false means that the run is over already.
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

// attend shows the conversation and takes questions until ctx ends; true means
// that the person at the terminal wants to end.
func (a *app) attend(ctx context.Context, c *console.Console, daemons []string) bool {
	conn, _, err := a.dial(ctx)
	if err != nil {
		c.Problem(err.Error(), proto.HintOf(err)) // the daemons run all the same
		<-ctx.Done()
		return false
	}
	defer conn.Close()
	ended, err := a.talk(ctx, c, conn, daemons)
	if err != nil {
		c.Problem(err.Error(), proto.HintOf(err))
		<-ctx.Done()
	}
	return ended
}

func (a *app) talk(ctx context.Context, c *console.Console, conn *bus.Conn, daemons []string) (ended bool, err error) {
	person := console.Person(a.In, a.Out)
	talk, err := conversation.New(ctx, c, conn, person)
	if err != nil {
		return false, err
	}
	talk.Greet(ctx, daemons)
	keys, err := console.Read(ctx, c, a.In, a.Out, "you> ")
	if err != nil {
		return false, fmt.Errorf("read the keyboard: %w", err)
	}
	defer keys.Release()
	for {
		select {
		case line, ok := <-keys.Lines:
			switch {
			case ok:
				talk.Act(ctx, strings.TrimSpace(line))
			case person:
				return true, nil
			default:
				keys.Lines = nil // a pipe that ended does not end the assistant
			}
		case <-keys.Resized:
			keys.Resize()
		case <-ctx.Done():
			return false, nil
		}
	}
}
