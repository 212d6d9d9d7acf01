// SPDX-License-Identifier: Apache-2.0

// Package phrase is what the assistant says of its own: why there is no
// answer, and that one is on its way. Short, in the user's language.
package phrase

import (
	"slices"
	"strings"
)

// Key names one thing that is said.
type Key string

// What is said. The comments say when.
const (
	Unreachable  Key = "unreachable"   // no chat server answers and no local intent matched; {examples}
	NoExamples   Key = "no_examples"   // the same with no tool that answers by itself
	Loading      Key = "loading"       // the chat server still loads its model, the turn waits
	StillLoading Key = "still_loading" // it took too long
	Refused      Key = "refused"       // the chat server does not take the request
	ServerFailed Key = "server_failed" // the chat server answered with an error
	BadKey       Key = "key"           // it wants another key
	Untrusted    Key = "untrusted"     // its certificate is not right
	NoTools      Key = "no_tools"      // it cannot use tools
	Garbled      Key = "garbled"       // what it sends is no chat
	Truncated    Key = "truncated"     // the answer's length limit was met before a word came
	Filtered     Key = "filtered"      // its filter stopped the answer
	Address      Key = "address"       // the address or the model's name is wrong
	Busy         Key = "busy"          // too many requests
	TooLong      Key = "too_long"      // the conversation does not fit the model
	Empty        Key = "empty"         // an answer without words, twice
	Stalled      Key = "stalled"       // nothing came for too long
	BrokeOff     Key = "broke_off"     // the answer ended in the middle
	OneMoment    Key = "one_moment"    // no token for some seconds
	NotCaught    Key = "not_caught"    // nothing was understood after a key press
	NoSTT        Key = "no_stt"        // speech recognition failed
	STTLate      Key = "stt_late"      // the transcript never came
	MicLost      Key = "mic_lost"      // the microphone went away while recording
	Restarted    Key = "restarted"     // this daemon was restarted within a turn
	BusLost      Key = "bus_lost"      // the bus was gone within a turn
	ToolGone     Key = "tool_gone"     // toolrunner is not there
	ToolLate     Key = "tool_late"     // a tool ran out of time
	ToolFailed   Key = "tool_failed"   // a tool could not do it; {reason}
	Unconfirmed  Key = "unconfirmed"   // the user did not say yes to a tool
	Done         Key = "done"          // a tool did it and printed nothing
	SkillLoaded  Key = "skill_loaded"  // a message that only loads skills; {names}
	NoVoice      Key = "no_voice"      // the speech engine is gone: shown only
	Internal     Key = "internal"      // a defect of ours
)

// fallback is the language of those that have no phrases.
const fallback = "en"

// Languages lists the languages that have every phrase.
func Languages() []string { return []string{"en", "it", "de", "fr", "es", "pt"} }

// Say gives the words for key in lang, a tag such as "it" or "en-us", and the
// language they are in: the tag itself, or "en" when lang has no phrases. Each
// pair fills in a {name}.
func Say(key Key, lang string, pairs ...string) (text, language string) {
	primary, _, _ := strings.Cut(strings.ToLower(lang), "-")
	if !slices.Contains(Languages(), primary) {
		primary, lang = fallback, fallback
	}
	text = table[key][primary]
	for i := 0; i+1 < len(pairs); i += 2 {
		text = strings.ReplaceAll(text, "{"+pairs[i]+"}", pairs[i+1])
	}
	return text, lang
}
