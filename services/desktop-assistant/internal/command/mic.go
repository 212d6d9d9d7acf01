// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/conversation"
	"example.org/desktop-assistant/services/desktop-assistant/internal/usage"
)

func (a *app) listenCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "listen", Short: "Open and close the microphone, for keys",
		Long: `Open and close the microphone, for keys.

Bind start and stop to the press and release of a key where the desktop can tell
them apart, else toggle to its press. A start ends by itself after its lease, so
that a lost release never leaves the microphone open.`,
	}
	var lease float64
	action := func(use, short string, do func(context.Context, *bus.Conn) (proto.MicState, error)) *cobra.Command {
		return a.jsonFlag(&cobra.Command{Use: use, Short: short, Args: usage.Args(0, 0), RunE: func(c *cobra.Command, _ []string) error {
			return a.mic(c.Context(), do)
		}})
	}
	start := action("start", "Begin to listen", func(ctx context.Context, conn *bus.Conn) (proto.MicState, error) {
		return bus.Request(ctx, conn, proto.MicStart{Lease: lease})
	})
	toggle := action("toggle", "Begin to listen, or end it", func(ctx context.Context, conn *bus.Conn) (proto.MicState, error) {
		return bus.Request(ctx, conn, proto.MicToggle{Lease: lease})
	})
	for _, v := range []*cobra.Command{start, toggle} {
		v.Flags().Float64Var(&lease, "lease", 0, "end by itself after this many `seconds` (default: [mic] lease_s)")
	}
	c.AddCommand(start, toggle,
		action("stop", "End the question and answer it", func(ctx context.Context, conn *bus.Conn) (proto.MicState, error) {
			return bus.Request(ctx, conn, proto.MicStop{})
		}),
		action("cancel", "End the question and forget it", func(ctx context.Context, conn *bus.Conn) (proto.MicState, error) {
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
	_, err = fmt.Fprintln(a.Out, conversation.Microphone(state))
	return err
}

func (a *app) muteCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use: "mute [on|off]", Short: "Close the microphone until it is unmuted, over restarts too", Args: usage.Args(0, 1),
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
			return usage.New(proto.Errorf(proto.CodeInvalid, "mute", "%q is neither on nor off", given[0]).WithHint("usage: %s", c.UseLine()))
		},
	})
}
