// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/proto"
)

// TestParity: every tool has every part, each part once, and everything else
// that names tools names these.
func TestParity(t *testing.T) {
	example, err := os.ReadFile("../../../../../examples/config.toml")
	if err != nil {
		t.Fatal(err)
	}
	var names, external []string
	for _, r := range Records() {
		names = append(names, r.Name)
		if r.External {
			external = append(external, r.Name)
		}
		if !proto.ValidToken(r.Name) || r.Description == "" || r.Params == nil || r.On == nil || r.Shows == nil || r.Run == nil {
			t.Errorf("%s lacks a part", r.Name)
		}
		for _, p := range r.Params {
			if p.Description == "" || r.Shows[p.Name] == nil {
				t.Errorf("%s: %s lacks a part", r.Name, p.Name)
			}
		}
		if len(r.Shows) != len(r.Params) {
			t.Errorf("%s shows what it has not", r.Name)
		}
		var schema struct {
			Properties map[string]any
			Required   []string
		}
		if err := json.Unmarshal(r.Schema(), &schema); err != nil || len(schema.Properties) != len(r.Params) {
			t.Errorf("%s: schema %s, %v", r.Name, r.Schema(), err)
		}
		if got, ok := Find(r.Name); !ok || got.Name != r.Name {
			t.Errorf("%s is not found", r.Name)
		}
		if !strings.Contains(string(example), "\n#"+r.Name+" = false\n") {
			t.Errorf("%s is not in examples/config.toml", r.Name)
		}
		switches(t, r)
	}
	if !slices.IsSorted(names) || !slices.Equal(names, config.BuiltinTools()) {
		t.Errorf("names %v, the configuration has %v", names, config.BuiltinTools())
	}
	if !slices.Equal(external, []string{"list_directory", "read_file"}) {
		t.Errorf("an external chat server may get %v", external)
	}
	for _, r := range Records() {
		// A tool that sends and one that reads what is private are never the same.
		if r.Private && r.Asks != nil || r.External && r.Asks != nil {
			t.Errorf("%s reads and sends", r.Name)
		}
	}
}

// switches tries that a tool is switched by the key of its name and no other,
// and is off by default.
func switches(t *testing.T, r Record) {
	t.Helper()
	if r.On(config.Default().NativeTools) {
		t.Errorf("%s is on by default", r.Name)
	}
	var n config.NativeTools
	v := reflect.ValueOf(&n).Elem()
	for i := range v.NumField() {
		if v.Field(i).Kind() != reflect.Bool {
			continue
		}
		v.Field(i).SetBool(true)
		if key := v.Type().Field(i).Tag.Get("toml"); r.On(n) != (key == r.Name) {
			t.Errorf("%s is switched by %s: %v", r.Name, key, r.On(n))
		}
		v.Field(i).SetBool(false)
	}
}

// TestShown: events show what was asked for, and no secret of it.
func TestShown(t *testing.T) {
	for _, c := range []struct{ tool, arguments, want string }{
		{"read_file", `{"path":"a\u001b[1m/b.txt","max_lines":3}`, `{"max_lines":3,"path":"a[1m/b.txt"}`},
		{"http_request", `{"method":"POST","url":"https://example.org/a/b?key=SECRET","headers":{"Accept":"SECRET"},"body":"SECRET"}`,
			`{"body":"(6 bytes)","headers":{"Accept":"(hidden)"},"method":"POST","url":"https://example.org/a/b?…"}`},
		{"fetch_text", `{"url":"https://user:SECRET@example.org/#SECRET"}`, `{"url":"https://example.org/"}`},
		{"fetch_json", `{"url":"javascript:SECRET"}`, `{"url":"(not a web address)"}`},
		{"web_search", `{"query":"tea"}`, `{"query":"tea"}`},
		{"web_search", `{"query":"SECRET","query":"SECRET"}`, `{"unreadable":"35 bytes"}`},
		{"list_directory", `SECRET`, `{"unreadable":"6 bytes"}`},
		{"list_directory", `{}`, `{"unreadable":"2 bytes"}`},
	} {
		r, _ := Find(c.tool)
		if got := string(r.Shown([]byte(c.arguments))); got != c.want {
			t.Errorf("%s %s: %s", c.tool, c.arguments, got)
		}
	}
}

// TestAsks: what could carry data away is known by its query, its length, its
// headers and its body.
func TestAsks(t *testing.T) {
	for arguments, want := range map[string][2]bool{
		`{"method":"GET","url":"https://example.org/a"}`:                                     {false, false},
		`{"method":"GET","url":"https://example.org/a?"}`:                                    {true, false},
		`{"method":"POST","url":"https://example.org/a"}`:                                    {false, false},
		`{"method":"GET","url":"https://example.org/a","headers":{}}`:                        {false, false},
		`{"method":"GET","url":"https://example.org/a","headers":{"Accept":"x"}}`:            {true, false},
		`{"method":"GET","url":"https://example.org/` + strings.Repeat("a", plainURL) + `"}`: {true, false},
		`{"method":"POST","url":"https://example.org/a","body":"x"}`:                         {true, true},
		`{"method":"POST","url":"https://example.org/a?b=c","body":"x"}`:                     {true, true},
	} {
		r, _ := Find("http_request")
		v, err := r.Decode([]byte(arguments))
		if err != nil {
			t.Fatal(err)
		}
		if carries, body := r.Asks(v); carries != want[0] || body != want[1] {
			t.Errorf("%s: %v %v", arguments, carries, body)
		}
	}
}

// FuzzParseAnswer: a search server can say anything.
func FuzzParseAnswer(f *testing.F) {
	f.Add([]byte(`{"results":[{"url":"https://example.org","title":"a","content":"b"},null,7],"answers":["x",{"answer":"y"}],"infoboxes":7}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := parseAnswer(body)
		if err != nil {
			return
		}
		text, count := a.text(5)
		if count > 5 || strings.ContainsAny(text, "\x1b\r\u202e") {
			t.Fatalf("%d results: %q", count, text)
		}
		if len(text) > (5+maxAnswers)*4*(titleRunes+linkBytes+snippetRunes+20) {
			t.Fatalf("%d bytes", len(text))
		}
	})
}
