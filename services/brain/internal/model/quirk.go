// SPDX-License-Identifier: Apache-2.0

package model

import (
	"net/http"
	"regexp"
	"strings"
)

// A quirk is something that a server was found not to take. It is learned from a
// refusal, once, and kept as long as the client: every later request does without.
type quirk string

// The quirks. The first three are fields of the request, named as on the wire.
const (
	quirkStreamOptions quirk = "stream_options"
	quirkTemplate      quirk = "chat_template_kwargs"
	quirkEffort        quirk = "reasoning_effort"
	quirkSystem        quirk = "system"  // no system message: it goes in front of the first question
	quirkEmpty         quirk = "empty"   // no "" as content of a message with calls: null instead
	quirkToolless      quirk = "no tool" // no calls in the history without tools: they go along, with tool_choice none
	quirkCalls         quirk = "calls"   // not even so: calls and results go as text
)

// A form is how requests to one server are written.
type form struct {
	model  string
	fields map[quirk]bool // optional fields to send
	quirks map[quirk]bool
}

// Which servers take the fields against thinking, by owned_by in their model list;
// others may refuse them. llama-server, vLLM and SGLang hand the first one to the
// template, Ollama switches thinking off by the second.
var (
	templateServers = map[string]bool{"llamacpp": true, "vllm": true, "sglang": true}
	effortServers   = map[string]bool{"library": true}
)

// form tells how to write to this server.
func (c *Client) form(info serverInfo) form {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := form{model: info.model, fields: map[quirk]bool{}, quirks: map[quirk]bool{}}
	for q := range c.quirks {
		f.quirks[q] = true
	}
	for q, takes := range map[quirk]bool{
		quirkStreamOptions: true,
		quirkTemplate:      !c.opt.Thinking && templateServers[info.owner],
		quirkEffort:        !c.opt.Thinking && effortServers[info.owner],
	} {
		if takes && !f.quirks[q] {
			f.fields[q] = true
		}
	}
	return f
}

// A shape is what a request had that a server may refuse.
type shape struct {
	fields     map[quirk]bool
	system     bool // a system message
	empty      bool // an assistant message with calls and content ""
	calls      bool // calls in the history
	tools      bool // tools, offered or not
	toolChoice bool // tool_choice none
}

var (
	noSystem   = regexp.MustCompile(`(?i)system (role|messages?|prompts?)\b.{0,20}\bnot (be )?(supported|allowed)|(not|n't) support (a )?system|only user.{0,20}assistant roles|developer instruction is not enabled`)
	noToolless = regexp.MustCompile(`(?i)toolConfig|\btools?\b.{0,60}\b(must|required|specified|defined?|given|missing|without)\b|\bwithout\b.{0,20}\btools?\b`)
	noEmpty    = regexp.MustCompile(`(?i)content.{0,60}(empty|blank|non-whitespace|at least 1|too short|min_length)|(empty|blank).{0,30}content`)
)

// learn looks in a refusal for something that the request can do without. It
// reports whether the next request will go out in another form.
func (c *Client) learn(e *Error, s shape) bool {
	found := quirk("")
	for field := range s.fields {
		if strings.Contains(e.Text, string(field)) {
			found = field
		}
	}
	switch {
	case e.Status < http.StatusBadRequest || e.Kind == KindContextFull || e.Kind == KindUnauthorized:
		return false
	case found != "":
	case s.system && noSystem.MatchString(e.Text):
		found = quirkSystem
	case s.calls && s.toolChoice && strings.Contains(e.Text, "tool_choice"):
		found = quirkCalls
	case s.calls && !s.tools && noToolless.MatchString(e.Text):
		found = quirkToolless
	case s.empty && noEmpty.MatchString(e.Text):
		found = quirkEmpty
	}
	if found == "" {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.quirks[found] = true
	return true
}
