// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/chattest"
	"example.org/desktop-assistant/pkg/testkit/daemontest"
	"example.org/desktop-assistant/proto"
)

// start runs the same App as main.
func (r *rig) start() {
	r.t.Helper()
	app, stop := daemontest.Start(r.t, r.env, New)
	r.app, r.stop = app.(*App), stop
}

// promise: question, tool call, announcement, tool, answer, in this order.
func TestAnswerWithATool(t *testing.T) {
	chat := chattest.New(t)
	chat.Script(chattest.CallTool("abc", "now", "{", "}"), chattest.Say("It", " is", " half", " past", " ten."))
	r := newRig(t, bustest.New(t), chat.URL)
	speech := r.ttsd(false)
	release := make(chan struct{})
	tools := r.toolrunner(release)
	r.start()
	ticket := r.ask("what is the time?")
	call := <-tools.began
	r.until("the announcement is spoken", speech.has("Let me see."))
	close(release)
	e := r.ended(ticket.Turn)
	if e.End != proto.EndSpoken || e.Heard != "Let me see. It is half past ten." {
		t.Errorf("end %+v", e)
	}
	story := r.story(ticket.Turn)
	for _, want := range []string{"turn.started turn.asked", "turn.announced", "tool.finished", "turn.sentence", "turn.ended"} {
		_, rest, ok := strings.Cut(story, want)
		if !ok {
			t.Fatalf("no %q in order in %s", want, r.story(ticket.Turn))
		}
		story = rest
	}
	if call.Asker != r.env.Bus.Asker() || call.Turn != ticket.Turn || call.Session != ticket.Session || call.Route != "local" {
		t.Errorf("call %+v", call)
	}
	if s := speech.said[0]; s.Owner != r.env.Bus.Asker() || s.Turn != ticket.Turn {
		t.Errorf("say %+v", s)
	}
	if result, ok := chat.Requests()[1].Result(); !ok || result != "10:30" {
		t.Errorf("result %q", result)
	}
	m := e.Marks
	if m.FirstToken == nil || m.FirstSentence == nil || m.FirstSample == nil || len(m.Tools) != 1 || m.Tools[0].End < m.Tools[0].Start || len(m.Model) != 2 || m.Model[1].Cached != 30 {
		t.Errorf("marks %+v", m)
	}
}

func TestNoChatServer(t *testing.T) {
	r := newRig(t, bustest.New(t), unreachable)
	speech := r.ttsd(false)
	r.toolrunner(closed())
	r.start()
	first := r.ask("What time is it?")
	if e := r.ended(first.Turn); e.End != proto.EndSpoken || !strings.HasSuffix(e.Heard, "It is 10:30.") {
		t.Errorf("end %+v", e)
	}
	second := r.ask("who was Ada?")
	e := r.ended(second.Turn)
	if e.End != proto.EndFailed || e.Error.Code != proto.CodeUnavailable || !strings.Contains(e.Error.Hint, "llm") {
		t.Errorf("end %+v, error %+v", e, e.Error)
	}
	if !speech.has("I can't reach a chat server, but you can ask me for example: what time is it.")() {
		t.Errorf("said %q", speech.lines())
	}
	status, err := bus.Request(t.Context(), r.user, proto.StatusOf{Daemon: "brain"})
	if err != nil {
		t.Fatal(err)
	}
	var d Detail
	if err := json.Unmarshal(status.Detail, &d); err != nil {
		t.Fatal(err)
	}
	if d.Reachable || d.Reason == "" || d.LLM != unreachable || d.Route != "local" || d.Intents != "fallback" || d.Tools != 1 || d.Sessions != 1 {
		t.Errorf("detail %+v", d)
	}
	if len(status.Problems) == 0 || !strings.Contains(status.Problems[0].What, "no chat server answers") || status.Problems[0].Hint == "" {
		t.Errorf("problems %+v", status.Problems)
	}
}

func TestSpokenQuestion(t *testing.T) {
	chat := chattest.New(t)
	chat.Script(chattest.Say("Ciao", " a", " te."))
	r := newRig(t, bustest.New(t), chat.URL)
	r.ttsd(false)
	r.start()
	r.publish("v1", proto.UtteranceStarted{Turn: "v1", Stream: "s1", Trigger: proto.TriggerKey})
	started, _ := bustest.Expect[proto.TurnStarted](r.seen, nil)
	if started.Origin != proto.OriginVoice || started.Stream != "s1" {
		t.Errorf("started %+v", started)
	}
	r.publish("v1", proto.UtteranceEnded{Reason: proto.UtteranceReleased, AgeMS: 40})
	r.publish("v1", proto.STTFinal{Text: "Ciao, come stai?", Language: "it"})
	if e := r.ended("v1"); e.End != proto.EndSpoken || e.Heard != "Ciao a te." || *e.Marks.STTFinal < 40 {
		t.Errorf("end %+v", e)
	}
}

func TestRejectedAfterAKey(t *testing.T) {
	r := newRig(t, bustest.New(t), unreachable)
	speech := r.ttsd(false)
	r.start()
	r.publish("v1", proto.UtteranceStarted{Turn: "v1", Stream: "s1", Trigger: proto.TriggerKey})
	r.publish("v1", proto.UtteranceEnded{Reason: proto.UtteranceReleased})
	r.publish("v1", proto.STTRejected{Reason: proto.RejectSilence})
	if e := r.ended("v1"); e.End != proto.EndFailed || e.Error.Text != proto.RejectSilence {
		t.Errorf("end %+v", e)
	}
	if got := speech.lines(); len(got) != 1 || got[0] != "Sorry, I did not catch that." {
		t.Errorf("said %q", got)
	}
}

// promise: stop ends the model's stream, the tool and the speech.
func TestInterrupt(t *testing.T) {
	chat := chattest.New(t)
	forever := make(chan struct{})
	defer close(forever)
	chat.Script(chattest.Exchange{Pieces: chattest.Join(chattest.Role(), chattest.Text("One.", " Two", " go"), chattest.Hold(forever))},
		chattest.CallTool("abc", "now", "{}"))
	r := newRig(t, bustest.New(t), chat.URL)
	speech := r.ttsd(true)
	tools := r.toolrunner(forever)
	r.start()
	ticket := r.ask("count")
	r.until("it speaks", speech.has("One."))
	stopped, err := bus.Request(t.Context(), r.user, proto.TurnInterrupt{})
	if err != nil || !slices.Equal(stopped.Turns, []string{ticket.Turn}) {
		t.Errorf("stopped %+v, %v", stopped, err)
	}
	if e := r.ended(ticket.Turn); e.End != proto.EndCancelled || e.Heard != "cut" {
		t.Errorf("end %+v", e)
	}
	<-chat.Requests()[0].Gone()
	if !slices.Contains(speech.stops, ticket.Turn) {
		t.Errorf("stops %q", speech.stops)
	}
	ticket = r.ask("time")
	call := <-tools.began
	if _, err := bus.Request(t.Context(), r.user, proto.TurnInterrupt{Turn: ticket.Turn}); err != nil {
		t.Fatal(err)
	}
	if got := <-tools.cancelled; got != call.Call {
		t.Errorf("cancelled %q, not %q", got, call.Call)
	}
	if e := r.ended(ticket.Turn); e.End != proto.EndCancelled {
		t.Errorf("end %+v", e)
	}
}

func TestTtsdGoesAndComesBack(t *testing.T) {
	chat := chattest.New(t)
	chat.Script(chattest.Say("One.", " Two.", " Three."))
	r := newRig(t, bustest.New(t), chat.URL)
	speech := r.ttsd(true)
	r.start()
	r.ready("ttsd")
	ticket := r.ask("count")
	r.until("all is queued", speech.has("Three."))
	speech.kill()
	again := r.ttsd(false)
	if e := r.ended(ticket.Turn); e.End != proto.EndSpoken || e.Heard != "One. Two. Three." {
		t.Errorf("end %+v", e)
	}
	if got := again.lines(); len(got) != 3 {
		t.Errorf("said again %q", got)
	}
}

func TestTtsdStaysAway(t *testing.T) {
	chat := chattest.New(t)
	chat.Script(chattest.Say("One.", " Two."))
	r := newRig(t, bustest.New(t), chat.URL)
	r.start()
	ticket := r.ask("count")
	e := r.ended(ticket.Turn)
	if e.End != proto.EndFailed || e.Error.Op != "speak through ttsd" || e.Error.Code != proto.CodeUnavailable || e.Heard != "" {
		t.Errorf("end %+v, error %+v", e, e.Error)
	}
	var shown []string
	for _, s := range r.seen.All() {
		if s, ok := s.Event.(proto.TurnSentence); ok {
			shown = append(shown, s.Text)
		}
	}
	if !slices.Equal(shown, []string{"One.", "Two.", "I can't speak: the speech engine is gone."}) {
		t.Errorf("shown %q", shown)
	}
}

func TestToolrunnerDies(t *testing.T) {
	chat := chattest.New(t)
	chat.Script(chattest.CallTool("abc", "now", "{}"), chattest.Say("I can't tell."))
	r := newRig(t, bustest.New(t), chat.URL)
	r.ttsd(false)
	forever := make(chan struct{})
	defer close(forever)
	tools := r.toolrunner(forever)
	r.start()
	r.ready("toolrunner")
	ticket := r.ask("time")
	<-tools.began
	tools.kill()
	if e := r.ended(ticket.Turn); e.End != proto.EndSpoken || !strings.Contains(e.Heard, "I can't tell.") || e.Marks.Total > 5000 {
		t.Errorf("end %+v", e)
	}
	if result, _ := chat.Requests()[1].Result(); result != "error: the tool runner is gone" {
		t.Errorf("result %q", result)
	}
}

func TestBusRestarts(t *testing.T) {
	chat := chattest.New(t)
	forever := make(chan struct{})
	defer close(forever)
	chat.Script(chattest.Exchange{Pieces: chattest.Join(chattest.Role(), chattest.Text("One.", " Two"), chattest.Hold(forever))}, chattest.Say("Back."))
	b := bustest.New(t)
	r := newRig(t, b, chat.URL)
	speech := r.ttsd(true)
	r.start()
	ticket := r.ask("count")
	r.until("it speaks", speech.has("One."))
	b.Down()
	b.Up()
	if e := r.ended(ticket.Turn); e.End != proto.EndFailed || e.Error.Code != proto.CodeDisconnected {
		t.Errorf("end %+v", e)
	}
	r.until("it says so", speech.has("Sorry, I lost the connection for a moment. Please ask again."))
	speech.mu.Lock()
	speech.hold = false
	speech.mu.Unlock()
	if e := r.ended(r.ask("and now?").Turn); e.End != proto.EndSpoken || e.Heard != "Back." {
		t.Errorf("end %+v", e)
	}
}

// A flood of events is not the end of a turn.
func TestFloodOfEvents(t *testing.T) {
	chat := chattest.New(t)
	release := make(chan struct{})
	chat.Script(chattest.Exchange{Pieces: chattest.Join(chattest.Role(), chattest.Text("One.", " Two"), chattest.Hold(release), chattest.Text("."), chattest.Finish("stop"))})
	r := newRig(t, bustest.New(t), chat.URL)
	speech := r.ttsd(false)
	r.start()
	id := r.ask("count").Turn
	r.until("it speaks", speech.has("One."))
	r.app.eventsLost()
	r.until("it is told", func() bool { return len(r.app.missed) == 0 })
	close(release)
	if e := r.ended(id); e.End != proto.EndSpoken || e.Heard != "One. Two." {
		t.Errorf("end %+v", e)
	}
}

func TestBrainRestarts(t *testing.T) {
	b := bustest.NewKeeping(t)
	r := newRig(t, b, unreachable)
	speech := r.ttsd(false)
	before := b.Connect("brain")
	for _, e := range []struct {
		turn string
		ev   proto.Event
	}{
		{"well", proto.TurnStarted{Origin: proto.OriginText}}, {"well", proto.TurnEnded{End: proto.EndSilent}},
		{"open", proto.TurnStarted{Origin: proto.OriginText}}, {"open", proto.TurnAsked{Text: "ciao", Language: "it"}},
		{"heard", proto.UtteranceStarted{Turn: "heard", Stream: "s"}},
	} {
		if err := before.Publish(e.ev, bus.Meta{Turn: e.turn, Session: "s1"}); err != nil {
			t.Fatal(err)
		}
	}
	r.until("the bus keeps them", func() bool {
		n := 0
		err := r.user.History(t.Context(), "local", func(_ context.Context, _ proto.Envelope, _ proto.Event) { n++ }, "turn", "utterance")
		return err == nil && n == 5
	})
	r.start()
	for _, id := range []string{"open", "heard"} {
		if e := r.ended(id); e.End != proto.EndFailed || e.Error == nil {
			t.Errorf("%s ended %+v", id, e)
		}
	}
	r.until("it says so", speech.has("Scusa, sono stato riavviato. Chiedi di nuovo."))
	// ttsd is asked to stop what it may still say of it, and answers sooner or later.
	if got := strings.TrimSuffix(r.story("heard"), " speech.stopped"); got != "utterance.started turn.started turn.ended" {
		t.Errorf("story %s", got)
	}
	if got := r.story("well"); strings.Count(got, "turn.ended") != 1 {
		t.Errorf("story %s", got)
	}
}

func TestStoppingEndsTurns(t *testing.T) {
	chat := chattest.New(t)
	forever := make(chan struct{})
	defer close(forever)
	chat.Script(chattest.Exchange{Pieces: chattest.Join(chattest.Role(), chattest.Text("One.", " Two"), chattest.Hold(forever))})
	r := newRig(t, bustest.New(t), chat.URL)
	speech := r.ttsd(true)
	r.start()
	ticket := r.ask("count")
	r.until("it speaks", speech.has("One."))
	r.stop()
	if e := r.ended(ticket.Turn); e.End != proto.EndFailed {
		t.Errorf("end %+v", e)
	}
	if !speech.has("Sorry, I was restarted. Please ask again.")() {
		t.Errorf("said %q", speech.lines())
	}
}

func TestSessions(t *testing.T) {
	chat := chattest.New(t)
	chat.Script(chattest.Say("A1."), chattest.Say("A2."), chattest.Say("B1."))
	r := newRig(t, bustest.New(t), chat.URL)
	r.ttsd(false)
	r.start()
	first := r.ask("q1")
	r.ended(first.Turn)
	second := r.ask("q2")
	r.ended(second.Turn)
	if n := len(chat.Requests()[1].Messages); n != 4 || second.Session != first.Session {
		t.Errorf("%d messages, sessions %q and %q", n, first.Session, second.Session)
	}
	fresh, err := bus.Request(t.Context(), r.user, proto.SessionNew{})
	if err != nil || !fresh.Current || fresh.ID == first.Session {
		t.Fatalf("new %+v, %v", fresh, err)
	}
	r.ended(r.ask("q3").Turn)
	if n := len(chat.Requests()[2].Messages); n != 2 {
		t.Errorf("%d messages in a new session", n)
	}
	list, err := bus.Request(t.Context(), r.user, proto.SessionList{})
	if err != nil || len(list.Sessions) != 2 || list.Sessions[0].ID != fresh.ID || list.Sessions[1].Title != "q1" || list.Sessions[1].Messages != 4 {
		t.Errorf("list %+v, %v", list, err)
	}
	back, err := bus.Request(t.Context(), r.user, proto.SessionResume{ID: first.Session})
	if err != nil || !back.Current {
		t.Errorf("resume %+v, %v", back, err)
	}
	if _, err := bus.Request(t.Context(), r.user, proto.SessionResume{ID: "nope"}); !errors.Is(err, &proto.Error{Code: proto.CodeNotFound}) {
		t.Errorf("resume: %v", err)
	}
	if _, err := bus.Request(t.Context(), r.user, proto.TurnAnswer{Call: "nope"}); !errors.Is(err, &proto.Error{Code: proto.CodeNotFound}) {
		t.Errorf("answer: %v", err)
	}
	if _, err := bus.Request(t.Context(), r.user, proto.TurnAsk{Text: " "}); !errors.Is(err, &proto.Error{Code: proto.CodeInvalid}) {
		t.Errorf("ask: %v", err)
	}
}

func TestBadAddress(t *testing.T) {
	r := newRig(t, bustest.New(t), "nowhere")
	if _, err := New(r.env); err == nil {
		t.Error("an address that can never work is taken")
	}
}

func TestLanguages(t *testing.T) {
	cfg := config.Default()
	cfg.Voice["de"] = config.Voice{Lang: "de"}
	for _, v := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		t.Setenv(v, "")
	}
	if got := languages(cfg); !slices.Equal(got, []string{"en", "de", "it"}) {
		t.Errorf("%q", got)
	}
	t.Setenv("LANG", "it_IT.UTF-8")
	if got := languages(cfg); !slices.Equal(got, []string{"it", "en", "de"}) {
		t.Errorf("%q", got)
	}
	cfg.Voice = nil
	if got := languages(cfg); !slices.Equal(got, []string{"en"}) {
		t.Errorf("%q", got)
	}
}

func TestAPIKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := config.Model{APIKeyEnv: "TEST_BRAIN_KEY", APIKeyFile: file}
	if got, err := apiKey(m); got != "from-file" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("TEST_BRAIN_KEY", "from-env")
	if got, err := apiKey(m); got != "from-env" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := apiKey(config.Model{APIKeyFile: file + "x"}); got != "" || err == nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := apiKey(config.Model{APIKeyEnv: "TEST_BRAIN_NO_KEY"}); got != "" || err == nil || !strings.Contains(err.Error(), "TEST_BRAIN_NO_KEY") {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := apiKey(config.Model{}); got != "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if key, err := readKey(file); key != "" || err == nil || !strings.Contains(err.Error(), "chmod 600") || strings.Contains(err.Error(), "from-file") {
		t.Errorf("a key that others can read: %q, %v", key, err)
	}
	if key, err := readKey(t.TempDir()); key != "" || err == nil {
		t.Errorf("a folder: %q, %v", key, err)
	}
}

func TestPicker(t *testing.T) {
	var p picker
	last := ""
	for range 50 {
		got := p.pick([]string{"a", "b", "c"})
		if got == last {
			t.Fatal("the same phrase twice in a row")
		}
		last = got
	}
	for range 2 {
		if p.pick([]string{"x"}) != "x" {
			t.Error("a single phrase may repeat")
		}
	}
}
