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
	"needs root to become another user":        "peer checks of the socket and of sandboxes",
	"real model files are not on this machine": "models cannot be shipped; generated ones run instead",
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

// Main runs go test in each module folder and gives the exit code.
func Main(modules []string, w io.Writer) int {
	var t Tally
	broken := false
	for _, m := range modules {
		start := time.Now()
		cmd := exec.Command("go", "test", "-json", "-race", "-timeout", "20m", "./...")
		cmd.Dir, cmd.Stderr = m, os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			fmt.Fprintln(w, err)
			return 1
		}
		readErr := t.Read(out)
		if err := errors.Join(readErr, cmd.Wait()); err != nil {
			broken = true
		}
		fmt.Fprintf(w, "tested %s in %s\n", strings.TrimPrefix(m, "../"), time.Since(start).Round(time.Second))
	}
	for _, c := range t.Complaints {
		fmt.Fprintln(w, c)
	}
	if len(t.Slowest) > 0 {
		fmt.Fprintln(w, "slowest tests:\n"+strings.Join(t.Slowest[:min(10, len(t.Slowest))], "\n"))
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", t.Passed, t.Failed, t.Skipped)
	if broken || len(t.Complaints) > 0 || t.Passed == 0 {
		return 1
	}
	return 0
}
