// SPDX-License-Identifier: Apache-2.0

// Package health asks every daemon how it is.
package health

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
)

// Limit is how long a daemon may take to tell how it is: its answer is the
// truth about it, everything else a hint.
const Limit = 300 * time.Millisecond

// The states of a [Report].
const (
	OK       = "ok"
	Degraded = "degraded" // it has problems
	Stopped  = "stopped"  // nobody answers for it
	Hangs    = "hangs"    // no answer in time
)

// Report is how one daemon is.
type Report struct {
	Daemon string        `json:"daemon"`
	State  string        `json:"state"`
	Status *proto.Status `json:"status,omitempty"` // its own words, nil when it is stopped or hangs
}

// NothingRuns is what there is to say without a bus.
func NothingRuns() []Report {
	var list []Report
	for _, name := range proto.Daemons() {
		list = append(list, Report{name, Stopped, nil})
	}
	return list
}

// Ask asks every daemon at the same time.
func Ask(ctx context.Context, conn *bus.Conn) []Report {
	names := proto.Daemons()
	list := make([]Report, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { list[i] = statusOf(ctx, conn, name) })
	}
	wg.Wait()
	return list
}

func statusOf(ctx context.Context, conn *bus.Conn, name string) Report {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	s, err := bus.Request(ctx, conn, proto.StatusOf{Daemon: name})
	switch {
	case err == nil && len(s.Problems) == 0:
		return Report{name, OK, &s}
	case err == nil:
		return Report{name, Degraded, &s}
	case proto.AsError("", err).Code == proto.CodeTimeout:
		return Report{name, Hangs, nil}
	}
	return Report{name, Stopped, nil}
}

// Hears says whether a question can be asked aloud: micd has a source and sttd
// an engine, whatever else they complain of.
func Hears(reports []Report) bool {
	var source, engine string
	for _, r := range reports {
		var has struct{ Source, Engine string }
		if r.Status == nil || json.Unmarshal(r.Status.Detail, &has) != nil {
			continue
		}
		switch r.Daemon {
		case "micd":
			source = has.Source
		case "sttd":
			engine = has.Engine
		}
	}
	return source != "" && engine != ""
}

// Voice asks ttsd whether it can be heard, and gives the reason when it has no
// engine or no loudspeaker. A ttsd that does not answer may be on its way back
// and counts as able.
func Voice(ctx context.Context, conn *bus.Conn) (able bool, why string) {
	r := statusOf(ctx, conn, "ttsd")
	var has struct{ Engine, Sink *string }
	if r.Status == nil || json.Unmarshal(r.Status.Detail, &has) != nil {
		return true, ""
	}
	for _, part := range []*string{has.Engine, has.Sink} {
		if part != nil && *part == "" && len(r.Status.Problems) > 0 {
			return false, r.Status.Problems[0].What
		}
	}
	return true, ""
}

// Text shows reports to a person, with what to type where something is wrong.
func Text(list []Report) string {
	var w strings.Builder
	for _, s := range list {
		if s.Status == nil {
			fmt.Fprintf(&w, "%-11s %-8s\n", s.Daemon, s.State)
			continue
		}
		up := time.Duration(s.Status.UptimeMS) * time.Millisecond
		fmt.Fprintf(&w, "%-11s %-8s up %s, process %d, version %s\n", s.Daemon, s.State, up.Round(time.Second), s.Status.PID, s.Status.Version)
		for _, line := range detailLines(s.Status.Detail) {
			fmt.Fprintf(&w, "            %s\n", line)
		}
		for _, p := range s.Status.Problems {
			fmt.Fprintf(&w, "            ! %s\n", p.What)
			if p.Hint != "" {
				fmt.Fprintf(&w, "              %s\n", p.Hint)
			}
		}
	}
	return w.String()
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
