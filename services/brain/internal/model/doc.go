// SPDX-License-Identifier: Apache-2.0

// Package model asks an OpenAI-compatible chat server and streams its answer.
//
// A [Client] sends one request per [Client.Chat] and never repeats one by
// itself: what asking again may achieve is said in [Error.Retry], and the caller
// knows what was already spoken. The rules for what servers send are in package
// stream, those for markup in the text in package markup.
package model
