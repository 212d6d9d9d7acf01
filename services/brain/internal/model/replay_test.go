// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/testkit/chattest"
)

// A replay is one recorded answer, with what a good client makes of it. The
// format is told in the README beside the collection they come from.
type replay struct {
	Status      int               `json:"status"`
	ContentType string            `json:"content_type"`
	Headers     map[string]string `json:"headers"`
	Chunks      []json.RawMessage `json:"chunks"`
	Close       string            `json:"close"`
	Tools       *[]string         `json:"tools"`
	Expect      outcome           `json:"expect"`
	Accept      []outcome         `json:"accept"`
}

type outcome struct {
	Content string `json:"content"`
	Calls   []struct {
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Run       *bool           `json:"run"`
	} `json:"calls"`
	Error *string `json:"error"`
}

func (c *replay) exchange(t *testing.T) chattest.Exchange {
	t.Helper()
	ex := chattest.Exchange{Status: c.Status, ContentType: c.ContentType}
	for _, raw := range c.Chunks {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			ex.Pieces = append(ex.Pieces, chattest.Piece{Bytes: text})
			continue
		}
		var piece struct {
			B64 string `json:"b64"`
		}
		if err := json.Unmarshal(raw, &piece); err != nil {
			t.Fatalf("chunk %s: %v", raw, err)
		}
		b, err := base64.StdEncoding.DecodeString(piece.B64)
		if err != nil {
			t.Fatalf("chunk %s: %v", raw, err)
		}
		ex.Pieces = append(ex.Pieces, chattest.Piece{Bytes: string(b)})
	}
	switch c.Close {
	case "reset":
		ex.End = chattest.Reset
	case "stall":
		ex.End = chattest.Stall
	}
	return ex
}

var parameters = map[string]string{
	"get_weather": `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`,
	"set_timer":   `{"type":"object","properties":{"minutes":{"type":"number"},"label":{"type":"string"}}}`,
	"get_time":    ``,
	"set_light":   `{"type":"object","properties":{"room":{"type":"string"},"state":{"type":"string"}}}`,
}

func (c *replay) request() Request {
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
	KindUnreachable: "kind:server", KindLoading: "kind:loading", KindUnauthorized: "kind:config",
	KindRefused: "kind:config", KindNoTools: "kind:config", KindContextFull: "kind:context", KindBusy: "kind:server",
	KindServer: "kind:server", KindStalled: "kind:timeout", KindInterrupted: "kind:interrupted", KindEmpty: "kind:empty",
	KindTruncated: "kind:truncated", KindFiltered: "kind:filtered", KindLeak: "kind:leak", KindBadStream: "kind:protocol",
}

// meets tells why a reply is not the outcome, "" when it is.
func (o *outcome) meets(reply Reply, err error) string {
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

// TestReplay runs every recorded answer through the client.
func TestReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/llm-streams/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded answers: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var c replay
			if err := json.Unmarshal(data, &c); err != nil {
				t.Fatal(err)
			}
			server := chattest.New(t)
			server.Script(c.exchange(t))
			client := newClient(t, server.URL, nil)
			var said strings.Builder
			reply, chatErr := client.Chat(t.Context(), c.request(), func(s string) { said.WriteString(s) })
			if said.String() != reply.Text {
				t.Errorf("spoken %q, text %q", said.String(), reply.Text)
			}
			var why []string
			for _, o := range append([]outcome{c.Expect}, c.Accept...) {
				why = append(why, o.meets(reply, chatErr))
			}
			if !slices.Contains(why, "") {
				t.Errorf("%s: text %q, calls %+v, error %v", why[0], reply.Text, reply.Calls, chatErr)
			}
		})
	}
}
