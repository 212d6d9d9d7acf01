// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"strings"
)

// Error is one fault of a configuration file. Several of them travel as one
// error made by [errors.Join]; Faults takes them apart again.
type Error struct {
	File string // as it was given to Load; empty when there is no home folder to look in
	Line int    // from 1; 0 when the fault has no place in the file
	Col  int    // in characters, from 1, where the key begins
	Text string // what is wrong
	Hint string // what to type or change next, may be empty

	cause error
}

// Error returns "config: FILE:LINE:COL: TEXT", without the parts that are not
// known and without the hint.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("config: ")
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", e.Line, e.Col)
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Text)
	return b.String()
}

// Unwrap returns the error of the file system when the file could not be read,
// else nil.
func (e *Error) Unwrap() error { return e.cause }

// Faults returns every Error in err in the order in which they were joined,
// none when err is nil or of another origin.
func Faults(err error) []*Error {
	switch e := err.(type) {
	case nil:
		return nil
	case *Error:
		return []*Error{e}
	case interface{ Unwrap() []error }:
		var all []*Error
		for _, part := range e.Unwrap() {
			all = append(all, Faults(part)...)
		}
		return all
	default:
		return Faults(errors.Unwrap(err))
	}
}

// join returns nil, or the faults as one error that also prints one a line.
func join(faults []*Error) error {
	errs := make([]error, len(faults))
	for i, f := range faults {
		errs[i] = f
	}
	return errors.Join(errs...)
}
