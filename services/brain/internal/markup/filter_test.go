// SPDX-License-Identifier: Apache-2.0

package markup

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var offered = Offer{
	"get_weather": {"city": "string"}, "set_timer": {"minutes": "number", "label": "string"},
	"get_time": {}, "set_light": {"room": "string", "on": "boolean"},
}

// run filters text in pieces of n bytes.
func run(text string, n int, opened bool) (string, *Filter) {
	f := NewFilter(offered, opened)
	var out strings.Builder
	for len(text) > 0 {
		k := min(n, len(text))
		out.WriteString(f.Write(text[:k]))
		text = text[k:]
	}
	out.WriteString(f.Close())
	return out.String(), f
}

func TestFilter(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "It is noon.", "It is noon."},
		{"white space in front", " \n\nIt is noon.", "It is noon."},
		{"think block", "<think>Hm <b>.</think>\n\nYes.", "Yes."},
		{"thinking block", "<thinking>Hm.</thinking>Yes.", "Yes."},
		{"Magistral", "[THINK]Hm.[/THINK]Yes.", "Yes."},
		{"think in the middle", "Well. <think>Hm.</think>Yes.", "Well. Yes."},
		{"stray end of thinking", "</think>\nYes.", "Yes."},
		{"end of thinking only", "Hm.</think> Yes.", "Hm. Yes."},
		{"never closed", "<think>Hm.", ""},
		{"lookalikes", "2 < 3, a <table>, [1], <|, `x`, ``, {x}, <3, [T", "2 < 3, a <table>, [1], <|, `x`, ``, {x}, <3, [T"},
		{"half a marker at the end", "a <thin", "a <thin"},
		{"end tokens", "Yes.<|im_end|></s><|eot_id|><end_of_turn><｜end▁of▁sentence｜>", "Yes."},
		{"role headers", "Yes.<|eot_id|><|start_header_id|>assistant<|end_header_id|> Go.", "Yes. Go."},
		{"role line", "<|im_start|>assistant\nYes.<|im_end|>", "Yes."},
		{"tool call", "Wait. <tool_call>{\"name\":\"x\"}</tool_call> bla", "Wait. "},
		{"lone marker", "It is noon.<tool_call>", "It is noon."},
		{"stray closing tags", "It is noon.</tool_call></function>", "It is noon."},
		{"Mistral", "[TOOL_CALLS]get_weather{}", ""},
		{"Llama", "<|python_tag|>get_time.call()", ""},
		{"Gemma", "<|tool_call>call:x{}<tool_call|>", ""},
		{"DeepSeek", "<｜tool▁calls▁begin｜>x", ""},
		{"DSML", "Ok.<｜DSML｜function_calls>x", "Ok."},
		{"DSML with double bars", "Ok.<||DSML||function_calls>x", "Ok."},
		{"Kimi", "<|tool_calls_section_begin|>x", ""},
		{"harmony", "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>", "Yes."},
		{"harmony, no channel", "<|start|>assistant<|message|>Yes.", "Yes."},
		{"harmony, channel behind channel", "<|channel|>analysis<|message|>Hm<|channel|>final<|message|>Yes.", "Yes."},
		{"harmony, tool", "<|channel|>commentary to=functions.get_time<|message|>{}<|call|>", ""},
		{"harmony, header never ends", "<|start|>" + strings.Repeat("x", 300), strings.Repeat("x", 300)},
		{"bare harmony words", "analysisThe user asks.assistantfinalYes.", "Yes."},
		{"bare harmony words, unfinished", "analysisThe user asks.", ""},
		{"bare harmony words, tool", "analysisHm.assistantcommentary to=functions.get_time json{}", ""},
		{"the word analysis", "analysis is hard.", "analysis is hard."},
		{"JSON call", `{"name": "get_time", "arguments": {}}`, ""},
		{"JSON call without arguments", `{"name": "get_time"}`, ""},
		{"JSON call in a list", `[ {"name": "get_time", "parameters": {}}]`, ""},
		{"JSON call in a fence", "Ok.\n```json\n{\"name\": \"get_time\", \"arguments\": {}}\n```\nbla", "Ok.\n"},
		{"JSON call, nested", `{"type":"function","function":{"name":"x","parameters":{}}}`, ""},
		{"half a JSON call", `Ok. {"name": "get_time", "argu`, "Ok. "},
		{"JSON that is no call", `{"name": "Bob", "age": 3} is it.`, `{"name": "Bob", "age": 3} is it.`},
		{"other JSON", `{"age": 3}`, `{"age": 3}`},
		{"other fence", "```go\nfunc main() {}\n```\nDone.", "```go\nfunc main() {}\n```\nDone."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []int{1, 2, 3, 7, 1 << 20} {
				if got, _ := run(tt.in, n, false); got != tt.want {
					t.Errorf("pieces of %d: got %q, want %q", n, got, tt.want)
				}
			}
		})
	}
}

func TestFilterOpened(t *testing.T) {
	for in, want := range map[string]string{
		"Hm.</think>Yes.":        "Yes.",
		"<think>Hm.</think>Yes.": "Yes.",
		"Yes, 2 < 3.":            "Yes, 2 < 3.",
	} {
		for _, n := range []int{1, 1 << 20} {
			if got, f := run(in, n, true); got != want || f.Opened() != (in[0] == 'H') {
				t.Errorf("%q: got %q, opened %v, want %q", in, got, f.Opened(), want)
			}
		}
	}
	if _, f := run("Hm.</think>Yes.", 4, false); !f.Opened() || !f.Thought() {
		t.Error("an end of thinking without its beginning was not noticed")
	}
}

// promise: each byte is looked at a bounded number of times. Were the text that is
// held back read anew with each piece, this would take minutes.
func TestFilterHoldsMuch(t *testing.T) {
	much := strings.Repeat("abc ", 1<<16)
	for name, c := range map[string]struct {
		text, want string
		opened     bool
	}{
		"thinking":             {much + "</think>Yes.", "Yes.", true},
		"no thinking":          {much + "end.", much + "end.", true},
		"channels in words":    {"analysis" + much + "assistantfinalYes.", "Yes.", false},
		"a word like one":      {"analysis " + much + "end.", "analysis " + much + "end.", false},
		"beginnings of a list": {"See " + strings.Repeat("[get_time(", 1<<11), "See " + strings.Repeat("[get_time(", 1<<11), false},
	} {
		if got, _ := run(c.text, 4, c.opened); got != c.want {
			t.Errorf("%s: got %d bytes, want %d", name, len(got), len(c.want))
		}
	}
}

// The filter must not wait for what cannot become a marker.
func TestFilterIsPrompt(t *testing.T) {
	for _, in := range []string{"It is ", "2 < ", "a <ta", "[1", "`x", "x {\"age\"", "<|x y"} {
		f := NewFilter(offered, false)
		if got := f.Write(in); got != in {
			t.Errorf("%q: got %q at once", in, got)
		}
	}
}

func TestLiteralsArePrefixFree(t *testing.T) {
	for a := range literals {
		for b := range literals {
			if a != b && strings.HasPrefix(b, a) {
				t.Errorf("marker %q begins with marker %q", b, a)
			}
		}
	}
}

func TestRecover(t *testing.T) {
	oslo := Found{"get_weather", `{"city":"Oslo"}`}
	tests := []struct {
		name, in string
		want     []Found
	}{
		{"Hermes JSON", `<tool_call>` + "\n" + `{"name":"get_weather","arguments":{"city":"Oslo"}}` + "\n" + `</tool_call>`, []Found{oslo}},
		{"two", `<tool_call>{"name":"get_weather","arguments":{"city":"Oslo"}}</tool_call><tool_call>{"name":"get_time","arguments":{}}</tool_call>`, []Found{oslo, {"get_time", "{}"}}},
		{"Qwen coder", "<tool_call>\n<function=set_timer>\n<parameter=minutes>\n5\n</parameter>\n<parameter=label>\ntea</parameter>\n</function>\n</tool_call>", []Found{{"set_timer", `{"label":"tea","minutes":5}`}}},
		{"Qwen coder, boolean", "<function=set_light><parameter=on>True</parameter></function>", []Found{{"set_light", `{"on":true}`}}},
		{"Qwen coder, wrong type", "<function=set_timer><parameter=minutes>five</parameter></function>", nil},
		{"function tag around JSON", `<function=get_weather>{"city":"Oslo"}</function>`, []Found{oslo}},
		{"function tag not closed", `<function=get_weather><parameter=city>Os`, nil},
		{"MiniMax", `<minimax:tool_call><invoke name="get_weather"><parameter name="city">Oslo</parameter></invoke></minimax:tool_call>`, []Found{oslo}},
		{"DSML", `<｜DSML｜function_calls><｜DSML｜invoke name="set_timer"><｜DSML｜parameter name="minutes" string="false">5</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>`, []Found{{"set_timer", `{"minutes":5}`}}},
		{"GLM", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>", []Found{oslo}},
		{"GLM without parameters", "<tool_call>get_time\n</tool_call>", []Found{{"get_time", "{}"}}},
		{"Mistral list", `[TOOL_CALLS] [{"name":"get_weather","arguments":{"city":"Oslo"}}]`, []Found{oslo}},
		{"Mistral name", `[TOOL_CALLS]get_weather{"city":"Oslo"}`, []Found{oslo}},
		{"Mistral args token", `[TOOL_CALLS]get_weather[ARGS]{"city":"Oslo"}`, []Found{oslo}},
		{"Llama", `<|python_tag|>{"type":"function","name":"get_weather","parameters":{"city":"Oslo"}}`, []Found{oslo}},
		{"nested function", `{"tool_calls":[{"type":"function","function":{"name":"get_weather","arguments":{"city":"Oslo"}}}]}`, []Found{oslo}},
		{"harmony", `<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"Oslo"}<|call|>`, []Found{oslo}},
		{"Gemma", `<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>}<tool_call|>`, []Found{oslo}},
		{"DeepSeek", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"city\":\"Oslo\"}\n```<｜tool▁call▁end｜>", []Found{oslo}},
		{"Kimi", `<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city":"Oslo"}<|tool_call_end|>`, []Found{oslo}},
		{"not offered", `<tool_call>{"name":"open_door","arguments":{}}</tool_call>`, nil},
		{"two names before one object", `<tool_call>get_weather or get_time {"city":"Oslo"}`, nil},
		{"cut", `<tool_call>{"name":"get_weather","arguments":{"city":"Os`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Recover(tt.in, offered); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got := Recover(tt.in, nil); got != nil {
				t.Errorf("nothing offered: got %q", got)
			}
		})
	}
}

// FuzzFilter checks that the spoken text and the captured markup do not depend
// on how the text is cut, that nothing is spoken that is not in the text in this
// order, and that a text without the beginning of a marker is spoken whole.
func FuzzFilter(f *testing.F) {
	f.Add("Ok. <think>Hm</think>Yes.<|im_end|>", 3, false)
	f.Add("<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>Yes.", 5, false)
	f.Add("Ok ```json\n{\"name\": \"get_time\", \"arguments\": {}}\n```", 2, true)
	f.Add("analysisHm.assistantfinalYes <｜tool▁sep｜> [THINK] <｜", 4, false)
	f.Add("[get_weather(city='Oslo'), get_time()] <THINK a=\"b\">x</think >", 1, false)
	f.Add("◁think▷Hm◁/think▷Yes <|channel>thought\nHm<channel|>Yes.", 1, false)
	f.Add("get_weather:0<|tool_call_argument_begin|>{} <|open|>call tool=\"get_time\"<|sep|>", 2, false)
	f.Add(">>>all\nYes. functools[{}] ```tool_code\nget_time()\n```", 1, false)
	f.Fuzz(func(t *testing.T, text string, n int, opened bool) {
		want, whole := run(text, 1<<20, opened)
		got, cut := run(text, 1+max(n, -n)%19&31, opened)
		if got != want || cut.Captured() != whole.Captured() || cut.Opened() != whole.Opened() || cut.Mind() != whole.Mind() {
			t.Errorf("pieces: %q and %q, whole: %q and %q", got, cut.Captured(), want, whole.Captured())
		}
		if !within(want, text) {
			t.Errorf("%q became %q", text, want)
		}
		if plain := strings.TrimLeftFunc(text, unicode.IsSpace); !strings.ContainsAny(text, starts) && !opened && !opens(plain) && want != plain {
			t.Errorf("%q became %q without a marker", text, want)
		}
		Recover(whole.Captured(), offered)
		RecoverLast(text, offered)
	})
}

// within tells that s is what is left of text when bytes are taken out.
func within(s, text string) bool {
	for i := 0; i < len(text) && s != ""; i++ {
		if text[i] == s[0] {
			s = s[1:]
		}
	}
	return s == ""
}

// opens tells that a text begins with something that may be no text.
func opens(text string) bool {
	for _, s := range []string{bareAnalysis, "functools", ">>>", "call:", "get_", "set_", "functions.", "default_api"} {
		if strings.HasPrefix(text, s) {
			return true
		}
	}
	return strings.Contains(text, "get_") || strings.Contains(text, "set_")
}

// FuzzLiteral checks that what comes out is JSON, and JSON comes out as it means.
func FuzzLiteral(f *testing.F) {
	f.Add(`{'a': [True, None, 'it\'s',], "b": -1.5e3}`)
	f.Add("{\"a\": \"x\ny\"}")
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := Literal(text)
		if ok && !json.Valid(got) {
			t.Errorf("%q became %q", text, got)
		}
		var want, have any
		if ok && json.Unmarshal([]byte(text), &want) == nil && (json.Unmarshal(got, &have) != nil || !reflect.DeepEqual(want, have)) {
			t.Errorf("%q became %q", text, got)
		}
	})
}

func FuzzRecover(f *testing.F) {
	f.Add(`<tool_call>{"name":"get_time","arguments":{}}</tool_call>`)
	f.Add("<function=set_timer><parameter=minutes>5</parameter></function>")
	f.Add(`call:get_weather{city:<|"|>Oslo<|"|>}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, found := range Recover(text, offered) {
			if _, ok := offered[found.Name]; !ok {
				t.Errorf("found %q, which is not offered", found.Name)
			}
		}
	})
}
