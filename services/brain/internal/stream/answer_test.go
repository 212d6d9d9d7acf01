// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.org/desktop-assistant/services/brain/internal/markup"
)

var offered = markup.Offer{
	"get_weather": {"city": "string"}, "set_timer": {"minutes": "number", "label": "string"},
	"get_time": {}, "set_light": {"room": "string", "state": "string"},
}

// collect feeds frames, each the content of choices[0] or a whole frame, and
// returns the text in pieces and the result.
func collect(t *testing.T, offer markup.Offer, frames ...string) (string, Result, error) {
	t.Helper()
	a := NewAnswer(offer, offer, false)
	var text strings.Builder
	for _, f := range frames {
		if !strings.HasPrefix(f, "{") || strings.HasPrefix(f, `{"delta`) || strings.HasPrefix(f, `{"message`) {
			if f != "[DONE]" && f != "null" && f != "" {
				f = `{"choices":[` + f + `]}`
			}
		}
		out, err := a.Add(Event{Data: []byte(f)})
		text.WriteString(out)
		if err != nil {
			return text.String(), Result{}, err
		}
	}
	tail, res := a.Close()
	text.WriteString(tail)
	return text.String(), res, nil
}

// entries wraps tool_calls entries, one a frame, and a finish.
func entries(list ...string) []string {
	var frames []string
	for _, e := range list {
		frames = append(frames, `{"delta":{"tool_calls":[`+e+`]},"finish_reason":null}`)
	}
	return append(frames, `{"delta":{},"finish_reason":"tool_calls"}`)
}

// show is "id name arguments problem" of each call; a made-up id is "*".
func show(calls []Call) []string {
	var out []string
	for _, c := range calls {
		id := c.ID
		if len(id) == 9 && !strings.HasPrefix(id, "c") {
			id = "*"
		}
		args := string(c.Arguments)
		if !c.Decoded {
			args = "raw:" + c.Raw
		}
		out = append(out, strings.TrimSpace(strings.Join([]string{id, c.Name, args, string(c.Problem)}, " ")))
	}
	return out
}

func TestAssembly(t *testing.T) {
	oslo, ulm := `{"city":"Oslo"}`, `{"city":"Ulm"}`
	esc := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	tests := []struct {
		name    string
		entries []string
		want    []string
	}{
		{"as specified", []string{`{"index":0,"id":"c1","type":"function","function":{"name":"get_weather","arguments":""}}`,
			`{"index":0,"function":{"arguments":"{\"city\":"}}`, `{"index":0,"function":{"arguments":"\"Oslo\"}"}}`},
			[]string{"c1 get_weather " + oslo}},
		{"interleaved", []string{`{"index":0,"id":"c1","function":{"name":"get_weather","arguments":"{\"city\":"}}`,
			`{"index":1,"id":"c2","function":{"name":"get_weather","arguments":"{\"city\":"}}`,
			`{"index":0,"function":{"arguments":"\"Oslo\"}"}},{"index":1,"function":{"arguments":"\"Ulm\"}"}}`},
			[]string{"c1 get_weather " + oslo, "c2 get_weather " + ulm}},
		{"whole calls without index", []string{`{"id":"c1","function":{"name":"get_weather","arguments":` + esc(oslo) + `}},{"id":"c2","function":{"name":"get_weather","arguments":` + esc(ulm) + `}}`},
			[]string{"c1 get_weather " + oslo, "c2 get_weather " + ulm}},
		{"whole calls without index and id", []string{`{"function":{"name":"get_weather","arguments":` + esc(oslo) + `}}`, `{"function":{"name":"get_weather","arguments":` + esc(ulm) + `}}`},
			[]string{"* get_weather " + oslo, "* get_weather " + ulm}},
		{"bare fragments", []string{`{"id":"c1","function":{"name":"get_weather"}}`, `{"function":{"arguments":"{\"city\":"}}`, `{"function":{"arguments":"\"Oslo\"}"}}`,
			`{"id":"c2","function":{"name":"get_time"}}`}, []string{"c1 get_weather " + oslo, "c2 get_time {}"}},
		{"index 0 for all, ids", []string{`{"index":0,"id":"c1","function":{"name":"get_weather","arguments":` + esc(oslo) + `}}`, `{"index":0,"id":"c2","function":{"name":"get_weather","arguments":` + esc(ulm) + `}}`},
			[]string{"c1 get_weather " + oslo, "c2 get_weather " + ulm}},
		{"index 0 for all, no ids", []string{`{"index":0,"function":{"name":"get_weather","arguments":` + esc(oslo) + `}}`, `{"index":0,"function":{"name":"get_weather","arguments":` + esc(ulm) + `}}`},
			[]string{"* get_weather " + oslo, "* get_weather " + ulm}},
		{"index 0 for all, no ids, no arguments first", []string{`{"index":0,"function":{"name":"get_time","arguments":"{}"}}`, `{"index":0,"function":{"name":"get_weather","arguments":` + esc(ulm) + `}}`},
			[]string{"* get_time {}", "* get_weather " + ulm}},
		{"index not from zero", []string{`{"index":3,"id":"c1","function":{"name":"get_time","arguments":"{}"}}`, `{"index":1,"id":"c2","function":{"name":"get_weather","arguments":` + esc(ulm) + `}}`},
			[]string{"c1 get_time {}", "c2 get_weather " + ulm}},
		{"opening index unlike the rest", []string{`{"index":2,"id":"c1","function":{"name":"get_weather"}}`, `{"index":0,"function":{"arguments":` + esc(oslo) + `}}`},
			[]string{"c1 get_weather " + oslo}},
		{"everything repeated", []string{`{"index":0,"id":"c1","function":{"name":"get_weather","arguments":"{\"city\":"}}`, `{"index":0,"id":"c1","function":{"name":"get_weather","arguments":"\"Oslo\"}"}}`, `{"index":0,"id":"c1","function":{"name":"get_weather","arguments":""}}`},
			[]string{"c1 get_weather " + oslo}},
		{"empty and null later", []string{`{"index":0,"id":"c1","function":{"name":"get_weather","arguments":null}}`, `{"index":0,"id":"","function":{"name":"","arguments":"{\"city\":"}}`, `{"index":0,"id":null,"function":{"name":"null","arguments":"\"Oslo\"}"}}`},
			[]string{"c1 get_weather " + oslo}},
		{"id changes", []string{`{"index":0,"id":"c1","function":{"name":"get_weather","arguments":"{\"city\":"}}`, `{"index":0,"id":"c9","function":{"arguments":"\"Oslo\"}"}}`},
			[]string{"c1 get_weather " + oslo}},
		{"shared id", []string{`{"index":0,"id":"c1","function":{"name":"get_weather","arguments":` + esc(oslo) + `}}`, `{"index":1,"id":"c1","function":{"name":"get_weather","arguments":` + esc(ulm) + `}}`},
			[]string{"c1 get_weather " + oslo, "* get_weather " + ulm}},
		{"same call twice", []string{`{"index":0,"id":"c1","function":{"name":"get_weather","arguments":` + esc(oslo) + `}}`, `{"index":1,"id":"c1","function":{"name":"get_weather","arguments":` + esc(oslo) + `}}`},
			[]string{"c1 get_weather " + oslo}},
		{"number as id", []string{`{"index":0,"id":7,"function":{"name":"get_time"}}`}, []string{"7 get_time {}"}},
		{"name in pieces", []string{`{"index":0,"id":"c1","function":{"name":"get_","arguments":""}}`, `{"index":0,"function":{"name":"wea"}}`, `{"index":0,"function":{"name":"ther","arguments":` + esc(oslo) + `}}`},
			[]string{"c1 get_weather " + oslo}},
		{"name in pieces without index", []string{`{"id":"c1","function":{"name":"get_"}}`, `{"function":{"name":"weather"}}`, `{"function":{"arguments":` + esc(oslo) + `}}`},
			[]string{"c1 get_weather " + oslo}},
		{"name late", []string{`{"index":0,"id":"c1","function":{"name":""}}`, `{"index":0,"function":{"name":"get_weather","arguments":` + esc(oslo) + `}}`},
			[]string{"c1 get_weather " + oslo}},
		{"name never", []string{`{"index":0,"id":"c1","function":{"name":"","arguments":"{}"}}`}, nil},
		{"function object missing", []string{`{"index":0,"id":"c1"}`, `{"index":0,"function":{"name":"get_time"}}`}, []string{"c1 get_time {}"}},
		{"unknown tool", []string{`{"index":0,"id":"c1","function":{"name":"open_door","arguments":"{}"}}`}, []string{"c1 open_door {} unknown_tool"}},
		{"decorated names", []string{`{"index":0,"id":"c1","function":{"name":"functions.get_time"}}`, `{"index":1,"id":"c2","function":{"name":"get_time<|channel|>commentary","arguments":"{}"}}`},
			[]string{"c1 get_time {}", "c2 get_time {}"}},
		{"invalid name", []string{`{"index":0,"id":"c1","function":{"name":"open the döör!"}}`}, []string{"c1 open_the_d__r_ {} unknown_tool"}},
		{"arguments as object", []string{`{"index":0,"id":"c1","function":{"name":"get_weather","arguments":{"city": "Oslo"}}}`}, []string{"c1 get_weather " + oslo}},
		{"empty object as object first", []string{`{"index":0,"id":"c1","function":{"name":"get_weather","arguments":{}}}`, `{"index":0,"function":{"arguments":` + esc(oslo) + `}}`},
			[]string{"c1 get_weather " + oslo}},
		{"null entry", []string{`null`, `{"index":0,"id":"c1","function":{"name":"get_time"}}`}, []string{"c1 get_time {}"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, res, err := collect(t, offered, entries(tt.entries...)...)
			if err != nil || !slices.Equal(show(res.Calls), tt.want) {
				t.Errorf("got %q, %v, want %q", show(res.Calls), err, tt.want)
			}
		})
	}
}

func TestArguments(t *testing.T) {
	tests := []struct {
		raw, want string // "" wanted: undecodable
	}{
		{"", "{}"}, {"null", "{}"}, {" {} ", "{}"}, {"{}{}", "{}"},
		{`{"a": 1}`, `{"a":1}`},
		{`{}{"a":1}`, `{"a":1}`},
		{`{"a":1}{"a":1}`, `{"a":1}`},
		{`{"a":1}{"a":2}`, ""},
		{`"{\"a\":1}"`, `{"a":1}`},
		{`"\"{\\\"a\\\":1}\""`, `{"a":1}`},
		{`"Oslo"`, ""}, {`[1]`, ""}, {`7`, ""},
		{"```json\n{\"a\":1}\n```", `{"a":1}`},
		{`{"a":[1,2,],"b":",}",}`, `{"a":[1,2],"b":",}"}`},
		{`{"a": 1`, ""}, {`{"a": "x`, ""}, {`{"a":1} and`, ""}, {`{'a': tea}`, ""}, {`{'a': 'b`, ""},
		{`{'a': True, "b": 'it\'s', 'c': None,}`, `{"a":true,"b":"it's","c":null}`},
		{"{\"a\": \"x\ny\"}", `{"a":"x\ny"}`},
		{`{"a":1}` + strings.Repeat("</s> <|im_end|>", 10_000), `{"a":1}`}, // a model that does not end
		{`{"a":1}<|im_end|>`, `{"a":1}`}, {"{\"a\":1}\n</tool_call>", `{"a":1}`},
		{`[]`, "{}"},
		{`{"n":12345678901234567890}`, `{"n":12345678901234567890}`},
	}
	for _, tt := range tests {
		got, ok := parseArguments(tt.raw)
		if ok != (tt.want != "") || ok && string(got) != tt.want || !ok && string(got) != "{}" {
			t.Errorf("%q: got %s %v, want %q", tt.raw, got, ok, tt.want)
		}
	}
}

func TestText(t *testing.T) {
	stop := `{"delta":{},"finish_reason":"stop"}`
	tests := []struct {
		name   string
		frames []string
		want   string
	}{
		{"role chunk, nulls, padding", []string{`{"delta":{"role":"assistant","content":null}}`, "null", "{}", "[]", `{"choices":[]}`, `{"choices":null}`, `{"usage":{}}`, `{"delta":null}`, `{"delta":{"content":"Hi."},"finish_reason":""}`, stop}, "Hi."},
		{"equal neighbours", []string{`{"delta":{"content":"ha"}}`, `{"delta":{"content":"ha"}}`, stop}, "haha"},
		{"message beside delta", []string{`{"delta":{"content":"On"},"message":{"content":"On"},"index":197}`, `{"delta":{"content":"e"},"message":{"content":"e"}}`, stop}, "One"},
		{"message at the end", []string{`{"delta":{"content":"One"}}`, `{"message":{"content":"One"},"finish_reason":"stop"}`}, "One"},
		{"only a message", []string{`{"message":{"content":"One"},"finish_reason":"stop"}`}, "One"},
		{"pieces in message", []string{`{"message":{"content":"On"}}`, `{"message":{"content":"e"}}`, `{"message":{"content":"One"},"finish_reason":"stop"}`}, "One"},
		{"list of parts", []string{`{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]},{"type":"text","text":"Yes."},{"type":"reference","reference_ids":[1]}]}}`, stop}, "Yes."},
		{"refusal", []string{`{"delta":{"refusal":"I can ","content":null}}`, `{"delta":{"refusal":"not."}}`, stop}, "I can not."},
		{"reasoning fields", []string{`{"delta":{"reasoning_content":"Hm","reasoning":"Hm"}}`, `{"delta":{"thinking":"x","content":"Yes."}}`, stop}, "Yes."},
		{"full text again with calls", []string{`{"delta":{"content":"Wait."}}`, `{"delta":{"content":"Wait.","tool_calls":[{"index":0,"function":{"name":"get_time"}}]}}`, stop}, "Wait."},
		{"bad frame between", []string{`{"delta":{"content":"A"}}`, `x{"choices"`, `{"delta":{"content":"B"}}`, stop}, "AB"},
		{"wrong types", []string{`{"delta":{"content":{"a":1},"tool_calls":"x","role":7},"finish_reason":5}`, `{"delta":{"content":"A"}}`, stop}, "A"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, res, err := collect(t, offered, tt.frames...)
			if err != nil || text != tt.want || res.Text != tt.want || !res.Ended {
				t.Errorf("got %q, result %+v, %v, want %q", text, res, err, tt.want)
			}
		})
	}
}

func TestEnds(t *testing.T) {
	call := `{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"get_time","arguments":"{}"}}]}}`
	tests := []struct {
		name    string
		frames  []string
		ended   bool
		finish  string
		problem Problem
	}{
		{"finish", []string{call, `{"delta":{},"finish_reason":"tool_calls"}`}, true, "tool_calls", ""},
		{"stop in spite of calls", []string{call, `{"delta":{},"finish_reason":"stop"}`}, true, "stop", ""},
		{"first reason counts", []string{call, `{"delta":{},"finish_reason":"tool_calls"}`, `{"delta":{},"finish_reason":"stop"}`}, true, "tool_calls", ""},
		{"only done", []string{call, "[DONE]"}, true, "", ""},
		{"neither", []string{call}, false, "", ProblemInterrupted},
		{"length", []string{call, `{"delta":{},"finish_reason":"length"}`}, true, "length", ProblemTruncated},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, res, err := collect(t, offered, tt.frames...)
			if err != nil || len(res.Calls) != 1 {
				t.Fatalf("got %+v, %v", res, err)
			}
			if res.Ended != tt.ended || res.Finish != tt.finish || res.Calls[0].Problem != tt.problem {
				t.Errorf("got %+v, want ended %v finish %q problem %q", res, tt.ended, tt.finish, tt.problem)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	tests := []struct{ frame, want string }{
		{`{"error":{"code":500,"message":"out of memory","type":"server_error"}}`, "out of memory (server_error)"},
		{`{"error":"out of memory"}`, "out of memory"},
		{`{"error":true}`, "true"},
		{`{"object":"error","message":"no","code":400}`, "no (400)"},
		{`{"error_type":"overload","error_message":"busy","choices":null}`, "busy (overload)"},
		{`{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"upstream died"}},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}`, "Provider returned error: upstream died (502)"},
		{`{"choices":[{"delta":{},"finish_reason":"error"}]}`, "the server ended the answer with an error"},
		{`{"choices":[{"delta":{},"finish_reason":"error","error":{"message":"upstream died"}}]}`, "upstream died"},
		{`{"detail":"not here"}`, "not here"},
		{`{"type":"error","message":"no"}`, "no (error)"},
		{`{"errors":[{"message":"one"},{"message":"two"}]}`, "one; two"},
		{`{"code":500,"msg":"no"}`, "no (500)"},
		{`{"error_code":17,"error_msg":"no"}`, "no"},
	}
	for _, tt := range tests {
		_, _, err := collect(t, offered, tt.frame)
		var fault *Fault
		if !errors.As(err, &fault) || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %q", tt.frame, err, tt.want)
		}
	}
	for _, fine := range []string{`{"error":null,"choices":[]}`, `{"error":"","choices":[]}`, `{"error":{},"object":"chat.completion.chunk"}`} {
		if _, _, err := collect(t, offered, fine); err != nil {
			t.Errorf("%s: got %v, want none", fine, err)
		}
	}
	for _, data := range []string{`{"error":{"message":"gone"}}`, `{"message":"gone"}`, `gone`} {
		if _, err := NewAnswer(nil, nil, false).Add(Event{Name: "error", Data: []byte(data)}); err == nil || err.Error() != "gone" {
			t.Errorf("error event %s: got %v", data, err)
		}
	}
	a := NewAnswer(nil, nil, false)
	_, err := a.Add(Event{Data: []byte(`{"message":"not here"}`)})
	if _, res := a.Close(); err != nil || res.Suspect == nil || res.Suspect.Message != "not here" {
		t.Errorf("message alone: got %+v, %v", res.Suspect, err)
	}
	_, err = NewAnswer(nil, nil, false).Add(Event{Data: []byte(`[{"error":{"code":429,"message":"no","status":"RESOURCE_EXHAUSTED"}}]`)})
	if err == nil || err.Error() != "no (429)" {
		t.Errorf("list: got %v", err)
	}
}

func TestUsage(t *testing.T) {
	_, res, _ := collect(t, nil, `{"choices":[],"usage":{"prompt_tokens":40,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":12}}}`,
		`{"choices":[],"timings":{"cache_n":30,"prompt_ms":20.5,"predicted_ms":70.25}}`)
	if want := (Usage{40, 30, 7, 20.5, 70.25}); res.Usage != want {
		t.Errorf("got %+v, want %+v", res.Usage, want)
	}
}

func TestRefusal(t *testing.T) {
	tools := slices.Sorted(maps.Keys(offered))
	for _, p := range []Problem{ProblemTool, ProblemArguments, ProblemTruncated, ProblemInterrupted, ProblemTooMany} {
		if got := (Call{Name: "x", Raw: "{'a", Problem: p}).Refusal(tools); !strings.HasPrefix(got, "error: ") {
			t.Errorf("%s: got %q", p, got)
		}
	}
	got := Call{Name: "x", Problem: ProblemTool}.Refusal(tools)
	if want := "error: no tool named x, use one of: get_time, get_weather, set_light, set_timer"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// FuzzAnswer feeds arbitrary frames, one a line: whatever comes, the calls can go
// back to a strict server and the pieces add up to the text.
func FuzzAnswer(f *testing.F) {
	f.Add(`{"choices":[{"delta":{"content":"a<think>b</think>","tool_calls":[{"index":0,"id":"x","function":{"name":"get_time","arguments":"{}"}}]}}]}`)
	f.Add("{\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"x\",\"function\":{\"name\":\"get_\"}},{\"function\":{\"name\":\"time\"}}]}}]}\n[DONE]")
	f.Add(`{"choices":[{"message":{"content":[{"type":"text","text":"<tool_call>{\"name\":\"get_time\"}"}],"function_call":{"name":"a b"}},"finish_reason":"length"}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		a := NewAnswer(offered, offered, false)
		var text strings.Builder
		for _, line := range strings.Split(body, "\n") {
			out, err := a.Add(Event{Data: []byte(line)})
			text.WriteString(out)
			if err != nil {
				break
			}
		}
		tail, res := a.Close()
		text.WriteString(tail)
		if text.String() != res.Text {
			t.Errorf("pieces %q, text %q", text.String(), res.Text)
		}
		seen := map[string]bool{}
		for _, c := range res.Calls {
			var object map[string]any
			if c.ID == "" || seen[c.ID] || !validName.MatchString(c.Name) || json.Unmarshal(c.Arguments, &object) != nil {
				t.Errorf("call %+v cannot be sent back", c)
			}
			seen[c.ID] = true
			if _, ok := offered[c.Name]; c.Problem == "" && (!ok || !c.Decoded) {
				t.Errorf("call %+v would run", c)
			}
		}
	})
}

func FuzzParseFault(f *testing.F) {
	f.Add([]byte(`{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`))
	f.Add([]byte(`{"error":{"message":{"error":["a"]},"code":1}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if fault := ParseFault(body); fault != nil && (fault.Message == "" || len([]rune(fault.Message)) > 501) {
			t.Errorf("got message %q", fault.Message)
		}
	})
}

func TestLeaks(t *testing.T) {
	content := func(s string) string {
		b, _ := json.Marshal(s)
		return `{"delta":{"content":` + string(b) + `}}`
	}
	stop := `{"delta":{},"finish_reason":"stop"}`
	leak := content(`<tool_call>{"name":"functions.get_weather","arguments":{"city":"Oslo"}}</tool_call>`)
	call := `{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"get_time","arguments":"{}"}}]}}`
	tests := []struct {
		name   string
		offer  markup.Offer
		frames []string
		text   string
		calls  []string
		leaked bool
	}{
		{"recovered", offered, []string{content("Wait. "), leak, stop}, "Wait. ", []string{`* get_weather {"city":"Oslo"}`}, false},
		{"length", offered, []string{leak, `{"delta":{},"finish_reason":"length"}`}, "", []string{`* get_weather {"city":"Oslo"} truncated`}, false},
		{"none offered", nil, []string{leak, stop}, "", nil, true},
		{"arguments do not decode", offered, []string{content(`[TOOL_CALLS]get_weather{"city": Oslo}`), stop}, "", nil, true},
		{"beside a real call", offered, []string{content("Wait. <function"), call, stop}, "Wait. ", []string{"c1 get_time {}"}, false},
		{"the same call also as text", offered, []string{content(`{"name":"get_time","arguments":{}}`), call, stop}, "", []string{"c1 get_time {}"}, false},
		{"lone marker", offered, []string{content("It is noon. <tool_call>\n"), stop}, "It is noon. ", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, res, err := collect(t, tt.offer, tt.frames...)
			if err != nil || text != tt.text || !slices.Equal(show(res.Calls), tt.calls) || res.Leaked != tt.leaked {
				t.Errorf("got %q, %q, leaked %v, %v", text, show(res.Calls), res.Leaked, err)
			}
		})
	}
}

// promise: a model that writes calls without end costs neither the bus nor the
// next request more than a few.
func TestCallsWithoutEnd(t *testing.T) {
	var list []string
	for i := range 5000 {
		list = append(list, fmt.Sprintf(`{"index":%d,"id":"call_%d","function":{"name":"set_timer","arguments":"{\"minutes\":%d}"}}`, i, i, i))
	}
	_, res, err := collect(t, offered, entries(list...)...)
	if err != nil || len(res.Calls) != MaxCalls+1 || res.Dropped != 5000-MaxCalls-1 {
		t.Fatalf("%d calls, %d dropped, %v", len(res.Calls), res.Dropped, err)
	}
	for i, c := range res.Calls {
		if want := i == MaxCalls; (c.Problem == ProblemTooMany) != want {
			t.Errorf("call %d: problem %q", i, c.Problem)
		}
	}
}
