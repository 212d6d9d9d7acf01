// SPDX-License-Identifier: Apache-2.0

package conversation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/speech"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/console"
)

// Answers answers the questions of tools in one turn: by y or n at a terminal.
// Where nobody sits, a question that is spoken is left to whoever hears it, and
// another one is a no.
type Answers struct {
	Conn   *bus.Conn
	In     io.Reader
	Err    io.Writer // for the questions, and what goes wrong
	Person bool      // sits at In and Err
	Aloud  bool      // the questions are spoken
	Quiet  bool      // where nobody sits, nothing is shown

	reading bool
	last    atomic.Pointer[proto.TurnQuestion]
}

// Take puts a question, and does not wait for the answer. Calls come one after
// the other.
func (a *Answers) Take(ctx context.Context, q proto.TurnQuestion) {
	switch {
	case a.Person:
		fmt.Fprintf(a.Err, "%s [y/N] ", speech.Plain(q.Text))
		a.last.Store(&q)
		if !a.reading {
			a.reading = true
			go a.read(ctx) // ends with the process: a read of a terminal cannot be cut short
		}
	case a.Aloud:
		if !a.Quiet {
			fmt.Fprintf(a.Err, "%s (answer aloud)\n", speech.Plain(q.Text))
		}
	default:
		if !a.Quiet {
			fmt.Fprintf(a.Err, "%s (no: nobody can be asked here, ask at a terminal)\n", speech.Plain(q.Text))
		}
		a.answer(ctx, q, false)
	}
}

// read takes each line for the answer to the last question. The end of the input
// (Ctrl-D) is a no.
func (a *Answers) read(ctx context.Context) {
	for line := range console.Lines(ctx, a.In) {
		if q := a.last.Swap(nil); q != nil {
			a.answer(ctx, *q, console.Agreed(line, q.Text, q.Language))
		}
	}
	if q := a.last.Swap(nil); q != nil && ctx.Err() == nil {
		a.answer(ctx, *q, false)
	}
}

func (a *Answers) answer(ctx context.Context, q proto.TurnQuestion, yes bool) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	_, err := bus.Request(ctx, a.Conn, proto.TurnAnswer{Call: q.Call, Yes: yes})
	switch {
	case errors.Is(err, &proto.Error{Code: proto.CodeNotFound}):
		fmt.Fprintln(a.Err, "(that was answered already, or it took too long)")
	case err != nil && ctx.Err() == nil:
		fmt.Fprintf(a.Err, "desktop-assistant: %v\n", err)
	}
}
