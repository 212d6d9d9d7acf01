// SPDX-License-Identifier: Apache-2.0

// Package speech turns the streamed text of an answer into what is said.
//
// A Splitter cuts a stream into sentences as soon as each is certain, Spoken
// turns one of them from shown Markdown into words for a voice, and Language
// says which of the configured languages it is in. Everything here is pure:
// no files, no clock, no goroutines. What is particular to a language is in the
// word lists of package lexicon; package readout writes out numbers and signs,
// with the words of package numeral.
package speech
