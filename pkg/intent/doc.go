// SPDX-License-Identifier: Apache-2.0

// Package intent answers simple commands without a model.
//
// A tool may carry sentence templates in the syntax that Home Assistant made
// common: (a|b) is one of several, [a] may be left out, {name} is a param. They
// are compiled once; Match then finds the tool and the arguments that a text
// asks for, or none. Everything here is pure: no files, no clock, no goroutines.
package intent
