// SPDX-License-Identifier: Apache-2.0

package server

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestComplaints: a flood of them is written up to a bound, and counted.
func TestComplaints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		l := &logger{log: slog.New(slog.NewTextHandler(&out, nil))}
		for range 1000 {
			l.Errorf("%s is not welcome", "he")
		}
		if n := strings.Count(out.String(), "is not welcome"); n != linesEach {
			t.Errorf("%d lines", n)
		}
		time.Sleep(every)
		l.Warnf("again")
		if got := out.String(); !strings.Contains(got, "count=980") || !strings.Contains(got, "msg=again") {
			t.Errorf("after a minute: %s", got[len(got)-300:])
		}
	})
}
