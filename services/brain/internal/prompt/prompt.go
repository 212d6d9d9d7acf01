// SPDX-License-Identifier: Apache-2.0

// Package prompt is what a turn sends to the model: the messages, which grow
// with each round of tool calls, and the tools that a round offers. It is pure.
package prompt

import (
	"slices"
	"strings"
	"time"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/model"
	"example.org/desktop-assistant/services/brain/internal/session"
)

// lastNote goes to the model with the last tool result when no more tools are
// offered. It names no tool, and it is no message of its own: templates refuse
// a late system message, and an assistant one would be continued.
const lastNote = "\n\n(No more tools can be used for this question. Answer now with what is known.)"

// Opening is what a prompt begins with.
type Opening struct {
	System   string   // "" for none
	Skills   []string // of loaded ones, in load order: the text below its header
	Past     []session.Exchange
	Question string
	Tools    []proto.ToolSpec // that the model may see
	Rounds   int              // of tool calls before an answer is forced
	Today    time.Time
}

// Prompt is what the model gets in one turn. It belongs to one goroutine. Its
// messages are always a history that strict servers take, except between
// [Prompt.Called] and [Prompt.Results].
type Prompt struct {
	messages  []model.Message
	past      int // messages of earlier turns among them
	tools     []model.Tool
	spent     []model.Tool // offered by earlier requests only
	round     int          // rounds of tool calls so far
	rounds    int
	bare      bool
	shortened bool
}

// New makes the prompt of the first request. What changes from turn to turn
// comes last, so that the server can keep what it made of the rest.
func New(o Opening) *Prompt {
	p := &Prompt{rounds: o.Rounds, past: 2 * len(o.Past)}
	system := strings.TrimSpace(o.System)
	if o.Rounds > 0 && dated(o.Tools) {
		system = strings.TrimSpace(system + "\n" + o.Today.Format("Today is Monday 2006-01-02."))
	}
	for _, text := range o.Skills {
		system = strings.TrimSpace(system + "\n\n" + text)
	}
	if system != "" {
		p.add(model.Message{Role: model.RoleSystem, Content: system})
	}
	for _, e := range o.Past {
		p.add(model.Message{Role: model.RoleUser, Content: e.Question})
		p.add(model.Message{Role: model.RoleAssistant, Content: e.Answer})
	}
	p.add(model.Message{Role: model.RoleUser, Content: o.Question})
	p.Offer(o.Tools)
	return p
}

// Offer changes which tools the model may see from the next request on.
func (p *Prompt) Offer(specs []proto.ToolSpec) {
	for _, t := range p.tools {
		if !slices.ContainsFunc(specs, func(s proto.ToolSpec) bool { return s.Name == t.Name }) {
			p.spent = append(p.spent, t)
		}
	}
	p.tools = nil
	for _, s := range specs {
		p.tools = append(p.tools, model.Tool{Name: s.Name, Description: s.Description, Parameters: s.Parameters})
	}
}

// dated says whether the model needs the date: it can search for news.
func dated(specs []proto.ToolSpec) bool {
	return slices.ContainsFunc(specs, func(s proto.ToolSpec) bool { return s.Name == "search" || s.Native && s.Name == "web_search" })
}

func (p *Prompt) add(m model.Message) { p.messages = append(p.messages, m) }

// Offers says whether this round offers tools. After the last round it does
// not, which makes the model answer.
func (p *Prompt) Offers() bool { return p.round < p.rounds && !p.bare && len(p.tools) > 0 }

// Request is what to ask now. It is the caller's.
func (p *Prompt) Request() model.Request {
	req := model.Request{Messages: slices.Clone(p.messages), Spent: slices.Clone(p.spent)}
	switch {
	case p.Offers():
		req.Tools = slices.Clone(p.tools)
	case !p.bare:
		req.Spent = append(req.Spent, p.tools...)
	}
	return req
}

// Called adds the calls of a reply and the text before them; Results has to
// follow.
func (p *Prompt) Called(reply model.Reply) {
	p.add(model.Message{Role: model.RoleAssistant, Content: reply.Text, Calls: reply.Calls})
}

// Results adds one result for each call, in the order of the calls, and ends
// the round.
func (p *Prompt) Results(results []string) {
	p.round++
	calls := p.messages[len(p.messages)-1].Calls
	for i, text := range results {
		if i == len(results)-1 && !p.Offers() {
			text += lastNote
		}
		p.add(model.Message{Role: model.RoleTool, Content: text, CallID: calls[i].ID})
	}
}

// Round is how many rounds of tool calls there were.
func (p *Prompt) Round() int { return p.round }

// Bare leaves the tools out from now on. It reports false when they were left
// out before.
func (p *Prompt) Bare() bool {
	done := p.bare
	p.bare = true
	return !done
}

// Shorten drops the oldest of the earlier turns, whole exchanges, until at most
// half of what they said is left. It reports false when it did so before, or
// there is none.
func (p *Prompt) Shorten() bool {
	if p.shortened || p.past == 0 {
		return false
	}
	p.shortened = true
	first := 0
	if p.messages[0].Role == model.RoleSystem {
		first = 1
	}
	left, limit := 0, weight(p.messages[first:first+p.past])/2
	drop := p.past
	for drop > 0 {
		left += weight(p.messages[first+drop-2 : first+drop])
		if left > limit {
			break
		}
		drop -= 2
	}
	p.messages = slices.Delete(p.messages, first, first+drop)
	p.past -= drop
	return true
}

// Past is how many exchanges of earlier turns the prompt holds.
func (p *Prompt) Past() int { return p.past / 2 }

// weight is what messages say, in bytes.
func weight(messages []model.Message) int {
	n := 0
	for _, m := range messages {
		n += len(m.Content)
	}
	return n
}
