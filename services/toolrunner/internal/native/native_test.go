// SPDX-License-Identifier: Apache-2.0

package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/toolrunner/internal/native/engine"
	"example.org/desktop-assistant/services/toolrunner/internal/native/fault"
)

// runner answers every call and remembers them.
type runner struct {
	calls []engine.Call
	fail  bool
}

func (r *runner) Run(_ context.Context, c engine.Call) engine.Result {
	r.calls = append(r.calls, c)
	return engine.Result{OK: !r.fail, Text: "done"}
}

func all() config.NativeTools {
	n := config.Default().NativeTools
	n.ListDirectory, n.ReadFile, n.WebSearch, n.HTTPRequest, n.FetchText, n.FetchJSON = true, true, true, true, true, true
	n.SearchEndpoint = "https://search.example.org"
	n.AllowedOrigins = []string{"https://example.org"}
	n.CallLimit = 5
	return n
}

func tools(t *testing.T, n config.NativeTools) (*Tools, *runner) {
	t.Helper()
	data := t.TempDir()
	p, err := NewPlan(Sources{Config: n, Data: data})
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{}
	return New(p, r), r
}

const (
	readCall = `{"path":"a.txt"}`
	postCall = `{"method":"POST","url":"https://example.org/","body":"x"}`
	getCall  = `{"method":"GET","url":"https://example.org/"}`
	askCall  = `{"method":"GET","url":"https://example.org/?q=x"}`
)

// TestOffered: by default nothing is on; an external route gets two tools, and
// only when the configuration says so.
func TestOffered(t *testing.T) {
	none, _ := tools(t, config.Default().NativeTools)
	if got := none.Offered(false); len(got) != 0 || len(none.Specs()) != 0 || len(none.All()) != 6 || len(none.Plan().Off) != 6 {
		t.Errorf("off: %v", got)
	}
	n := all()
	on, _ := tools(t, n)
	if got := on.Offered(false); !slices.Equal(got, Names()) {
		t.Errorf("on: %v", got)
	}
	if got := on.Offered(true); len(got) != 0 {
		t.Errorf("external: %v", got)
	}
	n.External = true
	out, r := tools(t, n)
	if got := out.Offered(true); !slices.Equal(got, []string{"list_directory", "read_file"}) {
		t.Errorf("external: %v", got)
	}
	for _, s := range out.Specs() {
		if s.External != slices.Contains(out.Offered(true), s.Name) || s.External == (s.Held != "") || !s.Native || s.TimeoutMS != 5000 {
			t.Errorf("spec %+v", s)
		}
	}
	for _, name := range Names() {
		res := out.Call(t.Context(), name, proto.ToolCall{Route: "external"}, []byte(readCall))
		if name != "read_file" && name != "list_directory" && (res.OK || res.Kind != proto.KindNotAllowed) {
			t.Errorf("%s on an external route: %+v", name, res)
		}
	}
	if len(r.calls) != 2 || !r.calls[0].External {
		t.Errorf("ran %+v", r.calls)
	}
}

// TestLimit: calls count before anything of them is looked at, and a limit that
// comes with a call only lowers what the turn began with.
func TestLimit(t *testing.T) {
	n := all()
	n.CallLimit = 3
	on, _ := tools(t, n)
	kinds := func(turn string, limits ...int) (list []string) {
		for i, limit := range limits {
			arguments := []string{readCall, "not json", `{}`, readCall}[i]
			list = append(list, on.Call(t.Context(), "read_file", proto.ToolCall{Turn: turn, Limit: limit}, []byte(arguments)).Kind)
		}
		return list
	}
	const bad, spent = proto.KindInvalidArguments, proto.KindNotAllowed
	for _, c := range []struct {
		turn   string
		limits []int
		want   []string
	}{
		{"t1", []int{0, 0, 0, 0}, []string{"", bad, bad, spent}},
		{"t2", []int{5, 5, 5, 5}, []string{"", bad, bad, spent}},
		{"t3", []int{2, 5, 5, 5}, []string{"", bad, spent, spent}},
		{"t4", []int{5, 1, 5, 5}, []string{"", spent, spent, spent}},
		{"", []int{1, 1, 1, 1}, []string{"", bad, bad, ""}}, // each a turn of its own
	} {
		if got := kinds(c.turn, c.limits...); !slices.Equal(got, c.want) {
			t.Errorf("turn %s: %v", c.turn, got)
		}
	}
	// A change holds from the next turn on.
	p := on.Plan()
	p.CallLimit = 1
	on.Call(t.Context(), "read_file", proto.ToolCall{Turn: "old"}, []byte(readCall))
	on.Replace(p, &runner{})
	if got := kinds("old", 0, 0); got[1] == spent {
		t.Errorf("the turn that ran: %v", got)
	}
	if got := kinds("new", 0, 0); got[1] != spent {
		t.Errorf("the next: %v", got)
	}
}

// TestTurnsAreForgotten: the memory of turns does not grow for ever.
func TestTurnsAreForgotten(t *testing.T) {
	var all turns
	for i := range 3 * maxTurns {
		all.of(fmt.Sprint(i))
	}
	if len(all.known) != maxTurns || len(all.order) != maxTurns || all.known[fmt.Sprint(3*maxTurns-1)] == nil {
		t.Errorf("%d turns", len(all.known))
	}
}

// TestConfirm: what a turn has read leaves it only with a yes.
func TestConfirm(t *testing.T) {
	on, r := tools(t, all())
	call := func(turn, name, arguments string, confirmed bool) string {
		return on.Call(t.Context(), name, proto.ToolCall{Turn: turn, Confirmed: confirmed}, []byte(arguments)).Kind
	}
	for _, c := range []struct {
		name, arguments string
		confirmed       bool
		want            string
	}{
		{"http_request", postCall, false, ""},
		{"read_file", readCall, false, ""},
		{"http_request", getCall, false, ""},
		{"http_request", postCall, false, proto.KindUnconfirmed},
		{"http_request", askCall, false, proto.KindUnconfirmed},
		{"fetch_text", `{"url":"https://example.org/?q=x"}`, false, proto.KindUnconfirmed},
		{"http_request", postCall, true, ""}, // which did not count before
		{"web_search", `{"query":"x"}`, false, ""},
		{"web_search", `{"query":"x"}`, false, proto.KindNotAllowed},
	} {
		if got := call("t1", c.name, c.arguments, c.confirmed); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.name, c.arguments, got, c.want)
		}
	}
	if got := call("t2", "http_request", postCall, false); got != "" {
		t.Errorf("another turn: %q", got)
	}
	r.fail = true // what could not be read cannot be sent
	if call("t3", "read_file", readCall, false); call("t3", "http_request", postCall, false) == proto.KindUnconfirmed {
		t.Error("nothing was read")
	}
	n := all()
	n.Confirm = proto.ConfirmVoice
	asks, _ := tools(t, n)
	for arguments, want := range map[string]string{postCall: proto.KindUnconfirmed, askCall: ""} {
		if got := asks.Call(t.Context(), "http_request", proto.ToolCall{}, []byte(arguments)).Kind; got != want {
			t.Errorf("%s with confirm: %q", arguments, got)
		}
	}
}

// TestPlan: what cannot be used is named, and nothing takes its place.
func TestPlan(t *testing.T) {
	dir := t.TempDir()
	n := all()
	n.AllowedOrigins = []string{"https://example.org/", "http://example.org", "https://user:SECRET@example.org", "https://SECRET@example.org", "https://example.org/?key=SECRET", "https://EXAMPLE.org"}
	n.SearchEndpoint = "http://192.0.2.1/search"
	p, err := NewPlan(Sources{Config: n, Data: dir, Workspace: "/proc", Origins: "http://localhost:8080, nonsense"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Origins, []string{"https://example.org", "http://localhost:8080"}) || p.Endpoint != "" || p.Workspace != "" || slices.Contains(p.On, "web_search") {
		t.Errorf("plan %+v", p)
	}
	var whole strings.Builder
	for _, problem := range p.Problems {
		if problem.Hint == "" {
			t.Errorf("no hint: %s", problem.What)
		}
		fmt.Fprintln(&whole, problem.What)
	}
	if len(p.Problems) != 7 || strings.Contains(whole.String(), "SECRET") || !strings.Contains(whole.String(), "nonsense") {
		t.Errorf("problems:\n%s", whole.String())
	}
	used := 0
	for _, o := range p.Listed {
		if o.Used {
			used++
		}
	}
	if used != 2 || len(p.Listed) < 4 {
		t.Errorf("listed %+v", p.Listed)
	}
	n = all()
	n.BuiltinOrigins = true
	if p, err := NewPlan(Sources{Config: n, Data: dir}); err != nil || len(p.Origins) < 3 || len(p.Problems) != 0 || p.Workspace != filepath.Join(resolve(t, dir), "workspace") {
		t.Errorf("plan %+v, %v", p, err)
	}
	off := config.Default().NativeTools
	if _, err := NewPlan(Sources{Config: off, Data: filepath.Join(dir, "none")}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a folder was made though no tool is on")
	}
	off.CallLimit = 6
	var f *fault.Fault
	if _, err := NewPlan(Sources{Config: off}); !errors.As(err, &f) {
		t.Errorf("a limit of 6: %v", err)
	}
}

func resolve(t *testing.T, path string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return real
}
