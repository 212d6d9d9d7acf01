// SPDX-License-Identifier: Apache-2.0

package proto

// Origin says how a question came.
type Origin string

// The origins.
const (
	OriginVoice Origin = "voice"
	OriginText  Origin = "text"
)

// TurnStarted opens a turn. Published as soon as brain sees the utterance or
// the question, so that a turn whose transcript never comes also ends.
type TurnStarted struct {
	past
	Origin Origin `json:"origin"`
	Stream string `json:"stream,omitempty"` // of a spoken question
	Route  string `json:"route"`            // local or external: where the chat server is
}

// EventType is "turn.started".
func (TurnStarted) EventType() string { return "turn.started" }

// TurnAsked gives the question.
type TurnAsked struct {
	past
	Text     string `json:"text"`
	Language string `json:"language"`
}

// EventType is "turn.asked".
func (TurnAsked) EventType() string { return "turn.asked" }

// TurnDelta is a piece of the answer as it is written.
type TurnDelta struct {
	live
	Text string `json:"text"`
}

// EventType is "turn.delta".
func (TurnDelta) EventType() string { return "turn.delta" }

// TurnSentence records what speech.say was asked to say, or, in a turn that is
// not spoken, what was shown.
type TurnSentence struct {
	past
	Index    int    `json:"index"` // from 0, counts announcements too
	Text     string `json:"text"`  // shown
	Spoken   string `json:"spoken"`
	Language string `json:"language"`
}

// EventType is "turn.sentence".
func (TurnSentence) EventType() string { return "turn.sentence" }

// TurnAnnounced says that a phrase of a tool was spoken while it runs.
type TurnAnnounced struct {
	past
	Index    int    `json:"index"`
	Text     string `json:"text"`
	Language string `json:"language"`
}

// EventType is "turn.announced".
func (TurnAnnounced) EventType() string { return "turn.announced" }

// TurnQuestion says that a tool asks for yes or no before it runs.
type TurnQuestion struct {
	past
	Index    int    `json:"index"` // as of a [TurnSentence]
	Call     string `json:"call"`  // for [TurnAnswer]
	Text     string `json:"text"`
	Language string `json:"language"` // of the question, and of a spoken answer
}

// EventType is "turn.question".
func (TurnQuestion) EventType() string { return "turn.question" }

// End is how a turn ended. The set is closed.
type End string

// The endings: spoken and failed are heard, silent is shown only, cancelled
// and superseded are what the user did.
const (
	EndSpoken     End = "spoken"
	EndSilent     End = "silent"
	EndCancelled  End = "cancelled"
	EndSuperseded End = "superseded"
	EndFailed     End = "failed"
)

// Ends lists the closed set of endings.
func Ends() []End {
	return []End{EndSpoken, EndSilent, EndCancelled, EndSuperseded, EndFailed}
}

// Marks are milliseconds since the end of speech (of a typed question: since
// it was asked), on brain's monotonic clock: its receive times corrected by
// the durations that micd (age_ms) and ttsd (delay_ms) report. A part that did
// not happen is absent.
type Marks struct {
	STTFinal      *int64     `json:"stt_final,omitempty"`
	FirstToken    *int64     `json:"first_token,omitempty"`
	FirstSentence *int64     `json:"first_sentence,omitempty"`
	FirstSample   *int64     `json:"first_sample,omitempty"`
	Tools         []ToolMark `json:"tools,omitempty"`
	// Model is what the chat server said about each request of the turn, of those
	// about which it said anything.
	Model []ModelMark `json:"model,omitempty"`
	Total int64       `json:"total"`
}

// ModelMark is what a chat server told of one request, inside [Marks]: tokens, and
// where it measures them (llama-server's timings) its own milliseconds. Cached are
// the tokens of the prompt that it had from before.
type ModelMark struct {
	Prompt       int   `json:"prompt_tokens"`
	Cached       int   `json:"cached_tokens"`
	Completion   int   `json:"completion_tokens"`
	PromptMS     int64 `json:"prompt_ms,omitempty"`
	CompletionMS int64 `json:"completion_ms,omitempty"`
}

// ToolMark is the time of one call inside [Marks].
type ToolMark struct {
	Name  string `json:"name"`
	Start int64  `json:"start"`
	End   int64  `json:"end"`
}

// TurnEnded closes a turn; there is exactly one for each [TurnStarted].
type TurnEnded struct {
	past
	End   End    `json:"end"`
	Error *Error `json:"error,omitempty"` // technical; of a failed turn, and of a typed one that was shown because it could not be spoken
	Heard string `json:"heard"`           // text really played; of a turn not spoken, what was shown
	Marks Marks  `json:"marks"`
}

// EventType is "turn.ended".
func (TurnEnded) EventType() string { return "turn.ended" }

// Who loads and unloads skills.
const (
	ByModel = "model"
	ByUser  = "user"
)

// SkillLoaded says that a skill joined the session.
type SkillLoaded struct {
	past
	Name string `json:"name"`
	By   string `json:"by"` // [ByModel] or [ByUser]
}

// EventType is "skill.loaded".
func (SkillLoaded) EventType() string { return "skill.loaded" }

// SkillUnloaded says that a skill left the session.
type SkillUnloaded struct {
	past
	Name string `json:"name"`
	By   string `json:"by"`
}

// EventType is "skill.unloaded".
func (SkillUnloaded) EventType() string { return "skill.unloaded" }
