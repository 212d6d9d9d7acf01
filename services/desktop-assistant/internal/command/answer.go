// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/speech"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/console"
)

// answering answers the questions of tools in one turn: by y or n at a terminal.
// Where nobody sits, a question that is spoken is left to whoever hears it, and
// another one is a no.
type answering struct {
	*app
	conn    *bus.Conn
	aloud   bool
	person  bool // sits at the terminal
	reading bool
	last    atomic.Pointer[proto.TurnQuestion]
}

func (a *app) answering(conn *bus.Conn, aloud bool) *answering {
	return &answering{app: a, conn: conn, aloud: aloud, person: !a.json && console.Person(a.In, a.Err)}
}

// take puts a question, and does not wait for the answer.
func (a *answering) take(ctx context.Context, q proto.TurnQuestion) {
	switch {
	case a.person:
		fmt.Fprintf(a.Err, "%s [y/N] ", speech.Plain(q.Text))
		a.last.Store(&q)
		if !a.reading {
			a.reading = true
			go a.read(ctx) // ends with the process: a read of a terminal cannot be cut short
		}
	case a.aloud:
		if !a.json {
			fmt.Fprintf(a.Err, "%s (answer aloud)\n", speech.Plain(q.Text))
		}
	default:
		if !a.json {
			fmt.Fprintf(a.Err, "%s (no: nobody can be asked here, ask at a terminal)\n", speech.Plain(q.Text))
		}
		a.answer(ctx, q, false)
	}
}

// read takes each line for the answer to the last question.
func (a *answering) read(ctx context.Context) {
	for line := range console.Lines(ctx, a.In) {
		if q := a.last.Swap(nil); q != nil {
			a.answer(ctx, *q, console.Agreed(line, q.Text, q.Language))
		}
	}
}

func (a *answering) answer(ctx context.Context, q proto.TurnQuestion, yes bool) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	_, err := bus.Request(ctx, a.conn, proto.TurnAnswer{Call: q.Call, Yes: yes})
	switch {
	case errors.Is(err, &proto.Error{Code: proto.CodeNotFound}):
		fmt.Fprintln(a.Err, "(that was answered already, or it took too long)")
	case err != nil && ctx.Err() == nil:
		fmt.Fprintf(a.Err, "desktop-assistant: %v\n", err)
	}
}
