// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/speech"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/usage"
)

// answerLimit bounds a command that is answered at once.
const answerLimit = 3 * time.Second

func (a *app) sayCommand() *cobra.Command {
	var language string
	c := &cobra.Command{
		Use: "say TEXT", Short: "Speak a text, after what is being said", Args: usage.Args(1, -1),
		Long: `Speak a text, after what is being said, and wait until it was heard.`,
		RunE: func(c *cobra.Command, words []string) error {
			conn, cfg, err := a.dial(c.Context())
			if err != nil {
				return err
			}
			defer conn.Close()
			text := strings.Join(words, " ")
			if language == "" {
				language = speech.Language(text, "", cfg.Languages())
			}
			say := proto.SpeechSay{Text: text, Spoken: speech.Spoken(text, language), Language: language}
			return a.say(c.Context(), conn, "say", say)
		},
	}
	c.Flags().StringVar(&language, "lang", "", "language `code` of the text (default: found out)")
	return c
}

// say speaks a text for the verb op and waits until it was heard.
func (a *app) say(ctx context.Context, conn *bus.Conn, op string, say proto.SpeechSay) error {
	if say.Spoken == "" {
		return usage.New(proto.Errorf(proto.CodeInvalid, op, "there is nothing to say in %q", say.Text))
	}
	mouth, err := a.serving(ctx, conn, op, "ttsd")
	if err != nil {
		return err
	}
	served, err := conn.Serve(ctx, "a command that speaks") // so that ttsd can see us go
	if err != nil {
		return err
	}
	defer func() { _ = served.Stop() }()
	turn := bus.NewID()
	say.Turn, say.Owner, say.Behind = turn, conn.Asker(), true
	return a.follow(ctx, conn, following{
		turn: turn, areas: []string{"speech"}, worker: mouth,
		start: func(ctx context.Context) error {
			_, err := bus.Request(ctx, conn, say)
			if err == nil {
				_, err = bus.Request(ctx, conn, proto.SpeechEnd{Turn: turn, Count: 1})
			}
			if errors.Is(err, &proto.Error{Code: proto.CodeCancelled}) {
				return nil // it is over already: an event tells why
			}
			return err
		},
		cancel: func(ctx context.Context) error {
			_, err := bus.Request(ctx, conn, proto.SpeechStop{Turn: turn})
			return err
		},
		show: func(s seenEvent) (bool, error) {
			switch e := s.ev.(type) {
			case proto.SpeechFinished:
				return true, nil
			case proto.SpeechStopped:
				if e.Error != nil {
					return true, e.Error
				}
				return true, proto.Errorf(proto.CodeCancelled, op, "stopped before its end (%s)", e.Reason)
			}
			return false, nil
		},
	})
}

func (a *app) stopCommand() *cobra.Command {
	return &cobra.Command{
		Use: "stop", Short: "Silence the answer and cancel what is being done for it", Args: usage.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			conn, _, err := a.dial(c.Context())
			if err != nil {
				return err
			}
			defer conn.Close()
			return stop(c.Context(), conn)
		},
	}
}

// stop silences and cancels at the same time. Either part may be missing: with
// the voice gone there is still a turn to cancel. But one that is there and
// does not do it is an error, since something may go on.
func stop(ctx context.Context, conn *bus.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	silenced := make(chan error, 1)
	go func() {
		_, err := bus.Request(ctx, conn, proto.SpeechStop{})
		silenced <- err
	}()
	_, brain := bus.Request(ctx, conn, proto.TurnInterrupt{})
	voice := <-silenced
	switch {
	case missing(brain):
		return voice
	case missing(voice):
		return brain
	}
	return errors.Join(voice, brain)
}

// missing says that nobody serves what was asked for.
func missing(err error) bool { return errors.Is(err, &proto.Error{Code: proto.CodeUnavailable}) }
