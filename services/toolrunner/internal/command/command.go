// SPDX-License-Identifier: Apache-2.0

// Package command is toolrunner without a bus: call runs one tool, check reads
// a tools folder and says what is wrong with it.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"

	"example.org/desktop-assistant/services/toolrunner/internal/cgroup"
	"example.org/desktop-assistant/services/toolrunner/internal/run"
	"example.org/desktop-assistant/services/toolrunner/internal/tool"
)

// Exit statuses of [Run].
const (
	ExitOK    = 0 // also when the result of call is an error
	ExitError = 1 // check found an error; with --check-exit, the call failed
	ExitUsage = 2
)

const usage = `usage: toolrunner call [--tools DIR] [--check-exit] NAME [ARGUMENTS]
       toolrunner check [--tools DIR] [--lint] [--json]

call runs one tool as the bus would; ARGUMENTS is a JSON object, {} if left out.
It prints the result and exits with 0, also when the result is an error;
with --check-exit an error exits with 1. A tool with confirm = "voice" runs:
whoever types its name has said yes.
check reads every tool file, names file, line and reason of what is wrong, says
how far the sandbox of a tool holds on this machine, and exits with 1 when a
tool cannot be used. --lint adds advice on tools that can be used.
`

// Settings are what the configuration says.
type Settings struct {
	Dir     string            // the tools folder, unless --tools names another
	Env     map[string]string // [env]
	Secrets []string          // names of variables that no tool gets
	Private []string          // paths that no confined tool reaches
	Taken   []string          // names that no file of a tool may have
}

// Verb reports whether the arguments of the program are for [Run].
func Verb(args []string) bool {
	return len(args) > 0 && (args[0] == "call" || args[0] == "check")
}

// Run executes call or check and returns the exit status. The end of ctx
// cancels a call.
func Run(ctx context.Context, s Settings, args []string, stdout, stderr io.Writer) int {
	if !Verb(args) {
		fmt.Fprint(stderr, usage)
		return ExitUsage
	}
	o := options{dir: s.Dir}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.dir, "tools", s.Dir, "")
	if args[0] == "call" {
		flags.BoolVar(&o.checkExit, "check-exit", false, "")
	} else {
		flags.BoolVar(&o.lint, "lint", false, "")
		flags.BoolVar(&o.json, "json", false, "")
	}
	err := flags.Parse(args[1:])
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return ExitOK
	}
	rest := flags.Args()
	switch {
	case err != nil:
		fmt.Fprintf(stderr, "toolrunner: %v\n%s", err, usage)
		return ExitUsage
	case args[0] == "check" && len(rest) == 0:
		return check(s, o, stdout)
	case args[0] == "call" && (len(rest) == 1 || len(rest) == 2):
		ok := call(ctx, s, o, append(rest, "{}"), stdout, stderr)
		if o.checkExit && !ok {
			return ExitError
		}
		return ExitOK
	}
	fmt.Fprint(stderr, usage)
	return ExitUsage
}

// options are the flags of both verbs.
type options struct {
	dir       string
	checkExit bool
	lint      bool
	json      bool
}

func (s Settings) config(log *slog.Logger) run.Config {
	return run.Config{Log: log, Env: s.Env, Secrets: s.Secrets, Private: s.Private}
}

// call prints the result on stdout, and on stderr what is wrong with the
// tool's own file. The first two of args are the tool's name and its arguments.
func call(ctx context.Context, s Settings, o options, args []string, stdout, stderr io.Writer) bool {
	set := tool.LoadDir(o.dir).Without(s.Taken)
	for _, p := range set.Problems {
		if p.File == set.Dir || filepath.Base(p.File) == args[0]+".toml" {
			fmt.Fprintln(stderr, p)
		}
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	config := s.config(log)
	groups, err := cgroup.Open()
	if err != nil && !errors.Is(err, cgroup.ErrNone) {
		log.Warn("the tool gets no control group", "error", err)
	}
	config.Cgroups = groups
	result := run.New(config, set).Call(ctx, args[0], []byte(args[1]), run.Options{Confirmed: true})
	fmt.Fprintln(stdout, result.Text)
	return result.OK
}
