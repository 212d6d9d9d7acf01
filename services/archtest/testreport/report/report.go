// SPDX-License-Identifier: Apache-2.0

// Package report reads the JSON output of go test.
package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sort"
	"strings"
	"time"
)

// Allowed are the skips that are no gap, each with its reason: what cannot be
// had on every machine. A test that skips for another reason fails the run.
var Allowed = map[string]string{
	"this kernel has Landlock":                     "sandboxes; every level below, down to none, is tested on any kernel",
	"this kernel has no seccomp filters":           "sandboxes without network; the same",
	"no control group can be made on this machine": "calls in a control group; the search for one is tested on plain folders",
	"needs root to become another user":            "peer checks of the socket and of sandboxes",
	"real model files are not on this machine":     "models cannot be shipped; generated ones run instead",
}

// event is one line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// Tally is what a run came to.
type Tally struct {
	Passed, Failed, Skipped int
	Complaints              []string // failures with their output, and skips without a known reason
	Slowest                 []string

	written int // complaints
}

// Read adds one stream of go test -json to the tally. A line that is no event
// (a build error, say) is kept as a complaint only when the run fails.
func (t *Tally) Read(r io.Reader) error {
	output := map[string]*strings.Builder{}
	times := map[string]float64{}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			t.add(line, output, times)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read test output: %w", err)
		}
	}
	for name, s := range times {
		if s >= 5 {
			t.Slowest = append(t.Slowest, fmt.Sprintf("%6.1fs %s", s, name))
		}
	}
	sort.Sort(sort.Reverse(sort.StringSlice(t.Slowest)))
	return nil
}

func (t *Tally) add(line string, output map[string]*strings.Builder, times map[string]float64) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		return
	}
	key := e.Package + " " + e.Test
	if e.Action == "output" || e.Action == "build-output" {
		if output[key] == nil {
			output[key] = &strings.Builder{}
		}
		output[key].WriteString(e.Output)
		if e.Action == "build-output" {
			t.Complaints = append(t.Complaints, strings.TrimRight(e.Output, "\n"))
		}
		return
	}
	said := ""
	if output[key] != nil && (e.Action == "fail" || e.Action == "skip") {
		said = output[key].String()
	}
	switch e.Action {
	case "pass", "fail", "skip":
		delete(output, key)
	}
	switch {
	case e.Test == "" && e.Action == "fail":
		t.Failed++
		t.Complaints = append(t.Complaints, "FAIL "+e.Package+"\n"+said)
	case e.Test == "":
	case e.Action == "pass":
		t.Passed++
		if !strings.Contains(e.Test, "/") {
			times[key] = e.Elapsed
		}
	case e.Action == "fail":
		t.Failed++
		t.Complaints = append(t.Complaints, "FAIL "+key+"\n"+said)
	case e.Action == "skip":
		t.Skipped++
		if !known(said) {
			t.Complaints = append(t.Complaints, "SKIP without a known reason: "+key+"\n"+said)
		}
	}
}

func known(said string) bool {
	for reason := range Allowed {
		if strings.Contains(said, reason) {
			return true
		}
	}
	return false
}

// A Step is one run of go test: the packages of a module that match.
type Step struct {
	Dir  string
	Args []string // of go test, flags and packages
}

// Steps are the runs for the module folders: every package with the race
// detector, and at the end those of end to end tests, alone and without it.
// They play and record in real time, and what they test is other processes.
func Steps(modules []string) ([]Step, error) {
	var steps, last []Step
	for _, dir := range modules {
		cmd := exec.Command("go", "list", "./...")
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("list packages of %s: %w", dir, err)
		}
		step := Step{dir, []string{"-race"}}
		for _, p := range strings.Fields(string(out)) {
			if strings.HasSuffix(p, "/e2e") {
				last = append(last, Step{dir, []string{p}})
				continue
			}
			step.Args = append(step.Args, p)
		}
		steps = append(steps, step)
	}
	return append(steps, last...), nil
}

// Main runs the tests of the module folders and gives the exit code.
func Main(modules []string, w io.Writer) int {
	steps, err := Steps(modules)
	if err != nil {
		fmt.Fprintln(w, err)
		return 1
	}
	var t Tally
	broken := false
	for _, s := range steps {
		start := time.Now()
		if err := t.run(s); err != nil {
			broken = true
			fmt.Fprintln(w, err)
		}
		name := strings.TrimPrefix(s.Dir, "../")
		if len(s.Args) == 1 {
			name = s.Args[0]
		}
		t.complain(w)
		fmt.Fprintf(w, "tested %s in %s\n", name, time.Since(start).Round(time.Second))
	}
	return t.print(w, broken)
}

// run is one step; its failures are in the tally and in the error.
func (t *Tally) run(s Step) error {
	cmd := exec.Command("go", append([]string{"test", "-json", "-timeout", "20m"}, s.Args...)...)
	cmd.Dir, cmd.Stderr = s.Dir, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	return errors.Join(t.Read(out), cmd.Wait())
}

// complain writes the complaints that were not written yet.
func (t *Tally) complain(w io.Writer) {
	for _, c := range t.Complaints[t.written:] {
		fmt.Fprintln(w, c)
	}
	t.written = len(t.Complaints)
}

// print writes what the run came to; its last line is counted by CI.
func (t *Tally) print(w io.Writer, broken bool) int {
	t.complain(w)
	if len(t.Slowest) > 0 {
		fmt.Fprintln(w, "slowest tests:\n"+strings.Join(t.Slowest[:min(10, len(t.Slowest))], "\n"))
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", t.Passed, t.Failed, t.Skipped)
	if broken || len(t.Complaints) > 0 || t.Passed == 0 {
		return 1
	}
	return 0
}
