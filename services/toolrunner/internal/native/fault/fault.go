// SPDX-License-Identifier: Apache-2.0

// Package fault is why a built-in tool did not do what it was asked.
//
// A fault has a kind of a closed list and a fixed sentence. Neither holds
// anything that came from an error of the system, a server or a file, so that
// no path of this machine, no secret and no address can slip through.
package fault

import (
	"context"
	"errors"

	"example.org/desktop-assistant/proto"
)

// Fault is the one error type of the built-in tools. Text is one lower-case
// sentence without full stop, for the model.
type Fault struct {
	Kind string // one of Kinds
	Text string
}

// Kinds is the closed list.
func Kinds() []string {
	return []string{proto.KindInvalidArguments, proto.KindNotAllowed, proto.KindNotFound, proto.KindNotAFile,
		proto.KindNotText, proto.KindTooLarge, proto.KindTimeout, proto.KindUnavailable, proto.KindBadResponse}
}

// Error gives the sentence.
func (f *Fault) Error() string { return f.Text }

// Invalid is a fault of the arguments.
func Invalid(text string) *Fault { return &Fault{proto.KindInvalidArguments, text} }

// NotAllowed is what the user or the bounds forbid.
func NotAllowed(text string) *Fault { return &Fault{proto.KindNotAllowed, text} }

// NotFound is a thing that is not there.
func NotFound(text string) *Fault { return &Fault{proto.KindNotFound, text} }

// NotAFile is a thing that is there and cannot be read as a file.
func NotAFile(text string) *Fault { return &Fault{proto.KindNotAFile, text} }

// NotText is content that is no text.
func NotText(text string) *Fault { return &Fault{proto.KindNotText, text} }

// TooLarge is something over a limit.
func TooLarge(text string) *Fault { return &Fault{proto.KindTooLarge, text} }

// Unavailable is something that does not work now.
func Unavailable(text string) *Fault { return &Fault{proto.KindUnavailable, text} }

// BadResponse is an answer of a server that is of no use.
func BadResponse(text string) *Fault { return &Fault{proto.KindBadResponse, text} }

// Of gives the fault in err. An error of another type becomes unavailable
// without its text; nil stays nil.
func Of(err error) *Fault {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	return Unavailable("the tool does not work now")
}

// Ended is the fault of a call whose context ended.
func Ended(ctx context.Context) *Fault {
	if errors.Is(ctx.Err(), context.Canceled) {
		return &Fault{proto.KindTimeout, "the call was cancelled"}
	}
	return &Fault{proto.KindTimeout, "it took too long"}
}
