// SPDX-License-Identifier: Apache-2.0

// Package stream turns the body of a chat-completion answer into text and tool
// calls. It is pure: bytes and events in, values out, no clock and no network.
//
// [Reader] frames the event stream, [Answer] reads the chunks, keeps thinking
// and tool markup out of the text and assembles the calls. Servers differ in a
// hundred ways here; what each rule is for is said where it stands.
package stream
