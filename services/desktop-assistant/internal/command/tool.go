// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/supervise"
)

func (a *app) toolCommand() *cobra.Command {
	c := &cobra.Command{Use: "tool", Short: "List, run and check the tools"}
	list := a.jsonFlag(&cobra.Command{
		Use: "list", Short: "List the tools that are on", Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return a.toolList(c.Context()) },
	})
	run := a.jsonFlag(&cobra.Command{
		Use: "run NAME [KEY=VALUE]...", Short: "Run one tool through the running assistant and print its result", Args: args(1, -1),
		RunE: func(c *cobra.Command, given []string) error { return a.toolRun(c.Context(), given[0], given[1:]) },
	})
	c.AddCommand(list, run,
		a.toolrunnerVerb("check", "check [--tools DIR]", "Check the tool files, without the assistant running"),
		a.toolrunnerVerb("call", "call [--tools DIR] [--check-exit] NAME [ARGUMENTS]", "Run one tool without the assistant running; ARGUMENTS is JSON"))
	return c
}

// toolrunnerVerb hands a verb on to toolrunner, which is not on PATH.
func (a *app) toolrunnerVerb(verb, use, short string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, DisableFlagParsing: true,
		RunE: func(c *cobra.Command, given []string) error {
			bin, err := supervise.BinDir([]string{"toolrunner"})
			if err != nil {
				return err
			}
			cmd := exec.CommandContext(c.Context(), filepath.Join(bin, "toolrunner"), append([]string{verb}, given...)...)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = a.In, a.Out, a.Err
			var exit *exec.ExitError
			if err := cmd.Run(); errors.As(err, &exit) {
				return quietError{exit.ExitCode()}
			} else if err != nil {
				return fmt.Errorf("run toolrunner: %w", err)
			}
			return nil
		},
	}
}

func (a *app) toolList(ctx context.Context) error {
	conn, _, err := a.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	tools, err := bus.Request(ctx, conn, proto.ToolList{})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(tools)
	}
	for _, t := range tools.Tools {
		held := ""
		if !t.External {
			held = "  (not offered to an external chat server)"
		}
		fmt.Fprintf(a.Out, "%-16s %s%s\n", t.Name, t.Description, held)
	}
	if len(tools.Tools) == 0 {
		fmt.Fprintf(a.Out, "no tools in %s\n", tools.Dir)
	}
	for _, p := range tools.Problems {
		fmt.Fprintf(a.Out, "! %s\n", p.What)
	}
	return nil
}

func (a *app) toolRun(ctx context.Context, name string, pairs []string) error {
	arguments, err := toolArguments(pairs)
	if err != nil {
		return err
	}
	conn, _, err := a.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	limit, cancel := context.WithTimeout(ctx, time.Hour) // the tool's own timeout is toolrunner's business
	defer cancel()
	result, err := conn.CallTool(limit, name, proto.ToolCall{Asker: conn.Asker()}, arguments)
	if errors.Is(err, &proto.Error{Code: proto.CodeUnavailable}) {
		return a.missingTool(ctx, conn, name, err)
	}
	if err != nil {
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

// missingTool finds out why nobody answers for a tool.
func (a *app) missingTool(ctx context.Context, conn *bus.Conn, name string, err error) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	tools, listErr := bus.Request(ctx, conn, proto.ToolList{})
	if listErr != nil {
		return err
	}
	names := make([]string, len(tools.Tools))
	for i, t := range tools.Tools {
		names[i] = t.Name
	}
	sort.Strings(names)
	return proto.Errorf(proto.CodeNotFound, "tool run", "no tool named %s", name).WithHint("the tools are: %s", strings.Join(names, ", "))
}

// toolArguments makes one JSON object of key=value pairs. A value that is a
// JSON number, true or false is one; everything else is text.
func toolArguments(pairs []string) ([]byte, error) {
	object := map[string]json.RawMessage{}
	for _, p := range pairs {
		key, value, ok := strings.Cut(p, "=")
		if !ok || key == "" {
			return nil, usageError{proto.Errorf(proto.CodeInvalid, "tool run", "%q is not KEY=VALUE", p).WithHint("for example: desktop-assistant tool run weather place=Rome")}
		}
		if _, err := strconv.ParseFloat(value, 64); (err == nil || value == "true" || value == "false") && json.Valid([]byte(value)) {
			object[key] = json.RawMessage(value)
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encode argument %q: %w", key, err)
		}
		object[key] = text
	}
	body, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode arguments: %w", err)
	}
	return body, nil
}
