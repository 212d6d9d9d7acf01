// SPDX-License-Identifier: Apache-2.0

// Package recognize turns utterances into text: what an engine is, which one
// to use, and when its answer, or the sound itself, is not to be believed.
// The engines are packages below.
package recognize

import (
	"context"
	"fmt"
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/proto"
)

// An Utterance is one finished recording of speech.
type Utterance struct {
	PCM       []int16  // one channel; engines read it and keep no reference
	Rate      int      // hertz
	Languages []string // codes the user speaks, best first ("en", "it"); empty = any
}

// Duration is how long the recording lasts.
func (u Utterance) Duration() time.Duration { return audio.Duration(len(u.PCM), u.Rate) }

// A Transcript is what was said.
type Transcript struct {
	Text       string  // one line, no space around it, never empty
	Language   string  // code, "en"
	Confidence float64 // 0 to 1, comparable only within one engine
}

// An Engine turns one utterance into text.
//
// Ready is a cheap probe (well under a second, at most a local connection or a
// look at files): nil, or an error that holds a [proto.Error] whose text names
// what is missing and whose hint says what to type. An engine that is not ready
// may become so at any time without being told.
//
// Recognize blocks until there is a transcript, a [Rejection] (the sound is not
// speech for us), a [proto.Error] (the engine failed) or ctx ends, which alone
// sets its deadline; then the error wraps ctx.Err(). It may be called from many
// goroutines; engines that can do one at a time queue in the order of arrival.
// Nothing it started outlives its return.
type Engine interface {
	// Name is the word that [stt] engine in the configuration takes.
	Name() string
	Ready(ctx context.Context) error
	Recognize(ctx context.Context, u Utterance) (Transcript, error)
}

// A Reason says why an utterance is no question, in the words of the event
// stt.rejected.
type Reason string

// The reasons.
const (
	Silence      Reason = proto.RejectSilence      // nothing to hear
	Noise        Reason = proto.RejectNoise        // something to hear, but no speech
	Invented     Reason = proto.RejectInvented     // text that the engine made up
	TooShort     Reason = proto.RejectTooShort     // no word fits into it
	OutOfGrammar Reason = proto.RejectOutOfGrammar // speech, but none of the sentences known here
)

// A Rejection is the error of an utterance that must not become a question.
// It is an ordinary outcome, not a failure of the engine.
type Rejection struct {
	Reason Reason
	Detail string // figures or the text that was refused, for logs at debug level
}

// Error gives the reason and the detail.
func (r *Rejection) Error() string {
	if r.Detail == "" {
		return "reject utterance: " + string(r.Reason)
	}
	return fmt.Sprintf("reject utterance: %s: %s", r.Reason, r.Detail)
}

// Reject makes a [Rejection] with a formatted detail.
func Reject(reason Reason, format string, args ...any) *Rejection {
	return &Rejection{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}
