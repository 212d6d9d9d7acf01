// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/speech"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/console"
	"example.org/desktop-assistant/services/desktop-assistant/internal/conversation"
	"example.org/desktop-assistant/services/desktop-assistant/internal/health"
	"example.org/desktop-assistant/services/desktop-assistant/internal/supervise"
	"example.org/desktop-assistant/services/desktop-assistant/internal/usage"
)

func (a *app) askCommand() *cobra.Command {
	var silent bool
	var session string
	c := a.jsonFlag(&cobra.Command{
		Use: "ask TEXT", Short: "Ask one question and print the answer as it is spoken", Args: usage.Args(1, -1),
		Long: `Ask one question and print the answer as it is spoken; --json prints the events
of the turn, one a line.

Where the assistant does not run, one is started for the occasion.`,
		RunE: func(c *cobra.Command, words []string) error {
			q := proto.TurnAsk{Text: strings.TrimSpace(strings.Join(words, " ")), Session: session, Speak: !silent}
			if q.Text == "" {
				return usage.New(proto.Errorf(proto.CodeInvalid, "ask", "the question is empty").WithHint("usage: %s", c.UseLine()))
			}
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
	return a.askOn(ctx, conn, q)
}

// askOn asks a question and prints its turn to the end.
func (a *app) askOn(ctx context.Context, conn *bus.Conn, q proto.TurnAsk) error {
	brain, err := a.serving(ctx, conn, "ask", "brain")
	if err != nil {
		return err
	}
	if able, why := health.Voice(ctx, conn); q.Speak && !able {
		fmt.Fprintf(a.Err, "(shown, not spoken: %s)\n", why)
		q.Speak = false
	}
	q.Turn = bus.NewID()
	answers := &conversation.Answers{
		Conn: conn, In: a.In, Err: a.Err, Person: !a.json && console.Person(a.In, a.Err), Aloud: q.Speak, Quiet: a.json,
	}
	return a.follow(ctx, conn, following{
		turn: q.Turn, live: a.json, worker: brain,
		show: func(s seenEvent) (bool, error) {
			if question, ok := s.ev.(proto.TurnQuestion); ok {
				answers.Take(ctx, question)
			}
			return a.show(s)
		},
		start: func(ctx context.Context) error {
			_, err := bus.Request(ctx, conn, q)
			return err
		},
		cancel: func(ctx context.Context) error {
			_, err := bus.Request(ctx, conn, proto.TurnInterrupt{Turn: q.Turn})
			return err
		},
	})
}

// show prints one event of a turn; ended means that it was the last.
func (a *app) show(s seenEvent) (ended bool, err error) {
	if a.json {
		err = a.printJSON(s.env)
	} else if e, ok := s.ev.(proto.TurnSentence); ok {
		_, err = fmt.Fprintln(a.Out, speech.Plain(e.Text))
	}
	if e, ok := s.ev.(proto.TurnEnded); ok && err == nil {
		return true, endError(e, a.json)
	}
	return false, err
}

// endError turns an ending into what the command comes to. quiet means that
// the reason was printed already.
func endError(e proto.TurnEnded, quiet bool) error {
	failed := e.Error
	switch {
	case e.End == proto.EndSpoken, e.End == proto.EndSilent:
		return nil
	case e.End != proto.EndFailed:
		failed = proto.Errorf(proto.CodeCancelled, "ask", "the turn was %s", e.End)
	case failed == nil:
		failed = proto.Errorf(proto.CodeFailed, "ask", "the turn failed")
	}
	if quiet {
		return quietError{codeExit(failed.Code)}
	}
	return failed
}

// askOnce starts the daemons for one question and ends them after it.
func (a *app) askOnce(ctx context.Context, q proto.TurnAsk) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	daemons := []string{"busd", "toolrunner", "brain"}
	if q.Speak {
		daemons = []string{"busd", "toolrunner", "ttsd", "brain"}
	}
	options, err := a.options(cfg, daemons, "error", console.New(a.Err))
	if err != nil {
		return err
	}
	s, err := supervise.New(options)
	if err != nil {
		return err
	}
	// An interrupt ends the turn first, the daemons after it.
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- s.Run(run)
	}()
	err = a.askStarted(asking, s, daemons, q)
	stop()
	if runErr := <-ended; runErr != nil && ctx.Err() == nil { // why there was no answer
		return runErr
	}
	return err
}

func (a *app) askStarted(ctx context.Context, s *supervise.Supervisor, daemons []string, q proto.TurnAsk) error {
	if !waitReady(ctx, s, daemons) {
		return ctx.Err()
	}
	conn, _, err := a.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return a.askOn(ctx, conn, q)
}
