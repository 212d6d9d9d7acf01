// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/testkit/chattest"
)

var parameters = map[string]string{
	"get_weather": `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`,
	"set_timer":   `{"type":"object","properties":{"minutes":{"type":"number"},"label":{"type":"string"}}}`,
	"get_time":    ``,
	"set_light":   `{"type":"object","properties":{"room":{"type":"string"},"state":{"type":"string"}}}`,
}

// requestOf offers the tools of a case.
func requestOf(c *chattest.Case) Request {
	names := slices.Sorted(maps.Keys(parameters))
	if c.Tools != nil {
		names = *c.Tools
	}
	req := Request{Messages: []Message{{Role: RoleUser, Content: "please"}}}
	for _, n := range names {
		req.Tools = append(req.Tools, Tool{Name: n, Description: n, Parameters: json.RawMessage(parameters[n])})
	}
	return req
}

// replayKinds says which of the kinds of the collection a kind of ours is.
var replayKinds = map[Kind]string{
	KindUnreachable: "kind:server", KindLoading: "kind:loading", KindUntrusted: "kind:config", KindAddress: "kind:config", KindUnauthorized: "kind:config",
	KindRefused: "kind:config", KindNoTools: "kind:config", KindContextFull: "kind:context", KindBusy: "kind:server",
	KindServer: "kind:server", KindStalled: "kind:timeout", KindInterrupted: "kind:interrupted", KindEmpty: "kind:empty",
	KindTruncated: "kind:truncated", KindFiltered: "kind:filtered", KindLeak: "kind:leak", KindBadStream: "kind:protocol",
}

// meets tells why a reply is not the outcome, "" when it is.
func meets(o *chattest.Outcome, reply Reply, err error) string {
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	want, got := squeeze(o.Content), squeeze(reply.Text)
	var e *Error
	switch failed := errors.As(err, &e); {
	case failed != (o.Error != nil):
		return "wrong error"
	case failed && !slices.ContainsFunc(strings.Split(*o.Error, "|"), func(alt string) bool {
		return strings.Contains(strings.ToLower(replayKinds[e.Kind]+" "+e.Error()), strings.ToLower(alt))
	}):
		return "wrong kind of error"
	case !failed && got != want, failed && !strings.HasPrefix(want, got):
		return "wrong text"
	case len(o.Calls) != len(reply.Calls):
		return "wrong number of calls"
	}
	for i, w := range o.Calls {
		c := reply.Calls[i]
		var wantArgs, gotArgs any
		if json.Unmarshal(w.Arguments, &wantArgs) != nil || json.Unmarshal(c.Arguments, &gotArgs) != nil {
			return "arguments are no JSON"
		}
		if !c.Decoded {
			gotArgs = c.Raw
		}
		run := w.Run == nil || *w.Run
		if w.ID != "*" && w.ID != c.ID || w.Name != c.Name || run != (c.Problem == "") || !reflect.DeepEqual(wantArgs, gotArgs) {
			return "wrong call"
		}
	}
	return ""
}

// TestReplay runs every recorded answer through the client: handed ones, and more
// of the same kinds.
func TestReplay(t *testing.T) {
	for _, dir := range []string{"testdata/llm-streams", "testdata/shapes"} {
		cases, err := chattest.ReadCases(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				replay(t, &c)
			})
		}
	}
}

func replay(t *testing.T, c *chattest.Case) {
	ex, err := c.Exchange()
	if err != nil {
		t.Fatal(err)
	}
	server := chattest.New(t)
	server.Script(ex)
	client := newClient(t, server.URL, nil)
	var said strings.Builder
	reply, chatErr := client.Chat(t.Context(), requestOf(c), func(s string) { said.WriteString(s) })
	if said.String() != reply.Text {
		t.Errorf("spoken %q, text %q", said.String(), reply.Text)
	}
	var why []string
	for _, o := range append([]chattest.Outcome{c.Expect}, c.Accept...) {
		why = append(why, meets(&o, reply, chatErr))
	}
	if !slices.Contains(why, "") {
		t.Errorf("%s: text %q, calls %+v, error %v", why[0], reply.Text, reply.Calls, chatErr)
	}
}
