// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"example.org/desktop-assistant/services/toolrunner/internal/sandbox"
	"example.org/desktop-assistant/services/toolrunner/internal/tool"
)

// report is what check found, in the order of the file names.
type report struct {
	Dir      string    `json:"dir"`
	Tools    []string  `json:"tools"`             // that can be used
	Sandbox  string    `json:"sandbox,omitempty"` // how far a sandbox holds here; empty when no tool has one
	Problems []problem `json:"problems"`
}

type problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"` // 0 for the whole file
	Text    string `json:"text"`
	Hint    string `json:"hint,omitempty"`
	Warning bool   `json:"warning"` // the tool can be used all the same
}

// check prints one line for each usable tool, how far sandboxes hold, then one
// line for each problem.
func check(s Settings, o options, stdout io.Writer) int {
	set := tool.LoadDir(o.dir).Without(s.Taken)
	config := s.config(nil)
	level := sandbox.Detect()
	problems := set.Problems
	confined := false
	for _, t := range set.Tools {
		confined = confined || t.Sandbox != nil
		problems = append(problems, config.Examine(t, set.Dir)...)
	}
	if o.lint {
		problems = append(problems, tool.LintDir(o.dir)...)
	}
	slices.SortStableFunc(problems, func(a, b tool.Problem) int { return strings.Compare(a.File, b.File) })
	r := report{Dir: set.Dir, Tools: []string{}, Problems: []problem{}}
	for _, t := range set.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	if confined {
		r.Sandbox = level.String()
	}
	if err := r.print(problems, o.json, stdout); err != nil || set.Broken() {
		return ExitError
	}
	return ExitOK
}

func (r report) print(problems []tool.Problem, asJSON bool, stdout io.Writer) error {
	if asJSON {
		for _, p := range problems {
			r.Problems = append(r.Problems, problem(p))
		}
		return json.NewEncoder(stdout).Encode(r)
	}
	for _, name := range r.Tools {
		fmt.Fprintf(stdout, "ok %s\n", name)
	}
	if r.Sandbox != "" {
		fmt.Fprintf(stdout, "a sandbox confines %s\n", r.Sandbox)
	}
	for _, p := range problems {
		if _, err := fmt.Fprintln(stdout, p); err != nil {
			return err
		}
	}
	return nil
}
