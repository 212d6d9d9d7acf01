// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/services/toolrunner/internal/run"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testCase is one file of testdata: the handed cases for shell tools.
type testCase struct {
	Files    map[string]json.RawMessage
	Modes    map[string]string
	Env      map[string]string
	Declares map[string]string
	Call     *testCall
	Calls    []testCall
	Repeat   int
	Expect   expectation
}

type testCall struct {
	Tool, Arguments string
	Expect          *expectation
}

// expectation leaves out time and memory, which the runner of the set judges.
type expectation struct {
	Result            *string
	ResultAny         []string `json:"result_any"`
	ResultPrefix      string   `json:"result_prefix"`
	OrPrefix          string   `json:"or_prefix"`
	OrRunes           int      `json:"or_runes"`
	Contains          []string
	NotContains       []string `json:"not_contains"`
	MinRunes          int      `json:"min_result_runes"`
	MaxRunes          int      `json:"max_result_runes"`
	NoProcessLeft     bool     `json:"no_process_left"`
	NoZombies         bool     `json:"no_zombies"`
	NoFile            []string `json:"no_file"`
	LoadErrorContains []string `json:"load_error_contains"`
	LoadErrorOrPrefix string   `json:"load_error_or_prefix"`
	LoadErrorOrResult *string  `json:"load_error_or_result"`
	ToolsExactly      []string `json:"tools_exactly"`
}

// TestCases runs every handed case, all bases, through Serve.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.json")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimPrefix(file, "testdata/"), func(t *testing.T) { runCase(t, data) })
	}
}

var repeated = regexp.MustCompile(`<repeat:(.*?):(\d+)>`)

// runCase runs one case. What a base holds is there unless the case says it too.
func runCase(t *testing.T, data []byte, bases ...[]byte) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	mark := fmt.Sprintf("300.%09d", time.Now().UnixNano()%1e9)
	var c testCase
	for _, part := range append(bases, data) {
		text := strings.NewReplacer("<case>", dir, "<home>", dir+"/home", "<mark>", mark).Replace(string(part))
		text = repeated.ReplaceAllStringFunc(text, func(s string) string {
			m := repeated.FindStringSubmatch(s)
			n, _ := strconv.Atoi(m[2]) // digits by the expression
			return strings.Repeat(m[1], n)
		})
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
	}
	for name, body := range c.Files {
		writeFile(t, c, dir, name, body)
	}
	t.Chdir(dir)
	a := startAdapter(t, c, dir)
	problems, tools := a.load(t, dir)
	c.Expect.checkLoad(t, problems, tools)
	calls := c.Calls
	if c.Call != nil {
		calls = []testCall{{Tool: c.Call.Tool, Arguments: c.Call.Arguments, Expect: &c.Expect}}
	}
	if len(tools) == 0 && (c.Expect.LoadErrorOrPrefix != "" || c.Expect.LoadErrorOrResult != nil) {
		return
	}
	for range max(c.Repeat, 1) {
		for _, call := range calls {
			call.Expect.checkResult(t, a.call(t, call.Tool, call.Arguments))
		}
	}
	checkLeft(t, c, dir, mark)
}

func writeFile(t *testing.T, c testCase, dir, name string, body json.RawMessage) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	var text string
	var special struct {
		B64     []byte
		Symlink string
		Fifo    bool
	}
	if err := json.Unmarshal(body, &text); err != nil {
		if err := json.Unmarshal(body, &special); err != nil {
			t.Fatal(err)
		}
		text = string(special.B64)
	}
	mode := fs.FileMode(0o755)
	if strings.HasSuffix(name, ".toml") {
		mode = 0o644
		for _, param := range slices.Sorted(maps.Keys(c.Declares)) {
			text += fmt.Sprintf("[params.%s]\ntype = %q\ndescription = %q\n", param, c.Declares[param], param)
		}
	}
	if octal := c.Modes[name]; octal != "" {
		n, err := strconv.ParseUint(octal, 8, 32)
		if err != nil {
			t.Fatal(err)
		}
		mode = fs.FileMode(n)
	}
	var err error
	switch {
	case special.Symlink != "":
		err = os.Symlink(special.Symlink, file)
	case special.Fifo:
		err = syscall.Mkfifo(file, 0o644)
	default:
		err = os.WriteFile(file, []byte(text), mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// talk is a running Serve.
type talk struct {
	in  io.Writer
	out *bufio.Reader
}

func startAdapter(t *testing.T, c testCase, dir string) *talk {
	t.Helper()
	env := map[string]string{"PATH": dir + "/bin:" + os.Getenv("PATH"), "HOME": dir + "/home", "LANG": "C.UTF-8"}
	maps.Copy(env, c.Env)
	config := run.Config{Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	for name, value := range env {
		config.Environ = append(config.Environ, name+"="+value)
	}
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- Serve(t.Context(), config, in, out)
		out.Close()
	}()
	t.Cleanup(func() {
		stdin.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return &talk{in: stdin, out: bufio.NewReader(stdout)}
}

func (a *talk) ask(t *testing.T, request map[string]string, answer any) {
	t.Helper()
	line, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.in.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	line, err = a.out.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(line, answer); err != nil {
		t.Fatal(err)
	}
}

func (a *talk) load(t *testing.T, dir string) (problems string, tools []string) {
	t.Helper()
	var answer loaded
	a.ask(t, map[string]string{"op": "load", "tools_dir": dir + "/tools"}, &answer)
	return strings.Join(answer.Warnings, "\n"), answer.Tools
}

func (a *talk) call(t *testing.T, tool, arguments string) string {
	t.Helper()
	var answer called
	a.ask(t, map[string]string{"op": "call", "tool": tool, "arguments": arguments}, &answer)
	return answer.Result
}

func (e expectation) checkLoad(t *testing.T, problems string, tools []string) {
	t.Helper()
	for _, part := range e.LoadErrorContains {
		if !strings.Contains(problems, part) {
			t.Errorf("problems %q do not name %q", problems, part)
		}
	}
	if e.ToolsExactly != nil && !slices.Equal(slices.Sorted(slices.Values(tools)), slices.Sorted(slices.Values(e.ToolsExactly))) {
		t.Errorf("tools %q, want %q", tools, e.ToolsExactly)
	}
}

func (e expectation) checkResult(t *testing.T, got string) {
	t.Helper()
	runes := utf8.RuneCountInString(got)
	other := e.OrPrefix != "" && strings.HasPrefix(got, e.OrPrefix) || e.OrRunes > 0 && runes == e.OrRunes
	ok := utf8.ValidString(got) &&
		(e.Result == nil || got == *e.Result) &&
		(e.LoadErrorOrResult == nil || got == *e.LoadErrorOrResult) &&
		(e.ResultAny == nil || slices.Contains(e.ResultAny, got) || other) &&
		strings.HasPrefix(got, e.ResultPrefix+e.LoadErrorOrPrefix) &&
		runes >= e.MinRunes && (e.MaxRunes == 0 || runes <= e.MaxRunes)
	for _, part := range e.Contains {
		ok = ok && strings.Contains(got, part)
	}
	for _, part := range e.NotContains {
		ok = ok && !strings.Contains(got, part)
	}
	if !ok {
		t.Errorf("result %.200q of %d runes, want %+v", got, runes, e)
	}
}

// checkLeft looks at the processes of the machine and at forbidden files. The
// answer comes when everything is gone, so there is nothing to wait for.
func checkLeft(t *testing.T, c testCase, dir, mark string) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		line, _ := os.ReadFile(filepath.Dir(file) + "/cmdline")
		if err != nil {
			continue // gone
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if fields[0] != "Z" && fields[0] != "X" && strings.Contains(string(line), mark) {
			t.Errorf("still running: %q", line)
		}
		if fields[1] == strconv.Itoa(os.Getpid()) {
			t.Errorf("child left in state %s: %q", fields[0], line)
		}
	}
	for _, name := range c.Expect.NoFile {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was created", name)
		}
	}
}

func TestServeRefuses(t *testing.T) {
	var out strings.Builder
	in := strings.NewReader("{bad\n{\"op\":\"dance\"}\n")
	if err := Serve(t.Context(), run.Config{Log: slog.New(slog.DiscardHandler)}, in, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"error":"decode request`) || !strings.Contains(lines[1], `unknown op`) {
		t.Errorf("answers %q", lines)
	}
}
