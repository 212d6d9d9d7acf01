// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Kinds of a [ToolResult] that is not ok.
const (
	KindUnknownTool      = "unknown_tool"
	KindInvalidArguments = "invalid_arguments"
	KindNotAllowed       = "not_allowed"
	KindCannotRun        = "cannot_run"
	KindFailed           = "failed"
	KindTimeout          = "timeout"
	KindCancelled        = "cancelled"
	KindUnavailable      = "unavailable"
)

// Kinds of built-in tools only, beside invalid_arguments, not_allowed, timeout
// (a cancelled call too) and unavailable.
const (
	KindNotFound    = "not_found"    // nothing there
	KindNotAFile    = "not_a_file"   // a folder, pipe, socket or device
	KindNotText     = "not_text"     // not UTF-8, or with a zero byte
	KindTooLarge    = "too_large"    // over a limit
	KindBadResponse = "bad_response" // a redirect, broken HTTP, bad JSON

	// KindUnconfirmed is the answer to a call of a built-in tool that did not
	// run since the user must be asked first, because of its arguments or of what
	// the turn read before. It did not count. The asker publishes a
	// [TurnQuestion] and, after a yes, makes the call again with Confirmed;
	// without one the result is what the model gets.
	KindUnconfirmed = "unconfirmed"
)

// ToolResult is the reply to a call. Result is what the model gets: the
// trimmed output, or "error: " and why. It is never empty JSON: a tool that
// prints nothing has an empty Result and OK true.
type ToolResult struct {
	Call   string `json:"call"`
	OK     bool   `json:"ok"`
	Kind   string `json:"kind,omitempty"` // empty when OK
	Result string `json:"result"`
	TookMS int64  `json:"took_ms"`
}

// Code is the error code that goes with the result's kind, "" when it is ok.
func (r ToolResult) Code() Code {
	switch {
	case r.OK:
		return ""
	case r.Kind == KindUnknownTool, r.Kind == KindNotFound:
		return CodeNotFound
	case r.Kind == KindInvalidArguments:
		return CodeInvalid
	case r.Kind == KindNotAllowed, r.Kind == KindUnconfirmed:
		return CodeDenied
	case r.Kind == KindTimeout:
		return CodeTimeout
	case r.Kind == KindCancelled:
		return CodeCancelled
	case r.Kind == KindUnavailable, r.Kind == KindCannotRun:
		return CodeUnavailable
	}
	return CodeFailed
}

// ToolCall says for whom a tool runs. All of it travels in headers, so that a
// plain request without headers is a valid call: local, and a turn of its own.
type ToolCall struct {
	Call    string        // chosen by the asker, "" when none
	Turn    string        // as on every event
	Session string        //
	Device  string        // "" means the default device
	Timeout time.Duration // 0 = the tool's own; counted from the tool's start
	Route   string        // local or external, fixed by brain at turn.started
	Limit   int           // built-in tool calls that the turn may make; 0 = toolrunner's own
	Asker   string        // "service/instance" that asks; pinged while the tool runs
	// Confirmed says that the user was asked and said yes; without it a tool
	// with [ConfirmVoice] does not run.
	Confirmed bool
}

// EncodeToolCall gives the headers of a call.
func EncodeToolCall(c ToolCall) map[string][]string {
	h := map[string][]string{}
	set := func(key, value string) {
		if value != "" {
			h[key] = []string{value}
		}
	}
	set(HeaderCall, c.Call)
	set(HeaderTurn, c.Turn)
	set(HeaderSession, c.Session)
	set(HeaderDevice, c.Device)
	set(HeaderRoute, c.Route)
	set(HeaderAsker, c.Asker)
	if c.Timeout > 0 {
		set(HeaderTimeout, strconv.FormatInt(c.Timeout.Milliseconds(), 10))
	}
	if c.Limit > 0 {
		set(HeaderLimit, strconv.Itoa(c.Limit))
	}
	if c.Confirmed {
		set(HeaderConfirmed, "yes")
	}
	return h
}

// DecodeToolCall reads the headers of a call; nil headers are a valid call.
// Malformed ones are errors with code invalid.
func DecodeToolCall(h map[string][]string) (ToolCall, error) {
	c := ToolCall{
		Call: first(h[HeaderCall]), Turn: first(h[HeaderTurn]), Session: first(h[HeaderSession]),
		Device: first(h[HeaderDevice]), Route: first(h[HeaderRoute]), Asker: first(h[HeaderAsker]),
	}
	for _, key := range []string{HeaderCall, HeaderTurn, HeaderSession, HeaderDevice} {
		if s := first(h[key]); s != "" && !ValidToken(s) {
			return ToolCall{}, Errorf(CodeInvalid, "decode tool call", "header %s: %.80q is not a token", key, s)
		}
	}
	if _, _, ok := SplitAsker(c.Asker); c.Asker != "" && !ok {
		return ToolCall{}, Errorf(CodeInvalid, "decode tool call", "header %s: %.80q is not service/instance", HeaderAsker, c.Asker)
	}
	if c.Route != "" && c.Route != "local" && c.Route != "external" {
		return ToolCall{}, Errorf(CodeInvalid, "decode tool call", "header %s: %q is neither local nor external", HeaderRoute, c.Route)
	}
	if s := first(h[HeaderConfirmed]); s != "" && s != "yes" {
		return ToolCall{}, Errorf(CodeInvalid, "decode tool call", "header %s: %.80q is not yes", HeaderConfirmed, s)
	}
	c.Confirmed = first(h[HeaderConfirmed]) != ""
	if s := first(h[HeaderTimeout]); s != "" {
		ms, err := strconv.ParseInt(s, 10, 64)
		if err != nil || ms <= 0 || ms > int64(24*time.Hour/time.Millisecond) {
			return ToolCall{}, Errorf(CodeInvalid, "decode tool call", "header %s: %q is not a number of milliseconds", HeaderTimeout, s)
		}
		c.Timeout = time.Duration(ms) * time.Millisecond
	}
	if s := first(h[HeaderLimit]); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n <= 0 {
			return ToolCall{}, Errorf(CodeInvalid, "decode tool call", "header %s: %q is not a number above 0", HeaderLimit, s)
		}
		c.Limit = n
	}
	return c, nil
}

// SplitAsker cuts who asks ("brain/INSTANCE") into service and instance; ok is
// false when it is not two tokens, see [ValidToken].
func SplitAsker(asker string) (service, instance string, ok bool) {
	service, instance, _ = strings.Cut(asker, "/")
	return service, instance, ValidToken(service) && ValidToken(instance)
}

// ToolSpec describes one tool to brain, sttd and people.
type ToolSpec struct {
	Name        string              `json:"name"`
	Description string              `json:"description"`
	Parameters  json.RawMessage     `json:"parameters"`          // JSON Schema of the arguments, as OpenAI's function tools want it
	Announce    map[string][]string `json:"announce,omitempty"`  // phrases by language
	Sentences   map[string][]string `json:"sentences,omitempty"` // templates of local intents by language
	Reply       map[string]string   `json:"reply,omitempty"`     // answer of an intent by language, with {output}
	TimeoutMS   int64               `json:"timeout_ms"`
	External    bool                `json:"external"` // may be offered to an external chat server
	Confirm     string              `json:"confirm"`  // ConfirmNever or ConfirmVoice
	Parallel    bool                `json:"parallel"`
	// Native says that the tool is built in: its calls count against the
	// CallLimit of [Tools], and once a turn has spent it, it offers none of them.
	Native bool `json:"native,omitempty"`
	// Held says why a tool that is not External is held back from an external
	// Held says for people why a tool that is not External is held back from an
	// external chat server; it completes "the chat server is external, and".
	Held string `json:"held,omitempty"`
}

// Whether the user is asked for a yes before a tool runs.
const (
	ConfirmNever = "never"
	ConfirmVoice = "voice"
)
