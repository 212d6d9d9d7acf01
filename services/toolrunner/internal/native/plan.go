// SPDX-License-Identifier: Apache-2.0

package native

import (
	"fmt"
	"os"
	"strings"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/toolrunner/internal/native/catalog"
	"example.org/desktop-assistant/services/toolrunner/internal/native/engine"
	"example.org/desktop-assistant/services/toolrunner/internal/native/fault"
	"example.org/desktop-assistant/services/toolrunner/internal/native/origin"
	"example.org/desktop-assistant/services/toolrunner/internal/native/workspace"
)

// OriginsVariable is the environment variable by which a launch allows origins,
// separated by commas, beside those of the configuration.
const OriginsVariable = "DESKTOP_ASSISTANT_HTTP_ALLOWED_ORIGINS"

const maxCalls = 5 // of a turn, whatever is configured

// Plan is what the configuration and the environment come to.
type Plan struct {
	engine.Settings
	CallLimit int                // calls of a turn, 1 to 5
	Confirm   bool               // ask before a request with a body
	From      string             // where the choice of the workspace came from, see package workspace
	Off       []proto.ToolOff    // tools that are off, and why
	Listed    []proto.ToolOrigin // origins for people
	Problems  []proto.Problem    // what was asked for and cannot be had
}

// Sources are what a plan is made of.
type Sources struct {
	Config    config.NativeTools
	Data      string // folder of the program's data
	Workspace string // value of [workspace.Variable]
	Origins   string // value of [OriginsVariable]
}

// Environment adds what this process was launched with.
func Environment(n config.NativeTools, data string) Sources {
	return Sources{Config: n, Data: data, Workspace: os.Getenv(workspace.Variable), Origins: os.Getenv(OriginsVariable)}
}

// NewPlan makes the plan. What cannot be used is named among its problems and
// left out, never replaced by something else. It chooses the workspace, which
// may write the choice down, only when a tool that needs one is on. The error
// is that of a limit out of range.
func NewPlan(s Sources) (Plan, error) {
	n := s.Config
	if n.CallLimit < 1 || n.CallLimit > maxCalls {
		return Plan{}, fault.Invalid(fmt.Sprintf("call_limit must be from 1 to %d", maxCalls))
	}
	p := Plan{CallLimit: n.CallLimit, Confirm: n.Confirm == proto.ConfirmVoice}
	p.Settings = engine.Settings{External: n.External, Methods: engine.Methods(), Limits: n.Limits, Timeout: engine.Timeout}
	p.allow(s)
	p.search(n)
	if s.Workspace != "" || n.Workspace != "" || n.ListDirectory || n.ReadFile {
		p.choose(s)
	}
	for _, r := range catalog.Records() {
		switch {
		case !r.On(n):
			p.Off = append(p.Off, proto.ToolOff{Name: r.Name, Why: "it is not switched on"})
		case r.Name == "web_search" && p.Endpoint == "":
			p.Off = append(p.Off, proto.ToolOff{Name: r.Name, Why: "it has no search_endpoint that can be used"})
		default:
			p.On = append(p.On, r.Name)
		}
	}
	return p, nil
}

// allow collects the origins: those of the configuration, those of the launch,
// and with builtin_origins those in code.
func (p *Plan) allow(s Sources) {
	seen := map[string]bool{}
	add := func(text, from string, builtin bool) {
		o, err := origin.Parse(text)
		if err != nil {
			p.problem(fmt.Sprintf("the origin %s of %s is not allowed: %v", config.Redact(shorten(text)), from, err),
				"write it like https://example.org, with http:// only for this machine")
			return
		}
		if !seen[o.String()] {
			seen[o.String()] = true
			p.Origins = append(p.Origins, o.String())
			p.Listed = append(p.Listed, proto.ToolOrigin{Origin: o.String(), Builtin: builtin, Used: true})
		}
	}
	for _, text := range s.Config.AllowedOrigins {
		add(text, "allowed_origins", false)
	}
	for text := range strings.SplitSeq(s.Origins, ",") {
		if text = strings.TrimSpace(text); text != "" {
			add(text, OriginsVariable, false)
		}
	}
	for _, text := range origin.Builtin() {
		if s.Config.BuiltinOrigins {
			add(text, "the list in code", true)
		} else if !seen[text] {
			p.Listed = append(p.Listed, proto.ToolOrigin{Origin: text, Builtin: true})
		}
	}
}

func (p *Plan) search(n config.NativeTools) {
	switch _, err := catalog.Endpoint(n.SearchEndpoint); {
	case n.SearchEndpoint == "" && n.WebSearch:
		p.problem("web_search is on, and has no search_endpoint: it counts as off",
			`name a SearXNG server below [native_tools]: search_endpoint = "https://search.example.org"`)
	case n.SearchEndpoint == "":
	case err != nil:
		p.problem("the search_endpoint cannot be used: "+err.Error(), "write it like https://search.example.org, with http:// only for this machine")
	default:
		p.Endpoint = n.SearchEndpoint
	}
}

func (p *Plan) choose(s Sources) {
	chosen, err := workspace.Choose(workspace.Sources{Variable: s.Workspace, Config: s.Config.Workspace, Data: s.Data})
	p.From = chosen.From
	if err == nil {
		p.Workspace = chosen.Path
		return
	}
	hint := "name another folder"
	switch chosen.From {
	case workspace.FromVariable:
		hint = "give " + workspace.Variable + " the whole path of a folder, without links in it"
	case workspace.FromConfig:
		hint = "give workspace below [native_tools] the whole path of a folder, without links in it"
	case workspace.FromSaved:
		hint = "choose one anew with " + workspace.Variable + ", or go back to the private one: rm " + workspace.Saved(s.Data)
	case workspace.FromDefault:
		hint = "look at the rights of " + s.Data
	}
	p.problem("the workspace of the built-in tools cannot be used: "+err.Error(), hint)
}

func (p *Plan) problem(what, hint string) {
	p.Problems = append(p.Problems, proto.Problem{What: what, Hint: hint})
}

// shorten keeps a wrong entry from filling a screen, and from showing a query,
// which may hold a key.
func shorten(text string) string {
	if i := strings.IndexAny(text, "?#"); i >= 0 {
		text = text[:i+1] + "…"
	}
	if runes := []rune(text); len(runes) > 100 {
		return string(runes[:100]) + "…"
	}
	return text
}
