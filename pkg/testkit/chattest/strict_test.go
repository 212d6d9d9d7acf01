// SPDX-License-Identifier: Apache-2.0

package chattest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestComplaints(t *testing.T) {
	const user = `{"role":"user","content":"a"}`
	call := func(id, name, arguments string) string {
		return `{"role":"assistant","content":"","tool_calls":[{"id":"` + id + `","function":{"name":"` + name + `","arguments":"` + arguments + `"}}]}`
	}
	result := func(id string) string { return `{"role":"tool","tool_call_id":"` + id + `","content":"x"}` }
	for _, c := range []struct{ messages, keys, want string }{
		{user, "", ""},
		{`{"role":"system","content":"s"},` + user + "," + call("1", "now", "{}") + "," + result("1"), "", ""},
		{user + `,{"role":"assistant","content":"b"},` + user, `,"tools":[{}],"tool_choice":"none"`, ""},
		{"", "", "no messages"},
		{user + "," + user, "", "message 1 is from user"},
		{user + `,{"role":"system","content":"s"}`, "", "message 1 is from system"},
		{user + `,{"role":"assistant","content":"b"}`, "", "last message"},
		{user + `,{"role":"assistant","content":""},` + user, "", "neither content nor calls"},
		{user + `,{"role":"assistant","content":"<think>b"},` + user, "", "markup"},
		{`{"role":"user"}`, "", "no content"},
		{user + "," + call("1", "now", "x") + "," + result("1"), "", "no JSON object"},
		{user + "," + call("", "now", "{}") + "," + result(""), "", "is empty"},
		{user + "," + call("1", "a b", "{}") + "," + result("1"), "", "no name"},
		{user + "," + call("1", "now", "{}"), "", "not answered"},
		{user + "," + call("1", "now", "{}") + "," + user, "", "before the calls"},
		{user + "," + result("1"), "", "answers"},
		{user, `,"tools":[]`, "empty list"},
		{user, `,"tool_choice":"none"`, "without tools"},
	} {
		body := `{"messages":[` + c.messages + `]` + c.keys + `}`
		got := strings.Join((&Request{Body: []byte(body)}).Complaints(), "; ")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", body, got, c.want)
		}
	}
}

func TestReadCases(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"1-one.json": `{"chunks":["a",{"b64":"Yg=="}],"close":"reset","headers":{"x":"y"}}`, "2.jsonl": `{"name":"two","status":500}` + "\n" + `{"name":"three","close":"stall"}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cases, err := ReadCases(dir)
	if err != nil || len(cases) != 3 || cases[0].Name != "1-one" || cases[2].Name != "three" {
		t.Fatalf("got %+v, %v", cases, err)
	}
	ex, err := cases[0].Exchange()
	if err != nil || len(ex.Pieces) != 2 || ex.Pieces[1].Bytes != "b" || ex.End != Reset || ex.Header.Get("X") != "y" {
		t.Errorf("got %+v, %v", ex, err)
	}
	if _, err := ReadCases(t.TempDir()); err == nil {
		t.Error("an empty folder is no error")
	}
	bad := Case{Name: "bad", Chunks: []json.RawMessage{[]byte("7")}}
	if _, err := bad.Exchange(); err == nil {
		t.Error("a number is no piece")
	}
}
