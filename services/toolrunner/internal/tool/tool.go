// SPDX-License-Identifier: Apache-2.0

// Package tool reads the files that describe tools.
//
// A tool is one TOML file, NAME.toml, in the tools folder. Whatever is wrong
// with a file is a [Problem] with file, line and reason: an error keeps that
// tool out, a warning does not, and neither touches the other tools.
package tool

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/desktop-assistant/proto"
)

// Limits of a tool file, which the fields of [Tool] keep.
const (
	DefaultTimeout = 10 * time.Second
	MaxTimeout     = 24 * time.Hour
	DefaultOutput  = 2000   // runes of a result that the model gets
	maxOutput      = 20_000 // what max_output may ask for
	maxFile        = 256 << 10
	maxText        = 300 // runes of a problem that are shown
	// maxSpecs bounds what all tools of a folder say of themselves, in bytes of
	// JSON: the bus carries 900 KiB a message.
	maxSpecs = 600_000
)

// Tool is one tool as its file describes it. It is never changed after it was
// loaded, so it may be shared between goroutines.
type Tool struct {
	Name        string              // the file's name without .toml
	File        string              // the path it was read from
	Description string              // for the model, never blank
	Command     []string            // program and its arguments, with {param} in the arguments
	Timeout     time.Duration       // above 0, at most MaxTimeout
	Announce    map[string][]string // phrases by language, said while it runs
	Sentences   map[string][]string // templates of local intents by language
	Reply       map[string]string   // answer of an intent by language, with {output} and {param}
	Params      []Param             // in the order of the file
	External    bool                // may be offered to an external chat server
	Confirm     string              // as in [proto.ToolSpec]
	Parallel    bool                // several calls of it may run at once
	MaxOutput   int                 // runes of a result, 1 to 20000
	Env         map[string]string   // added to the child's environment, wins over all else
	InheritEnv  bool                // the child gets the whole environment of the runner
	Sandbox     *Sandbox            // nil for all the rights of the user
}

// Sandbox is what a confined tool may reach besides the system itself, as its
// file says: absolute paths, such that begin with ~/ or hold $VARIABLE, and
// such below the tools folder.
type Sandbox struct {
	Read    []string // to read and run
	Write   []string // to change as well
	Network bool
}

// Param is one parameter of a tool.
type Param struct {
	Name        string
	Type        string // a type of JSON Schema
	Description string
	Required    bool
	Enum        []string       // the allowed values as text, nil for any
	Pattern     *regexp.Regexp // matches the whole value, nil for any
}

// Param finds a parameter by its exact name.
func (t *Tool) Param(name string) (Param, bool) {
	for _, p := range t.Params {
		if p.Name == name {
			return p, true
		}
	}
	return Param{}, false
}

// Spec describes the tool to the other daemons.
func (t *Tool) Spec() proto.ToolSpec {
	return proto.ToolSpec{
		Name: t.Name, Description: t.Description, Parameters: t.Schema(),
		Announce: t.Announce, Sentences: t.Sentences, Reply: t.Reply,
		TimeoutMS: t.Timeout.Milliseconds(),
		External:  t.External, Confirm: t.Confirm, Parallel: t.Parallel, Held: t.held(),
	}
}

func (t *Tool) held() string {
	if t.External {
		return ""
	}
	return "its file does not say external = true"
}

// size of the tool in a list of tools.
func (t *Tool) size() int {
	text, err := json.Marshal(t.Spec())
	if err != nil { // it holds texts and numbers only
		return maxSpecs
	}
	return len(text)
}

// Problem is something wrong with a tool file or with the tools folder.
type Problem struct {
	File    string
	Line    int    // counted from 1; 0 when the file as a whole is meant
	Text    string // one lower-case line without full stop
	Hint    string // what to type about it, without control characters, may be empty
	Warning bool   // the tool is loaded all the same
}

// String gives "FILE:LINE: text (hint)".
func (p Problem) String() string {
	if p.Hint == "" {
		return p.What()
	}
	return p.What() + " (" + p.Hint + ")"
}

// What gives "FILE:LINE: text", without the hint.
func (p Problem) What() string {
	s := plain(p.File)
	if p.Line > 0 {
		s += fmt.Sprintf(":%d", p.Line)
	}
	s += ": "
	if p.Warning {
		s += "warning: "
	}
	return s + short(plain(p.Text))
}

// short keeps a text from filling a screen, or a message of the bus.
func short(s string) string {
	runes := []rune(s)
	if len(runes) <= maxText {
		return s
	}
	return string(runes[:maxText]) + "..."
}

// plain escapes what a terminal would obey and what would break a line: a file
// may have any name, and a key may hold anything.
func plain(s string) string {
	quoted := strconv.Quote(s)
	if quoted == `"`+s+`"` {
		return s
	}
	quoted = strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	return strings.ReplaceAll(quoted, `\\`, `\`)
}

// Set is what a tools folder held at one moment. Its zero value has no tools.
type Set struct {
	Dir      string    // absolute, where programs of tools are looked for first
	Tools    []*Tool   // in the order of the file names
	Problems []Problem // in the same order
}

// Find looks a tool up by its exact name.
func (s Set) Find(name string) (*Tool, bool) {
	for _, t := range s.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return nil, false
}

// Without gives the set without the tools whose names are taken by tools that
// come from no file, and names them.
func (s Set) Without(taken []string) Set {
	isTaken := func(t *Tool) bool { return slices.Contains(taken, t.Name) }
	s.Problems = slices.Clone(s.Problems)
	for _, t := range s.Tools {
		if isTaken(t) {
			s.Problems = append(s.Problems, Problem{File: t.File, Text: t.Name + " is the name of a built-in tool", Hint: "give the file another name"})
		}
	}
	s.Tools = slices.DeleteFunc(slices.Clone(s.Tools), isTaken)
	return s
}

// Broken reports whether a file could not be used.
func (s Set) Broken() bool {
	for _, p := range s.Problems {
		if !p.Warning {
			return true
		}
	}
	return false
}
