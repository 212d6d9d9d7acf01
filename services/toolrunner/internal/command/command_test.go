// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/desktop-assistant/services/toolrunner/internal/sandbox"
)

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		mode := os.FileMode(0o755)
		if strings.HasSuffix(name, ".toml") {
			mode = 0o644
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func execute(t *testing.T, ctx context.Context, s Settings, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	status = Run(ctx, s, args, &out, &errs)
	return status, out.String(), errs.String()
}

func TestCall(t *testing.T) {
	dir := folder(t, map[string]string{
		"say.toml":    "description = \"D.\"\ncommand = [\"say.sh\", \"{a}\"]\ntiemout = 3\n[params.a]\n",
		"say.sh":      "#!/bin/sh\necho \"$GREETING $1\"\n",
		"fail.toml":   "description = \"D.\"\ncommand = [\"false\"]\n",
		"broken.toml": "description = \"D.\"\n",
	})
	s := Settings{Dir: dir, Env: map[string]string{"GREETING": "hello"}}
	for _, c := range []struct {
		args           []string
		status         int
		stdout, stderr string
	}{
		{[]string{"call", "say", `{"a":"you"}`}, ExitOK, "hello you\n", dir + "/say.toml:3: warning: unknown key \"tiemout\" (did you mean \"timeout\"?)\n"},
		{[]string{"call", "say"}, ExitOK, "hello\n", "unknown key"},
		{[]string{"call", "fail", "{}"}, ExitOK, "error: exit status 1\n", ""},
		{[]string{"call", "--check-exit", "fail", "{}"}, ExitError, "error: exit status 1\n", ""},
		{[]string{"call", "--check-exit", "say", "{}"}, ExitOK, "hello\n", ""},
		{[]string{"call", "broken", "{}"}, ExitOK, "error: no tool named broken\n", "broken.toml:1: no command"},
		{[]string{"call", "say", "{bad"}, ExitOK, "error: arguments are not valid JSON\n", ""},
		{[]string{"call", "--tools", t.TempDir(), "say", "{}"}, ExitOK, "error: no tool named say\n", ""},
		{[]string{"call", "--tools", "/no/such/folder", "say", "{}"}, ExitOK, "error: no tool named say\n", "/no/such/folder: read tools folder: no such file or directory (make it and put tools there: mkdir -p /no/such/folder)"},
		{[]string{"call"}, ExitUsage, "", "usage:"},
		{[]string{"call", "a", "b", "c"}, ExitUsage, "", "usage:"},
		{[]string{"call", "--nope", "say"}, ExitUsage, "", "toolrunner: flag provided but not defined: -nope\nusage:"},
		{[]string{"call", "-h"}, ExitOK, "usage:", ""},
		{[]string{"dance"}, ExitUsage, "", "usage:"},
		{nil, ExitUsage, "", "usage:"},
	} {
		status, stdout, stderr := execute(t, t.Context(), s, c.args...)
		if status != c.status || stdout != c.stdout && (c.stdout != "usage:" || !strings.HasPrefix(stdout, c.stdout)) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%q: status %d, stdout %q, stderr %q", c.args, status, stdout, stderr)
		}
	}
}

func TestCallCancelled(t *testing.T) {
	dir := folder(t, map[string]string{"x.toml": "description = \"D.\"\ncommand = [\"sleep\", \"100\"]\n"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if status, stdout, _ := execute(t, ctx, Settings{}, "call", "--tools", dir, "--check-exit", "x", "{}"); status != ExitError || stdout != "error: cancelled\n" {
		t.Errorf("status %d, stdout %q", status, stdout)
	}
}

func TestCheck(t *testing.T) {
	dir := folder(t, map[string]string{
		"good.toml":    "description = \"D.\"\ncommand = [\"true\"]\n",
		"lost.toml":    "description = \"D.\"\ncommand = [\"no-such-program-here\"]\n",
		"plain.toml":   "description = \"D.\"\ncommand = [\"./good.toml\"]\n",
		"warned.toml":  "description = \"D.\"\ncommand = [\"true\"]\ntiemout = 1\n",
		"a-bad.toml":   "description = \"D.\"\ncommand = [\"true\", \"{x}\"]\n",
		"z-worse.toml": "description = 3\ncommand = \"ls\"\ntimeout = -1\n",
	})
	status, stdout, stderr := execute(t, t.Context(), Settings{Dir: dir}, "check")
	want := strings.ReplaceAll(`ok good
ok lost
ok plain
ok warned
DIR/a-bad.toml:2: command: placeholder {x} has no [params.x]
DIR/lost.toml:2: warning: cannot run no-such-program-here: no such program (install it, or put a script of that name into the tools folder)
DIR/plain.toml:2: warning: cannot run ./good.toml: it is not executable (chmod +x "DIR/good.toml")
DIR/warned.toml:3: warning: unknown key "tiemout" (did you mean "timeout"?)
DIR/z-worse.toml:1: description must be a string, not a number
DIR/z-worse.toml:2: command must be an array of strings, not a string
DIR/z-worse.toml:3: timeout must be above 0 and at most 86400 seconds
`, "DIR", dir)
	if status != ExitError || stdout != want || stderr != "" {
		t.Errorf("status %d, stderr %q, got\n%s\nwant\n%s", status, stderr, stdout, want)
	}
}

// How far a sandbox holds is said, in text and in JSON, as is what it lacks;
// advice comes when asked for.
func TestCheckSandbox(t *testing.T) {
	dir := folder(t, map[string]string{
		"a.toml": "description = \"D.\"\ncommand = [\"grep\", \"{x}\"]\nsandbox = { read = [\"/no/such/folder\"] }\n[params.x]\ndescription = \"D.\"\n",
		"b.toml": "description = \"D.\"\ncommand = [\"true\"]\n\nsandbox = { write = [\"/\"] }\n",
	})
	s := Settings{Private: []string{"/run/user/1/desktop-assistant"}}
	level := sandbox.Detect()
	status, stdout, _ := execute(t, t.Context(), s, "check", "--tools", dir, "--lint")
	want := "ok a\nok b\na sandbox confines " + level.String() + "\n"
	if missing := level.Missing(sandbox.Spec{}); missing != "" {
		want += dir + "/a.toml:3: warning: the sandbox does not hold here: nothing keeps the tool from " + missing + " (run it on a kernel with Landlock: see whether its boot options switch it off (lsm=))\n"
	}
	want += dir + "/a.toml:3: warning: the sandbox names \"/no/such/folder\", which does not exist (make it, if the tool needs it: mkdir -p for a folder, touch for a file)\n" +
		dir + "/a.toml:2: warning: {x} stands alone: a value such as -rf or --output=FILE is taken for an option (put \"--\" before it if the program knows that, or write it as \"--name={x}\", or refuse such values: [params.x] pattern = \"[^-].*\")\n" +
		dir + "/b.toml:4: warning: cannot run true: sandbox.write \"/\": it would open the folder of the bus or a key of the assistant (name other folders, or none)\n"
	if status != ExitOK || stdout != want {
		t.Errorf("status %d, got\n%s\nwant\n%s", status, stdout, want)
	}
	status, stdout, _ = execute(t, t.Context(), s, "check", "--tools", dir, "--json")
	var got report
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || status != ExitOK {
		t.Fatalf("status %d, %v: %s", status, err, stdout)
	}
	if got.Dir != dir || got.Sandbox != level.String() || len(got.Tools) != 2 || len(got.Problems) < 2 || got.Problems[0].Line != 3 {
		t.Errorf("got %+v", got)
	}
}

// Whoever types the call has confirmed it.
func TestCallConfirmed(t *testing.T) {
	dir := folder(t, map[string]string{"x.toml": "description = \"D.\"\ncommand = [\"echo\", \"ran\"]\nconfirm = \"voice\"\n"})
	if _, stdout, _ := execute(t, t.Context(), Settings{Dir: dir}, "call", "x"); stdout != "ran\n" {
		t.Errorf("%q", stdout)
	}
}

func TestCheckGood(t *testing.T) {
	status, stdout, _ := execute(t, t.Context(), Settings{}, "check", "--tools", "../../../../examples/tools")
	if status != ExitOK || !strings.Contains(stdout, "ok now\n") {
		t.Errorf("status %d, stdout %q", status, stdout)
	}
	for _, args := range [][]string{{"check", "--tools", "/no/such/folder"}, {"check"}} {
		if status, _, _ := execute(t, t.Context(), Settings{}, args...); status != ExitError {
			t.Errorf("%q: status %d", args, status)
		}
	}
	if status, _, _ := execute(t, t.Context(), Settings{}, "check", "x"); status != ExitUsage {
		t.Errorf("with an argument: status %d", status)
	}
}

// A sandbox that can be left by writing another tool is told of.
func TestCheckSandboxedWriter(t *testing.T) {
	dir := folder(t, map[string]string{
		"a.toml": "description = \"D.\"\ncommand = [\"true\"]\nsandbox = { write = [\".\"] }\n",
		"b.toml": "description = \"D.\"\ncommand = [\"true\"]\nsandbox = { write = [\"data\"] }\n",
		"c.toml": "description = \"D.\"\ncommand = [\"true\"]\nsandbox = { read = [\".\"] }\n",
	})
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	status, stdout, _ := execute(t, t.Context(), Settings{}, "check", "--tools", dir)
	want := dir + "/a.toml:3: warning: the sandbox lets it write to \"" + dir + "\", which holds the tools folder: it could put a tool there that has none (name a folder of its own, such as \"~/.cache/a\")\n"
	if status != ExitOK || strings.Count(stdout, "holds the tools folder") != 1 || !strings.Contains(stdout, want) {
		t.Errorf("status %d, got\n%s\nwant\n%s", status, stdout, want)
	}
}

// What is the name of another tool is told without the assistant running, too.
func TestTakenNames(t *testing.T) {
	dir := folder(t, map[string]string{"read_file.toml": "description = \"D.\"\ncommand = [\"true\"]\n", "x.toml": "description = \"D.\"\ncommand = [\"true\"]\n"})
	s := Settings{Dir: dir, Taken: []string{"read_file"}}
	status, stdout, _ := execute(t, t.Context(), s, "check")
	if want := "ok x\n" + dir + "/read_file.toml: read_file is the name of a built-in tool (give the file another name)\n"; status != ExitError || stdout != want {
		t.Errorf("status %d, got\n%s\nwant\n%s", status, stdout, want)
	}
	if _, stdout, stderr := execute(t, t.Context(), s, "call", "read_file"); stdout != "error: no tool named read_file\n" || !strings.Contains(stderr, "built-in tool") {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
}
