// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/toolrunner/internal/tool"
)

func TestResults(t *testing.T) {
	b := newBox(t)
	b.script("lines", "", `printf ' one\n\n  two\n'; echo ignored >&2`)
	b.script("empty", "", `exit 0`)
	b.script("oops", "", `echo out; echo 'warming up' >&2; echo oops >&2; echo >&2; exit 1`)
	b.script("status", "", `echo partial; exit 3`)
	b.script("signal", "", `kill -SEGV $$`)
	b.script("long", "max_output = 5", `echo abcdefgh`)
	b.script("stdin", "", `cat; echo end`)
	b.script("asks", `confirm = "voice"`, `echo ran`)
	b.script("open", "external = true", `echo ran`)
	b.script("env", "env.COLOUR = \"blue\"", `echo "$COLOUR $PLACE"`)
	b.put("param.toml", "description = \"D.\"\ncommand = [\"printf\", \"%s;\", \"{a}\", \"{b}\"]\n[params.a]\nenum = [\"x\", \"y z\"]\n[params.b]\ntype = \"integer\"\n")
	r := b.runner(Config{Env: map[string]string{"PLACE": "home"}})
	for _, c := range []struct {
		name, arguments string
		kind, want      string
	}{
		{"lines", `{}`, "", "one\n\n  two"},
		{"lines", `{"unknown":1}`, "", "one\n\n  two"},
		{"empty", `{}`, "", ""},
		{"oops", `{}`, proto.KindFailed, "error: oops"},
		{"status", `{}`, proto.KindFailed, "error: exit status 3"},
		{"signal", `{}`, proto.KindFailed, "error: ended by signal 11"},
		{"long", `{}`, "", "abcde"},
		{"stdin", `{}`, "", "end"},
		{"asks", `{}`, proto.KindNotAllowed, "error: asks must be confirmed by the user first"},
		{"env", `{}`, "", "blue home"},
		{"param", `{"a":"y z","b":12345678901234567890}`, "", "y z;12345678901234567890;"},
		{"param", `{"a":"z"}`, proto.KindInvalidArguments, "error: a must be one of x, y z"},
		{"param", `[]`, proto.KindInvalidArguments, "error: arguments are not valid JSON"},
		{"nope", `{bad`, proto.KindUnknownTool, "error: no tool named nope"},
	} {
		got := r.Call(t.Context(), c.name, []byte(c.arguments), Options{})
		if got.Text != c.want || got.Kind != c.kind || got.OK != (c.kind == "") {
			t.Errorf("%s %s: got %+v, want %q %q", c.name, c.arguments, got, c.kind, c.want)
		}
	}
	if got := r.Call(t.Context(), "asks", []byte("{}"), Options{Confirmed: true}); got.Text != "ran" {
		t.Errorf("confirmed: %+v", got)
	}
	if got := r.Call(t.Context(), "lines", []byte("{}"), Options{External: true}); got.Kind != proto.KindNotAllowed {
		t.Errorf("local tool on the external route: %+v", got)
	}
	if got := r.Call(t.Context(), "asks", []byte("{}"), Options{Confirmed: true}); got.Text != "ran" {
		t.Errorf("a confirmed call: %+v", got)
	}
	if got := r.Call(t.Context(), "open", []byte("{}"), Options{External: true}); got.Text != "ran" {
		t.Errorf("open tool on the external route: %+v", got)
	}
	b.nothingLeft()
}

// Everything a call started is gone when it returns, whatever it did to leave.
func TestTreeIsGone(t *testing.T) {
	for name, script := range map[string]string{
		"child":      `sleep <mark>`,
		"deaf":       `trap '' TERM INT HUP QUIT; while :; do sleep <mark>; done`,
		"session":    `setsid sleep <mark> & wait`,
		"foreground": `setsid sleep <mark>`,
		"daemon":     `( setsid sh -c 'sleep <mark> & exit' ) >/dev/null 2>&1; sleep <mark>`,
		"naked":      `( env -i setsid sh -c 'sleep <mark> & exit' ) >/dev/null 2>&1; sleep <mark>`,
		"deep":       `setsid sh -c 'setsid sh -c "setsid sleep <mark> & sleep <mark>" & sleep <mark>' & sleep <mark>`,
		"stopped":    `setsid sh -c 'kill -STOP $$; sleep <mark>' sh <mark> & sleep <mark>`,
		"endless":    `yes <mark>`,
		"errors":     `yes <mark> >&2`,
		"many":       `for i in 1 2 3 4 5 6 7 8; do setsid sleep <mark> & done; sleep <mark>`,
	} {
		for ending, keys := range map[string]string{"timeout": "timeout = 0.2", "cancel": "", "exit": ""} {
			t.Run(name+"/"+ending, func(t *testing.T) {
				b := newBox(t)
				text := script
				if ending == "exit" { // the same in the background, and a good answer
					text = "(" + script + ") &\nmark=<mark>\nwhile ! grep -qs \"[3]${mark#3}\" /proc/[0-9]*/cmdline; do :; done\necho started"
				}
				b.script("x", keys, text)
				r := b.runner(Config{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if ending == "cancel" {
					go func() {
						eventually(t, "its processes", func() bool { return len(b.living()) > 0 })
						cancel()
					}()
				}
				got := r.Call(ctx, "x", []byte("{}"), Options{})
				want := map[string]string{"timeout": "error: timed out", "cancel": "error: cancelled", "exit": ""}[ending]
				if ending != "exit" && got.Text != want || ending == "exit" && !got.OK {
					t.Errorf("got %+v", got)
				}
				b.nothingLeft()
			})
		}
	}
}

func TestTimeouts(t *testing.T) {
	b := newBox(t)
	b.put("x.toml", "description = \"D.\"\ncommand = [\"sleep\", \"<mark>\"]\ntimeout = 60\n")
	r := b.runner(Config{})
	if got := r.Call(t.Context(), "x", []byte("{}"), Options{Timeout: 50 * time.Millisecond}); got.Kind != proto.KindTimeout || got.Text != "error: timed out" {
		t.Errorf("option: %+v", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got := r.Call(ctx, "x", []byte("{}"), Options{}); got.Kind != proto.KindTimeout {
		t.Errorf("deadline of the context: %+v", got)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if got := r.Call(ended, "x", []byte("{}"), Options{}); got.Kind != proto.KindCancelled {
		t.Errorf("cancelled before: %+v", got)
	}
	b.nothingLeft()
}

// A process out of reach that holds the pipe delays the answer, but not for long.
func TestPipeHeldByAStranger(t *testing.T) {
	b := newBox(t)
	pipe := filepath.Join(b.dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	// This test itself opens the tool's standard output and keeps it.
	b.script("x", "", "echo hello; echo $$ > "+pipe+"; read answer < "+pipe)
	r := b.runner(Config{})
	held := make(chan *os.File, 1)
	go func() {
		defer close(held)
		pid, err := os.ReadFile(pipe)
		if err != nil {
			t.Error(err)
			return
		}
		f, err := os.OpenFile("/proc/"+strings.TrimSpace(string(pid))+"/fd/1", os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		held <- f
		if err := os.WriteFile(pipe, []byte("go\n"), 0o600); err != nil {
			t.Error(err)
		}
	}()
	got := r.Call(t.Context(), "x", []byte("{}"), Options{})
	if f := <-held; f != nil {
		defer f.Close()
	}
	<-held
	if got.Text != "hello" || !got.OK {
		t.Errorf("got %+v", got)
	}
	b.nothingLeft()
}

func TestParallel(t *testing.T) {
	b := newBox(t)
	// Each call notes how many run beside it.
	count := `n=$(mktemp -p "$COUNT"); ls "$COUNT" | wc -l; sleep 0.05; rm "$n"`
	b.script("free", "", count)
	b.script("alone", "parallel = false", count)
	for _, c := range []struct {
		tool string
		most string
	}{{"free", "3"}, {"alone", "1"}} {
		r := b.runner(Config{MaxParallel: 3, Env: map[string]string{"COUNT": t.TempDir()}})
		results := make([]Result, 9)
		var calls sync.WaitGroup
		for i := range results {
			calls.Go(func() { results[i] = r.Call(t.Context(), c.tool, []byte("{}"), Options{}) })
		}
		calls.Wait()
		for _, got := range results {
			if !got.OK || got.Text > c.most {
				t.Errorf("%s: %+v", c.tool, got)
			}
		}
	}
	b.nothingLeft()
}

// A call does not touch the processes of another that runs beside it.
func TestCallsAreToldApart(t *testing.T) {
	b := newBox(t)
	b.script("long", "", `setsid sh -c 'sleep 0.6; echo still here' & wait`)
	b.script("short", "timeout = 0.1", `( env -i setsid sleep <mark> & ) ; sleep <mark>`)
	r := b.runner(Config{})
	var calls sync.WaitGroup
	var long Result
	calls.Go(func() { long = r.Call(t.Context(), "long", []byte("{}"), Options{}) })
	for range 3 {
		if got := r.Call(t.Context(), "short", []byte("{}"), Options{}); got.Kind != proto.KindTimeout {
			t.Errorf("short: %+v", got)
		}
	}
	calls.Wait()
	if long.Text != "still here" {
		t.Errorf("long: %+v", long)
	}
	b.nothingLeft()
}

// While an older call runs, an orphan's age does not tell whose it is, and in
// the middle of exec it has no environment that would.
func TestOrphansBesideAnOlderCall(t *testing.T) {
	b := newBox(t)
	b.put("old.toml", "description = \"D.\"\ncommand = [\"sleep\", \"100\"]\ntimeout = 100\n")
	b.script("x", "", `setsid sleep <mark> & setsid sleep <mark> & echo ok`)
	r := b.runner(Config{})
	ctx, cancel := context.WithCancel(t.Context())
	var old sync.WaitGroup
	old.Go(func() { r.Call(ctx, "old", []byte("{}"), Options{}) })
	eventually(t, "the older call", func() bool {
		r.family.mu.Lock()
		defer r.family.mu.Unlock()
		return len(r.family.calls) == 1
	})
	for range 60 {
		if got := r.Call(t.Context(), "x", []byte("{}"), Options{}); got.Text != "ok" {
			t.Errorf("got %+v", got)
		}
		if pids := b.living(); len(pids) > 0 {
			t.Fatalf("still running: %v", pids)
		}
	}
	cancel()
	old.Wait()
	b.nothingLeft()
}

// A process that does not die, here because nobody kills it, delays neither the
// answer nor Close beyond its limit, and is reaped when it ends after all.
func TestAbandoned(t *testing.T) {
	b := newBox(t)
	b.put("x.toml", "description = \"D.\"\ncommand = [\"sleep\", \"<mark>\"]\ntimeout = 0.05\n")
	r := b.runner(Config{Log: slog.New(slog.DiscardHandler)})
	pid := 0
	r.kill = func(group int, _ unix.Signal) error { pid = -group; return unix.EPERM }
	if got := r.Call(t.Context(), "x", []byte("{}"), Options{}); got.Text != "error: timed out" {
		t.Errorf("got %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("close with a process alive: %v", err)
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	b.nothingLeft()
}

func TestReplace(t *testing.T) {
	b := newBox(t)
	b.script("x", "", `echo one`)
	r := b.runner(Config{})
	r.Replace(tool.Set{Dir: b.dir})
	if got := r.Call(t.Context(), "x", []byte("{}"), Options{}); got.Kind != proto.KindUnknownTool {
		t.Errorf("got %+v", got)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// When the runner is killed, the kernel kills the tool's first process.
func TestRunnerKilled(t *testing.T) {
	b := newBox(t)
	b.put("x.toml", "description = \"D.\"\ncommand = [\"sleep\", \"<mark>\"]\ntimeout = 100\n")
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), helperVariable+"="+b.dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the tool", func() bool { return len(b.living()) == 1 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	eventually(t, "the tool's end", func() bool { return len(b.living()) == 0 })
	// Its orphans come to this process if an earlier test made it a subreaper.
	family, err := newFamily()
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "its orphans to be reaped", func() bool {
		_, settled := family.sweep("", false)
		return settled
	})
	b.nothingLeft()
}
