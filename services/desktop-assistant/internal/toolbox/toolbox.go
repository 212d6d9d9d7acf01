// SPDX-License-Identifier: Apache-2.0

// Package toolbox shows, finds and hands on the tools for the command line.
package toolbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/xdg"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/argument"
	"example.org/desktop-assistant/services/desktop-assistant/internal/console"
	"example.org/desktop-assistant/services/desktop-assistant/internal/supervise"
)

// StatusUsage is toolrunner's exit status for a wrong command line of its verbs.
const StatusUsage = 2

// maxNames is how many tools a hint lists.
const maxNames = 20

// delay is what toolrunner gets to end a tool and all its processes.
const delay = 7 * time.Second

// Command makes the command that runs a verb of the toolrunner in the folder
// bin. The end of ctx asks it to end its tool first.
func Command(ctx context.Context, cfg config.Config, bin string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "toolrunner"), arguments...)
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	cmd.WaitDelay = delay
	if tools, ok := Examples(cfg, bin); ok {
		cmd.Env = append(os.Environ(), config.ToolsEnv+"="+tools)
	}
	return cmd
}

// Run runs a command and gives its exit status. The error is that of ctx, or
// says why the command did not run.
func Run(ctx context.Context, cmd *exec.Cmd) (status int, err error) {
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case errors.As(err, &exit):
		return exit.ExitCode(), nil
	case err != nil:
		return 0, fmt.Errorf("run toolrunner: %w", err)
	}
	return 0, nil
}

// Examples finds the examples of a checkout or an installation, for a user
// who has no tools folder yet. Nothing is written to the user's configuration.
func Examples(cfg config.Config, bin string) (string, bool) {
	if cfg.Tools.Dir != "" {
		return "", false
	}
	if dir, err := cfg.ToolsDir(); err == nil {
		if _, err := os.Stat(dir); err == nil {
			return "", false
		}
	}
	for _, tools := range []string{
		filepath.Join(bin, "../examples/tools"),                            // bin of a checkout
		filepath.Join(bin, "../../share/desktop-assistant/examples/tools"), // libexec/desktop-assistant of an installation
	} {
		if _, err := os.Stat(tools); err == nil {
			return filepath.Clean(tools), true
		}
	}
	return "", false
}

// Folder is where a new tool goes: dir, or with none the configured folder. The
// note says what becomes of the example tools, which are used only while the
// user has no folder.
func Folder(cfg config.Config, dir string) (folder, note string, err error) {
	if dir != "" {
		folder, err = xdg.Expand(dir)
		return folder, "", err
	}
	if folder, err = cfg.ToolsDir(); err != nil {
		return "", "", err
	}
	bin, err := supervise.BinDir([]string{"toolrunner"})
	if err != nil { // the daemons are elsewhere; then nothing of theirs is lost
		return folder, "", nil
	}
	if examples, ok := Examples(cfg, bin); ok {
		note = fmt.Sprintf("From the next start on your own folder is used instead of %s; copy from there what you want to keep.", examples)
	}
	return folder, note, nil
}

// Complete gives the names of tools with their descriptions, for a shell to
// complete, or for the name of one the beginnings of its arguments.
func Complete(tools proto.Tools, name string) []string {
	var list []string
	for _, t := range tools.Tools {
		switch name {
		case "":
			list = append(list, t.Name+"\t"+t.Description)
		case t.Name:
			for _, param := range argument.Names(t) {
				list = append(list, param+"=")
			}
		}
	}
	return list
}

// Print lists the tools, what is held back and why, and what is wrong with files.
func Print(c *console.Console, tools proto.Tools, route string) {
	for _, t := range tools.Tools {
		c.Println("%-16s %s", t.Name, strings.Join(strings.Fields(t.Description), " "))
		if why := HeldBack(t, route); why != "" {
			c.Println("%-16s (held back: %s)", "", why)
		}
		if t.Confirm == proto.ConfirmVoice {
			c.Println("%-16s (asks for a yes before it runs)", "")
		}
	}
	if len(tools.Tools) == 0 {
		c.Println("no tools in %s", tools.Dir)
	}
	printBuiltin(c, tools)
	for _, p := range tools.Problems {
		c.Problem(p.What, p.Hint)
	}
}

// printBuiltin shows what is off and where built-in tools may send requests.
func printBuiltin(c *console.Console, tools proto.Tools) {
	for _, off := range tools.Off {
		c.Println("%-16s (off: %s)", off.Name, off.Why)
	}
	if len(tools.Origins) == 0 {
		return
	}
	c.Println("built-in tools may send requests to:")
	for _, o := range tools.Origins {
		switch {
		case !o.Used:
			c.Println("  %s (only with builtin_origins = true)", o.Origin)
		case o.Builtin:
			c.Println("  %s (built in)", o.Origin)
		default:
			c.Println("  %s", o.Origin)
		}
	}
}

// HeldBack says why a tool is not offered to the chat server, "" when it is.
func HeldBack(t proto.ToolSpec, route string) string {
	if route != config.RouteExternal || t.External {
		return ""
	}
	return "the chat server is external, and " + cmp.Or(t.Held, "its file does not say external = true")
}

// Find gives the description of a tool. The error, a [*proto.Error], says which
// tools there are.
func Find(tools proto.Tools, name string) (proto.ToolSpec, error) {
	const op = "tool run"
	for _, off := range tools.Off {
		if off.Name == name {
			return proto.ToolSpec{}, proto.Errorf(proto.CodeDenied, op, "%s is off: %s", name, off.Why).
				WithHint("switch it on: desktop-assistant tool enable %s; what else is missing: desktop-assistant tool list", name)
		}
	}
	if len(tools.Tools) == 0 {
		return proto.ToolSpec{}, proto.Errorf(proto.CodeNotFound, op, "no tool named %q: there are none in %s", name, tools.Dir).
			WithHint("check the files: desktop-assistant tool check")
	}
	names := make([]string, len(tools.Tools))
	for i, t := range tools.Tools {
		if t.Name == name {
			return t, nil
		}
		names[i] = t.Name
	}
	slices.Sort(names)
	hint := "the tools are: " + strings.Join(names, ", ")
	if len(names) > maxNames {
		hint = "see what there is: desktop-assistant tool list"
	}
	return proto.ToolSpec{}, proto.Errorf(proto.CodeNotFound, op, "no tool named %q", name).WithHint("%s", hint)
}
