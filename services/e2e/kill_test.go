// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/chattest"
	"example.org/desktop-assistant/pkg/testkit/soundtest"
	"example.org/desktop-assistant/pkg/testkit/whispertest"
	"example.org/desktop-assistant/proto"
)

// The moments of a turn at which a daemon is killed.
const (
	speaking     = "speaking"
	streaming    = "streaming"
	working      = "tool working"
	recording    = "recording"
	transcribing = "transcribing"
)

var moments = []string{speaking, streaming, working, recording, transcribing}

// ends says how a turn may end when a daemon is killed at a moment; what is not
// listed goes on to its spoken end.
var ends = map[string]map[string][]proto.End{
	// What was under way on the bus is lost.
	"busd": always,
	// Its calls fail at once, and the model answers from that.
	"toolrunner": {},
	// Unheard sentences are said again when it is back within 2 s, else shown.
	// Its restart takes longer each time.
	"ttsd": {
		streaming: {proto.EndSpoken, proto.EndFailed}, working: {proto.EndSpoken, proto.EndFailed},
		recording: {proto.EndSpoken, proto.EndFailed}, transcribing: {proto.EndSpoken, proto.EndFailed},
	},
	// What it had heard is lost with it.
	"sttd": {recording: {proto.EndFailed}, transcribing: {proto.EndFailed}},
	// The next one ends what it left open.
	"brain": always,
	"micd":  {recording: {proto.EndFailed}},
}

var always = map[string][]proto.End{
	speaking: {proto.EndFailed}, streaming: {proto.EndFailed}, working: {proto.EndFailed},
	recording: {proto.EndFailed}, transcribing: {proto.EndFailed},
}

// words are what is said after a turn that could not say it itself.
var words = map[string]string{
	"busd":  "Sorry, I lost the connection for a moment. Please ask again.",
	"brain": "Sorry, I was restarted. Please ask again.",
}

// A killing is one stack in which a daemon is killed again and again.
type killing struct {
	*stack
	rig    *soundtest.Rig
	rec    *soundtest.Recording
	chat   *chattest.Server
	stt    *whispertest.Server
	tool   slowTool
	victim string
}

// TestKill: any daemon may die at any moment of a turn. The others live on, the
// turn has its one ending, the user hears of it, nothing is left behind, and
// the next turn works.
func TestKill(t *testing.T) {
	for _, victim := range proto.Daemons() {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			k := newKilling(t, victim)
			for _, moment := range moments {
				k.at(moment)
			}
			k.closedSet()
		})
	}
}

func newKilling(t *testing.T, victim string) *killing {
	rig := soundtest.Start(t)
	chat := chattest.New(t, chattest.Rule{Match: "hello", Say: "Hello to you."}, chattest.Rule{Match: question, Say: "The work can wait."})
	stt := whispertest.New(t, func(whispertest.Request) whispertest.Answer { return whispertest.Answer{Text: question} })
	h := newHome(t, "llm = \""+chat.URL+"\"\n[stt]\ndeadline_s = 5\n[whisper]\nurl = \""+stt.URL+"\"\n", rig.Env()...)
	tool := h.addSlowTool(t)
	k := &killing{stack: start(t, h), rig: rig, chat: chat, stt: stt, tool: tool, victim: victim}
	for _, name := range proto.Daemons() {
		k.well(name)
	}
	k.rec = rig.Record()
	return k
}

// at kills the daemon at a moment of a turn.
func (k *killing) at(moment string) {
	k.t.Helper()
	before := k.pids()
	turn, goOn := k.reach(moment)
	mark, seen := k.rec.Len(), len(k.watch.All())
	kill(k.t, before[k.victim])
	killed := time.Now()
	goOn()
	k.awaitDaemons()
	ended, _ := k.turnEnded(turn)
	k.t.Logf("%s: ended %q %s after the kill, heard %q", moment, ended.End, time.Since(killed).Round(time.Millisecond), ended.Heard)
	allowed := ends[k.victim][moment]
	if allowed == nil {
		allowed = []proto.End{proto.EndSpoken}
	}
	if !slices.Contains(allowed, ended.End) {
		k.t.Errorf("%s: the turn ended %q, not %q: %v, %v", moment, ended.End, allowed, ended.Error, k.events(turn))
	}
	k.heard(moment, mark, seen, ended)
	k.othersUnharmed(before)
	k.nextTurn()
}

// heard checks that the user heard, after the kill, either the answer or what
// became of it. Without a voice there is nothing to hear.
func (k *killing) heard(moment string, mark, seen int, ended proto.TurnEnded) {
	k.t.Helper()
	if k.victim == "ttsd" && ended.End == proto.EndFailed {
		return
	}
	text := words[k.victim]
	if text == "" {
		sentences := strings.SplitAfter(strings.TrimSpace(ended.Heard), ". ")
		text = sentences[len(sentences)-1]
	}
	if ended.End == proto.EndFailed && !strings.HasPrefix(text, "Sorry, ") {
		k.t.Errorf("%s: of the failure it heard %q", moment, ended.Heard)
	}
	eventually(k.t, moment+": it is said that "+text, func() bool {
		return slices.ContainsFunc(k.watch.All()[seen:], func(s bustest.Seen) bool {
			e, ok := s.Event.(proto.SpeechFinished)
			return ok && e.Heard == text
		})
	})
	k.rec.WaitSilence(k.rec.Len(), time.Second, waitLimit)
	if l := likeness(k.t, k.rec.Samples(mark), "en-us", text); l < 0.9 {
		k.t.Errorf("%s: what was played after the kill is like %q by %.2f only", moment, text, l)
	}
}

// reach begins a turn and gives it when it has come to the moment, with what
// lets it go on.
func (k *killing) reach(moment string) (turn string, goOn func()) {
	k.t.Helper()
	more := make(chan struct{})
	k.tool.reset(k.t)
	switch moment {
	case streaming:
		k.chat.Script(chattest.Exchange{Pieces: chattest.Join(chattest.Role(), chattest.Text("The rest "),
			chattest.Hold(more), chattest.Text("of the answer ", "came later."), chattest.Finish("stop"))})
		turn = k.ask("go on streaming")
		bustest.Expect(k.watch, func(s bustest.Seen, _ proto.TurnDelta) bool { return s.Turn == turn })
	case working:
		k.chat.Script(chattest.CallTool("c1", "slow", "{}"), chattest.Exchange{
			Match:  func(r *chattest.Request) bool { _, ok := r.Result(); return ok }, // never asked when brain dies
			Pieces: chattest.Say("The work is ", "over.").Pieces})
		turn = k.ask("go on working")
		pids := k.tool.running(k.t)
		return turn, func() {
			if k.victim != "toolrunner" && k.victim != "brain" && k.victim != "busd" {
				k.tool.finish(k.t)
			}
			gone(k.t, "a process of the tool", pids...)
		}
	case speaking:
		k.chat.Script(chattest.Say("This is a sentence that takes its time to be spoken. ", "And there is another one."))
		turn = k.ask("go on speaking")
		bustest.Expect(k.watch, func(s bustest.Seen, _ proto.SpeechStarted) bool { return s.Turn == turn })
		k.rec.WaitSound(k.rec.Len(), waitLimit)
	case recording:
		turn = k.record()
		return turn, k.release
	case transcribing:
		k.stt.Push(whispertest.Answer{Text: question, Delay: time.Second})
		before := len(k.stt.Requests())
		turn = k.record()
		k.release()
		eventually(k.t, "the speech server is asked", func() bool { return len(k.stt.Requests()) > before })
		return turn, func() {}
	}
	return turn, func() { close(more) }
}

// question is what is asked by voice.
const question = "Can the work wait?"

// record holds the key while someone speaks.
func (k *killing) record() (turn string) {
	k.t.Helper()
	state, err := bus.Request(k.t.Context(), k.conn, proto.MicStart{})
	if err != nil {
		k.t.Fatal(err)
	}
	k.rig.Play(soundtest.Synthesize(k.t, soundtest.Slt, question))
	bustest.Expect(k.watch, func(s bustest.Seen, _ proto.TurnStarted) bool { return s.Turn == state.Turn })
	return state.Turn
}

// release lets the key go.
func (k *killing) release() {
	k.t.Helper()
	eventually(k.t, "micd lets the key go", func() bool {
		ctx, cancel := context.WithTimeout(k.t.Context(), time.Second) // a micd that dies does not answer
		defer cancel()
		_, err := bus.Request(ctx, k.conn, proto.MicStop{})
		return err == nil
	})
}

func (k *killing) ask(text string) string {
	k.t.Helper()
	ticket, err := bus.Request(k.t.Context(), k.conn, proto.TurnAsk{Text: text, Speak: true})
	if err != nil {
		k.t.Fatal(err)
	}
	return ticket.Turn
}

// othersUnharmed checks that the killed daemon is a new process and the others are
// the ones they were, and that no process is left over.
func (k *killing) othersUnharmed(before map[string]int) {
	k.t.Helper()
	now := k.pids()
	known := []int{k.cmd.Process.Pid}
	for name, pid := range now {
		if same := before[name] == pid; same == (name == k.victim) {
			k.t.Errorf("%s was process %d and is now %d", name, before[name], pid)
		}
		known = append(known, pid)
	}
	eventually(k.t, "nothing but the daemons runs", func() bool {
		for pid := range k.processes(k.t) {
			if !slices.Contains(known, pid) {
				return false
			}
		}
		return true
	})
}

// nextTurn checks that a question is answered aloud again.
func (k *killing) nextTurn() {
	k.t.Helper()
	for _, name := range proto.Daemons() {
		k.well(name)
	}
	mark := k.rec.WaitSilence(k.rec.Len(), 300*time.Millisecond, waitLimit)
	if out := k.must(k.t, "ask", "hello again"); out != "Hello to you.\n" {
		k.t.Errorf("the next question was answered %q", out)
	}
	k.rec.WaitSound(mark, waitLimit)
}
