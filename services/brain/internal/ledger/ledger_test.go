// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/catalog"
	"example.org/desktop-assistant/services/brain/internal/model"
	"example.org/desktop-assistant/services/brain/internal/session"
	"example.org/desktop-assistant/services/brain/internal/skill"
	"example.org/desktop-assistant/services/brain/internal/turn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a ledger with everything around it faked, in virtual time.
type desk struct {
	*Ledger
	t      *testing.T
	store  *session.Store
	cancel context.CancelFunc

	mu     sync.Mutex
	log    []string
	away   bool // ttsd does not answer
	offer  catalog.Offer
	told   func(turn string, ev proto.TurnEnded) // before it is noted
	speech []proto.SpeechSay
}

func in(t *testing.T, f func(d *desk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		d := &desk{t: t, store: session.New(0), cancel: cancel}
		d.Ledger = New(turn.Env{
			Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
			Bus: d, Model: d, Tools: d, Skills: skill.New("", nil), Asker: "brain/test", Languages: []string{"en", "it"},
			Settings: turn.Settings{Intents: "fallback", Route: "local", HistoryMessages: 20,
				STTDeadline: 30 * time.Second, ListenLimit: time.Minute, LoadingLimit: time.Minute},
		}, d, d.store, filepath.Join(t.TempDir(), "turns"))
		done := make(chan struct{})
		go func() { d.Run(ctx); close(done) }()
		f(d)
		cancel()
		<-done
		d.balanced()
	})
}

// balanced: every turn has one start and one end.
func (d *desk) balanced() {
	count := map[string]int{}
	for _, s := range d.log {
		if id, ok := strings.CutSuffix(s, " started"); ok {
			count[id]++
		} else if id, _, ok := strings.Cut(s, " ended "); ok {
			count[id] += 100
		}
	}
	for id, n := range count {
		if n != 101 {
			d.t.Errorf("turn %s: %d starts, %d ends", id, n%100, n/100)
		}
	}
}

func (d *desk) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, fmt.Sprintf(format, args...))
}

// saw says whether something was noted, after all is quiet.
func (d *desk) saw(what string) bool {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.log, what)
}

func (d *desk) want(what ...string) {
	d.t.Helper()
	for _, w := range what {
		if !d.saw(w) {
			d.t.Errorf("no %q in %q", w, d.log)
		}
	}
}

func (d *desk) wantNot(what string) {
	d.t.Helper()
	if d.saw(what) {
		d.t.Errorf("%q in %q", what, d.log)
	}
}

func (d *desk) Publish(ev proto.Event, m bus.Meta) error {
	switch ev := ev.(type) {
	case proto.TurnStarted:
		d.note("%s started", m.Turn)
	case proto.TurnAsked:
		d.note("%s asked %s in %s", m.Turn, ev.Text, ev.Language)
	case proto.TurnEnded:
		if d.told != nil {
			d.told(m.Turn, ev)
		}
		d.note("%s ended %s", m.Turn, ev.End)
		if ev.Heard != "" {
			d.note("%s heard %s", m.Turn, ev.Heard)
		}
	}
	return nil
}

// Chat says two sentences and goes on for ever.
func (d *desk) Chat(ctx context.Context, req model.Request, emit func(string)) (model.Reply, error) {
	d.note("chat of %d messages", len(req.Messages))
	emit("One. Two. ")
	<-ctx.Done()
	return model.Reply{}, &model.Error{Kind: model.KindCancelled, Text: "cancelled"}
}

func (d *desk) Known() (catalog.Offer, bool)        { return d.offer, true }
func (d *desk) Offer(context.Context) catalog.Offer { return d.offer }
func (d *desk) Cancel(string) error                 { return nil }
func (d *desk) Call(_ context.Context, _ string, c proto.ToolCall, _ []byte) (proto.ToolResult, error) {
	if !c.Confirmed {
		return proto.ToolResult{}, errors.New("no tools here")
	}
	return proto.ToolResult{Call: c.Call, OK: true, Result: "done"}, nil
}

func (d *desk) Say(_ context.Context, _ string, s proto.SpeechSay) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.away {
		return proto.Errorf(proto.CodeUnavailable, "speech.say", "nobody answers")
	}
	d.speech = append(d.speech, s)
	return nil
}

func (d *desk) End(context.Context, string, proto.SpeechEnd) error { return nil }

func (d *desk) Stop(_ context.Context, dev, id string) error {
	d.note("stop %s", id)
	d.Event(proto.Envelope{Dev: dev}, proto.SpeechStopped{Turn: id, Index: 0, Heard: "On", Reason: proto.StopAsked})
	return nil
}

func (d *desk) Resume(_ context.Context, dev string) error {
	d.note("resume %s", dev)
	return nil
}

func (d *desk) said() []string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []string
	for _, s := range d.speech {
		list = append(list, s.Text)
	}
	return list
}

func (d *desk) tell(id string, ev proto.Event) { d.Event(proto.Envelope{Dev: "local", Turn: id}, ev) }

func (d *desk) hear(id string, trigger proto.Trigger) {
	d.tell(id, proto.UtteranceStarted{Turn: id, Stream: "s", Trigger: trigger})
}

func (d *desk) ask(cmd proto.TurnAsk) proto.TurnTicket {
	d.t.Helper()
	ticket, err := d.Ask(d.t.Context(), "local", cmd)
	if err != nil {
		d.t.Fatal(err)
	}
	synctest.Wait()
	return ticket
}

// speaking asks a question and waits until its first sentence is at ttsd.
func (d *desk) speaking(id string) proto.TurnTicket {
	return d.ask(proto.TurnAsk{Text: "count for me", Speak: true, Turn: id})
}

func TestVoiceTurn(t *testing.T) {
	in(t, func(d *desk) {
		d.hear("v1", proto.TriggerKey)
		d.want("v1 started")
		d.hear("v1", proto.TriggerKey) // the same again
		d.tell("v1", proto.UtteranceEnded{Reason: proto.UtteranceReleased})
		d.tell("v1", proto.STTFinal{Text: " Conta. ", Language: "it-IT"})
		d.tell("v1", proto.STTFinal{Text: "again"})
		d.want("v1 asked Conta. in it", "chat of 1 messages")
		d.tell("nobody", proto.STTFinal{Text: "stale"})
		d.wantNot("nobody started")
	})
}

func TestUtterancesThatAreNone(t *testing.T) {
	in(t, func(d *desk) {
		d.tell("", proto.UtteranceStarted{})
		d.tell("", proto.UtteranceStarted{Turn: "no token"})
		d.tell("v1", proto.UtteranceStarted{}) // the envelope names it
		d.want("v1 started")
		d.tell("v1", proto.UtteranceEnded{Reason: proto.UtteranceCancelled})
		d.want("v1 ended cancelled")
		d.hear("v1", proto.TriggerKey) // an id is used once
		synctest.Wait()
		if d.Running() != 0 {
			t.Errorf("%d turns run", d.Running())
		}
	})
}

// promise: a cough pauses the answer and it goes on, words replace it.
func TestBargeIn(t *testing.T) {
	in(t, func(d *desk) {
		d.speaking("a")
		d.hear("b", proto.TriggerVoice)
		d.tell("b", proto.UtteranceEnded{Reason: proto.UtteranceSilence})
		d.wantNot("resume local")
		d.tell("b", proto.STTRejected{Reason: proto.RejectNoise})
		d.want("b ended silent", "resume local")
		d.wantNot("a ended superseded")
		d.hear("c", proto.TriggerVoice)
		d.tell("c", proto.STTFinal{Text: "stop that"})
		d.want("a ended superseded", "stop a", "c asked stop that in en", "chat of 3 messages")
	})
}

func TestKeySupersedesAtOnce(t *testing.T) {
	in(t, func(d *desk) {
		d.speaking("a")
		other := d.store.Begin("local").ID
		d.hear("b", proto.TriggerKey) // in the new session: what is heard gives way all the same
		d.want("a ended superseded")
		d.hear("c", proto.TriggerKey)
		d.want("b ended superseded")
		d.wantNot("resume local") // someone speaks
		d.tell("c", proto.STTFinal{Text: "hello"})
		d.want("chat of 1 messages")
		if h := d.store.History(other, 10); len(h) != 0 {
			t.Errorf("history %+v", h)
		}
	})
}

func TestAskSupersedesInItsSession(t *testing.T) {
	in(t, func(d *desk) {
		first := d.speaking("a")
		second := d.ask(proto.TurnAsk{Text: "and now"})
		d.want("a ended superseded", "chat of 3 messages")
		if second.Session != first.Session || second.Turn == "" {
			t.Errorf("tickets %+v, %+v", first, second)
		}
		other := d.store.Begin("local")
		third := d.ask(proto.TurnAsk{Text: "elsewhere", Session: other.ID})
		d.wantNot(second.Turn + " ended superseded")
		if third.Session != other.ID || d.Running() != 2 {
			t.Errorf("ticket %+v, %d turns", third, d.Running())
		}
	})
}

func TestAskRefuses(t *testing.T) {
	in(t, func(d *desk) {
		d.speaking("a")
		for code, cmd := range map[proto.Code]proto.TurnAsk{
			proto.CodeInvalid:  {Text: " \n\x00\x1b"},
			proto.CodeBusy:     {Text: "x", Turn: "a"},
			proto.CodeNotFound: {Text: "x", Session: "nope"},
		} {
			if _, err := d.Ask(d.t.Context(), "local", cmd); !errors.Is(err, &proto.Error{Code: code}) {
				t.Errorf("%+v: %v", cmd, err)
			}
		}
		for _, cmd := range []proto.TurnAsk{{Text: "x", Turn: "no token"}, {Text: strings.Repeat("x", maxQuestion+1)}} {
			if _, err := d.Ask(d.t.Context(), "local", cmd); !errors.Is(err, &proto.Error{Code: proto.CodeInvalid}) {
				t.Errorf("%v", err)
			}
		}
		d.wantNot("a ended superseded")
	})
}

// A flood of utterances costs a few turns, not one each for as long as it may
// take to say something.
func TestUtterancesWithoutEnd(t *testing.T) {
	in(t, func(d *desk) {
		d.speaking("a")
		for i := range 300 {
			d.hear(fmt.Sprintf("v%d", i), proto.TriggerVoice)
		}
		synctest.Wait()
		if n := d.Running(); n > maxListening+1 {
			t.Errorf("%d turns run", n)
		}
		d.want("v0 ended superseded")
		d.wantNot("a ended superseded")
		d.wantNot("v299 ended superseded")
		d.tell("v299", proto.STTFinal{Text: "hello"})
		d.want("v299 asked hello in en")
	})
}

func TestTranscriptOfAnyLength(t *testing.T) {
	in(t, func(d *desk) {
		d.hear("v", proto.TriggerKey)
		d.tell("v", proto.STTFinal{Text: strings.Repeat("x", maxQuestion+1)})
		if got := d.said(); len(got) != 1 {
			t.Errorf("said %q", got)
		}
	})
}

func TestAskTooOften(t *testing.T) {
	in(t, func(d *desk) {
		for range maxTurns {
			d.ask(proto.TurnAsk{Text: "x", Session: d.store.Begin("local").ID})
		}
		if _, err := d.Ask(d.t.Context(), "local", proto.TurnAsk{Text: "x"}); !errors.Is(err, &proto.Error{Code: proto.CodeBusy}) {
			t.Errorf("%v", err)
		}
	})
}

// What ends many turns at once is said once, and again when it happens again.
func TestOneNoticeForManyTurns(t *testing.T) {
	in(t, func(d *desk) {
		lose := func(want int) {
			t.Helper()
			for range 3 {
				d.ask(proto.TurnAsk{Text: "x", Speak: true, Session: d.store.Begin("local").ID})
			}
			d.mu.Lock()
			d.speech = nil
			d.mu.Unlock()
			d.BusLost()
			if got := d.said(); len(got) != want {
				t.Errorf("said %q", got)
			}
		}
		lose(1)
		time.Sleep(noticeGap)
		lose(1)
	})
}

func TestInterrupt(t *testing.T) {
	in(t, func(d *desk) {
		d.speaking("a")
		d.ask(proto.TurnAsk{Text: "x", Turn: "b", Session: d.store.Begin("local").ID})
		stopped, err := d.Interrupt(d.t.Context(), "local", "nobody")
		if err != nil || len(stopped.Turns) != 0 || stopped.Turns == nil {
			t.Errorf("stopped %+v, %v", stopped, err)
		}
		if stopped, err = d.Interrupt(d.t.Context(), "local", "b"); err != nil || len(stopped.Turns) != 1 {
			t.Errorf("stopped %+v, %v", stopped, err)
		}
		d.want("b ended cancelled")
		d.hear("c", proto.TriggerVoice)
		if stopped, err = d.Interrupt(d.t.Context(), "local", ""); err != nil || len(stopped.Turns) != 2 {
			t.Errorf("stopped %+v, %v", stopped, err)
		}
		d.want("a ended cancelled", "c ended cancelled")
	})
}

func TestLosses(t *testing.T) {
	in(t, func(d *desk) {
		d.hear("v", proto.TriggerKey)
		d.Lost("micd")
		synctest.Wait()
		if got := d.said(); len(got) != 1 || got[0] != "Sorry, I lost the microphone." {
			t.Errorf("said %q", got)
		}
		d.tell("v", proto.SpeechFinished{Turn: "v", Index: 0})
		d.want("v ended failed")
		d.speaking("a")
		d.mu.Lock()
		d.away = true
		d.mu.Unlock()
		d.BusLost()
		d.want("a ended failed")
		time.Sleep(3 * time.Second)
		d.mu.Lock()
		d.away, d.speech = false, nil
		d.mu.Unlock()
		time.Sleep(time.Second)
		if got := d.said(); len(got) != 1 || !strings.HasPrefix(got[0], "Sorry, I lost the connection") {
			t.Errorf("said %q", got)
		}
		if s := d.speech[0]; !s.Behind || s.Owner != "" || s.Turn == "a" || !proto.ValidToken(s.Turn) {
			t.Errorf("notice %+v", s)
		}
	})
}

func TestStoppingSaysSo(t *testing.T) {
	in(t, func(d *desk) {
		d.speaking("a")
		d.mu.Lock()
		d.speech = nil
		d.mu.Unlock()
		d.cancel()
		d.want("a ended failed")
		if got := d.said(); len(got) != 1 || !strings.HasPrefix(got[0], "Sorry, I was restarted") {
			t.Errorf("said %q", got)
		}
		if _, err := d.Ask(d.t.Context(), "local", proto.TurnAsk{Text: "x"}); !errors.Is(err, &proto.Error{Code: proto.CodeUnavailable}) {
			t.Errorf("asked a stopped ledger: %v", err)
		}
	})
}

func TestBury(t *testing.T) {
	in(t, func(d *desk) {
		d.speaking("mine")
		d.mu.Lock()
		d.speech = nil
		d.mu.Unlock()
		old := time.Now().Add(-time.Hour)
		events := []struct {
			turn string
			at   time.Time
			ev   proto.Event
		}{
			{"old", old, proto.TurnStarted{Origin: proto.OriginText}},
			{"well", old, proto.TurnStarted{Origin: proto.OriginText}},
			{"well", old, proto.TurnEnded{End: proto.EndSpoken}},
			{"unseen", time.Now(), proto.UtteranceStarted{Turn: "unseen", Stream: "s"}},
			{"open", time.Now(), proto.UtteranceStarted{Turn: "open", Stream: "s"}},
			{"open", time.Now(), proto.TurnStarted{Origin: proto.OriginVoice}},
			{"open", time.Now(), proto.TurnAsked{Text: "ciao", Language: "it"}},
			{"open", time.Now(), proto.SpeechFinished{Index: 0, Heard: "Uno."}},
			{"open", time.Now(), proto.SpeechStopped{Index: 1, Heard: "Du"}},
			{"notice", time.Now(), proto.SpeechFinished{Heard: "of no turn"}},
			{"mine", time.Now(), proto.TurnStarted{Origin: proto.OriginText}},
			{"", time.Now(), proto.TurnStarted{}},
		}
		var past Past
		for _, e := range events {
			past.Event(proto.Envelope{Turn: e.turn, Dev: "local", TS: proto.Time{Time: e.at}}, e.ev)
		}
		d.note("old started") // by the brain before
		d.note("open started")
		d.Bury(past.Orphans())
		d.want("old ended failed", "unseen started", "unseen ended failed", "open ended failed", "open heard Uno. Du", "stop open")
		d.wantNot("stop old")
		d.wantNot("mine ended failed")
		d.wantNot("well ended failed")
		if got := d.said(); len(got) != 1 || !strings.HasPrefix(got[0], "Sorry, I was restarted") {
			t.Errorf("said %q", got)
		}
		d.tell("open", proto.STTFinal{Text: "stale"})
		d.hear("open", proto.TriggerKey)
		d.wantNot("open asked stale in en")
	})
}

// What stands in the file: every turn from before its start is told until after
// its end, and what a killed brain left until it is buried.
func TestOpenTurnsAreKept(t *testing.T) {
	in(t, func(d *desk) {
		kept := func(want ...string) {
			t.Helper()
			synctest.Wait()
			open, err := readTraces(d.file)
			var ids []string
			for _, o := range open {
				ids = append(ids, o.ID)
			}
			if err != nil || !slices.Equal(ids, want) {
				t.Errorf("kept %q, %v, want %q", ids, err, want)
			}
		}
		d.speaking("a")
		time.Sleep(time.Second)
		d.hear("v", proto.TriggerVoice)
		kept("a", "v")
		if info, err := os.Stat(d.file); err != nil || info.Mode() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
		if data, err := os.ReadFile(d.file); err != nil || strings.Contains(string(data), "count") {
			t.Errorf("the file tells what was said: %s, %v", data, err)
		}
		d.tell("v", proto.UtteranceEnded{Reason: proto.UtteranceCancelled})
		kept("a")
		next := New(d.env, d, d.store, d.file)
		if left := next.Left(); len(left) != 1 || left[0].ID != "a" || left[0].Device != "local" || left[0].Origin != proto.OriginText || left[0].Mute || !left[0].Started || time.Since(left[0].At) > time.Minute {
			t.Errorf("left %+v", left)
		}
		if _, err := d.Interrupt(d.t.Context(), "local", "a"); err != nil {
			t.Fatal(err)
		}
		kept()
		d.speaking("b") // and stopping ends it
		file := d.file
		d.cancel()
		synctest.Wait()
		if open, err := readTraces(file); err != nil || len(open) != 0 {
			t.Errorf("after the stop %+v, %v", open, err)
		}
	})
}

func TestLeftOnesStayUntilTheyAreBuried(t *testing.T) {
	in(t, func(d *desk) {
		now := time.Now()
		d.left = []Orphan{
			{ID: "open", Device: "local", Started: true, Origin: proto.OriginText, Language: "it", At: now},
			{ID: "ended", Device: "local", Started: true, Origin: proto.OriginText, At: now},
			{ID: "shown", Device: "desk", Started: true, Origin: proto.OriginText, Mute: true, At: now},
		}
		d.speaking("mine")
		if open, err := readTraces(d.file); err != nil || len(open) != 4 {
			t.Errorf("kept %+v, %v", open, err)
		}
		var past Past
		past.Left(d.Left())
		for id, ev := range map[string]proto.Event{"open": proto.TurnStarted{Origin: proto.OriginText}, "ended": proto.TurnEnded{End: proto.EndSpoken}} {
			past.Event(proto.Envelope{Turn: id, Dev: "local", TS: proto.Time{Time: now}}, ev)
		}
		d.mu.Lock()
		d.speech = nil
		d.mu.Unlock()
		d.note("open started") // by the brain before
		d.note("shown started")
		d.Bury(past.Orphans())
		d.want("open ended failed", "shown ended failed")
		d.wantNot("ended ended failed")
		if got := d.said(); len(got) != 1 || !strings.HasPrefix(got[0], "Scusa, sono stato riavviato") {
			t.Errorf("said %q", got)
		}
		if open, err := readTraces(d.file); err != nil || len(open) != 1 || open[0].ID != "mine" {
			t.Errorf("kept %+v, %v", open, err)
		}
	})
}

// Nobody else writes the file, but a damaged one does no harm.
func TestFileThatCannotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "turns")
	for text, fine := range map[string]bool{
		"": false, "[": false, `{"id":"a"}`: false, strings.Repeat(" ", maxTraces+1): false,
		"[]": true, `[{"id":"no token","device":"local"},{"id":"a","device":""}]`: true,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if open, err := readTraces(path); (err == nil) != fine || len(open) != 0 {
			t.Errorf("%.20q gives %+v, %v", text, open, err)
		}
	}
	if err := writeTraces(filepath.Join(path, "under a file"), []Orphan{{ID: "a"}}); err == nil {
		t.Error("written where there is no folder")
	}
}

func TestIdsAreForgottenInTheEnd(t *testing.T) {
	in(t, func(d *desk) {
		for i := range remembered + 10 {
			id := fmt.Sprint("t", i)
			d.hear(id, proto.TriggerVoice)
			d.tell(id, proto.UtteranceEnded{Reason: proto.UtteranceCancelled})
			synctest.Wait()
		}
		if len(d.known) != remembered || len(d.turns) != 0 {
			t.Errorf("%d ids known, %d turns", len(d.known), len(d.turns))
		}
	})
}
