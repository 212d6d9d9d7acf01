// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/services/toolrunner/internal/command"
)

// Main runs the daemon, or one of the verbs that need no bus.
func Main() {
	if !command.Verb(os.Args[1:]) {
		daemon.Main(daemon.Info{Name: "toolrunner", Summary: "reads, runs and cancels tools"}, New)
	}
	ctx, stop := daemon.Interruptible()
	code := verb(func(s command.Settings) int { return command.Run(ctx, s, os.Args[1:], os.Stdout, os.Stderr) })
	stop()
	os.Exit(code)
}

// verb reads what the configuration says of tools and hands it to f.
func verb(f func(command.Settings) int) int {
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
	return f(command.Settings{Dir: dir, Env: cfg.Env, Secrets: secrets(cfg)})
}

// toolsDir is the folder of the tools: what the configuration names, what run
// from a checkout names, or the usual place.
func toolsDir(cfg config.Config) (string, error) {
	if dir := os.Getenv(config.ToolsEnv); dir != "" && cfg.Tools.Dir == "" {
		return dir, nil
	}
	return cfg.ToolsDir()
}

// secrets names the variables that hold keys of the assistant: no tool gets
// them, not even one that inherits the environment.
func secrets(cfg config.Config) []string {
	var list []string
	for _, name := range []string{cfg.Model.APIKeyEnv, cfg.STT.OpenAI.APIKeyEnv} {
		if name != "" {
			list = append(list, name)
		}
	}
	return list
}
