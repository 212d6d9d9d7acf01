// SPDX-License-Identifier: Apache-2.0

// Package grammar makes what a recogniser of commands listens for out of the
// sentences of the tools.
package grammar

import (
	"fmt"
	"slices"

	"example.org/desktop-assistant/pkg/intent"
	"example.org/desktop-assistant/pkg/speech/lexicon"
	"example.org/desktop-assistant/proto"
)

// language is the one that the recogniser of commands knows.
const language = "en"

// answers are listened for where there are tools that may ask the user before
// they run.
var answers = []string{"(yes|okay) [please]", "(no|cancel) [thanks]"}

func asks(s proto.ToolSpec) bool { return s.Confirm == proto.ConfirmVoice || s.Native }

// A Grammar is what to listen for. The zero value is nothing.
type Grammar struct {
	JSGF      string
	Words     []string // of JSGF, sorted
	Sentences int      // templates that are in it
}

// Of takes the English sentences of the tools, without those that have free
// text, which a grammar cannot hear. A sentence that cannot be used is left out
// and is one error, which names it and its tool.
func Of(tools []proto.ToolSpec) (Grammar, []error) {
	var usable []intent.Template
	var faults []error
	for _, spec := range tools {
		params := intent.Params(spec.Parameters)
		for _, sentence := range english(spec) {
			t, err := intent.ParseTemplate(sentence, params)
			if err == nil && len(t.Phrases(1)) == 0 {
				continue // free text only
			}
			if err == nil {
				_, _, err = intent.Grammar([]intent.Template{t})
			}
			if err != nil {
				faults = append(faults, fmt.Errorf("listen for tool %q: %w", spec.Name, err))
				continue
			}
			usable = append(usable, t)
		}
	}
	if len(usable) == 0 {
		return Grammar{}, faults
	}
	count := len(usable)
	if slices.ContainsFunc(tools, asks) {
		for _, a := range answers {
			t, err := intent.ParseTemplate(a, nil)
			if err != nil {
				return Grammar{}, append(faults, err)
			}
			usable = append(usable, t)
		}
	}
	jsgf, words, err := intent.Grammar(usable)
	if err != nil {
		return Grammar{}, append(faults, fmt.Errorf("listen for %d sentences: %w", len(usable), err))
	}
	return Grammar{JSGF: jsgf, Words: words, Sentences: count}, faults
}

// english gives the sentences of a tool under "en" and its regions, "en-gb".
func english(spec proto.ToolSpec) []string {
	var list []string
	for tag, sentences := range spec.Sentences {
		if lexicon.Primary(tag) == language {
			list = append(list, sentences...)
		}
	}
	slices.Sort(list)
	return list
}
