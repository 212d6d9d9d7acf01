// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/config/edit"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/console"
	"example.org/desktop-assistant/services/desktop-assistant/internal/toolbox"
	"example.org/desktop-assistant/services/desktop-assistant/internal/usage"
)

// reloadLimit is for toolrunner to take a changed configuration.
const reloadLimit = 2 * time.Second

// builtinCommands change the switches of the built-in tools in the configuration.
func (a *app) builtinCommands() []*cobra.Command {
	names := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return config.BuiltinTools(), cobra.ShellCompDirectiveNoFileComp
	}
	list := strings.Join(config.BuiltinTools(), ", ")
	return []*cobra.Command{
		{
			Use: "enable NAME", Short: "Switch a built-in tool on", Args: usage.Args(1, 1), ValidArgsFunction: names,
			Long: "Switch a built-in tool on: " + list + ".\n\nChanges that one key of the configuration and nothing else; the next question has the tool.",
			RunE: func(c *cobra.Command, given []string) error { return a.toolSwitch(c.Context(), given[0], true) },
		},
		{
			Use: "disable NAME", Short: "Switch a built-in tool off", Args: usage.Args(1, 1), ValidArgsFunction: names,
			RunE: func(c *cobra.Command, given []string) error { return a.toolSwitch(c.Context(), given[0], false) },
		},
		{
			Use: "limit N", Short: "Set how many calls of built-in tools an answer may take, 1 to 5", Args: usage.Args(1, 1),
			RunE: func(c *cobra.Command, given []string) error { return a.toolLimit(c.Context(), given[0]) },
		},
	}
}

func (a *app) toolSwitch(ctx context.Context, name string, on bool) error {
	word := map[bool]string{true: "enable", false: "disable"}[on]
	changed, err := edit.SwitchTool(a.configPath, name, on)
	if err != nil {
		return a.editError("tool "+word, name, config.BuiltinTools(), err)
	}
	state := map[bool]string{true: "on", false: "off"}[on]
	if !changed {
		state += " already"
	}
	c := console.New(a.Out)
	c.Println("%s is %s", name, state)
	a.takeUp(ctx, c, name, on)
	return nil
}

func (a *app) toolLimit(ctx context.Context, given string) error {
	calls, err := strconv.Atoi(given)
	if err != nil {
		return usage.New(proto.Errorf(proto.CodeInvalid, "tool limit", "%q is no number", given).WithHint("desktop-assistant tool limit 3"))
	}
	if _, err := edit.LimitTools(a.configPath, calls); err != nil {
		return a.editError("tool limit", given, []string{"1", "2", "3", "4", "5"}, err)
	}
	c := console.New(a.Out)
	c.Println("an answer may take %d calls of built-in tools", calls)
	a.takeUp(ctx, c, "", false)
	return nil
}

// editError makes a wrong argument an error of usage; what is wrong with the
// file stays what it is.
func (a *app) editError(verb, given string, allowed []string, err error) error {
	faults := config.Faults(err)
	if slices.Contains(allowed, given) || len(faults) != 1 {
		return err
	}
	return usage.New(proto.Errorf(proto.CodeInvalid, verb, "%s", faults[0].Text).WithHint("%s", faults[0].Hint))
}

// takeUp lets a running toolrunner take the change, and says what is still in
// the way of a tool that was switched on.
func (a *app) takeUp(ctx context.Context, c *console.Console, name string, on bool) {
	ctx, cancel := context.WithTimeout(ctx, reloadLimit)
	defer cancel()
	quiet := &app{Streams: Streams{In: a.In, Out: a.Out, Err: io.Discard}, configPath: a.configPath}
	conn, cfg, err := quiet.dial(ctx)
	if err != nil {
		c.Hint("the assistant does not run: it holds from its next start")
		return
	}
	defer conn.Close()
	if _, err := bus.Request(ctx, conn, proto.ReloadOf{Daemon: "toolrunner"}); err != nil {
		c.Problem("toolrunner did not take the change: "+err.Error(), proto.HintOf(err))
		return
	}
	if !on {
		return
	}
	tools, err := listTools(ctx, conn)
	if err != nil {
		return // it was taken, and that is what counts
	}
	for _, off := range tools.Off {
		if off.Name == name {
			c.Problem(fmt.Sprintf("%s is not offered: %s", name, off.Why), "see what is missing: desktop-assistant tool list")
		}
	}
	for _, t := range tools.Tools {
		if t.Name == name {
			if why := toolbox.HeldBack(t, cfg.Route()); why != "" {
				c.Hint("held back: " + why)
			}
		}
	}
}
