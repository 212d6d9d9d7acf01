// SPDX-License-Identifier: Apache-2.0

package proto

// MicOpened says that capture runs: published after the first frame arrived.
type MicOpened struct {
	past
	Source string `json:"source"` // name of the source at the audio server
	Rate   int    `json:"rate"`   // Hz
}

// EventType is "mic.opened".
func (MicOpened) EventType() string { return "mic.opened" }

// MicClosed says that capture was closed on purpose.
type MicClosed struct {
	past
	Source string `json:"source"`
	Reason string `json:"reason"` // idle, muted, stopped
}

// EventType is "mic.closed".
func (MicClosed) EventType() string { return "mic.closed" }

// MicLost says that capture ended by itself; micd tries again.
type MicLost struct {
	past
	Source string `json:"source"`
	Reason string `json:"reason"`
}

// EventType is "mic.lost".
func (MicLost) EventType() string { return "mic.lost" }

// MicMuted says that the assistant's own mute was switched.
type MicMuted struct {
	past
	Muted bool `json:"muted"`
}

// EventType is "mic.muted".
func (MicMuted) EventType() string { return "mic.muted" }

// MicLevel is a meter reading, in dB relative to full scale.
type MicLevel struct {
	live
	RMS  float64 `json:"rms_dbfs"`
	Peak float64 `json:"peak_dbfs"`
}

// EventType is "mic.level".
func (MicLevel) EventType() string { return "mic.level" }

// Trigger says what opened an utterance.
type Trigger string

// The triggers.
const (
	TriggerKey    Trigger = "key"
	TriggerSwitch Trigger = "switch"
	TriggerVoice  Trigger = "voice"
	TriggerWake   Trigger = "wake"
)

// UtteranceStarted says that someone begins to speak. The turn in its envelope
// is minted here.
type UtteranceStarted struct {
	past
	Turn    string  `json:"turn"`
	Stream  string  `json:"stream"` // token of the audio subject
	Trigger Trigger `json:"trigger"`
}

// EventType is "utterance.started".
func (UtteranceStarted) EventType() string { return "utterance.started" }

// The reasons of an [UtteranceEnded] and of the end of an audio stream.
const (
	UtteranceReleased  = "released"  // the key went up
	UtteranceMuted     = "muted"     // the switch on the microphone was thrown; the assistant's own mute cancels
	UtteranceSilence   = "silence"   // a pause said so
	UtteranceLimit     = "limit"     // the lease or [mic] limit_s ran out
	UtteranceCancelled = "cancelled" // to be forgotten
	UtteranceLost      = "lost"      // no more sound came, or the bus went
)

// UtteranceEnded says that the utterance is over. AgeMS is how long before
// this event the speech ended, as micd measured it.
type UtteranceEnded struct {
	past
	Samples uint64 `json:"samples"` // at [Rate]
	AgeMS   int64  `json:"age_ms"`
	Reason  string `json:"reason"`
}

// EventType is "utterance.ended".
func (UtteranceEnded) EventType() string { return "utterance.ended" }

// STTPartial is what an engine thinks so far.
type STTPartial struct {
	live
	Text string `json:"text"`
}

// EventType is "stt.partial".
func (STTPartial) EventType() string { return "stt.partial" }

// STTFinal is the transcript of an utterance.
type STTFinal struct {
	past
	Text       string  `json:"text"`
	Language   string  `json:"language"`   // ISO 639-1, empty when the engine does not say
	Confidence float64 `json:"confidence"` // 0 to 1, 0 when the engine does not say
	Engine     string  `json:"engine"`
	AudioMS    int64   `json:"audio_ms"`
	TookMS     int64   `json:"took_ms"`
}

// EventType is "stt.final".
func (STTFinal) EventType() string { return "stt.final" }

// Reasons of an [STTRejected].
const (
	RejectSilence      = "silence"
	RejectNoise        = "noise"
	RejectInvented     = "invented"
	RejectTooShort     = "too_short"
	RejectOutOfGrammar = "out_of_grammar"
)

// STTRejected says that the utterance held nothing to answer.
type STTRejected struct {
	past
	Reason  string `json:"reason"`
	Engine  string `json:"engine,omitempty"` // empty when rejected before any engine
	AudioMS int64  `json:"audio_ms"`
	TookMS  int64  `json:"took_ms"`
}

// EventType is "stt.rejected".
func (STTRejected) EventType() string { return "stt.rejected" }

// STTFailed says that no engine could transcribe the utterance.
type STTFailed struct {
	past
	Error  Error  `json:"error"`
	Engine string `json:"engine,omitempty"`
}

// EventType is "stt.failed".
func (STTFailed) EventType() string { return "stt.failed" }
