// SPDX-License-Identifier: Apache-2.0

package argument

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"example.org/desktop-assistant/proto"
)

// schemaOf describes params as "name:type ...".
func schemaOf(t *testing.T, list string) proto.ToolSpec {
	t.Helper()
	properties := map[string]any{}
	for field := range strings.FieldsSeq(list) {
		name, kind, _ := strings.Cut(field, ":")
		properties[name] = map[string]any{"type": kind}
	}
	text, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
	if err != nil {
		t.Fatal(err)
	}
	return proto.ToolSpec{Name: "x", Parameters: text}
}

// A value is what the tool says it is: a text stays one, a number keeps its
// digits, and what has not the form of its type is told before anything runs.
func TestEncode(t *testing.T) {
	spec := schemaOf(t, "text:string place:string n:integer f:number on:boolean off:boolean list:array map:object")
	for line, want := range map[string]string{
		"":                                `{}`,
		"text=12":                         `{"text":"12"}`,
		"text=true":                       `{"text":"true"}`,
		"text=":                           `{"text":""}`,
		"text=a=b":                        `{"text":"a=b"}`,
		`text={"a":1}`:                    `{"text":"{\"a\":1}"}`,
		"place=Rome~&~Milan":              `{"place":"Rome \u0026 Milan"}`,
		"place=Z\u00fcrich text=tomorrow": `{"place":"Zürich","text":"tomorrow"}`,
		"text=1 text=2":                   `{"text":"2"}`,
		"n=12345678901234567890":          `{"n":12345678901234567890}`,
		"n=-0":                            `{"n":-0}`,
		"n=":                              `{}`,
		"f=1.50":                          `{"f":1.50}`,
		"f=1e400":                         `{"f":1e400}`,
		"f=1E+2":                          `{"f":1E+2}`,
		"on=true off=false":               `{"off":false,"on":true}`,
		"list=[1,\"a\"]":                  `{"list":[1,"a"]}`,
		"map={\"a\":{}}":                  `{"map":{"a":{}}}`,
		"n=1.5":                           `!n must be a whole number, not "1.5"`,
		"n=00123":                         `!n must be a whole number`,
		"n=1_000":                         `!n must be a whole number`,
		"n=~1":                            `!n must be a whole number`,
		"n=null":                          `!n must be a whole number`,
		"f=NaN":                           `!f must be a number`,
		"f=.5":                            `!f must be a number`,
		"f=0x10":                          `!f must be a number`,
		"on=True":                         `!on must be true or false`,
		"list=1":                          `!list must be an array in JSON`,
		"list=[1,]":                       `!list must be an array in JSON`,
		"map=[]":                          `!map must be an object in JSON`,
		"palce=Rome":                      `!x has no argument "palce"`,
		"place":                           `!"place" is not KEY=VALUE`,
		"=Rome":                           `!"=Rome" is not KEY=VALUE`,
	} {
		pairs := strings.Fields(line)
		for i := range pairs {
			pairs[i] = strings.ReplaceAll(pairs[i], "~", " ")
		}
		got, err := Encode(spec, pairs)
		if want, wrong := strings.CutPrefix(want, "!"); wrong {
			if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, &proto.Error{Code: proto.CodeInvalid}) || proto.HintOf(err) == "" {
				t.Errorf("%q: %s, %v; want %s", line, got, err, want)
			}
			continue
		}
		if err != nil || string(got) != want {
			t.Errorf("%q: %s, %v; want %s", line, got, err, want)
		}
	}
	if _, err := Encode(proto.ToolSpec{Name: "now"}, []string{"a=b"}); err == nil || proto.HintOf(err) != "now takes no arguments" {
		t.Errorf("a tool without params: %v", err)
	}
	union := proto.ToolSpec{Parameters: json.RawMessage(`{"properties":{"n":{"type":["null","integer"]},"any":{}}}`)}
	if got, err := Encode(union, []string{"n=1", "any=1"}); err != nil || string(got) != `{"any":"1","n":1}` {
		t.Errorf("several types: %s, %v", got, err)
	}
}
