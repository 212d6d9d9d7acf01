// SPDX-License-Identifier: Apache-2.0

package proto

import "encoding/json"

// A Command is a request with a reply of type R. Implementations are the
// structs of this package, used by value; the Reply method only ties the two
// types together and is never called.
type Command[R any] interface {
	// Verb is the subject's tail, "area.verb".
	Verb() string
	// Reply gives the zero reply.
	Reply() R
}

// Done is the reply of a command that has nothing to tell.
type Done struct{}

// MicState is the reply of every mic command: what holds after it.
type MicState struct {
	Open   bool   `json:"open"`             // capture runs
	Talk   bool   `json:"talk"`             // an utterance is being recorded
	Muted  bool   `json:"muted"`            //
	Turn   string `json:"turn,omitempty"`   // of the utterance being recorded
	Source string `json:"source,omitempty"` // name of the source in use
}

// MicStart opens the push-to-talk gate for at most Lease seconds. Starting
// while it is open renews the lease. Reply fails with unavailable when there
// is no microphone and with denied while muted.
type MicStart struct {
	Lease float64 `json:"lease,omitempty"` // seconds, 0 = [mic] lease_s
}

// Verb is "mic.start".
func (MicStart) Verb() string        { return "mic.start" }
func (MicStart) Reply() (r MicState) { return }

// MicStop ends the utterance; what was said is transcribed.
type MicStop struct{}

// Verb is "mic.stop".
func (MicStop) Verb() string        { return "mic.stop" }
func (MicStop) Reply() (r MicState) { return }

// MicCancel ends the utterance and throws it away.
type MicCancel struct{}

// Verb is "mic.cancel".
func (MicCancel) Verb() string        { return "mic.cancel" }
func (MicCancel) Reply() (r MicState) { return }

// MicToggle starts when the gate is closed and stops when it is open.
type MicToggle struct {
	Lease float64 `json:"lease,omitempty"`
}

// Verb is "mic.toggle".
func (MicToggle) Verb() string        { return "mic.toggle" }
func (MicToggle) Reply() (r MicState) { return }

// MicMute closes every gate until [MicUnmute], over restarts too: written to
// disk before it is acknowledged.
type MicMute struct{}

// Verb is "mic.mute".
func (MicMute) Verb() string        { return "mic.mute" }
func (MicMute) Reply() (r MicState) { return }

// MicUnmute ends the mute.
type MicUnmute struct{}

// Verb is "mic.unmute".
func (MicUnmute) Verb() string        { return "mic.unmute" }
func (MicUnmute) Reply() (r MicState) { return }

// TurnAsk asks a question. It is answered at once; the answer comes as events.
type TurnAsk struct {
	Text    string `json:"text"`
	Session string `json:"session,omitempty"` // "" = the device's current one
	Speak   bool   `json:"speak"`             // false: shown only
	Turn    string `json:"turn,omitempty"`    // chosen by the asker, or made up by brain
}

// TurnTicket names the turn that a question became.
type TurnTicket struct {
	Turn    string `json:"turn"`
	Session string `json:"session"`
}

// Verb is "turn.ask".
func (TurnAsk) Verb() string          { return "turn.ask" }
func (TurnAsk) Reply() (r TurnTicket) { return }

// TurnInterrupt cancels a turn: its model stream, its tools and its speech.
type TurnInterrupt struct {
	Turn string `json:"turn,omitempty"` // "" = every running turn of the device
}

// TurnsStopped counts what was cancelled; zero is no error.
type TurnsStopped struct {
	Turns []string `json:"turns"`
}

// Verb is "turn.interrupt".
func (TurnInterrupt) Verb() string            { return "turn.interrupt" }
func (TurnInterrupt) Reply() (r TurnsStopped) { return }

// TurnAnswer answers a [TurnQuestion].
type TurnAnswer struct {
	Call string `json:"call"`
	Yes  bool   `json:"yes"`
}

// Verb is "turn.answer".
func (TurnAnswer) Verb() string    { return "turn.answer" }
func (TurnAnswer) Reply() (r Done) { return }

// SessionNew begins a new conversation and makes it the device's current one.
type SessionNew struct{}

// SessionInfo describes one conversation.
type SessionInfo struct {
	ID       string `json:"id"`
	Title    string `json:"title,omitempty"` // the first question
	Messages int    `json:"messages"`
	Current  bool   `json:"current"`
}

// Verb is "session.new".
func (SessionNew) Verb() string           { return "session.new" }
func (SessionNew) Reply() (r SessionInfo) { return }

// SessionList lists the conversations, newest first.
type SessionList struct{}

// Sessions is the reply of [SessionList].
type Sessions struct {
	Sessions []SessionInfo `json:"sessions"`
}

// Verb is "session.list".
func (SessionList) Verb() string        { return "session.list" }
func (SessionList) Reply() (r Sessions) { return }

// SessionResume makes an earlier conversation the device's current one.
type SessionResume struct {
	ID string `json:"id"`
}

// Verb is "session.resume".
func (SessionResume) Verb() string           { return "session.resume" }
func (SessionResume) Reply() (r SessionInfo) { return }

// SkillLoad loads a skill into the current session.
type SkillLoad struct {
	Name string `json:"name"`
}

// Skills is the list of skills after a skill command.
type Skills struct {
	Known  []string `json:"known"`
	Loaded []string `json:"loaded"` // in load order
	// About says in a sentence what a known skill is for.
	About    map[string]string `json:"about,omitempty"`
	Dir      string            `json:"dir,omitempty"`
	Off      string            `json:"off,omitempty"`      // why there are none
	Warnings []string          `json:"warnings,omitempty"` // files that are no skills or not quite, with the reason
}

// Verb is "skill.load".
func (SkillLoad) Verb() string      { return "skill.load" }
func (SkillLoad) Reply() (r Skills) { return }

// SkillUnload takes a skill out of the current session.
type SkillUnload struct {
	Name string `json:"name"`
}

// Verb is "skill.unload".
func (SkillUnload) Verb() string      { return "skill.unload" }
func (SkillUnload) Reply() (r Skills) { return }

// SkillList lists the skills.
type SkillList struct{}

// Verb is "skill.list".
func (SkillList) Verb() string      { return "skill.list" }
func (SkillList) Reply() (r Skills) { return }

// SkillShow gives the text of a skill.
type SkillShow struct {
	Name string `json:"name"`
}

// SkillText is the reply of [SkillShow].
type SkillText struct {
	Name string `json:"name"`
	Text string `json:"text"` // what the model gets of it
}

// Verb is "skill.show".
func (SkillShow) Verb() string         { return "skill.show" }
func (SkillShow) Reply() (r SkillText) { return }

// SkillMatch asks which skills a message would load; it loads none.
type SkillMatch struct {
	Text   string `json:"text"`
	Spoken bool   `json:"spoken,omitempty"` // and not typed: hyphens and spaces are the same
}

// SkillMatched is the reply of [SkillMatch].
type SkillMatched struct {
	Load []string `json:"load"`
	Text string   `json:"text"` // the message without /name
}

// Verb is "skill.match".
func (SkillMatch) Verb() string            { return "skill.match" }
func (SkillMatch) Reply() (r SkillMatched) { return }

// ToolList asks toolrunner for its tools.
type ToolList struct{}

// Tools is the reply of [ToolList]: the tools in file-name order, and what is
// wrong with the files that could not be used.
type Tools struct {
	Revision int        `json:"revision"`
	Tools    []ToolSpec `json:"tools"`
	Problems []Problem  `json:"problems,omitempty"`
	Dir      string     `json:"dir"`
	// CallLimit is how many calls of built-in tools a turn may make that starts
	// with this list: its Da-Limit. 0 when toolrunner has no built-in tools.
	CallLimit int          `json:"call_limit,omitempty"`
	Off       []ToolOff    `json:"off,omitempty"`     // built-in tools that are not offered to anyone
	Origins   []ToolOrigin `json:"origins,omitempty"` // where built-in tools may send requests
}

// ToolOff is a built-in tool that is off.
type ToolOff struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// ToolOrigin is one web origin, such as https://example.org.
type ToolOrigin struct {
	Origin  string `json:"origin"`
	Builtin bool   `json:"builtin"` // of the list in code
	Used    bool   `json:"used"`    // false: of the list in code, which the configuration does not use
}

// Verb is "tool.list".
func (ToolList) Verb() string     { return "tool.list" }
func (ToolList) Reply() (r Tools) { return }

// SpeechSay queues one sentence of a turn. It is acknowledged when queued,
// before it is heard. The first index that ttsd sees of a turn may be any, since
// a ttsd that was restarted gets what was not heard yet; after that they rise by
// one, and a gap is refused as invalid. The same index again is acknowledged and
// ignored.
type SpeechSay struct {
	Turn     string `json:"turn"`
	Index    int    `json:"index"`  // from 0, rising by one
	Text     string `json:"text"`   // shown
	Spoken   string `json:"spoken"` // said
	Language string `json:"language"`
	Owner    string `json:"owner,omitempty"`  // "service/instance" that asks, or it is invalid; when it vanishes, its turns stop
	Behind   bool   `json:"behind,omitempty"` // queue behind what is being said instead of superseding it
	Voice    string `json:"voice,omitempty"`  // a blend such as "if_sara 0.8, af_bella 0.2"; "" = the language's
	Fixed    bool   `json:"fixed,omitempty"`  // words of the assistant's own that come again: their sound may be kept
}

// Verb is "speech.say".
func (SpeechSay) Verb() string    { return "speech.say" }
func (SpeechSay) Reply() (r Done) { return }

// SpeechEnd says that a turn has Count sentences and no more are coming.
type SpeechEnd struct {
	Turn  string `json:"turn"`
	Count int    `json:"count"`
}

// Verb is "speech.end".
func (SpeechEnd) Verb() string    { return "speech.end" }
func (SpeechEnd) Reply() (r Done) { return }

// SpeechStop silences a turn, or everything, at once and drops what is queued.
type SpeechStop struct {
	Turn string `json:"turn,omitempty"` // "" = everything
}

// Verb is "speech.stop".
func (SpeechStop) Verb() string            { return "speech.stop" }
func (SpeechStop) Reply() (r TurnsStopped) { return }

// SpeechPause holds the speech where it is.
type SpeechPause struct{}

// Verb is "speech.pause".
func (SpeechPause) Verb() string    { return "speech.pause" }
func (SpeechPause) Reply() (r Done) { return }

// SpeechResume goes on where [SpeechPause] held.
type SpeechResume struct{}

// Verb is "speech.resume".
func (SpeechResume) Verb() string    { return "speech.resume" }
func (SpeechResume) Reply() (r Done) { return }

// SpeechVoices lists what the engine can speak.
type SpeechVoices struct{}

// Voices is the reply of [SpeechVoices].
type Voices struct {
	Engine string            `json:"engine"`
	Voices []string          `json:"voices"`
	Blends map[string]string `json:"blends,omitempty"` // what each configured language is spoken with
}

// Verb is "speech.voices".
func (SpeechVoices) Verb() string      { return "speech.voices" }
func (SpeechVoices) Reply() (r Voices) { return }

// StatusOf asks a daemon how it is; the daemon's name stands as the area.
type StatusOf struct {
	Daemon string `json:"-"`
}

// Verb is "<daemon>.status".
func (s StatusOf) Verb() string    { return s.Daemon + ".status" }
func (StatusOf) Reply() (r Status) { return }

// Status is the truth about a daemon.
type Status struct {
	Service  string          `json:"service"`
	Version  string          `json:"version"`
	Instance string          `json:"instance"` // id of the service instance
	PID      int             `json:"pid"`
	UptimeMS int64           `json:"uptime_ms"`
	Problems []Problem       `json:"problems"` // empty = well
	Counts   Counts          `json:"counts"`
	Detail   json.RawMessage `json:"detail,omitempty"` // the daemon's own
}

// Counts are what a daemon ignored or lost on the bus since its start.
type Counts struct {
	Undecodable uint64 `json:"undecodable"` // messages that were no valid envelope or command
	Unknown     uint64 `json:"unknown"`     // events of a type this build does not know
	Dropped     uint64 `json:"dropped"`     // messages lost because a handler was slow
	Reconnects  uint64 `json:"reconnects"`
}

// ReloadOf asks a daemon to read its configuration again.
type ReloadOf struct {
	Daemon string `json:"-"`
}

// Verb is "<daemon>.reload".
func (r ReloadOf) Verb() string  { return r.Daemon + ".reload" }
func (ReloadOf) Reply() (r Done) { return }

// Daemons lists the daemons in the order in which they start.
func Daemons() []string {
	return []string{"busd", "toolrunner", "ttsd", "sttd", "brain", "micd"}
}
