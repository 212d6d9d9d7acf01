// SPDX-License-Identifier: Apache-2.0

package command

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/proto"
)

// watched starts events and waits until it hears what the fake says.
func watched(t *testing.T, r *rig, f *fake, args ...string) *job {
	t.Helper()
	j := started(t, append([]string{"events"}, args...)...)
	eventually(t, "events are watched", func() bool {
		r.publish(f.Conn, "probe", proto.TurnStarted{Origin: proto.OriginText})
		return strings.Contains(j.out.String(), "turn.started")
	})
	return j
}

func TestEvents(t *testing.T) {
	r := newRig(t)
	f := r.serve("brain")
	j := watched(t, r, f, "turn", "speech")
	r.publish(f.Conn, "0123456789abcdef", proto.ToolCalled{Name: "now"}, proto.SpeechStarted{Turn: "t"}, proto.TurnDelta{Text: "live"}, proto.TurnEnded{End: proto.EndSpoken})
	eventually(t, "the end is shown", func() bool { return strings.Contains(j.out.String(), "turn.ended") })
	j.interrupt()
	got := j.wait()
	got.want(t, 0)
	pretty := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.\d{3} brain      abcdef speech\.started     \{"turn":"t","index":0,"delay_ms":0\}$`)
	if !pretty.MatchString(got.out) || strings.Contains(got.out, "tool.called") || strings.Contains(got.out, "live") || got.err != "" {
		t.Errorf("%+v", got)
	}
}

func TestEventsJSON(t *testing.T) {
	r := newRig(t)
	f := r.serve("brain")
	j := watched(t, r, f, "--json", "--live")
	r.publish(f.Conn, "t1", proto.TurnDelta{Text: "live"}, proto.TurnEnded{End: proto.EndSpoken})
	eventually(t, "both are shown", func() bool {
		return strings.Contains(j.out.String(), "turn.ended") && strings.Contains(j.out.String(), "turn.delta")
	})
	j.interrupt()
	got := j.wait()
	got.want(t, 0)
	for _, env := range lines[proto.Envelope](t, got.out) {
		if env.Src != "brain" || env.V != proto.Version || env.ID == "" {
			t.Errorf("%+v", env)
		}
	}
}

// What the bus has kept is printed, and that is the end.
func TestEventsKept(t *testing.T) {
	r := rigOn(t, bustest.NewKeeping(t))
	f := r.serve("brain")
	r.publish(f.Conn, "t1", proto.TurnStarted{Origin: proto.OriginText}, proto.ToolCalled{Name: "now"}, proto.TurnEnded{End: proto.EndSilent})
	if err := f.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the events are kept", func() bool {
		return slices.Equal(types(lines[proto.Envelope](t, run(t, "events", "--kept", "--json").out)), []string{"turn.started", "tool.called", "turn.ended"})
	})
	got := run(t, "events", "--kept", "tool")
	got.want(t, 0, "tool.called")
	if strings.Count(got.out, "\n") != 1 {
		t.Errorf("%+v", got)
	}
}

// A bus that keeps nothing has nothing to show.
func TestEventsKeptByNobody(t *testing.T) {
	newRig(t)
	if got := run(t, "events", "--kept"); got.code != 0 || got.out != "" || got.err != "" {
		t.Errorf("%+v", got)
	}
}
