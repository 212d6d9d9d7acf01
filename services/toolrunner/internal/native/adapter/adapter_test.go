// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/services/toolrunner/internal/native/fault"
)

// canary is a variable that no answer may show.
const canary = "SECRET_TOKEN=CANARY-ENV-2a61"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "adapter" { // the program under test
		os.Exit(Stdio(context.Background()))
	}
	name, value, _ := strings.Cut(canary, "=")
	if err := os.Setenv(name, value); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// whole says that the cases which wait for a time to pass run too.
var whole = os.Getenv("SOAK") != ""

// TestCases runs testdata/cases, which is the public third of a larger set, and
// testdata/own, which holds what the facts and standards behind it say besides.
func TestCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/*/*/*.json")
	if err != nil || len(paths) < 400 {
		t.Fatalf("%d cases, %v", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(strings.TrimPrefix(path, "testdata/"), ".json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runCase(t, path)
		})
	}
}

func runCase(t *testing.T, path string) {
	f, w := newFixture(t), newWorld(t)
	port := func(name string) string { return strconv.Itoa(f.ports[name]) }
	k := load(t, path, strings.NewReplacer("<root>", w.root, "<case>", w.dir, "<home>", w.home, "<port>", port("one"), "<port2>", port("two"),
		"<base>", "http://127.0.0.1:"+port("one"), "<base2>", "http://127.0.0.1:"+port("two"), "<base6>", "http://[::1]:"+port("six")))
	if k.slow() && !whole {
		return // make soak waits for it
	}
	w.build(t, k.Setup)
	program := os.Args[0]
	var as *syscall.SysProcAttr
	if k.Setup.NeedsNonRoot && os.Geteuid() == 0 {
		program, as = w.nobody(t)
	}
	r := &runner{t: t, program: program, as: as, kase: k, world: w, base: "http://127.0.0.1:" + port("one")}
	defer func() { r.end() }()
	if r.start(false) {
		r.steps()
	}
	checkHits(t, f.seen(), k.Expect)
}

// runner runs one case against the program.
type runner struct {
	t       *testing.T
	kase    kase
	world   world
	base    string
	program string
	as      *syscall.SysProcAttr // nil for the user of the test
	cmd     *exec.Cmd            // nil when it is no process of its own
	wait    func()               // for its end
	in      io.WriteCloser
	out     *bufio.Reader
	answers []answer
}

// start starts the program; it reports false when it refuses a configuration
// that it may refuse. Again is for a later start, without a workspace.
func (r *runner) start(again bool) bool {
	r.t.Helper()
	if r.alone() {
		r.startProcess()
	} else {
		r.startHere()
	}
	config := r.config()
	if again {
		config["workspace"] = nil
	}
	route := r.kase.Setup.Route
	if route == "" {
		route = "local"
	}
	a := r.ask(map[string]any{"op": "start", "data_dir": r.world.data, "config": config, "route": route})
	if !a.OK && !r.kase.Setup.ConfigErrorOK {
		r.t.Fatalf("start refused: %+v", a)
	}
	return a.OK
}

// config is that of every case with the case's own over it.
func (r *runner) config() map[string]any {
	c := map[string]any{
		"enabled": []string{"list_directory", "read_file", "web_search", "http_request", "fetch_text", "fetch_json"}, "workspace": r.world.root, "calls_per_turn": 5,
		"http": map[string]any{"allowed_origins": []string{r.base}, "allowed_methods": []string{"GET", "POST"}, "max_request_bytes": 16384,
			"max_response_bytes": limit, "timeout_ms": 5000},
		"search":    map[string]any{"endpoint": r.base + "/searx/ok/search"},
		"read_file": map[string]any{"max_bytes": 65536, "max_lines": 2000},
	}
	for key, value := range r.kase.Setup.Config {
		inner, table := c[key].(map[string]any)
		if own, ok := value.(map[string]any); ok && table {
			maps.Copy(inner, own)
		} else {
			c[key] = value
		}
	}
	return c
}

func (r *runner) send(v any) {
	r.t.Helper()
	line, err := json.Marshal(v)
	must(r.t, err)
	_, err = r.in.Write(append(line, '\n'))
	must(r.t, err)
}

func (r *runner) ask(v any) (a answer) {
	r.t.Helper()
	r.send(v)
	return r.receive()
}

func (r *runner) receive() (a answer) {
	r.t.Helper()
	line, err := r.out.ReadBytes('\n')
	must(r.t, err)
	must(r.t, json.Unmarshal(line, &a))
	for _, bad := range []string{r.world.dir, "CANARY-ENV", "goroutine "} {
		if strings.Contains(string(line), bad) {
			r.t.Errorf("%q is in %s", bad, line)
		}
	}
	if !a.OK && !slices.Contains(fault.Kinds(), a.Kind) {
		r.t.Errorf("no kind of the list: %s", line)
	}
	return a
}

func (r *runner) end() {
	_ = r.in.Close()
	r.wait()
}

// alone says that the program must be a process of its own: to have its own
// environment, memory or user, or to be killed.
func (r *runner) alone() bool {
	killed := slices.ContainsFunc(r.kase.Steps, func(s step) bool { return s.Op == "kill_and_restart" })
	return r.as != nil || killed || r.kase.Setup.Env != nil || r.kase.Expect.MaxRSSMB > 0
}

func (r *runner) startHere() {
	in, toProgram := io.Pipe()
	fromProgram, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := Serve(r.t.Context(), in, out)
		out.Close()
		done <- err
	}()
	r.in, r.out = toProgram, bufio.NewReader(fromProgram)
	r.wait = func() {
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	}
}

func (r *runner) startProcess() {
	r.t.Helper()
	cmd := exec.Command(r.program, "adapter")
	cmd.SysProcAttr = r.as
	cmd.Dir = r.world.dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + r.world.home, "LANG=C.UTF-8", canary, "XDG_DATA_HOME=" + r.world.home + "/.local/share"}
	for name, value := range r.kase.Setup.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	in, err := cmd.StdinPipe()
	must(r.t, err)
	out, err := cmd.StdoutPipe()
	must(r.t, err)
	cmd.Stderr = r.t.Output()
	must(r.t, cmd.Start())
	r.cmd, r.in, r.out = cmd, in, bufio.NewReader(out)
	r.wait = func() { _ = cmd.Wait() } // some are killed
}

func (r *runner) steps() {
	steps := r.kase.Steps
	if r.kase.Call != nil {
		s := *r.kase.Call
		s.Op, s.Expect = "call", &r.kase.Expect
		steps = []step{s}
	}
	for turn := range max(1, r.kase.Repeat) {
		if turn > 0 {
			r.ask(map[string]any{"op": "new_turn"})
		}
		for i, s := range steps {
			if !r.step(fmt.Sprintf("step %d (%s)", i+1, s.Op+" "+s.Tool), s) {
				return
			}
		}
	}
	if r.kase.Expect.SameAnswer {
		r.same()
	}
	r.rss()
}

// step runs one step; it reports false when the case ends here.
func (r *runner) step(where string, s step) bool {
	r.t.Helper()
	switch s.Op {
	case "restart":
		r.end()
		return r.start(true)
	case "kill_and_restart":
		must(r.t, r.cmd.Process.Kill())
		r.end()
		return r.start(true)
	case "replace_with_symlink":
		must(r.t, os.Rename(s.Path, s.Path+".moved"), os.Symlink(s.To, s.Path))
		return true
	case "remove":
		must(r.t, os.RemoveAll(s.Path))
		return true
	case "check_no_temp_files", "truncate_temp_files", "damage_state":
		r.state(s.Op)
		return true
	}
	message := map[string]any{"op": s.Op, "path": s.Path}
	if s.Op == "call" {
		arguments := string(s.Arguments)
		if s.Raw != nil {
			arguments = *s.Raw
		}
		message = map[string]any{"op": "call", "tool": s.Tool, "arguments": arguments}
	}
	began := time.Now()
	r.send(message)
	if s.CancelMS > 0 {
		later := time.AfterFunc(time.Duration(s.CancelMS)*time.Millisecond, func() {
			_, _ = io.WriteString(r.in, "{\"op\":\"cancel\"}\n") // the answer says whether it came
		})
		defer later.Stop()
	}
	a := r.receive()
	r.answers = append(r.answers, a)
	if s.Expect == nil {
		return true
	}
	if took := time.Since(began).Seconds(); took < s.Expect.MinSeconds {
		r.t.Errorf("%s: gave up after %.1f s", where, took)
	}
	if s.Op == "tools" {
		slices.Sort(s.Expect.Tools)
		if a.Tools == nil || !slices.Equal(slices.Sorted(slices.Values(*a.Tools)), s.Expect.Tools) {
			r.t.Errorf("%s: %v, want %v", where, a.Tools, s.Expect.Tools)
		}
		return true
	}
	check(r.t, where, a, *s.Expect)
	check(r.t, where, a, expect{NotContains: r.kase.Expect.NotContains})
	return true
}

// state does something to the files of the program's data.
func (r *runner) state(op string) {
	r.t.Helper()
	must(r.t, filepath.WalkDir(r.world.data, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch op {
		case "check_no_temp_files":
			if regexp.MustCompile(`tmp|~$|\.new$|\.part`).MatchString(d.Name()) {
				r.t.Errorf("left behind: %s", d.Name())
			}
		case "truncate_temp_files":
			for _, suffix := range []string{".tmp", ".tmp123456", "~"} {
				must(r.t, os.WriteFile(path+suffix, []byte(`{"works`), 0o600))
			}
		case "damage_state":
			return os.WriteFile(path, []byte("\x00\xffnot a state file"), 0o600)
		}
		return nil
	}))
}

// same wants one answer to all calls.
func (r *runner) same() {
	r.t.Helper()
	for _, a := range r.answers[1:] {
		if a.OK != r.answers[0].OK || a.Kind != r.answers[0].Kind || a.Text != r.answers[0].Text {
			r.t.Errorf("answers differ: %+v, %+v", r.answers[0], a)
		}
	}
}

// rss bounds the memory of the program.
func (r *runner) rss() {
	r.t.Helper()
	if r.kase.Expect.MaxRSSMB == 0 {
		return
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	must(r.t, err)
	for line := range strings.Lines(string(status)) {
		if field, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.Atoi(strings.Fields(field)[0])
			if must(r.t, err); kb > r.kase.Expect.MaxRSSMB<<10 {
				r.t.Errorf("peak memory %d kB", kb)
			}
		}
	}
}

func check(t *testing.T, where string, a answer, want expect) {
	t.Helper()
	kinds := want.KindAny
	if kinds == nil && want.Kind != "" {
		kinds = []string{want.Kind}
	}
	if want.OK != nil && a.OK != *want.OK || !a.OK && kinds != nil && !slices.Contains(kinds, a.Kind) {
		t.Errorf("%s: %v %s %.200q, want %v", where, a.OK, a.Kind, a.Text, kinds)
		return
	}
	for _, bad := range want.NotContains {
		if strings.Contains(a.Text, bad) {
			t.Errorf("%s: %q is in %.300q", where, bad, a.Text)
		}
	}
	for line := range strings.Lines(a.Text) {
		for _, bad := range want.NoLine {
			if strings.HasPrefix(strings.Trim(line, " -*|\t\r\n"), bad) {
				t.Errorf("%s: a line begins with %q", where, bad)
			}
		}
	}
	if want.MaxTextBytes > 0 && len(a.Text) > want.MaxTextBytes {
		t.Errorf("%s: %d bytes", where, len(a.Text))
	}
	if !a.OK && (want.OK == nil || *want.OK) {
		return
	}
	for _, good := range want.Contains {
		if !strings.Contains(a.Text, good) {
			t.Errorf("%s: %q is missing in %.300q", where, good, a.Text)
		}
	}
	if want.ContainsAny != nil && !slices.ContainsFunc(want.ContainsAny, func(s string) bool { return strings.Contains(a.Text, s) }) {
		t.Errorf("%s: none of %q in %.300q", where, want.ContainsAny, a.Text)
	}
	at := 0
	for _, good := range want.InOrder {
		i := strings.Index(a.Text[at:], good)
		if i < 0 {
			t.Errorf("%s: %q is missing or out of order", where, good)
			return
		}
		at += i + 1
	}
}

func checkHits(t *testing.T, hits []hit, want expect) {
	t.Helper()
	h := want.Hits
	if h == nil {
		return
	}
	count := func(ok func(hit) bool) (n int) {
		for _, x := range hits {
			if ok(x) {
				n++
			}
		}
		return n
	}
	exactly := func(what string, want *int, got int) {
		if want != nil && *want != got {
			t.Errorf("%s: %d requests, want %d: %v", what, got, *want, hits)
		}
	}
	exactly("all", h.Total, len(hits))
	exactly("two", h.Two, count(func(x hit) bool { return x.server == "two" }))
	exactly("six", h.Six, count(func(x hit) bool { return x.server == "six" }))
	if h.MaxTotal != nil && len(hits) > *h.MaxTotal {
		t.Errorf("%d requests", len(hits))
	}
	for path, n := range h.Paths {
		exactly(path, &n, count(func(x hit) bool { return x.path == path }))
	}
	for _, x := range hits {
		if h.PathsOnly != nil && !slices.Contains(h.PathsOnly, x.path) || h.Methods != nil && !slices.Contains(h.Methods, x.method) {
			t.Errorf("request %v", x)
		}
		if h.Bytes != nil && x.bytes != *h.Bytes {
			t.Errorf("%d bytes sent, want %d", x.bytes, *h.Bytes)
		}
	}
	for _, part := range h.QueryHas {
		if count(func(x hit) bool { return strings.Contains(x.query, part) }) == 0 {
			t.Errorf("no query has %q: %v", part, hits)
		}
	}
}
