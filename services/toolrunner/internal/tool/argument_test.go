// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDecodeArguments(t *testing.T) {
	for _, c := range []struct {
		text string
		want Arguments
	}{
		{`{}`, Arguments{}},
		{" \n {\"a\":\"x\"} \n", Arguments{"a": "x"}},
		{`{"a":"x; rm -rf ~","b":2,"c":true,"d":null,"e":""}`, Arguments{"a": "x; rm -rf ~", "b": "2", "c": "true", "e": ""}},
		{`{"b":12345678901234567890123,"c":1.0,"d":1e9,"e":-0}`, Arguments{"b": "12345678901234567890123", "c": "1.0", "d": "1e9", "e": "-0"}},
		{`{"a":[1,"two"],"b":{"c": 1}}`, Arguments{"a": `[1,"two"]`, "b": `{"c": 1}`}},
		{`{"a":"\u00e9\ud83d\ude00","b":"x\ud800y"}`, Arguments{"a": "é😀", "b": "x\ufffdy"}},
		{`{"a":"1","A":"2"}`, Arguments{"a": "1", "A": "2"}},
		{`{"a":"l\u0000r"}`, Arguments{"a": "l\x00r"}},
		{``, nil}, {` `, nil}, {`null`, nil}, {`[1]`, nil}, {`"x"`, nil}, {`3`, nil}, {`{bad`, nil}, {`{"a":"x",}`, nil},
		{`{} {}`, nil}, {`{}x`, nil}, {`{'a':'x'}`, nil}, {`{"a":"1","a":"2"}`, nil}, {`{"a":null,"a":"2"}`, nil}, {`{"a":"1","\u0061":"2"}`, nil},
		{"{\"a\":\"\xff\"}", nil}, {"\ufeff{}", nil}, {"{\"a\":\"line\nbreak\"}", nil}, {`{"a":NaN}`, nil}, {`{"a":01}`, nil},
		{`{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, nil},
	} {
		got, err := DecodeArguments([]byte(c.text))
		if (err != nil) != (c.want == nil) || err == nil && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%.60q: got %q, %v; want %q", c.text, got, err, c.want)
		}
	}
}

func TestArgv(t *testing.T) {
	for _, c := range []struct {
		command []string
		a       Arguments
		want    []string
	}{
		{[]string{"x", "{a}", "x{b}y"}, Arguments{"a": "one two", "b": "2"}, []string{"x", "one two", "x2y"}},
		{[]string{"x", "{a}", "x{b}y"}, nil, []string{"x", "", "xy"}},
		{[]string{"x", "{a}{b}{a}"}, Arguments{"a": "{b}", "b": "{a}"}, []string{"x", "{b}{a}{b}"}},
		{[]string{"x", "{{a}}", "${a}"}, Arguments{"a": "1"}, []string{"x", "{1}", "$1"}},
		{[]string{"x", "{print $1}", "[0-9]{4}", "{}", "{ a }"}, Arguments{"a": "1", "4": "no"}, []string{"x", "{print $1}", "[0-9]{4}", "{}", "{ a }"}},
		{[]string{"x", "{\"q\":\"{a}\"}"}, Arguments{"a": "\\1 $0 ${1}"}, []string{"x", "{\"q\":\"\\1 $0 ${1}\"}"}},
	} {
		tool := &Tool{Command: c.command}
		if got := tool.Argv(c.a); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q with %q: got %q, want %q", c.command, c.a, got, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	tool := &Tool{Params: []Param{
		{Name: "must", Required: true},
		{Name: "one", Enum: []string{"a", "b"}},
		{Name: "form", Pattern: regexp.MustCompile(`^(?:[^-].*)$`)},
		{Name: "both", Required: true, Enum: []string{"x"}},
	}}
	for _, c := range []struct {
		a    Arguments
		want string
	}{
		{Arguments{"must": "", "both": "x"}, ""},
		{Arguments{"must": "1", "both": "x", "one": "b", "form": "ok", "other": "-"}, ""},
		{Arguments{"must": "1", "both": "x", "one": "", "form": ""}, ""},
		{Arguments{"both": "x"}, "must is required"},
		{Arguments{"must": "1"}, "both is required"},
		{Arguments{"must": "1", "both": ""}, "both must be one of x"},
		{Arguments{"must": "1", "both": "x", "one": "c"}, "one must be one of a, b"},
		{Arguments{"must": "1", "both": "x", "form": "-rf"}, "form has a form that is not allowed"},
	} {
		got := ""
		if err := tool.Check(c.a); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q: got %q, want %q", c.a, got, c.want)
		}
	}
}

func TestSchema(t *testing.T) {
	tool := &Tool{Params: []Param{
		{Name: "place", Type: "string", Description: "City \"name\"", Enum: []string{"Rome", "a<b"}},
		{Name: "days", Type: "integer", Required: true, Enum: []string{"1", "2"}},
		{Name: "list", Type: "array"},
	}}
	want := `{"type":"object","properties":{"place":{"type":"string","description":"City \"name\"","enum":["Rome","a\u003cb"]},` +
		`"days":{"type":"integer","enum":[1,2]},"list":{"type":"array","items":{}}},"required":["days"]}`
	if got := string(tool.Schema()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string((&Tool{}).Schema()); got != `{"type":"object","properties":{}}` {
		t.Errorf("no params: %s", got)
	}
}

func checkSchema(t *testing.T, tool *Tool) {
	t.Helper()
	var schema struct {
		Type       string
		Properties map[string]struct{ Type string }
		Required   []string
	}
	if err := json.Unmarshal(tool.Schema(), &schema); err != nil {
		t.Fatalf("schema %s: %v", tool.Schema(), err)
	}
	if schema.Type != "object" || len(schema.Properties) != len(tool.Params) {
		t.Fatalf("schema %s of %v", tool.Schema(), tool.Params)
	}
}

func FuzzDecodeArguments(f *testing.F) {
	_, arguments := handed(f)
	for _, s := range append(arguments, `{}`, `{"a":"x","b":12345678901234567890}`, `{"a":[1,{"b":null}],"c":1e9}`, `{"a":"\ud800"}`, `{bad`, `{"a":1,"a":2}`, `{"a":1E700}`) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := DecodeArguments(data)
		var object map[string]any
		reference := json.NewDecoder(bytes.NewReader(data))
		reference.UseNumber() // a float64 does not hold every number
		valid := utf8.Valid(data) && json.Valid(data) && reference.Decode(&object) == nil && object != nil
		if err == nil && !valid {
			t.Fatalf("%q was taken", data)
		}
		for name, text := range a {
			value, ok := object[name]
			if !ok || value == nil {
				t.Fatalf("%q: %q is not in the object", data, name)
			}
			if s, isText := value.(string); isText && s != text {
				t.Fatalf("%q: got %q, want %q", data, text, s)
			} else if !isText && !json.Valid([]byte(text)) {
				t.Fatalf("%q: %q is no JSON", data, text)
			}
		}
	})
}

func FuzzArgv(f *testing.F) {
	f.Add("x{a}y", "{b}", "2")
	f.Add("{a}{b}{{a}}", "$1", "{a}")
	f.Fuzz(func(t *testing.T, element, a, b string) {
		got := (&Tool{Command: []string{"x", element}}).Argv(Arguments{"a": a, "b": b})
		// The reference cuts at the placeholders instead of replacing them.
		want, rest := "", element
		for {
			at := placeholder.FindStringIndex(rest)
			if at == nil {
				break
			}
			value := map[string]string{"{a}": a, "{b}": b}[rest[at[0]:at[1]]]
			want, rest = want+rest[:at[0]]+value, rest[at[1]:]
		}
		if len(got) != 2 || got[0] != "x" || got[1] != want+rest {
			t.Fatalf("%q with %q, %q: got %q, want %q", element, a, b, got, want+rest)
		}
	})
}
