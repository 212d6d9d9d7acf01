// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"time"
)

// Kind classifies an [Error], so that the caller can choose the words for it.
type Kind string

// The kinds.
const (
	KindUnreachable  Kind = "unreachable"  // no connection to the server
	KindLoading      Kind = "loading"      // the server is there, the model is not yet
	KindUntrusted    Kind = "untrusted"    // the server's certificate, or its lack of one
	KindAddress      Kind = "address"      // something else is at the address, or it has no such model
	KindUnauthorized Kind = "unauthorized" // the API key is missing or wrong
	KindRefused      Kind = "refused"      // the server does not take the request
	KindNoTools      Kind = "no_tools"     // server or model cannot use tools
	KindContextFull  Kind = "context_full" // the request is longer than the model's context
	KindBusy         Kind = "busy"         // too many requests
	KindServer       Kind = "server"       // the server failed, before or during the answer
	KindStalled      Kind = "stalled"      // no byte for too long, or no end
	KindInterrupted  Kind = "interrupted"  // the answer broke off without a proper end
	KindEmpty        Kind = "empty"        // a proper end, and nothing to say or to run
	KindTruncated    Kind = "truncated"    // the length limit cut thinking or calls
	KindFiltered     Kind = "filtered"     // the server's content filter stopped the answer
	KindLeak         Kind = "leak"         // a tool call came as text and could not be read
	KindBadStream    Kind = "bad_stream"   // what came is no chat completion
	KindCancelled    Kind = "cancelled"    // the caller's context ended
)

// Kinds lists every kind, for tables that must be complete.
func Kinds() []Kind {
	return []Kind{KindUnreachable, KindLoading, KindUntrusted, KindAddress, KindUnauthorized, KindRefused, KindNoTools, KindContextFull,
		KindBusy, KindServer, KindStalled, KindInterrupted, KindEmpty, KindTruncated, KindFiltered, KindLeak,
		KindBadStream, KindCancelled}
}

// Retry says what the caller can do about an [Error].
type Retry string

// The ways to ask again. Each is meant once in a turn, but for RetryLater, and for
// RetryAdapted, which ends by itself: a client learns each thing once.
const (
	RetryNever   Retry = ""        // asking again gives the same, or something was already said
	RetryAgain   Retry = "again"   // the same request, at once
	RetryAdapted Retry = "adapted" // the same request, at once: it will go out in another form
	RetryLater   Retry = "later"   // the same request, after Error.After
	RetryShorter Retry = "shorter" // with the oldest turns dropped
	RetryBare    Retry = "bare"    // without tools
)

// Error is why a request gave no whole answer. Text is for logs and may hold the
// server's words, never a web page; it is not for speaking. Hint says what to do
// or type, and may be empty.
type Error struct {
	Kind   Kind
	Text   string
	Hint   string
	Status int // HTTP status, 0 when none came or it was 200
	Retry  Retry
	After  time.Duration // with RetryLater
	Err    error         // the cause, or nil
}

// Error gives "ask chat server: reason".
func (e *Error) Error() string { return "ask chat server: " + e.Reason() }

// Reason gives the text, with the HTTP status if there is one.
func (e *Error) Reason() string {
	if e.Status != 0 {
		return fmt.Sprintf("status %d: %s", e.Status, e.Text)
	}
	return e.Text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
