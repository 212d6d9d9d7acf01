// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/pkg/testkit/chattest"
	"example.org/desktop-assistant/services/brain/internal/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServe(t *testing.T) {
	server := chattest.New(t)
	server.Script(
		chattest.Exchange{Pieces: chattest.Join(chattest.Text("Wait <there>. "), chattest.CallDelta(0, "c1", "now", `{"a":`, `1}`),
			chattest.CallDelta(1, "c2", "now", `{'a'`), chattest.Finish("tool_calls"))},
		chattest.Loading(),
	)
	round := fmt.Sprintf(`{"op":"round","base_url":%q,"user":"please","idle_timeout_ms":60000,"total_timeout_ms":60000,`+
		`"tools":[{"type":"function","function":{"name":"now","description":"d","parameters":{"type":"object"}}}]}`, server.URL)
	in := strings.Join([]string{round, round, `{"op":"x"}`, `{`, `{"op":"round"}`}, "\n")
	var out strings.Builder
	if err := Serve(t.Context(), strings.NewReader(in), &out, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"content":"Wait <there>. ","calls":[{"id":"c1","name":"now","arguments":{"a":1},"run":true},{"id":"c2","name":"now","arguments":"{'a'","run":false}],"error":null}`,
		`{"content":"","calls":[],"error":"kind:loading ask chat server: status 503: Loading model (unavailable_error)"}`,
		`{"content":"","calls":[],"error":"kind:protocol unknown op \"x\""}`,
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(got) != 5 {
		t.Fatalf("got %d lines: %q", len(got), got)
	}
	for i, w := range want {
		if got[i] != w {
			t.Errorf("line %d: got  %s\nwant %s", i, got[i], w)
		}
	}
	for _, line := range got[3:] {
		if !strings.Contains(line, `"error":"kind:`) {
			t.Errorf("got %s, want an error", line)
		}
	}
}

func TestMainReportsBadInput(t *testing.T) {
	var out, errs strings.Builder
	if status := Main(strings.NewReader(""), &out, &errs); status != 0 || out.String()+errs.String() != "" {
		t.Errorf("no input: got status %d, %q, %q", status, out.String(), errs.String())
	}
	if status := Main(strings.NewReader(strings.Repeat("x", maxLine+1)), &out, &errs); status != 1 || !strings.Contains(errs.String(), "read request") {
		t.Errorf("huge line: got status %d, %q", status, errs.String())
	}
}

func TestEveryKindHasAName(t *testing.T) {
	for _, k := range model.Kinds() {
		if kinds[k] == "" {
			t.Errorf("kind %s has no name", k)
		}
	}
}
