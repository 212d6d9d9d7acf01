// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/argument"
	"example.org/desktop-assistant/services/desktop-assistant/internal/console"
	"example.org/desktop-assistant/services/desktop-assistant/internal/supervise"
	"example.org/desktop-assistant/services/desktop-assistant/internal/toolbox"
	"example.org/desktop-assistant/services/desktop-assistant/internal/usage"
)

func (a *app) toolCommand() *cobra.Command {
	c := &cobra.Command{Use: "tool", Short: "Write, list, run, check and switch tools"}
	list := a.jsonFlag(&cobra.Command{
		Use: "list", Short: "List the tools that are on", Args: usage.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return a.toolList(c.Context()) },
	})
	c.AddCommand(list, a.toolNewCommand(), a.toolRunCommand(), a.toolCheckCommand(), a.toolCallCommand())
	c.AddCommand(a.builtinCommands()...)
	return c
}

func (a *app) toolRunCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use: "run NAME [KEY=VALUE]...", Short: "Run one tool through the running assistant and print its result", Args: usage.Args(1, -1),
		Long: `Run one tool through the running assistant and print its result.

VALUE is taken for what the tool's file says of KEY: a text as it is, a number,
true or false, or an array or object in JSON. An empty one leaves KEY out unless
it is a text. A tool that asks for a yes runs: whoever types its name has said it.`,
		RunE:              func(c *cobra.Command, given []string) error { return a.toolRun(c.Context(), given[0], given[1:]) },
		ValidArgsFunction: a.toolNames,
	})
}

func (a *app) toolCheckCommand() *cobra.Command {
	var dir string
	lint := false
	c := a.jsonFlag(&cobra.Command{
		Use: "check", Short: "Check the tool files, without the assistant running", Args: usage.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			flags := toolsFlag(dir)
			if lint {
				flags = append(flags, "--lint")
			}
			if a.json {
				flags = append(flags, "--json")
			}
			return a.toolrunner(c.Context(), "check", flags)
		},
	})
	c.Flags().StringVar(&dir, "tools", "", "`folder` of the tools (default: the configured one)")
	c.Flags().BoolVar(&lint, "lint", false, "give advice on tools that can be used as well")
	return c
}

func (a *app) toolCallCommand() *cobra.Command {
	var dir string
	var checkExit bool
	c := &cobra.Command{
		Use: "call NAME [ARGUMENTS]", Short: "Run one tool without the assistant running; ARGUMENTS is JSON", Args: usage.Args(1, 2),
		Long: `Run one tool without the assistant running; ARGUMENTS is a JSON object.

A result that is an error is a result: the exit status is 0, or 1 with --check-exit.`,
		RunE: func(c *cobra.Command, given []string) error {
			flags := toolsFlag(dir)
			if checkExit {
				flags = append(flags, "--check-exit")
			}
			return a.toolrunner(c.Context(), "call", append(append(flags, "--"), given...))
		},
	}
	c.Flags().StringVar(&dir, "tools", "", "`folder` of the tools (default: the configured one)")
	c.Flags().BoolVar(&checkExit, "check-exit", false, "exit with 1 when the result is an error")
	return c
}

func toolsFlag(dir string) []string {
	if dir == "" {
		return nil
	}
	return []string{"--tools", dir}
}

// toolrunner hands a verb on to toolrunner, which is not on PATH.
func (a *app) toolrunner(ctx context.Context, verb string, arguments []string) error {
	if a.configPath != "" {
		return usage.New(proto.Errorf(proto.CodeInvalid, "tool "+verb, "toolrunner reads %s only", config.Path()).WithHint("leave --config out, or name the folder: --tools DIR"))
	}
	cfg, err := a.config()
	if err != nil {
		return err
	}
	bin, err := supervise.BinDir([]string{"toolrunner"})
	if err != nil {
		return err
	}
	cmd := toolbox.Command(ctx, cfg, bin, append([]string{verb}, arguments...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.In, a.Out, a.Err
	switch status, err := toolbox.Run(ctx, cmd); {
	case err != nil:
		return err
	case status == toolbox.StatusUsage:
		return quietError{ExitUsage}
	case status != 0:
		return quietError{max(status, ExitFailed)}
	}
	return nil
}

// toolNames completes the name of a tool, and then its arguments.
func (a *app) toolNames(c *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	a.Err = io.Discard // what goes wrong has no place on a line that is being typed
	conn, _, err := a.dial(c.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer conn.Close()
	tools, err := listTools(c.Context(), conn)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if len(given) > 0 {
		return toolbox.Complete(tools, given[0]), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return toolbox.Complete(tools, ""), cobra.ShellCompDirectiveNoFileComp
}

func listTools(ctx context.Context, conn *bus.Conn) (proto.Tools, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	return bus.Request(ctx, conn, proto.ToolList{})
}

func (a *app) toolList(ctx context.Context) error {
	conn, cfg, err := a.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	tools, err := listTools(ctx, conn)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(tools)
	}
	toolbox.Print(console.New(a.Out), tools, cfg.Route())
	return nil
}

func (a *app) toolRun(ctx context.Context, name string, pairs []string) error {
	if err := argument.Check(pairs); err != nil {
		return usage.New(err)
	}
	conn, _, err := a.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	tools, err := listTools(ctx, conn)
	if err != nil {
		return err
	}
	spec, err := toolbox.Find(tools, name)
	if err != nil {
		return err
	}
	arguments, err := argument.Encode(spec, pairs)
	var wrong *proto.Error
	if errors.As(err, &wrong) {
		return usage.New(wrong)
	}
	if err != nil {
		return err
	}
	served, err := conn.Serve(ctx, "a command that runs a tool") // so that toolrunner can see us go
	if err != nil {
		return err
	}
	defer func() { _ = served.Stop() }()
	// Whoever types the tool and its arguments need not be asked whether they mean it.
	call := proto.ToolCall{Call: bus.NewID(), Asker: conn.Asker(), Confirmed: true}
	result, err := toolbox.Call(ctx, conn, a.watchEvery, name, call, arguments)
	switch {
	case ctx.Err() != nil:
		return first(conn.CancelTool(call.Call), ctx.Err())
	case err != nil:
		return err
	}
	if a.json {
		if err := a.printJSON(result); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(a.Out, result.Result)
	}
	if !result.OK {
		return quietError{codeExit(result.Code())}
	}
	return nil
}
