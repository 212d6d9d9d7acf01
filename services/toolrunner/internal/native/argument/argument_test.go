// SPDX-License-Identifier: Apache-2.0

package argument

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/toolrunner/internal/native/fault"
)

var params = []Param{
	{Name: "path", Required: true, Description: "where"},
	{Name: "kind", Enum: []string{"file", "directory"}},
	{Name: "max", Type: Integer},
	{Name: "headers", Type: Texts},
}

func TestDecode(t *testing.T) {
	v, err := Decode(params, []byte(` {"headers":{"A":"b","a":""},"max":7,"p\u0061th":"\u00e9\ud83d\ude00","kind":"file"} `))
	if err != nil {
		t.Fatal(err)
	}
	path, given := v.Text("path")
	if path != "é😀" || !given || v.Integer("max") != 7 || v.Texts("headers")["A"] != "b" || len(v.Texts("headers")) != 2 {
		t.Errorf("got %+v", v)
	}
	if _, given := v.Text("body"); given {
		t.Error("what was not given is there")
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, text := range []string{
		``, ` `, `null`, `[]`, `"x"`, `7`, `{`, `{}`, `{"path":"a"}x`, `{"path":"a"}{"path":"b"}`, `{"path":"a",}`,
		`{"path":"a","PATH":"b"}`, `{"Path":"a"}`, `{"path":"a","path":"a"}`, `{"path":"a","p\u0061th":"b"}`,
		`{"path":"a","other":1}`, `{"path":null}`, `{"path":7}`, `{"path":["a"]}`, `{"path":{"a":"b"}}`, `{"path":true}`,
		`{"path":"a","max":0}`, `{"path":"a","max":-1}`, `{"path":"a","max":1.0}`, `{"path":"a","max":1e3}`, `{"path":"a","max":"7"}`,
		`{"path":"a","max":99999999999999999999}`, `{"path":"a","max":null}`, `{"path":"a","max":true}`, `{"path":"a","max":[1]}`,
		`{"path":"a","kind":"File"}`, `{"path":"a","kind":""}`,
		`{"path":"a","headers":["A: b"]}`, `{"path":"a","headers":{"A":1}}`, `{"path":"a","headers":{"A":{"B":"c"}}}`,
		`{"path":"a","headers":{"A":"1","A":"2"}}`, `{"path":"a","headers":"A: b"}`,
		`{"path":"\ud800"}`, `{"path":"\udc00\ud800"}`, `{"path":"\ud800x"}`, `{"path":"\ud800\u0041"}`, `{"\ud800":"a"}`,
		"{\"path\":\"\xff\"}", "\xef\xbb\xbf{\"path\":\"a\"}", "{\"path\":\"a\x00\"}", `{'path':'a'}`, `{path:"a"}`, `{"path":"a"} // x`,
		strings.Repeat(`{"path":`, 20000),
	} {
		_, err := Decode(params, []byte(text))
		var f *fault.Fault
		if !errors.As(err, &f) || f.Kind != proto.KindInvalidArguments {
			t.Errorf("%.60q: %v", text, err)
		}
	}
	for _, text := range []string{`{"path":"\\ud800"}`, `{"path":"\ud83d\ude00\u0041\\"}`, `{"path":"\\\ud83d\ude00"}`} {
		if _, err := Decode(params, []byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestSchema: the schema names every parameter with its type.
func TestSchema(t *testing.T) {
	const want = `{"type":"object","properties":{"path":{"description":"where","type":"string"},` +
		`"kind":{"description":"","enum":["file","directory"],"type":"string"},"max":{"description":"","minimum":1,"type":"integer"},` +
		`"headers":{"additionalProperties":{"type":"string"},"description":"","type":"object"}},"required":["path"],"additionalProperties":false}`
	if got := string(Schema(params)); got != want {
		t.Errorf("got %s", got)
	}
}

// FuzzDecode: what is accepted is one object that any other decoder reads in
// the same way, with each name once; what is not is refused in words that hold
// nothing of it.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{`{"path":"a","max":3,"headers":{"A":"b"},"kind":"file"}`, `{"path":"\ud83d\ude00"}`, `{"PATH":"a"}`, `null`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Decode(params, data)
		if err != nil {
			var f *fault.Fault
			if !errors.As(err, &f) || f.Kind != proto.KindInvalidArguments || f.Text == "" || !utf8.ValidString(f.Text) {
				t.Fatalf("fault %v", err)
			}
			return
		}
		var plain map[string]any
		if err := json.Unmarshal(data, &plain); err != nil {
			t.Fatalf("accepted, but %v", err)
		}
		for name, value := range plain {
			switch value := value.(type) {
			case string:
				if got, ok := v.Text(name); !ok || got != value {
					t.Fatalf("%s is %q, not %q", name, got, value)
				}
			case float64:
				if n := v.Integer(name); n < 1 || float64(n) != value {
					t.Fatalf("%s is %d, not %v", name, n, value)
				}
			case map[string]any:
				if len(v.Texts(name)) != len(value) {
					t.Fatalf("%s has %d texts, not %d", name, len(v.Texts(name)), len(value))
				}
			default:
				t.Fatalf("%s is a %T", name, value)
			}
			if !slices.ContainsFunc(params, func(p Param) bool { return p.Name == name }) {
				t.Fatalf("unknown %q", name)
			}
		}
		if _, ok := v.Text("path"); !ok {
			t.Fatal("without a path")
		}
	})
}
