// SPDX-License-Identifier: Apache-2.0

// Package model asks an OpenAI-compatible chat server and streams its answer.
//
// A [Client] sends one request per [Client.Chat] and never repeats one by
// itself: what asking again may achieve is said in [Error.Retry], and the caller
// knows what was already spoken. What a server refuses is learned: the client does
// without it from then on, for as long as it lives. The rules for what servers send
// are in package stream, those for markup in the text in package markup.
//
// The server's prefix cache is served by sending the same bytes for the same
// question, tools in their order, and new messages behind old ones. There is no
// request that warms it at start: it would keep a graphics card busy, and an
// external server paid, for a question that may never be asked; the first question
// fills the cache as well. What the server says about its cache is in [Usage], in
// the debug log and in the marks of turn.ended.
//
// The model's name is asked for at the first request and again by [Client.Probe],
// after the server was away, was loading, broke off, or did not know the name: by
// then it may be another one.
package model
