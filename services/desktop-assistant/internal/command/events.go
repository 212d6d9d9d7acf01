// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/speech"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/usage"
)

var areas = []string{"bus", "mic", "utterance", "stt", "turn", "tool", "skill", "session", "speech", "service"}

func (a *app) eventsCommand() *cobra.Command {
	var live, kept bool
	c := a.jsonFlag(&cobra.Command{
		Use: "events [AREA]...", Short: "Watch what happens, one event a line", Args: usage.Args(0, -1),
		ValidArgs: areas,
		RunE: func(c *cobra.Command, only []string) error {
			for _, area := range only {
				if !slices.Contains(areas, area) {
					return usage.New(proto.Errorf(proto.CodeInvalid, "events", "unknown area %q", area).
						WithHint("one of: %s", strings.Join(areas, " ")))
				}
			}
			return a.events(c.Context(), only, live, kept)
		},
	})
	c.Flags().BoolVar(&live, "live", false, "also the lossy events for screens (levels, words as they are written)")
	c.Flags().BoolVar(&kept, "kept", false, "print what the bus has kept, then end")
	return c
}

func (a *app) events(ctx context.Context, only []string, live, kept bool) error {
	conn, _, err := a.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	failed := make(chan error, 1)
	show := func(_ context.Context, env proto.Envelope, _ proto.Event) {
		if err := a.printEvent(env); err != nil {
			select {
			case failed <- err:
			default:
			}
		}
	}
	if kept {
		if err := conn.History(ctx, proto.Any, show, only...); err != nil {
			return err
		}
		select {
		case err := <-failed:
			return err
		default:
			return nil
		}
	}
	if _, err := conn.Events(ctx, proto.Any, bus.Fail(4096, func() {
		fmt.Fprintln(a.Err, "desktop-assistant: events were lost, the output is too slow")
	}), show, only...); err != nil {
		return err
	}
	if live {
		if _, err := conn.Live(ctx, proto.Any, bus.Drop(1024), show); err != nil {
			return err
		}
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// printEvent writes an event for people, or as it is with --json.
func (a *app) printEvent(env proto.Envelope) error {
	if a.json {
		return a.printJSON(env)
	}
	turn := env.Turn
	if len(turn) > 6 { // the tail differs, the head is the same for one process
		turn = turn[len(turn)-6:]
	}
	_, err := fmt.Fprintln(a.Out, speech.Plain(fmt.Sprintf("%s %-10s %-6s %-18s %s", env.TS.Local().Format("15:04:05.000"), env.Src, turn, env.Type, env.Data)))
	return err
}
