// SPDX-License-Identifier: Apache-2.0

// Package proto is the contract between the daemons of desktop-assistant:
// every subject, event, command, audio header and error that crosses a
// process. It imports the standard library only.
//
// # Vocabulary
//
// An utterance is one stretch of speech cut by micd. A turn is one question
// with everything done to answer it, and has exactly one [TurnStarted] and one
// [TurnEnded]. A sentence is what is spoken in one piece. A call is one run of
// a tool. A device is one microphone and loudspeaker; its name is a token of
// every subject but the tools'.
//
// # Events, commands, live events
//
// An [Event] says what happened, in the past tense, on da.evt. It is stored
// for late readers. An event whose [Event.Live] is true is for screens only:
// it travels on da.live, may be lost and is never stored. A [Command] says what
// someone wants, on da.cmd, and is always answered: with its reply or with an
// [Error].
//
// # Ordering
//
// What one process publishes arrives in that order at one subscription. Two
// subscriptions of one process have no order between them; who needs order
// across subjects uses one subscription with a wildcard.
//
// # Growth
//
// Only add. Unknown fields and unknown types are ignored and counted by the
// receiver; a breaking change is a new type beside the old one.
package proto

// Version is the major version of the envelope, its field v.
const Version = 1
