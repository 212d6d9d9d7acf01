// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/waittest"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/toolrunner/internal/native"
	"example.org/desktop-assistant/services/toolrunner/internal/native/workspace"
)

// userWith makes an account with a workspace of one file and a configuration
// that switches the built-in tools by lines of [native_tools].
func userWith(t *testing.T, lines string) (config, tree string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree = filepath.Join(base, "tree")
	dir := filepath.Join(base, "config", "desktop-assistant")
	for _, d := range []string{tree, dir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(base, "config"))
	t.Setenv("XDG_DATA_HOME", filepath.Join(base, "data"))
	t.Setenv(workspace.Variable, tree)
	write(t, filepath.Join(tree, "notes.txt"), "the word is marmalade\n")
	config = filepath.Join(dir, "config.toml")
	switchTools(t, config, lines)
	return config, tree
}

// switchTools writes the configuration as editors do: beside it, then renamed.
func switchTools(t *testing.T, config, lines string) {
	t.Helper()
	write(t, config+".new", "[native_tools]\n"+lines)
	if err := os.Rename(config+".new", config); err != nil {
		t.Fatal(err)
	}
}

// on waits until a tool is on or off: the App of a test begins with the default
// configuration and finds the file as it finds a change.
func on(t *testing.T, c *bus.Conn, name string, want bool) (list proto.Tools) {
	t.Helper()
	waittest.Until(t, name+" switched", func() bool {
		var err error
		list, err = bus.Request(t.Context(), c, proto.ToolList{})
		return err == nil && want == slices.ContainsFunc(list.Tools, func(s proto.ToolSpec) bool { return s.Name == name })
	})
	return list
}

// TestBuiltin: a change of the configuration takes effect without a restart;
// results go to the asker whole and to the events as the catalog says.
func TestBuiltin(t *testing.T) {
	config, _ := userWith(t, "list_directory = true\n")
	b := bustest.New(t)
	w := b.Watch()
	start(t, b, map[string]string{"echo.toml": echo, "read_file.toml": echo})
	c := b.Connect("brain")
	list := on(t, c, "list_directory", true)
	if len(list.Off) != 5 || list.CallLimit != 3 || list.Tools[0].Name != "echo" || !list.Tools[1].Native {
		t.Errorf("list %+v", list)
	}
	if !slices.ContainsFunc(list.Problems, func(p proto.Problem) bool {
		return strings.Contains(p.What, "read_file is the name of a built-in tool")
	}) {
		t.Errorf("problems %+v", list.Problems)
	}
	r := call(t, c, "list_directory", proto.ToolCall{Call: "c1", Turn: "t1"}, `{"path":"."}`)
	if !r.OK || !strings.Contains(r.Result, "file notes.txt") {
		t.Errorf("got %+v", r)
	}
	if r := call(t, c, "read_file", proto.ToolCall{}, `{"path":"notes.txt"}`); r.OK || r.Kind != proto.KindNotAllowed {
		t.Errorf("what is off gave %+v", r)
	}
	switchTools(t, config, "read_file = true\n")
	on(t, c, "read_file", true)
	r = call(t, c, "read_file", proto.ToolCall{Call: "c2", Turn: "t2"}, `{"path":"notes.txt"}`)
	if !r.OK || !strings.Contains(r.Result, "marmalade") {
		t.Errorf("got %+v", r)
	}
	done, seen := bustest.Expect(w, func(_ bustest.Seen, f proto.ToolFinished) bool { return f.Call == "c2" })
	if !done.OK || seen.Turn != "t2" || strings.Contains(done.Result, "marmalade") || !strings.Contains(done.Result, "notes.txt") {
		t.Errorf("told %+v", done)
	}
	if r := call(t, c, "list_directory", proto.ToolCall{}, `{"path":"."}`); r.OK {
		t.Error("what was switched off runs")
	}
	switchTools(t, config, "read_file = true\ncall_limit = 9\n") // is refused, and what was read before holds
	state, _ := bustest.Expect(w, func(_ bustest.Seen, s proto.ServiceState) bool {
		return slices.ContainsFunc(s.Problems, func(p proto.Problem) bool { return strings.Contains(p.What, "configuration") })
	})
	if r := call(t, c, "read_file", proto.ToolCall{}, `{"path":"notes.txt"}`); !r.OK {
		t.Errorf("after %+v: %+v", state.Problems, r)
	}
}

// TestBuiltinLimits: headers lower a limit and never raise it, and the route is
// looked at when the call runs.
func TestBuiltinLimits(t *testing.T) {
	userWith(t, "list_directory = true\nfetch_text = true\ncall_limit = 2\n")
	b := bustest.New(t)
	start(t, b, nil)
	c := b.Connect("brain")
	on(t, c, "list_directory", true)
	ok := func(head proto.ToolCall, name string) bool {
		return call(t, c, name, head, `{"path":"."}`).OK
	}
	for i, want := range []bool{true, true, false} {
		if got := ok(proto.ToolCall{Turn: "t1", Limit: 5}, "list_directory"); got != want {
			t.Errorf("call %d: %v", i+1, got)
		}
	}
	for i, want := range []bool{true, false} {
		if got := ok(proto.ToolCall{Turn: "t2", Limit: 1}, "list_directory"); got != want {
			t.Errorf("call %d of a lower limit: %v", i+1, got)
		}
	}
	if ok(proto.ToolCall{Turn: "t3", Route: "external"}, "list_directory") {
		t.Error("an external chat server got a listing")
	}
	if r := call(t, c, "fetch_text", proto.ToolCall{Turn: "t4"}, `{"url":"https://example.org/?secret=1"}`); r.Kind != proto.KindNotAllowed || strings.Contains(r.Result, "secret") {
		t.Errorf("got %+v", r)
	}
}

// TestBuiltinWorkspaceGone: a choice that cannot be used is a problem with a
// hint, and the file tools say so.
func TestBuiltinWorkspaceGone(t *testing.T) {
	_, tree := userWith(t, "read_file = true\n")
	if err := os.Symlink(tree, tree+".link"); err != nil {
		t.Fatal(err)
	}
	t.Setenv(workspace.Variable, tree+".link")
	b := bustest.New(t)
	start(t, b, nil)
	c := b.Connect("cli")
	on(t, c, "read_file", true)
	s, err := bus.Request(t.Context(), c, proto.StatusOf{Daemon: "toolrunner"})
	if err != nil || len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Hint, workspace.Variable) {
		t.Errorf("status %+v, %v", s.Problems, err)
	}
	if r := call(t, c, "read_file", proto.ToolCall{}, `{"path":"notes.txt"}`); r.Kind != proto.KindUnavailable || strings.Contains(r.Result, tree) {
		t.Errorf("got %+v", r)
	}
}

// TestBuiltinProcess: the process of the built-in tools is confined, is another
// one when it was killed, and is gone with the daemon.
func TestBuiltinProcess(t *testing.T) {
	_, tree := userWith(t, "read_file = true\n")
	b := bustest.New(t)
	_, stop := start(t, b, nil)
	c := b.Connect("cli")
	on(t, c, "read_file", true)
	if r := call(t, c, "read_file", proto.ToolCall{}, `{"path":"notes.txt"}`); !r.OK {
		t.Fatalf("got %+v", r)
	}
	s, err := bus.Request(t.Context(), c, proto.StatusOf{Daemon: "toolrunner"})
	if err != nil {
		t.Fatal(err)
	}
	var d detail
	if err := json.Unmarshal(s.Detail, &d); err != nil || d.Builtin.Workspace != tree || d.Builtin.From != workspace.FromVariable || !strings.Contains(d.Builtin.Confined, "Landlock") {
		t.Errorf("detail %s", s.Detail)
	}
	old := workers(t)
	if len(old) != 1 {
		t.Fatalf("processes %v", old)
	}
	if err := unix.Kill(old[0], unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "another process", func() bool {
		next := workers(t)
		return len(next) == 1 && next[0] != old[0] && call(t, c, "read_file", proto.ToolCall{}, `{"path":"notes.txt"}`).OK
	})
	stop()
	if left := workers(t); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// workers finds the processes of built-in tools that this test started.
func workers(t *testing.T) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline") // it may have ended
		status, _ := os.ReadFile("/proc/" + e.Name() + "/status")
		if strings.HasSuffix(string(line), "\x00native\x00") && strings.Contains(string(status), "\nPPid:\t"+strconv.Itoa(os.Getpid())+"\n") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestBuiltinNames: the daemon offers endpoints for exactly the built-in tools.
func TestBuiltinNames(t *testing.T) {
	if got := strings.Join(native.Names(), " "); got != "fetch_json fetch_text http_request list_directory read_file web_search" {
		t.Errorf("names %s", got)
	}
}
