// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/chattest"
	"example.org/desktop-assistant/pkg/testkit/soundtest"
	"example.org/desktop-assistant/proto"
)

// talk holds the key while a voice speaks into the microphone.
func (s *stack) talk(rig *soundtest.Rig, voice, text string) {
	s.t.Helper()
	s.must(s.t, "listen", "start")
	rig.Say(voice, text)
	s.must(s.t, "listen", "stop")
}

// spokenTime says whether a text tells the time of now, or of the minute that
// just went.
func spokenTime(text string) bool {
	for _, at := range []time.Time{time.Now(), time.Now().Add(-time.Minute)} {
		if text == "It is "+at.UTC().Format("Monday 02 January 2006, 15:04")+"." {
			return true
		}
	}
	return false
}

// TestAskAloud: a question spoken into the microphone is answered aloud with
// the time, by voices that the assistant does not speak with.
func TestAskAloud(t *testing.T) {
	t.Parallel()
	rig := soundtest.Start(t)
	s := start(t, newHome(t, "", rig.Env()...))
	s.well("micd")
	s.well("sttd")
	s.well("ttsd")
	for _, voice := range []string{soundtest.Slt, soundtest.Kal16, soundtest.Awb, soundtest.Rms} {
		t.Run(voice, func(t *testing.T) {
			rec := rig.Record()
			s.talk(rig, voice, "what time is it")
			ended, seen := s.turnEnded("")
			heard := toTheEnd(rec)
			if ended.End != proto.EndSpoken || !spokenTime(ended.Heard) {
				t.Fatalf("the turn ended %+v: %v", ended, s.events(seen.Turn))
			}
			if !inOrder(s.events(seen.Turn), "utterance.started", "turn.started", "utterance.ended", "stt.final",
				"turn.asked", "tool.called", "tool.finished", "turn.sentence", "speech.started", "speech.finished", "turn.ended") {
				t.Errorf("events came as %v", s.events(seen.Turn))
			}
			if l := likeness(t, heard, "en-us", ended.Heard); l < 0.9 {
				t.Errorf("what was played is like %q by %.2f only", ended.Heard, l)
			} else {
				t.Logf("likeness %.2f, first sample %d ms after the end of speech, transcript after %d ms", l, *ended.Marks.FirstSample, *ended.Marks.STTFinal)
			}
		})
	}
	s.closedSet()
}

// TestNotACommand: what is no question of ours is not answered as one, and
// silence is not answered at all; both are told to whoever pressed the key.
func TestNotACommand(t *testing.T) {
	t.Parallel()
	rig := soundtest.Start(t)
	s := start(t, newHome(t, "", rig.Env()...))
	s.well("micd")
	s.well("sttd")
	s.talk(rig, soundtest.Slt, "the quick brown fox jumps over the lazy dog")
	rejected, seen := bustest.Expect[proto.STTRejected](s.watch, nil)
	if rejected.Reason != proto.RejectOutOfGrammar {
		t.Errorf("rejected as %q", rejected.Reason)
	}
	ended, _ := s.turnEnded(seen.Turn)
	if ended.End == proto.EndSpoken {
		t.Errorf("the turn ended %+v", ended)
	}
	s.must(t, "listen", "start")
	rig.Play(make([]int16, soundtest.Rate))
	s.must(t, "listen", "stop")
	rejected, seen = bustest.Expect[proto.STTRejected](s.watch, nil)
	if rejected.Reason != proto.RejectSilence {
		t.Errorf("silence was rejected as %q", rejected.Reason)
	}
	s.turnEnded(seen.Turn)
	s.closedSet()
}

// TestAskTyped: a typed question is printed and spoken.
func TestAskTyped(t *testing.T) {
	t.Parallel()
	rig := soundtest.Start(t)
	h := newHome(t, "", rig.Env()...)
	s := start(t, h)
	s.well("ttsd")
	rec := rig.Record()
	out := strings.TrimSpace(s.must(t, "ask", "What time is it?"))
	if !spokenTime(out) {
		t.Errorf("printed %q", out)
	}
	if l := likeness(t, toTheEnd(rec), "en-us", out); l < 0.9 {
		t.Errorf("what was played is like %q by %.2f only", out, l)
	}
	if out := strings.TrimSpace(s.must(t, "ask", "--no-speak", "che ore sono?")); !regexp.MustCompile(`^È .*\d\d:\d\d\.$`).MatchString(out) {
		t.Errorf("in Italian it printed %q", out)
	}
	ended, _ := bustest.Expect(s.watch, func(_ bustest.Seen, e proto.TurnEnded) bool { return strings.HasPrefix(e.Heard, "È") })
	if ended.End != proto.EndSilent {
		t.Errorf("a turn that may not be spoken ended %q", ended.End)
	}
	if _, err := s.stdin.Write([]byte("what day is it\n")); err != nil { // at the prompt of run
		t.Fatal(err)
	}
	s.turnEnded("")
	if !s.printed("assistant:", "It is "+time.Now().UTC().Format("Monday")) {
		t.Error("a question typed at run was not answered there")
	}
	s.closedSet()
}

// TestAskAlone: where nothing runs, ask starts what it needs and leaves nothing.
func TestAskAlone(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	if out := strings.TrimSpace(h.must(t, "ask", "--no-speak", "what time is it")); !spokenTime(out) {
		t.Errorf("printed %q", out)
	}
	if _, _, code := h.cli(t, "status"); code != 69 {
		t.Errorf("afterwards status exits with %d", code)
	}
}

// TestChat: a model asks for a tool in pieces, the tool is announced while it
// runs, and the answer comes after it, each said in order.
func TestChat(t *testing.T) {
	t.Parallel()
	rig := soundtest.Start(t)
	chat := chattest.New(t)
	h := newHome(t, "llm = \""+chat.URL+"\"\n[tts]\nannounce_after_ms = 50\n", rig.Env()...)
	h.write(t, "config/desktop-assistant/tools/weather.toml", `
description = "Tells the weather."
command = ["slow.sh", "{place}"]
announce.en = ["Let me look outside."]
[params.place]
type = "string"
description = "City"
`)
	h.write(t, "config/desktop-assistant/tools/slow.sh", "#!/bin/sh\nwhile [ ! -e "+h.dir+"/go ]; do sleep 0.05; done\necho \"$1: rain\"\n")
	s := start(t, h)
	s.well("ttsd")
	s.well("brain")
	chat.Script(
		chattest.CallTool("c1", "weather", `{"pl`, `ace":"R`, `ome"}`),
		chattest.Say("It will rain ", "in Rome. ", "Take an ", "umbrella."))
	rec := rig.Record()
	ticket, err := bus.Request(t.Context(), s.conn, proto.TurnAsk{Text: "do I need an umbrella in Rome?", Speak: true})
	if err != nil {
		t.Fatal(err)
	}
	called, _ := bustest.Expect[proto.ToolCalled](s.watch, nil)
	if called.Name != "weather" || string(called.Arguments) != `{"place":"Rome"}` {
		t.Errorf("called %s %s", called.Name, called.Arguments)
	}
	bustest.Expect[proto.SpeechFinished](s.watch, nil) // the announcement, while the tool still runs
	h.write(t, "go", "")
	ended, _ := s.turnEnded(ticket.Turn)
	heard := toTheEnd(rec)
	if ended.End != proto.EndSpoken || ended.Heard != "Let me look outside. It will rain in Rome. Take an umbrella." {
		t.Errorf("the turn ended %+v", ended)
	}
	if !inOrder(s.events(ticket.Turn), "turn.started", "turn.asked", "tool.called", "turn.announced", "speech.started", "speech.finished",
		"tool.finished", "turn.sentence", "speech.started", "speech.finished", "turn.ended") {
		t.Errorf("events came as %v", s.events(ticket.Turn))
	}
	var last time.Duration
	for _, sentence := range []string{"Let me look outside.", "It will rain in Rome.", "Take an umbrella."} {
		like, at := find(t, heard, "en-us", sentence)
		if like < 0.9 {
			t.Errorf("what was played holds %q by %.2f only", sentence, like)
		}
		if at < last {
			t.Errorf("%q was said at %v, before what belongs before it", sentence, at)
		}
		last = at
	}
	first, second := chat.Requests()[0], chat.Requests()[1]
	if len(first.Tools) != 1 || first.Tools[0] != "weather" {
		t.Errorf("the model was offered %v", first.Tools)
	}
	if result, ok := second.Result(); !ok || result != "Rome: rain" {
		t.Errorf("the model got the result %q", result)
	}
	s.closedSet()
}
