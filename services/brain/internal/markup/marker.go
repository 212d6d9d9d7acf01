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
	header                  // the header of a message begins
	role                    // a Llama role header begins
	turn                    // a ChatML role line begins
)

// starts are the characters with which a marker in the middle of a text begins.
const starts = "<[{`◁"

// literals are the markers with a fixed spelling that are no plain tags. None is
// the beginning of another one, so the first match is the only one.
var literals = map[string]action{
	"<function": tool, "<invoke name=": tool, "<start_function_call>": tool,
	"[TOOL_CALLS]": tool, "[TOOL_REQUEST]": tool, "[AVAILABLE_TOOLS]": tool, "```tool_": tool,
	"[THINK]": think, "◁think▷": think, "<unused94>": think,
	"[/THINK]": endThink, "◁/think▷": endThink, "<unused95>": endThink, "<channel|>": endThink,
	"[END_TOOL_REQUEST]": drop, "<tool_call|>": drop, "<turn|>": drop, "<end_function_call>": drop,
	"[INST]": drop, "[/INST]": drop, "[EOS]": drop, "[BOS]": drop, "[e~[": drop,
	"<start_of_turn>": turn,
}

// tags are the names of the plain tags, <name> and </name>, in lower case. Models
// write them in any case, with blanks and attributes.
var tags = map[string]action{
	"think": think, "thinking": think, "thought": think, "thoughts": think, "reasoning": think, "reason": think,
	"seed:think": think, "mm:think": think, "antml:thinking": think, "longcat_think": think,
	"think_never_used_51bce0c785ca2f68081bfa7d91973934": think,
	"reflection": think, "scratchpad": think, "scratch_pad": think, "inner_monologue": think, "analysis": think,

	"tool_call": tool, "tool_calls": tool, "toolcall": tool, "tool_use": tool, "tool_code": tool, "tool_request": tool,
	"tool_response": tool, "tool_result": tool, "tool_results": tool, "longcat_tool_call": tool,
	"minimax:tool_call": tool, "seed:tool_call": tool, "antml:function_calls": tool, "antml:invoke": tool, "steptml:invoke": tool,

	"s": drop, "eos": drop, "bos": drop, "pad": drop, "unk": drop, "end_of_turn": drop, "end_of_utterance": drop,
	"answer": drop, "final_answer": drop, "response": drop, "assistant": drop, "escape": drop,
}

// loners are tags of which only the closing one may come without the other, since
// the opening one is a literal.
var loners = map[string]bool{"function": true, "function_call": true, "function_calls": true, "parameter": true, "invoke": true}

// match decides what stands at the beginning of s. n is the length of the marker.
// final tells that nothing follows s.
func match(s string, final bool) (act action, n int) {
	if s == "" {
		return none, 0
	}
	open := false
	for _, form := range []func(string) (action, int){literal, tag, token} {
		act, n := form(s)
		if act > undecided {
			return act, n
		}
		open = open || act == undecided
	}
	if open && !final {
		return undecided, 0
	}
	return none, 0
}

func literal(s string) (action, int) {
	open := false
	for marker, act := range literals {
		if strings.HasPrefix(s, marker) {
			return act, len(marker)
		}
		open = open || strings.HasPrefix(marker, s)
	}
	if open {
		return undecided, 0
	}
	return none, 0
}

// maxTag is the longest tag with attributes, in bytes.
const maxTag = 200

// tag reads a plain tag.
func tag(s string) (action, int) {
	if s[0] != '<' {
		return none, 0
	}
	i := 1
	closing := strings.HasPrefix(s[i:], "/")
	if closing {
		i++
	}
	start := i
	for i < len(s) && (nameRune(s[i:]) == 1 || s[i] == ':') {
		i++
	}
	name := strings.ToLower(s[start:i])
	if i == len(s) {
		return tagBegins(name, closing), 0
	}
	act := tags[name]
	if closing {
		act = closed(act, name)
	}
	if act == none || !strings.ContainsRune(" \t/>", rune(s[i])) {
		return none, 0
	}
	end := strings.IndexAny(s[i:], "><\r\n")
	switch {
	case end < 0 && len(s) > maxTag, end >= 0 && s[i+end] != '>':
		return none, 0
	case end < 0:
		return undecided, 0
	case s[i+end-1] == '/': // <think/> is a whole block
		act = drop
	}
	return act, i + end + 1
}

// closed turns the action of an opening tag into that of its closing one.
func closed(act action, name string) action {
	switch {
	case act == think:
		return endThink
	case act != none, loners[name]:
		return drop
	}
	return none
}

// tagBegins tells whether a cut-off name may become that of a tag.
func tagBegins(name string, closing bool) action {
	for known := range tags {
		if strings.HasPrefix(known, name) {
			return undecided
		}
	}
	for known := range loners {
		if closing && strings.HasPrefix(known, name) {
			return undecided
		}
	}
	return none
}

const maxTokenName = 48

// token reads a special token: "<" one or more bars, a name, bars, ">". Bars are
// ASCII or DeepSeek's wide ones; Gemma leaves the closing bar out.
func token(s string) (action, int) {
	if s[0] != '<' {
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
		if n == 0 && strings.ContainsRune(":/", rune(s[i])) {
			n = 1
		}
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
	case end == i && name == "channel": // Gemma: <|channel>thought ... <channel|>
		return think, end + 1
	case end == i && name == "turn":
		return turn, end + 1
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
	case "start", "channel", "recipient", "open", "close":
		return header
	case "start_header_id":
		return role
	case "im_start", "from":
		return turn
	case "think", "thinking", "thought", "think_start", "start_thinking", "begin_of_thought":
		return think
	case "/think", "/thinking", "/thought", "think_end", "end_thinking", "end_of_thought":
		return endThink
	case "python_tag", "python_start", "action_start", "start_action":
		return tool
	}
	if strings.Contains(name, "tool") && !strings.HasSuffix(name, "end") && name[0] != '/' {
		return tool
	}
	return drop
}
