// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/chattest"
	"example.org/desktop-assistant/pkg/testkit/soundtest"
	"example.org/desktop-assistant/proto"
)

// longSentence takes several seconds to say, without a pause.
const longSentence = "This is a rather long sentence that goes on and on and never comes to its end until somebody asks it to stop. "

// stillFor is how long nothing may be heard for it to count as silence: more
// than any closure of the lips inside longSentence.
const stillFor = 300 * time.Millisecond

// begin starts the command line and leaves it running.
func (h home) begin(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "desktop-assistant"), args...)
	cmd.Env, cmd.Dir = h.env, h.dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestStop: stop silences what is said, and ends the model's stream and the
// tools of the turn.
func TestStop(t *testing.T) {
	t.Parallel()
	rig := soundtest.Start(t)
	chat := chattest.New(t)
	h := newHome(t, "llm = \""+chat.URL+"\"\n", rig.Env()...)
	h.addSlowTool(t)
	s := start(t, h)
	s.well("ttsd")
	s.well("brain")
	rec := rig.Record()
	chat.Script(chattest.Exchange{Pieces: chattest.Join(chattest.Role(), chattest.Text(longSentence, "Then "), chattest.Hold(t.Context().Done()))})
	turn := s.speak(rec)
	rec.WaitSound(rec.Len()+soundtest.Samples(2*time.Second), waitLimit) // a few words are heard
	s.must(t, "stop")
	ended, _ := s.turnEnded(turn)
	if ended.End != proto.EndCancelled {
		t.Errorf("the turn ended %+v", ended)
	}
	if full := strings.TrimSpace(longSentence); ended.Heard == "" || ended.Heard == full || !strings.HasPrefix(full, ended.Heard) {
		t.Errorf("of %q it says it heard %q", full, ended.Heard)
	}
	<-chat.Next().Gone()
	s.quiet(rec)
	if slices.Contains(s.events(turn), "speech.finished") {
		t.Errorf("events came as %v", s.events(turn))
	}
	s.closedSet()
}

// TestStopTool: stop ends a tool and what it left in a session of its own.
func TestStopTool(t *testing.T) {
	t.Parallel()
	chat := chattest.New(t)
	h := newHome(t, "llm = \""+chat.URL+"\"\n")
	tool := h.addSlowTool(t)
	s := start(t, h)
	s.well("brain")
	for _, stop := range []string{"stop", "Ctrl-C of ask"} {
		t.Log(stop)
		tool.reset(t)
		chat.Script(chattest.CallTool("c1", "slow", "{}"))
		ask := h.begin(t, "ask", "--no-speak", "do some work")
		pids := tool.running(t)
		if stop == "stop" {
			s.must(t, "stop")
		} else if err := ask.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		ended, seen := s.turnEnded("")
		if ended.End != proto.EndCancelled {
			t.Errorf("the turn ended %+v", ended)
		}
		gone(t, "a process of the tool", pids...)
		finished, _ := s.toolFinished(seen.Turn)
		if finished.OK || finished.Kind != proto.KindCancelled {
			t.Errorf("the tool finished %+v", finished)
		}
		if err := ask.Wait(); err == nil {
			t.Error("ask reports success")
		}
		want := map[string]int{"stop": 1, "Ctrl-C of ask": 130}[stop]
		if code := ask.ProcessState.ExitCode(); code != want {
			t.Errorf("ask ends with %d, not %d", code, want)
		}
	}
	s.closedSet()
}

// toolFinished waits for the end of a call of a turn, which may have been told
// before the end of the turn.
func (s *stack) toolFinished(turn string) (finished proto.ToolFinished, seen bustest.Seen) {
	s.t.Helper()
	eventually(s.t, "a tool of the turn finishes", func() bool {
		for _, e := range s.watch.All() {
			f, ok := e.Event.(proto.ToolFinished)
			if ok && e.Turn == turn {
				finished, seen = f, e
				return true
			}
		}
		return false
	})
	return finished, seen
}

// TestStopAsk: Ctrl-C of ask cancels its turn and silences it.
func TestStopAsk(t *testing.T) {
	t.Parallel()
	rig := soundtest.Start(t)
	chat := chattest.New(t, chattest.Rule{Say: longSentence})
	h := newHome(t, "llm = \""+chat.URL+"\"\n", rig.Env()...)
	s := start(t, h)
	s.well("ttsd")
	s.well("brain")
	rec := rig.Record()
	ask := h.begin(t, "ask", "say something long")
	bustest.Expect[proto.SpeechStarted](s.watch, nil)
	rec.WaitSound(0, waitLimit)
	if err := ask.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	ended, _ := s.turnEnded("")
	if ended.End != proto.EndCancelled {
		t.Errorf("the turn ended %+v", ended)
	}
	_ = ask.Wait() // its exit code tells
	if code := ask.ProcessState.ExitCode(); code != 130 {
		t.Errorf("ask ends with %d", code)
	}
	s.quiet(rec)
	s.closedSet()
}

// speak asks and gives the turn when its answer is heard.
func (s *stack) speak(rec *soundtest.Recording) string {
	s.t.Helper()
	mark := rec.Len()
	ticket, err := bus.Request(s.t.Context(), s.conn, proto.TurnAsk{Text: "say something long", Speak: true})
	if err != nil {
		s.t.Fatal(err)
	}
	bustest.Expect(s.watch, func(seen bustest.Seen, _ proto.SpeechStarted) bool { return seen.Turn == ticket.Turn })
	rec.WaitSound(mark, waitLimit)
	return ticket.Turn
}

// quiet checks that nothing is heard from about now on: what was on its way to
// the recording may still come.
func (s *stack) quiet(rec *soundtest.Recording) {
	s.t.Helper()
	now := rec.Len()
	if at := rec.WaitSilence(now, stillFor, waitLimit); at-now > soundtest.Samples(stillFor) {
		s.t.Errorf("it was still heard %s after the end of the turn", soundtest.Duration(at-now))
	}
}

// TestStopTime measures from the start of the stop command, the start of its
// program included, to silence at the sink. It passes whatever the times are,
// and runs alone.
func TestStopTime(t *testing.T) {
	rig := soundtest.Start(t)
	chat := chattest.New(t, chattest.Rule{Say: longSentence})
	s := start(t, newHome(t, "llm = \""+chat.URL+"\"\n", rig.Env()...))
	s.well("ttsd")
	s.well("brain")
	rec := rig.Record()
	const runs = 30
	var times []time.Duration
	for range runs {
		turn := s.speak(rec)
		mark, begin := rec.Len(), time.Now()
		s.must(t, "stop")
		s.turnEnded(turn)
		silent := rec.WaitSilence(mark, stillFor, waitLimit)
		times = append(times, max(0, rec.At(max(0, silent-1)).Sub(begin)))
	}
	slices.Sort(times)
	t.Logf("stop to silence, recorded: p50 %s, p95 %s, longest %s (the recording is up to 50 ms behind)",
		times[runs/2].Round(time.Millisecond), times[runs*95/100].Round(time.Millisecond), times[runs-1].Round(time.Millisecond))
	s.closedSet()
}
