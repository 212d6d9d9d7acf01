// SPDX-License-Identifier: Apache-2.0

package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/console"
)

// A list says what the model is not offered, and why.
func TestHeldBack(t *testing.T) {
	for _, c := range []struct {
		spec  proto.ToolSpec
		route string
		held  bool
	}{
		{proto.ToolSpec{}, "local", false},
		{proto.ToolSpec{}, "external", true},
		{proto.ToolSpec{External: true}, "external", false},
		{proto.ToolSpec{Confirm: proto.ConfirmVoice}, "local", false},
	} {
		if why := HeldBack(c.spec, c.route); (why != "") != c.held {
			t.Errorf("%+v on a %s route: %q", c.spec, c.route, why)
		}
	}
}

// Everything of the list is shown, each with its reason.
func TestPrint(t *testing.T) {
	var out strings.Builder
	Print(console.New(&out), proto.Tools{
		Dir:      "/home/you/tools",
		Tools:    []proto.ToolSpec{{Name: "now", Description: "The\n time.", Held: "why"}, {Name: "send", Description: "Mail.", External: true, Confirm: proto.ConfirmVoice}},
		Off:      []proto.ToolOff{{Name: "web_search", Why: "it has no endpoint"}},
		Problems: []proto.Problem{{What: "x.toml:1: no command", Hint: "add one"}},
	}, "external")
	want := "now              The time.\n                 (held back: the chat server is external, and why)\n" +
		"send             Mail.\n                 (asks for a yes before it runs)\n" +
		"web_search       (off: it has no endpoint)\n! x.toml:1: no command\n  add one\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestFind(t *testing.T) {
	tools := proto.Tools{Tools: []proto.ToolSpec{{Name: "now"}, {Name: "b"}}, Off: []proto.ToolOff{{Name: "read_file", Why: "it is not switched on"}}}
	if spec, err := Find(tools, "now"); err != nil || spec.Name != "now" {
		t.Errorf("%+v, %v", spec, err)
	}
	for name, want := range map[string]struct {
		code proto.Code
		hint string
	}{
		"read_file": {proto.CodeDenied, "tool enable read_file"},
		"nope":      {proto.CodeNotFound, "the tools are: b, now"},
	} {
		if _, err := Find(tools, name); !errors.Is(err, &proto.Error{Code: want.code}) || !strings.Contains(proto.HintOf(err), want.hint) {
			t.Errorf("%s: %v", name, err)
		}
	}
	many := proto.Tools{Tools: make([]proto.ToolSpec, maxNames+1)}
	if _, err := Find(many, "nope"); proto.HintOf(err) != "see what there is: desktop-assistant tool list" {
		t.Errorf("many tools: %q", proto.HintOf(err))
	}
	if _, err := Find(proto.Tools{Dir: "/x"}, "now"); !errors.Is(err, &proto.Error{Code: proto.CodeNotFound}) {
		t.Errorf("no tools: %v", err)
	}
}

func TestComplete(t *testing.T) {
	tools := proto.Tools{Tools: []proto.ToolSpec{
		{Name: "now", Description: "The time."},
		{Name: "weather", Description: "D.", Parameters: json.RawMessage(`{"properties":{"when":{},"place":{}}}`)},
	}}
	for name, want := range map[string]string{"": "now\tThe time.|weather\tD.", "weather": "place=|when=", "now": "", "nope": ""} {
		if got := strings.Join(Complete(tools, name), "|"); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestRun(t *testing.T) {
	if status, err := Run(t.Context(), exec.Command("sh", "-c", "exit 3")); status != 3 || err != nil {
		t.Errorf("%d, %v", status, err)
	}
	if _, err := Run(t.Context(), exec.Command("/no/such/toolrunner")); err == nil || !strings.HasPrefix(err.Error(), "run toolrunner: ") {
		t.Errorf("not there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, exec.CommandContext(ctx, "sleep", "100")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
