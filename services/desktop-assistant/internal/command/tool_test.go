// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
)

func tools(reply proto.Tools) bus.Endpoint {
	return bus.Command(func(context.Context, proto.ToolList) (proto.Tools, error) { return reply, nil })
}

// weatherTool has params of two types.
var weatherTool = proto.ToolSpec{Name: "weather", Parameters: json.RawMessage(`{"properties":{"place":{"type":"string"},"id":{"type":"integer"}}}`)}

func TestToolRun(t *testing.T) {
	r := newRig(t)
	got := make(chan []byte, 1)
	calls := make(chan proto.ToolCall, 1)
	reply := proto.ToolResult{OK: true, Result: "12 <degrees>"}
	r.serve("toolrunner", bus.Tool(proto.ToolSpec{Name: "weather"}, func(_ context.Context, c proto.ToolCall, arguments []byte) proto.ToolResult {
		got <- arguments
		calls <- c
		result := reply
		result.Call = c.Call
		return result
	}), tools(proto.Tools{Tools: []proto.ToolSpec{weatherTool, {Name: "now"}}}))
	if res := run(t, "tool", "run", "weather", "place=Rome", "id=12345678901234567890"); res.code != 0 || res.out != "12 <degrees>\n" || res.err != "" {
		t.Errorf("%+v", res)
	}
	if a := string(<-got); a != `{"id":12345678901234567890,"place":"Rome"}` {
		t.Errorf("arguments %s", a)
	}
	if c := <-calls; c.Call == "" || c.Asker == "" || !c.Confirmed {
		t.Errorf("call %+v", c)
	}
	res := run(t, "tool", "run", "--json", "weather")
	res.want(t, 0)
	if a := string(<-got); a != `{}` {
		t.Errorf("arguments %s", a)
	}
	<-calls
	if list := lines[proto.ToolResult](t, res.out); len(list) != 1 || !list[0].OK || list[0].Result != "12 <degrees>" {
		t.Errorf("%+v", list)
	}
	for kind, code := range map[string]int{
		proto.KindFailed: ExitFailed, proto.KindInvalidArguments: ExitInvalid, proto.KindNotAllowed: ExitDenied,
		proto.KindTimeout: ExitTimeout, proto.KindCannotRun: ExitUnavailable, proto.KindCancelled: ExitFailed,
	} {
		reply = proto.ToolResult{Kind: kind, Result: "error: why"}
		run(t, "tool", "run", "weather").want(t, code, "error: why\n")
		<-got
		<-calls
	}
	run(t, "tool", "run", "wether").want(t, ExitInvalid, `!tool run: no tool named "wether"`, "!hint: the tools are: now, weather")
	run(t, "tool", "run", "no/name").want(t, ExitInvalid, `!no tool named "no/name"`)
	run(t, "tool", "run", "weather", "plcae=Rome").want(t, ExitUsage, `!weather has no argument "plcae"`, "!hint: its arguments are: id, place")
}

func TestToolRunNobody(t *testing.T) {
	r := newRig(t)
	run(t, "tool", "run", "now").want(t, ExitUnavailable, "!nobody answers", "!desktop-assistant status")
	r.serve("toolrunner", tools(proto.Tools{Dir: "/home/you/tools"}))
	run(t, "tool", "run", "now").want(t, ExitInvalid, `!no tool named "now": there are none in /home/you/tools`, "!desktop-assistant tool check")
}

// toolrunner can see that who asks lives, and hears when they do not want it
// any more.
func TestToolRunInterrupted(t *testing.T) {
	r := newRig(t)
	calls, release := make(chan proto.ToolCall, 1), make(chan struct{})
	f := r.serve("toolrunner", bus.Tool(proto.ToolSpec{Name: "slow"}, func(_ context.Context, c proto.ToolCall, _ []byte) proto.ToolResult {
		calls <- c
		<-release
		return proto.ToolResult{Call: c.Call, Kind: proto.KindCancelled, Result: "error: cancelled"}
	}), tools(proto.Tools{Tools: []proto.ToolSpec{{Name: "slow"}}}))
	defer close(release)
	cancelled := make(chan string, 1)
	if _, err := f.ToolCancels(t.Context(), bus.Fail(16, func() {}), func(_ context.Context, call string) { cancelled <- call }); err != nil {
		t.Fatal(err)
	}
	if err := f.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	j := started(t, "tool", "run", "slow")
	c := receive(t, "the call", calls)
	service, instance, ok := proto.SplitAsker(c.Asker)
	if !ok || !f.Alive(t.Context(), service, instance) {
		t.Errorf("asker %q does not answer", c.Asker)
	}
	j.interrupt()
	if call := receive(t, "the cancel", cancelled); call != c.Call {
		t.Errorf("cancelled %q", call)
	}
	j.wait().want(t, ExitInterrupted)
}

// Nobody waits for a toolrunner that is gone, or that is another by now.
func TestToolRunGone(t *testing.T) {
	r := newRig(t)
	called, release := make(chan bool, 1), make(chan struct{})
	serve := func() *fake {
		return r.serve("toolrunner", bus.Tool(proto.ToolSpec{Name: "slow"}, func(_ context.Context, c proto.ToolCall, _ []byte) proto.ToolResult {
			called <- true
			<-release
			return proto.ToolResult{Call: c.Call}
		}), tools(proto.Tools{Tools: []proto.ToolSpec{{Name: "slow"}}}))
	}
	f := serve()
	j := started(t, "tool", "run", "slow")
	receive(t, "the call", called)
	f.Close()
	serve()
	j.wait().want(t, ExitUnavailable, "!tool run: toolrunner is gone, and the call with it", "!desktop-assistant status")
	close(release)
}

func TestToolList(t *testing.T) {
	r := newRig(t)
	list := proto.Tools{
		Revision: 3, Dir: "/home/you/tools",
		Tools:    []proto.ToolSpec{{Name: "now", Description: "The time.", Parameters: json.RawMessage(`{}`)}, {Name: "search", Description: "Facts.", Parameters: json.RawMessage(`{}`), External: true}},
		Problems: []proto.Problem{{What: "/home/you/tools/x.toml:1:1: no command", Hint: "add one"}},
	}
	f := r.serve("toolrunner", tools(list))
	run(t, "tool", "list").want(t, 0, "now              The time.\nsearch           Facts.\n! /home/you/tools/x.toml:1:1: no command\n  add one\n")
	got := run(t, "tool", "list", "--json")
	got.want(t, 0)
	if back := lines[proto.Tools](t, got.out); len(back) != 1 || back[0].Revision != 3 || len(back[0].Tools) != 2 || len(back[0].Problems) != 1 {
		t.Errorf("%+v", back)
	}
	f.stop()
	r.serve("toolrunner", tools(proto.Tools{Dir: "/home/you/tools"}))
	run(t, "tool", "list").want(t, 0, "no tools in /home/you/tools\n")
}

// TestToolNew: the template is a file that loads, lints and runs as it is; what
// is there is never written over.
func TestToolNew(t *testing.T) {
	dir := home(t)
	folder := filepath.Join(dir, "config/desktop-assistant/tools")
	res := run(t, "tool", "new", "greet")
	res.want(t, 0, "wrote "+folder+"/greet.toml\n", "  desktop-assistant tool check --lint\n", "  desktop-assistant tool run greet who=Ada\n")
	text, err := os.ReadFile(filepath.Join(folder, "greet.toml"))
	if err != nil || !strings.HasPrefix(string(text), "# greet, a tool") || strings.Contains(string(text), "NAME.") {
		t.Errorf("%v: %s", err, text)
	}
	run(t, "tool", "new", "greet").want(t, ExitInvalid, "!tool new: "+folder+"/greet.toml is there already", "!hint: choose another name, or remove the file first")
	if again, err := os.ReadFile(filepath.Join(folder, "greet.toml")); err != nil || string(again) != string(text) {
		t.Errorf("it was written over: %v", err)
	}
	for _, name := range []string{"", "a b", "../x", "a/b", "x.toml", "é", strings.Repeat("x", 65)} {
		run(t, "tool", "new", "--", name).want(t, ExitUsage, "!cannot be a tool's name", "!hint: use 1 to 64")
	}
	run(t, "tool", "new").want(t, ExitUsage, "!wrong number of arguments")
	other := filepath.Join(dir, "other")
	got := run(t, "tool", "new", "--json", "--tools", other, "x")
	got.want(t, 0)
	if list := lines[made](t, got.out); len(list) != 1 || list[0].Path != other+"/x.toml" || len(list[0].Next) != 2 {
		t.Errorf("%+v", list)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "tool", "new", "--tools", filepath.Join(dir, "file"), "x").want(t, ExitFailed, "!make tools folder")
}
