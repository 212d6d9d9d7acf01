// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/health"
	"example.org/desktop-assistant/services/desktop-assistant/internal/usage"
)

func (a *app) statusCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use: "status", Short: "Show how every part is, and what to type where something is wrong", Args: usage.Args(0, 0),
		Long: `Show how every part is, and what to type where something is wrong.

Exit status: 0 all is well, 1 something has a problem, 69 nothing runs.`,
		RunE: func(c *cobra.Command, _ []string) error {
			conn, _, err := a.dial(c.Context())
			if a.json && errors.Is(err, &proto.Error{Code: proto.CodeDisconnected}) {
				return first(a.printJSON(health.NothingRuns()), quietError{ExitUnavailable})
			}
			if err != nil {
				return err
			}
			defer conn.Close()
			list := health.Ask(c.Context(), conn)
			if a.json {
				err = a.printJSON(list)
			} else {
				_, err = io.WriteString(a.Out, health.Text(list))
			}
			if err != nil {
				return err
			}
			if slices.ContainsFunc(list, func(r health.Report) bool { return r.State != health.OK }) {
				return quietError{ExitFailed}
			}
			return nil
		},
	})
}
