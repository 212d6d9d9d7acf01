// SPDX-License-Identifier: Apache-2.0

package markup

import (
	"strings"
	"unicode/utf8"
)

// An action is what a marker does to the text around it.
type action int

const (
	none      action = iota // no marker: the bytes are text
	undecided               // more bytes are needed
	drop                    // a token without meaning for the listener
	think                   // thinking begins
	endThink                // thinking ends
	tool                    // a tool call begins: nothing is spoken any more
	header                  // a harmony message header begins
	role                    // a Llama role header begins
	turn                    // a ChatML role line begins
)

// literals are the markers with a fixed spelling. None is the beginning of
// another one, so the first match is the only one.
var literals = map[string]action{
	"<think>": think, "<thinking>": think, "<thought>": think, "<seed:think>": think, "[THINK]": think,
	"</think>": endThink, "</thinking>": endThink, "</thought>": endThink, "</seed:think>": endThink, "[/THINK]": endThink,
	"<tool_call>": tool, "<tool_calls>": tool, "<function": tool, "<minimax:tool_call>": tool, "<invoke name=": tool,
	"[TOOL_CALLS]": tool, "[TOOL_REQUEST]": tool, "[AVAILABLE_TOOLS]": tool,
	"</tool_call>": drop, "<tool_call|>": drop, "</tool_calls>": drop, "</function>": drop, "</function_calls>": drop,
	"</parameter>": drop, "</minimax:tool_call>": drop, "[END_TOOL_REQUEST]": drop,
	"</s>": drop, "<s>": drop, "<eos>": drop, "<bos>": drop, "<pad>": drop, "<end_of_turn>": drop,
	"<start_of_turn>": turn, "[INST]": drop, "[/INST]": drop,
}

// match decides what stands at the beginning of s, which begins with '<' or
// '['. n is the length of the marker. final tells that nothing follows s.
func match(s string, final bool) (act action, n int) {
	open := false
	for marker, act := range literals {
		if strings.HasPrefix(s, marker) {
			return act, len(marker)
		}
		open = open || strings.HasPrefix(marker, s)
	}
	act, n = token(s)
	if act == none && open {
		act = undecided
	}
	if act == undecided && final {
		return none, 0
	}
	return act, n
}

const maxTokenName = 48

// token reads a special token: "<" one or more bars, a name, bars, ">". Bars are
// ASCII or DeepSeek's wide ones; Gemma leaves the closing bar out.
func token(s string) (action, int) {
	if !strings.HasPrefix(s, "<") {
		return none, 0
	}
	i, ok := bars(s, 1)
	if i == 1 {
		if ok {
			return none, 0
		}
		return undecided, 0
	}
	start := i
	for i < len(s) && i-start <= maxTokenName {
		n := nameRune(s[i:])
		if n == 0 {
			break
		}
		i += n
	}
	name := strings.ToLower(strings.ReplaceAll(s[start:i], "▁", "_"))
	switch {
	case name == "dsml":
		return tool, i // what follows is a tag of its own form
	case i == len(s) || !utf8.FullRuneInString(s[i:]):
		return undecided, 0
	case name == "" || i-start > maxTokenName:
		return none, 0
	}
	end, ok := bars(s, i)
	switch {
	case end == len(s) || !ok:
		return undecided, 0
	case s[end] != '>':
		return none, 0
	}
	return tokenAction(name), end + 1
}

// bars skips bars from i on. ok is false when s ends inside a possible bar.
func bars(s string, i int) (end int, ok bool) {
	for i < len(s) {
		switch rest := s[i:]; {
		case rest[0] == '|':
			i++
		case strings.HasPrefix(rest, "｜"):
			i += len("｜")
		default:
			return i, !strings.HasPrefix("｜", rest)
		}
	}
	return i, false
}

func nameRune(s string) int {
	c := s[0]
	switch {
	case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9':
		return 1
	case strings.HasPrefix(s, "▁"):
		return len("▁")
	}
	return 0
}

func tokenAction(name string) action {
	switch name {
	case "start", "channel":
		return header
	case "start_header_id":
		return role
	case "im_start":
		return turn
	case "think", "start_thinking", "begin_of_thought":
		return think
	case "end_thinking", "end_of_thought":
		return endThink
	case "python_tag", "action_start":
		return tool
	}
	if strings.Contains(name, "tool") && !strings.HasSuffix(name, "end") {
		return tool
	}
	return drop
}
