// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
)

// pingLimit is how long brain may take to say that it is there.
const pingLimit = 2 * time.Second

func (a *app) askCommand() *cobra.Command {
	var silent bool
	var session string
	c := a.jsonFlag(&cobra.Command{
		Use: "ask TEXT", Short: "Ask one question and print the answer as it is spoken", Args: args(1, -1),
		Long: `Ask one question and print the answer as it is spoken.

Where the assistant does not run, one is started for the occasion.`,
		RunE: func(c *cobra.Command, words []string) error {
			q := proto.TurnAsk{Text: strings.Join(words, " "), Session: session, Speak: !silent}
			return a.ask(c.Context(), q)
		},
	})
	c.Flags().BoolVar(&silent, "no-speak", false, "print the answer only")
	c.Flags().StringVar(&session, "session", "", "ask in this conversation (default: the current one)")
	return c
}

func (a *app) ask(ctx context.Context, q proto.TurnAsk) error {
	conn, _, err := a.dial(ctx)
	if errors.Is(err, &proto.Error{Code: proto.CodeDisconnected}) {
		return a.askOnce(ctx, q)
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	ping, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	if _, err := bus.Request(ping, conn, proto.StatusOf{Daemon: "brain"}); err != nil {
		e := proto.AsError("ask", err)
		return proto.Errorf(e.Code, "ask", "the bus runs, but brain does not answer: %s", e.Text).
			WithHint("start the whole assistant: desktop-assistant run")
	}
	return a.follow(ctx, conn, q)
}

// follow asks a question and prints its turn to the end.
func (a *app) follow(ctx context.Context, conn *bus.Conn, q proto.TurnAsk) error {
	q.Turn = bus.NewID()
	seen := make(chan seenEvent, 4096)
	add := func(ctx context.Context, env proto.Envelope, ev proto.Event) {
		if env.Turn == q.Turn {
			select {
			case seen <- seenEvent{env, ev}:
			case <-ctx.Done():
			}
		}
	}
	watch, cancel := context.WithCancel(ctx)
	defer cancel()
	sub, err := conn.Events(watch, conn.Device(), bus.Fail(4096, func() {}), add)
	if err != nil {
		return err
	}
	defer sub.Close()
	if a.json {
		lossy, err := conn.Live(watch, conn.Device(), bus.Drop(1024), add)
		if err != nil {
			return err
		}
		defer lossy.Close()
	}
	if err := conn.Flush(ctx); err != nil {
		return err
	}
	answer, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	if _, err := bus.Request(answer, conn, q); err != nil {
		return err
	}
	for {
		select {
		case s := <-seen:
			if done, err := a.show(s); done {
				return err
			}
		case <-ctx.Done():
			return errors.Join(ctx.Err(), interrupt(context.WithoutCancel(ctx), conn, q.Turn))
		}
	}
}

func interrupt(ctx context.Context, conn *bus.Conn, turn string) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	_, err := bus.Request(ctx, conn, proto.TurnInterrupt{Turn: turn})
	return err
}

type seenEvent struct {
	env proto.Envelope
	ev  proto.Event
}

// show prints one event of a turn; done means that it was the last.
func (a *app) show(s seenEvent) (done bool, err error) {
	ended, isEnd := s.ev.(proto.TurnEnded)
	switch {
	case a.json:
		err = a.printEnvelope(s.env)
	default:
		if e, ok := s.ev.(proto.TurnSentence); ok {
			_, err = fmt.Fprintln(a.Out, e.Text)
		}
	}
	if err != nil || !isEnd {
		return err != nil, err
	}
	return true, endError(ended, a.json)
}

// endError turns an ending into what the command comes to.
func endError(e proto.TurnEnded, quiet bool) error {
	switch e.End {
	case proto.EndSpoken, proto.EndSilent:
		return nil
	case proto.EndFailed:
		if e.Error == nil {
			return proto.Errorf(proto.CodeFailed, "ask", "the turn failed")
		}
		if quiet {
			return quietError{codeExit(e.Error.Code)}
		}
		return e.Error
	}
	if quiet {
		return quietError{ExitFailed}
	}
	return proto.Errorf(proto.CodeFailed, "ask", "the turn was %s", e.End)
}

func (a *app) printEnvelope(env proto.Envelope) error {
	line, err := json.Marshal(env)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.Out, string(line))
	return err
}
