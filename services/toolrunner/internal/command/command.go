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
	"os"
	"slices"
	"strings"

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
       toolrunner check [--tools DIR]

call runs one tool as the bus would; ARGUMENTS is a JSON object, {} if left out.
It prints the result and exits with 0, also when the result is an error;
with --check-exit an error exits with 1.
check reads every tool file, names file, line and reason of what is wrong, and
exits with 1 when a tool cannot be used.
`

// Settings are what the configuration says.
type Settings struct {
	Dir     string            // the tools folder, unless --tools names another
	Env     map[string]string // [env]
	Secrets []string          // names of variables that no tool gets
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
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	dir := flags.String("tools", s.Dir, "")
	checkExit := false
	if args[0] == "call" {
		flags.BoolVar(&checkExit, "check-exit", false, "")
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
		return check(s, *dir, stdout)
	case args[0] == "call" && (len(rest) == 1 || len(rest) == 2):
		arguments := "{}"
		if len(rest) == 2 {
			arguments = rest[1]
		}
		ok := call(ctx, s, *dir, rest[0], arguments, stdout, stderr)
		if checkExit && !ok {
			return ExitError
		}
		return ExitOK
	}
	fmt.Fprint(stderr, usage)
	return ExitUsage
}

// call prints the result on stdout, and on stderr what is wrong with the
// tool's own file.
func call(ctx context.Context, s Settings, dir, name, arguments string, stdout, stderr io.Writer) bool {
	set := tool.LoadDir(dir)
	for _, p := range set.Problems {
		if p.File == set.Dir || strings.HasSuffix(p.File, "/"+name+".toml") {
			fmt.Fprintln(stderr, p)
		}
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	runner := run.New(run.Config{Log: log, Env: s.Env, Secrets: s.Secrets}, set)
	result := runner.Call(ctx, name, []byte(arguments), run.Options{})
	fmt.Fprintln(stdout, result.Text)
	return result.OK
}

// check prints one line for each usable tool, then one for each problem, both
// in the order of the file names.
func check(s Settings, dir string, stdout io.Writer) int {
	set := tool.LoadDir(dir)
	problems := set.Problems
	config := run.Config{Env: s.Env, Environ: os.Environ()}
	for _, t := range set.Tools {
		if err := config.Find(t, set.Dir); err != nil {
			problems = append(problems, tool.Problem{File: t.File, Warning: true,
				Text: fmt.Sprintf("cannot run %s: %v", t.Command[0], err)})
		}
	}
	slices.SortStableFunc(problems, func(a, b tool.Problem) int { return strings.Compare(a.File, b.File) })
	for _, t := range set.Tools {
		fmt.Fprintf(stdout, "ok %s\n", t.Name)
	}
	for _, p := range problems {
		fmt.Fprintln(stdout, p)
	}
	if set.Broken() {
		return ExitError
	}
	return ExitOK
}
