// SPDX-License-Identifier: Apache-2.0

// Package skill reads the user's skills: a folder with one sub-folder for each,
// in it a SKILL.md whose YAML header names and describes it and whose text is for
// the model. It finds the skills that a message asks for, too.
//
// A skill is text of others and grants nothing: of its header only name and
// description are read, no file beside SKILL.md is, and a name is looked up in
// the list only, never taken for a path.
package skill

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"example.org/desktop-assistant/pkg/speech"
)

// Bounds. Those of name and description stay below what agentskills.io allows
// for them (64 and 1024 characters); its guide wants texts below 5,000 tokens.
const (
	maxFile        = 256 << 10 // bytes of a SKILL.md
	maxHeader      = 64 << 10  // bytes of its header
	maxName        = 64        // characters
	maxDescription = 240       // characters of the line that is shown
	maxSkills      = 1000      // in a folder
)

// Skill is one skill as it is listed.
type Skill struct {
	Name        string // unique without regard to case; no slash, backslash or invisible character in it
	Description string // its first sentence on one line, may be ""
}

// Section is what goes to the model of a loaded skill.
func Section(name, text string) string { return "[skill: " + name + "]\n" + text }

// usable gives a name as it is used, "" when it cannot be one.
func usable(name string) string {
	name = strings.Join(strings.Fields(norm.NFC.String(name)), " ")
	invisible := func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError }
	switch {
	case name == "", name == ".", name == "..", utf8.RuneCountInString(name) > maxName,
		strings.ContainsAny(name, `/\`), strings.ContainsFunc(name, invisible):
		return ""
	}
	return name
}

// brief gives the first sentence of a description, white space folded: it ends
// with the first full stop, exclamation or question mark before white space.
func brief(description string) string {
	words := strings.Fields(speech.Plain(description))
	end := slices.IndexFunc(words, func(w string) bool { return strings.ContainsAny(w[len(w)-1:], ".!?") })
	if end >= 0 {
		words = words[:end+1]
	}
	line := strings.Join(words, " ")
	if r := []rune(line); len(r) > maxDescription {
		line = strings.TrimSpace(string(r[:maxDescription-1])) + "…"
	}
	return line
}
