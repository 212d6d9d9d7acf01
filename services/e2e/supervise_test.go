// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/testkit/chattest"
	"example.org/desktop-assistant/pkg/testkit/soundtest"
	"example.org/desktop-assistant/proto"
)

// nothingLeft waits until no process of the account runs.
func (h home) nothingLeft(t *testing.T) {
	t.Helper()
	eventually(t, "nothing of the account runs", func() bool { return len(h.processes(t)) == 0 })
}

// TestRunKilled: even kill -9 of run leaves nothing behind, in the middle of a
// tool and of a sentence; and it can be started again at once.
func TestRunKilled(t *testing.T) {
	t.Parallel()
	rig := soundtest.Start(t)
	chat := chattest.New(t)
	h := newHome(t, "llm = \""+chat.URL+"\"\n", rig.Env()...)
	tool := h.addSlowTool(t)
	s := start(t, h)
	s.well("ttsd")
	s.well("brain")
	chat.Script(chattest.Exchange{Pieces: chattest.Join(chattest.Role(), chattest.Text(longSentence, longSentence),
		chattest.CallDelta(0, "c1", "slow", "{}"), chattest.Finish("tool_calls"))})
	rec := rig.Record()
	s.speak(rec)
	pids := tool.running(t)
	if n := len(h.processes(t)); n < len(proto.Daemons())+1+len(pids) {
		t.Fatalf("only %d processes are found: %v", n, h.processes(t))
	}
	kill(t, s.cmd.Process.Pid)
	<-s.ended
	h.nothingLeft(t)
	s.quiet(rec)

	again := start(t, h)
	again.well("ttsd")
	chat.Script(chattest.Say("Here I am."))
	if out := again.must(t, "ask", "are you there"); out != "Here I am.\n" {
		t.Errorf("after a new start it answered %q", out)
	}
}

// TestRunEnds: SIGTERM in the middle of a sentence ends everything within the
// bounds of the daemons, and well.
func TestRunEnds(t *testing.T) {
	t.Parallel()
	rig := soundtest.Start(t)
	chat := chattest.New(t)
	h := newHome(t, "llm = \""+chat.URL+"\"\n", rig.Env()...)
	tool := h.addSlowTool(t)
	s := start(t, h)
	s.well("ttsd")
	s.well("brain")
	chat.Script(chattest.Exchange{Pieces: chattest.Join(chattest.Role(), chattest.Text(longSentence, longSentence),
		chattest.CallDelta(0, "c1", "slow", "{}"), chattest.Finish("tool_calls"))})
	s.speak(rig.Record())
	tool.running(t)
	begin := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	t.Logf("ended after %s", time.Since(begin).Round(time.Millisecond))
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("run ended with %d", code)
	}
	for _, bad := range []string{"did not stop in time", "level=ERROR"} {
		if s.printed(bad) {
			t.Errorf("it printed %q", bad)
		}
	}
	h.nothingLeft(t)
}

// TestRunTwice: a second run refuses, names the process that runs, and harms
// nothing.
func TestRunTwice(t *testing.T) {
	t.Parallel()
	s := start(t, newHome(t, ""))
	busd := strconv.Itoa(s.status("busd").PID)
	out, errs, code := s.cli(t, "run")
	if code == 0 || !strings.Contains(errs, "runs already, as process "+busd) || !strings.Contains(errs, "hint: ") {
		t.Errorf("the second run ended with %d:\n%s%s", code, out, errs)
	}
	if out := s.must(t, "ask", "--no-speak", "what time is it"); !spokenTime(strings.TrimSpace(out)) {
		t.Errorf("then it answered %q", out)
	}
}

// TestRunOnly: some daemons alone, and the command line says what is missing.
func TestRunOnly(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	if _, errs, code := h.cli(t, "run", "--only", "braind"); code != 64 || !strings.Contains(errs, "braind") {
		t.Errorf("an unknown daemon: %d, %s", code, errs)
	}
	cmd := h.begin(t, "run", "--only", "busd,toolrunner")
	eventually(t, "status shows the two that run", func() bool {
		out, _, code := h.cli(t, "status")
		return code == 1 && strings.Contains(out, "toolrunner  ok") && strings.Contains(out, "brain       stopped")
	})
	if _, errs, code := h.cli(t, "ask", "--no-speak", "what time is it"); code != 69 || !strings.Contains(errs, "the bus runs, but") || !strings.Contains(errs, "brain") {
		t.Errorf("ask ends with %d, %s", code, errs)
	}
	if out := h.must(t, "tool", "run", "now"); !strings.Contains(out, ":") {
		t.Errorf("the tool says %q", out)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("Ctrl-C of run: %v", err)
	}
	h.nothingLeft(t)
}
