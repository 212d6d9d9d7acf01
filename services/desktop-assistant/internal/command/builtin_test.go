// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
)

func TestToolSwitch(t *testing.T) {
	dir := home(t)
	path := configure(t, dir, "# mine\n[native_tools]\nweb_search = true # yes\n")
	file := func() string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	run(t, "tool", "enable", "read_file").want(t, 0, "read_file is on\n  the assistant does not run: it holds from its next start\n")
	run(t, "tool", "disable", "web_search").want(t, 0, "web_search is off\n  the assistant does not run: it holds from its next start\n")
	run(t, "tool", "disable", "web_search").want(t, 0, "web_search is off already\n  the assistant does not run: it holds from its next start\n")
	run(t, "tool", "limit", "5").want(t, 0, "an answer may take 5 calls of built-in tools\n  the assistant does not run: it holds from its next start\n")
	const want = "# mine\n[native_tools]\ncall_limit = 5\nread_file = true\nweb_search = false # yes\n"
	if got := file(); got != want {
		t.Errorf("got %q", got)
	}
	run(t, "tool", "enable", "read_fiel").want(t, ExitUsage, `!"read_fiel" is no built-in tool`, "!did you mean read_file?")
	run(t, "tool", "limit", "6").want(t, ExitUsage, "!from 1 to 5")
	run(t, "tool", "limit", "many").want(t, ExitUsage, `!"many" is no number`)
	run(t, "tool", "enable").want(t, ExitUsage, "!wrong number of arguments")
	if got := file(); got != want {
		t.Errorf("got %q", got)
	}
	configure(t, dir, "[native_tools]\nreed_file = true\n")
	run(t, "tool", "enable", "read_file").want(t, ExitConfig, "!config.toml:2:1: unknown key native_tools.reed_file")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	run(t, "tool", "enable", "read_file", "--config", filepath.Join(dir, "none.toml")).want(t, ExitConfig, "!cannot be read")
}

// A running toolrunner takes the change at once, and what is still missing is
// said.
func TestToolSwitchRunning(t *testing.T) {
	r := newRig(t)
	configure(t, r.dir, "")
	reloaded := make(chan struct{}, 4)
	list := proto.Tools{
		Tools:   []proto.ToolSpec{{Name: "read_file", Held: "because", Native: true}},
		Off:     []proto.ToolOff{{Name: "web_search", Why: "it has no endpoint"}},
		Origins: []proto.ToolOrigin{{Origin: "https://example.org", Used: true}, {Origin: "https://a.example.org", Builtin: true, Used: true}, {Origin: "https://b.example.org", Builtin: true}},
	}
	r.serve("toolrunner", tools(list), bus.CommandOf(proto.ReloadOf{Daemon: "toolrunner"}, func(context.Context, proto.ReloadOf) (proto.Done, error) {
		reloaded <- struct{}{}
		return proto.Done{}, nil
	}))
	run(t, "tool", "enable", "read_file").want(t, 0, "read_file is on\n")
	run(t, "tool", "enable", "web_search").want(t, 0, "web_search is on\n! web_search is not offered: it has no endpoint\n  see what is missing: desktop-assistant tool list\n")
	for range 2 {
		<-reloaded
	}
	run(t, "tool", "list").want(t, 0, "read_file        \nweb_search       (off: it has no endpoint)\nbuilt-in tools may send requests to:\n"+
		"  https://example.org\n  https://a.example.org (built in)\n  https://b.example.org (only with builtin_origins = true)\n")
	configure(t, r.dir, "[model]\nroute = \"external\"\n")
	run(t, "tool", "enable", "read_file").want(t, 0, "read_file is on\n  held back: the chat server is external, and because\n")
	run(t, "tool", "list").want(t, 0, "(held back: the chat server is external, and because)")
}
