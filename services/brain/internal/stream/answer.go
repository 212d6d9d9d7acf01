// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"example.org/desktop-assistant/services/brain/internal/markup"
)

// Usage is what the server says about tokens and time; zero where it says
// nothing. The times come from llama-server's timings.
type Usage struct {
	Prompt, Cached, Completion int     // tokens
	PromptMS, CompletionMS     float64 // milliseconds
}

// A Result is a whole answer.
type Result struct {
	Text    string // all that may be spoken, as it was handed out in pieces
	Calls   []Call
	Finish  string // the first finish reason, "" when none came
	Ended   bool   // finish reason or [DONE]: the only proofs of a good end
	Usage   Usage
	Leaked  bool // tool markup came as text and no call could be read from it
	Thought bool // thinking came, in a field or in the text
	// Opened tells that the template opened the thinking block in the prompt: only
	// its end was in the text. Give it to NewAnswer next time. Once thinking comes in
	// a field, nothing is held back.
	Opened  bool
	Frames  int // usable frames
	Bad     int // frames that could not be decoded
	Dropped int // calls without a name, repeated calls, and those far over [MaxCalls]
	// Suspect is set by a frame that is no chunk and reads like an error.
	Suspect *Fault
}

// An Answer collects one answer from its events.
type Answer struct {
	offer  markup.Offer
	filter *markup.Filter
	calls  *assembler
	said   strings.Builder // text before the filter
	spoken strings.Builder // text after the filter
	mind   string          // the end of the thinking that came in fields
	delta  bool            // text came in a delta
	done   bool
	res    Result
}

// NewAnswer starts an answer to a request that offered these tools (nil for
// none). known are all tools that the conversation has seen: in a round that
// offers none a call of one of them is still no text. With opened the text is
// held back until thinking has ended, see [Result.Opened].
func NewAnswer(offer, known markup.Offer, opened bool) *Answer {
	return &Answer{offer: offer, filter: markup.NewFilter(known, opened), calls: newAssembler(offer)}
}

// Add takes one event and returns the text that became certain with it. The
// error is a *Fault when the server reports one; the answer is over then. A
// frame that is no JSON object is skipped and counted.
func (a *Answer) Add(ev Event) (string, error) {
	data := bytes.TrimSpace(ev.Data)
	if ev.Name == "error" {
		return "", eventFault(data)
	}
	if string(data) == "[DONE]" {
		a.res.Ended, a.done = true, true
		return "", nil
	}
	text, err := a.frame(data)
	if !errors.Is(err, errNotJSON) {
		return text, err
	}
	// Frames with a line each in one event: servers that forget the blank line.
	var out strings.Builder
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		text, err := a.frame(line)
		out.WriteString(text)
		switch {
		case errors.Is(err, errNotJSON):
			a.res.Bad++
		case err != nil:
			return out.String(), err
		}
	}
	return out.String(), nil
}

var errNotJSON = errors.New("frame is no JSON")

func eventFault(data []byte) *Fault {
	if f := ParseFault(data); f != nil {
		return f
	}
	return newFault(string(data), nil)
}

func (a *Answer) frame(data []byte) (string, error) {
	var c chunk
	switch {
	case len(data) == 0:
		return "", nil
	case data[0] != '{' && !json.Valid(data), data[0] == '{' && decode(data, &c) != nil:
		return "", errNotJSON
	case data[0] == '[':
		return a.list(data)
	case data[0] != '{':
		return "", nil // null and the like are padding
	}
	if c.odd() {
		var keys map[string]json.RawMessage
		if json.Unmarshal(data, &keys) != nil || len(keys) == 0 {
			return "", nil // {} is padding too
		}
		if f := chunkFault(keys); f != nil {
			return "", f
		}
		if c.Choices == nil && a.res.Suspect == nil {
			a.res.Suspect = ParseFault(data)
		}
	}
	a.res.Frames++
	a.count(&c)
	if len(c.Choices) == 0 {
		return "", nil
	}
	return a.choice(&c.Choices[0])
}

// list takes frames that came in one JSON list.
func (a *Answer) list(data []byte) (string, error) {
	var out strings.Builder
	for _, item := range elements(data) {
		if item[0] != '{' {
			continue
		}
		text, err := a.frame(item)
		out.WriteString(text)
		if err != nil {
			return out.String(), err
		}
	}
	return out.String(), nil
}

func (a *Answer) count(c *chunk) {
	if c.Usage != nil {
		a.res.Usage.Prompt = c.Usage.Prompt
		a.res.Usage.Completion = c.Usage.Completion
		a.res.Usage.Cached = c.Usage.Details.Cached
	}
	if c.Timings != nil {
		a.res.Usage.Cached = max(a.res.Usage.Cached, c.Timings.Cached)
		a.res.Usage.PromptMS = c.Timings.PromptMS
		a.res.Usage.CompletionMS = c.Timings.CompletionMS
	}
}

func (a *Answer) choice(c *choice) (string, error) {
	mind := c.Delta.thinking() + c.Message.thinking()
	if c.Delta.thought(mind) || c.Message.thought(mind) {
		a.res.Thought = true
		a.filter.Settle()
		a.think(mind)
	}
	fragments := c.Delta.fragments()
	text := a.newText(c, len(fragments) > 0)
	if len(fragments) == 0 && len(a.calls.slots) == 0 {
		fragments = c.Message.fragments()
	}
	for _, f := range fragments {
		a.calls.add(f)
	}
	a.said.WriteString(text)
	out := a.filter.Write(text)
	a.spoken.WriteString(out)
	finish := c.finish()
	if finish != "" && a.res.Finish == "" {
		a.res.Finish = finish
		a.res.Ended = true
	}
	if truthy(c.Error) {
		return out, errorFault(c.Error)
	}
	if finish == "error" {
		return out, newFault("the server ended the answer with an error", nil)
	}
	return out, nil
}

// maxMind is how much of the end of the thinking is kept, in bytes.
const maxMind = 16 << 10

// think keeps the end of the thinking: a call may hide there.
func (a *Answer) think(text string) {
	a.mind += text
	if len(a.mind) > 2*maxMind {
		a.mind = a.mind[len(a.mind)-maxMind:]
	}
}

// newText chooses between delta and message. The delta wins; a message counts
// only while no text came in a delta and does not repeat all that was said. A
// delta that brings calls and all the text again (LocalAI) says nothing new.
// Equal neighbours are never dropped: "ha" "ha" is laughter.
func (a *Answer) newText(c *choice, calls bool) string {
	said := a.said.String()
	if text := c.Delta.text(); text != "" {
		a.delta = true
		if calls && text == said {
			return ""
		}
		return text
	}
	text := c.Message.text()
	if a.delta || text == said && c.finish() != "" {
		return ""
	}
	return text
}

// Began tells that some text, thinking or call came.
func (a *Answer) Began() bool {
	return a.said.Len() > 0 || a.res.Thought || len(a.calls.slots) > 0
}

// Finished tells that a finish reason came: text and calls are complete, at most
// usage follows.
func (a *Answer) Finished() bool { return a.res.Finish != "" }

// Done tells that [DONE] came: nothing follows, whatever else is in the body.
func (a *Answer) Done() bool { return a.done }

// Spoke tells that some text was handed out.
func (a *Answer) Spoke() bool { return a.spoken.Len() > 0 }

// Close ends the answer and returns the held-back text and the result. Calls of
// an answer that was cut by length or has no good end carry a Problem.
func (a *Answer) Close() (string, Result) {
	tail := a.filter.Close()
	a.spoken.WriteString(tail)
	r := a.res
	r.Text = a.spoken.String()
	r.Calls, r.Dropped = a.calls.calls()
	r.Thought = r.Thought || a.filter.Thought()
	r.Opened = a.filter.Opened()
	switch leak := a.filter.Captured(); {
	case len(r.Calls) > 0:
	case leak != "":
		r.Calls = a.recovered(markup.Recover(leak, a.offer))
		r.Leaked = len(r.Calls) == 0
	case strings.TrimSpace(r.Text) == "":
		r.Calls = a.recovered(markup.RecoverLast(a.mind+a.filter.Mind(), a.offer))
	}
	if over := len(r.Calls) - MaxCalls; over > 0 {
		r.Calls = r.Calls[:MaxCalls+1]
		r.Calls[MaxCalls].Problem = ProblemTooMany
		r.Dropped += over - 1
	}
	for i := range r.Calls {
		switch {
		case !r.Ended:
			r.Calls[i].Problem = ProblemInterrupted
		case r.Finish == "length":
			r.Calls[i].Problem = ProblemTruncated
		}
	}
	return tail, r
}

// recovered makes calls of markup in the text, where their form is certain: the
// tool was offered and the arguments decode.
func (a *Answer) recovered(list []markup.Found) []Call {
	var calls []Call
	for _, found := range list {
		if c := newCall(newID(), found.Name, found.Arguments, a.offer); c.Problem == "" {
			calls = append(calls, c)
		}
	}
	return calls
}
