// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"os"
	"slices"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/xdg"
	"example.org/desktop-assistant/services/toolrunner/internal/command"
	"example.org/desktop-assistant/services/toolrunner/internal/native"
	"example.org/desktop-assistant/services/toolrunner/internal/native/worker"
	"example.org/desktop-assistant/services/toolrunner/internal/sandbox"
)

// Main runs the daemon, the process of its built-in tools, or one of the verbs
// that need no bus.
func Main() {
	sandbox.Enter()
	if len(os.Args) == 2 && os.Args[1] == worker.Verb {
		ctx, stop := daemon.Interruptible()
		code := worker.Main(ctx)
		stop()
		os.Exit(code)
	}
	if !command.Verb(os.Args[1:]) {
		daemon.Main(daemon.Info{Name: "toolrunner", Summary: "reads, runs and cancels tools"}, New)
	}
	ctx, stop := daemon.Interruptible()
	code := verb(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// verb runs a verb with what the configuration says of tools.
func verb(ctx context.Context, args []string) int {
	cfg, err := config.Load("")
	if err != nil {
		daemon.Explain(os.Stderr, "", err)
		return daemon.ExitConfig
	}
	dir, err := toolsDir(cfg)
	if err != nil {
		daemon.Explain(os.Stderr, "toolrunner: ", err)
		return daemon.ExitFault
	}
	runtime, err := xdg.Runtime()
	if err != nil {
		daemon.Explain(os.Stderr, "toolrunner: ", err)
		return daemon.ExitFault
	}
	s := command.Settings{Dir: dir, Env: cfg.Env, Secrets: cfg.Secrets("toolrunner"), Private: private(cfg, runtime), Taken: taken()}
	return command.Run(ctx, s, args, os.Stdout, os.Stderr)
}

// toolsDir is the folder of the tools: what the configuration names, what run
// from a checkout names, or the usual place.
func toolsDir(cfg config.Config) (string, error) {
	if dir := os.Getenv(config.ToolsEnv); dir != "" && cfg.Tools.Dir == "" {
		return dir, nil
	}
	return cfg.ToolsDir()
}

// taken are the names that no file of a tool may have: those of the built-in
// tools, and of the one by which brain loads skills.
func taken() []string { return append(slices.Clone(native.Names()), "load_skill") }

// private are the paths that no confined tool may reach: the folder with the
// socket and the cookie of the bus, and files that hold keys.
func private(cfg config.Config, runtime string) []string {
	paths := []string{runtime}
	for _, file := range []string{cfg.Model.APIKeyFile, cfg.Bus.Creds} {
		if path, err := xdg.Expand(file); err == nil && path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}
