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
	"golang.org/x/term"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/speech"
	"example.org/desktop-assistant/proto"
)

// answerLimit bounds a command that is answered at once.
const answerLimit = 3 * time.Second

func isTerminal(fd int) bool { return term.IsTerminal(fd) }

func (a *app) sayCommand() *cobra.Command {
	var language string
	c := &cobra.Command{
		Use: "say TEXT", Short: "Speak a text, after what is being said", Args: args(1, -1),
		RunE: func(c *cobra.Command, words []string) error {
			conn, cfg, err := a.dial(c.Context())
			if err != nil {
				return err
			}
			defer conn.Close()
			return say(c.Context(), conn, cfg, strings.Join(words, " "), language)
		},
	}
	c.Flags().StringVar(&language, "lang", "", "language `code` of the text (default: found out)")
	return c
}

// say speaks a text and waits until it was heard.
func say(ctx context.Context, conn *bus.Conn, cfg config.Config, text, language string) error {
	if language == "" {
		language = speech.Language(text, "", cfg.Languages())
	}
	turn := bus.NewID()
	ended := make(chan proto.Event, 4)
	sub, err := conn.Events(ctx, conn.Device(), bus.Fail(1024, func() {}), func(_ context.Context, env proto.Envelope, ev proto.Event) {
		if env.Turn != turn {
			return
		}
		switch ev.(type) {
		case proto.SpeechFinished, proto.SpeechStopped:
			select {
			case ended <- ev:
			default:
			}
		}
	}, "speech")
	if err != nil {
		return err
	}
	defer sub.Close()
	if err := conn.Flush(ctx); err != nil {
		return err
	}
	ask, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	spoken := speech.Spoken(text, language)
	if _, err := bus.Request(ask, conn, proto.SpeechSay{Turn: turn, Text: text, Spoken: spoken, Language: language, Behind: true}); err != nil {
		return err
	}
	if _, err := bus.Request(ask, conn, proto.SpeechEnd{Turn: turn, Count: 1}); err != nil {
		return err
	}
	select {
	case ev := <-ended:
		if s, ok := ev.(proto.SpeechStopped); ok && s.Error != nil {
			return s.Error
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *app) listenCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "listen", Short: "Open and close the microphone, for keys",
		Long: `Open and close the microphone, for keys.

Bind start and stop to the press and release of a key where the desktop can tell
them apart, else toggle to its press. A start ends by itself after its lease, so
that a lost release never leaves the microphone open.`,
	}
	var lease float64
	verb := func(use, short string, do func(context.Context, *bus.Conn) (proto.MicState, error)) *cobra.Command {
		return a.jsonFlag(&cobra.Command{Use: use, Short: short, Args: args(0, 0), RunE: func(c *cobra.Command, _ []string) error {
			return a.mic(c.Context(), do)
		}})
	}
	start := verb("start", "Begin to listen", func(ctx context.Context, conn *bus.Conn) (proto.MicState, error) {
		return bus.Request(ctx, conn, proto.MicStart{Lease: lease})
	})
	toggle := verb("toggle", "Begin to listen, or end it", func(ctx context.Context, conn *bus.Conn) (proto.MicState, error) {
		return bus.Request(ctx, conn, proto.MicToggle{Lease: lease})
	})
	for _, v := range []*cobra.Command{start, toggle} {
		v.Flags().Float64Var(&lease, "lease", 0, "end by itself after this many `seconds` (default: [mic] lease_s)")
	}
	c.AddCommand(start, toggle,
		verb("stop", "End the question and answer it", func(ctx context.Context, conn *bus.Conn) (proto.MicState, error) {
			return bus.Request(ctx, conn, proto.MicStop{})
		}),
		verb("cancel", "End the question and forget it", func(ctx context.Context, conn *bus.Conn) (proto.MicState, error) {
			return bus.Request(ctx, conn, proto.MicCancel{})
		}))
	return c
}

func (a *app) mic(ctx context.Context, do func(context.Context, *bus.Conn) (proto.MicState, error)) error {
	conn, _, err := a.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	state, err := do(ctx, conn)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(state)
	}
	_, err = fmt.Fprintln(a.Out, micWords(state))
	return err
}

func micWords(s proto.MicState) string {
	switch {
	case s.Muted:
		return "muted"
	case s.Talk:
		return "listening"
	}
	return "not listening"
}

func (a *app) muteCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use: "mute [on|off]", Short: "Close the microphone until it is unmuted, over restarts too", Args: args(0, 1),
		ValidArgs: []string{"on", "off"},
		RunE: func(c *cobra.Command, given []string) error {
			switch strings.Join(given, "") {
			case "", "on":
				return a.mic(c.Context(), func(ctx context.Context, conn *bus.Conn) (proto.MicState, error) {
					return bus.Request(ctx, conn, proto.MicMute{})
				})
			case "off":
				return a.mic(c.Context(), func(ctx context.Context, conn *bus.Conn) (proto.MicState, error) {
					return bus.Request(ctx, conn, proto.MicUnmute{})
				})
			}
			return usageError{proto.Errorf(proto.CodeInvalid, "mute", "%q is neither on nor off", given[0]).WithHint("usage: %s", c.UseLine())}
		},
	})
}

func (a *app) stopCommand() *cobra.Command {
	return &cobra.Command{
		Use: "stop", Short: "Silence the answer and cancel what is being done for it", Args: args(0, 0),
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

// stop silences and cancels at the same time. It succeeds when either part
// answered: with the voice gone there is still a turn to cancel.
func stop(ctx context.Context, conn *bus.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	silenced := make(chan error, 1)
	go func() {
		_, err := bus.Request(ctx, conn, proto.SpeechStop{})
		silenced <- err
	}()
	_, err := bus.Request(ctx, conn, proto.TurnInterrupt{})
	if err2 := <-silenced; err != nil && err2 != nil {
		return errors.Join(err, err2)
	}
	return nil
}

func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.Out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
