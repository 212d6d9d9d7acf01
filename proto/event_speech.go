// SPDX-License-Identifier: Apache-2.0

package proto

// SpeechStarted says that the first sample of a sentence is audible. DelayMS
// is the time from the speech.say that queued it to that sample.
type SpeechStarted struct {
	past
	Turn    string `json:"turn"`
	Index   int    `json:"index"`
	DelayMS int64  `json:"delay_ms"`
}

// EventType is "speech.started".
func (SpeechStarted) EventType() string { return "speech.started" }

// SpeechPaused says that the speech of a turn is held, as on barge-in.
type SpeechPaused struct {
	past
	Turn     string `json:"turn"`
	Index    int    `json:"index"`
	PlayedMS int64  `json:"played_ms"` // of the sentence
}

// EventType is "speech.paused".
func (SpeechPaused) EventType() string { return "speech.paused" }

// SpeechResumed says that the speech goes on where it was.
type SpeechResumed struct {
	past
	Turn  string `json:"turn"`
	Index int    `json:"index"`
}

// EventType is "speech.resumed".
func (SpeechResumed) EventType() string { return "speech.resumed" }

// SpeechFinished says that one sentence was played to its last sample.
type SpeechFinished struct {
	past
	Turn     string `json:"turn"`
	Index    int    `json:"index"`
	PlayedMS int64  `json:"played_ms"`
	Heard    string `json:"heard"` // the shown text of the sentence
}

// EventType is "speech.finished".
func (SpeechFinished) EventType() string { return "speech.finished" }

// Reasons of a [SpeechStopped].
const (
	StopAsked      = "stopped"
	StopSuperseded = "superseded" // a newer spoken turn of the device
	StopFailed     = "failed"     // it could not be synthesised or played
)

// SpeechStopped says that the speech of a turn ended before its last sentence.
// Nothing of that turn is played afterwards.
type SpeechStopped struct {
	past
	Turn     string `json:"turn"`
	Index    int    `json:"index"`     // sentence that was cut; -1 when none had started
	PlayedMS int64  `json:"played_ms"` // of that sentence
	Heard    string `json:"heard"`     // what was heard of that sentence
	Reason   string `json:"reason"`
	Error    *Error `json:"error,omitempty"` // when Reason is failed
}

// EventType is "speech.stopped".
func (SpeechStopped) EventType() string { return "speech.stopped" }
