// SPDX-License-Identifier: Apache-2.0

// Package adapter speaks the line protocol of the shell-tools case set: JSON
// lines that load a tools folder and call tools of it.
package adapter

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"example.org/desktop-assistant/services/toolrunner/internal/run"
	"example.org/desktop-assistant/services/toolrunner/internal/tool"
)

// maxLine holds the largest arguments of the set many times over.
const maxLine = 64 << 20

type request struct {
	Op        string `json:"op"`
	Dir       string `json:"tools_dir"`
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
}

type loaded struct {
	OK       bool     `json:"ok"`
	Tools    []string `json:"tools"`
	Warnings []string `json:"warnings"`
}

type called struct {
	Result string `json:"result"`
}

type refused struct {
	OK    bool   `json:"ok"`
	Error string `json:"error"`
}

// Main is [Serve] with a log on errs, as a program; it gives the exit status.
func Main(ctx context.Context, in io.Reader, out, errs io.Writer) int {
	log := slog.New(slog.NewTextHandler(errs, nil))
	if err := Serve(ctx, run.Config{Log: log}, in, out); err != nil {
		log.Error("serve requests", "error", err)
		return 1
	}
	return 0
}

// Serve answers each line of in with one line on out, in order, until in ends.
func Serve(ctx context.Context, c run.Config, in io.Reader, out io.Writer) error {
	runner := run.New(c, tool.Set{})
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	answers := json.NewEncoder(out)
	for lines.Scan() {
		if err := answers.Encode(answer(ctx, runner, lines.Bytes())); err != nil {
			return fmt.Errorf("write answer: %w", err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	return runner.Close(ctx)
}

func answer(ctx context.Context, runner *run.Runner, line []byte) any {
	var q request
	if err := json.Unmarshal(line, &q); err != nil {
		return refused{Error: "decode request: " + err.Error()}
	}
	switch q.Op {
	case "load":
		set := tool.LoadDir(q.Dir)
		runner.Replace(set)
		a := loaded{OK: true, Tools: []string{}, Warnings: []string{}}
		for _, t := range set.Tools {
			a.Tools = append(a.Tools, t.Name)
		}
		for _, p := range set.Problems {
			a.Warnings = append(a.Warnings, p.String())
		}
		return a
	case "call":
		return called{Result: runner.Call(ctx, q.Tool, []byte(q.Arguments), run.Options{}).Text}
	}
	return refused{Error: fmt.Sprintf("unknown op %q", q.Op)}
}
