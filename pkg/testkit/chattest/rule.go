// SPDX-License-Identifier: Apache-2.0

package chattest

import (
	"fmt"
	"slices"
	"strings"
)

// A Rule answers every request whose last user message holds Match, without
// regard to case; an empty Match takes all. With Call the first answer is a call
// of that tool, when it is offered, and Say follows on its result.
type Rule struct {
	Match     string
	Call      string // tool name, "" for none
	Arguments string // JSON of the call, "" is {}
	Say       string // {result} stands for the tool's result
}

func (r Rule) matches(req *Request) bool {
	return strings.Contains(strings.ToLower(req.LastUser()), strings.ToLower(r.Match))
}

func (r Rule) exchange(req *Request) Exchange {
	result, answered := req.Result()
	if r.Call != "" && !answered && slices.Contains(req.Tools, r.Call) {
		args := r.Arguments
		if args == "" {
			args = "{}"
		}
		id := fmt.Sprintf("fixture%02d", len(req.Messages)%100) // differs between the turns of a session
		return CallTool(id, r.Call, halves(args)...)
	}
	return Say(words(strings.ReplaceAll(r.Say, "{result}", result))...)
}

// halves cuts arguments in two, as a streaming server would.
func halves(s string) []string {
	if len(s) < 4 {
		return []string{s}
	}
	return []string{s[:len(s)/2], s[len(s)/2:]}
}

// words cuts a text behind each space.
func words(s string) []string {
	return slices.DeleteFunc(strings.SplitAfter(s, " "), func(w string) bool { return w == "" })
}
