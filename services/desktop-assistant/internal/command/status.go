// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
)

// statusLimit is how long a daemon may take to tell how it is: its answer is
// the truth about it, everything else a hint.
const statusLimit = 300 * time.Millisecond

// daemonStatus is one line of the status command.
type daemonStatus struct {
	Daemon string        `json:"daemon"`
	State  string        `json:"state"` // ok, degraded, stopped or hangs
	Status *proto.Status `json:"status,omitempty"`
}

func (a *app) statusCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use: "status", Short: "Show how every part is, and what to type where something is wrong", Args: args(0, 0),
		Long: `Show how every part is, and what to type where something is wrong.

Exit status: 0 all is well, 1 something has a problem, 69 nothing runs.`,
		RunE: func(c *cobra.Command, _ []string) error {
			conn, _, err := a.dial(c.Context())
			if err != nil {
				return err
			}
			defer conn.Close()
			list := statuses(c.Context(), conn)
			if a.json {
				if err := a.printJSON(list); err != nil {
					return err
				}
			} else {
				printStatuses(a.Out, list)
			}
			for _, s := range list {
				if s.State != "ok" {
					return quietError{ExitFailed}
				}
			}
			return nil
		},
	})
}

// statuses asks every daemon at the same time.
func statuses(ctx context.Context, conn *bus.Conn) []daemonStatus {
	names := proto.Daemons()
	list := make([]daemonStatus, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { list[i] = statusOf(ctx, conn, name) })
	}
	wg.Wait()
	return list
}

func statusOf(ctx context.Context, conn *bus.Conn, name string) daemonStatus {
	ctx, cancel := context.WithTimeout(ctx, statusLimit)
	defer cancel()
	s, err := bus.Request(ctx, conn, proto.StatusOf{Daemon: name})
	switch {
	case err == nil && len(s.Problems) == 0:
		return daemonStatus{name, "ok", &s}
	case err == nil:
		return daemonStatus{name, "degraded", &s}
	case proto.AsError("", err).Code == proto.CodeTimeout:
		return daemonStatus{name, "hangs", nil}
	}
	return daemonStatus{name, "stopped", nil}
}

func printStatuses(w io.Writer, list []daemonStatus) {
	for _, s := range list {
		if s.Status == nil {
			fmt.Fprintf(w, "%-11s %-8s\n", s.Daemon, s.State)
			continue
		}
		up := time.Duration(s.Status.UptimeMS) * time.Millisecond
		fmt.Fprintf(w, "%-11s %-8s up %s, process %d, version %s\n", s.Daemon, s.State, up.Round(time.Second), s.Status.PID, s.Status.Version)
		for _, line := range detailLines(s.Status.Detail) {
			fmt.Fprintf(w, "            %s\n", line)
		}
		for _, p := range s.Status.Problems {
			fmt.Fprintf(w, "            ! %s\n", p.What)
			if p.Hint != "" {
				fmt.Fprintf(w, "              %s\n", p.Hint)
			}
		}
	}
}

// detailLines shows the plain values of a daemon's own detail.
func detailLines(detail json.RawMessage) []string {
	var fields map[string]any
	if json.Unmarshal(detail, &fields) != nil {
		return nil
	}
	var lines []string
	for k, v := range fields {
		switch v := v.(type) {
		case nil:
		case string:
			if v != "" {
				lines = append(lines, k+": "+v)
			}
		case []any:
			words := make([]string, len(v))
			for i, e := range v {
				words[i] = fmt.Sprint(e)
			}
			if len(words) > 0 {
				lines = append(lines, k+": "+strings.Join(words, ", "))
			}
		case map[string]any:
			text, err := json.Marshal(v)
			if err == nil {
				lines = append(lines, k+": "+string(text))
			}
		default:
			lines = append(lines, fmt.Sprintf("%s: %v", k, v))
		}
	}
	sort.Strings(lines)
	return lines
}
