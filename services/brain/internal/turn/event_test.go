// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/model"
)

// spoken makes the world's turn one that begins with a sound.
func (w *world) spoken(trigger proto.Trigger) *Turn {
	w.spec.Origin, w.spec.Stream, w.spec.Trigger = proto.OriginVoice, "s1", trigger
	return w.start()
}

func TestSpokenQuestion(t *testing.T) {
	in(t, func(w *world) {
		w.model.scripts = []script{says("Yes.")}
		turn := w.spoken(proto.TriggerKey)
		time.Sleep(3 * time.Second)
		turn.Event(proto.UtteranceEnded{AgeMS: 100, Reason: proto.UtteranceReleased})
		time.Sleep(700 * time.Millisecond)
		turn.Ask("is it", "en")
		end := w.end()
		w.want("say0(Yes.) spoken")
		if m := end.Marks; *m.STTFinal != 800 || *m.FirstToken != 850 || *m.FirstSample != 850 || m.Total != 1350 {
			t.Errorf("marks %+v", m)
		}
	})
}

func TestQuestionsWithoutAnswer(t *testing.T) {
	released := proto.UtteranceEnded{Reason: proto.UtteranceReleased}
	for name, c := range map[string]struct {
		trigger proto.Trigger
		events  []proto.Event
		lost    string
		story   string
		code    proto.Code
	}{
		"rejected after a key":   {proto.TriggerKey, []proto.Event{released, proto.STTRejected{Reason: "silence"}}, "", "say0(Sorry, I did not catch that.) failed", proto.CodeInvalid},
		"rejected by itself":     {proto.TriggerVoice, []proto.Event{released, proto.STTRejected{Reason: "noise"}}, "", "silent", ""},
		"no words":               {proto.TriggerWake, []proto.Event{released, proto.STTFinal{Text: " "}}, "", "silent", ""},
		"failed":                 {proto.TriggerKey, []proto.Event{released, proto.STTFailed{Error: proto.Error{Code: proto.CodeUnavailable, Text: "no engine"}}}, "", "say0(Sorry, speech recognition is not working.) failed", proto.CodeUnavailable},
		"late":                   {proto.TriggerKey, []proto.Event{released, proto.STTFailed{Error: proto.Error{Code: proto.CodeTimeout, Text: "no transcript"}}}, "", "say0(Sorry, understanding you took too long.) failed", proto.CodeTimeout},
		"microphone vanishes":    {proto.TriggerKey, []proto.Event{proto.UtteranceEnded{Reason: proto.UtteranceLost}, proto.STTFailed{Error: proto.Error{Code: proto.CodeUnavailable, Text: "lost"}}}, "", "say0(Sorry, I lost the microphone.) failed", proto.CodeUnavailable},
		"cancelled":              {proto.TriggerKey, []proto.Event{proto.UtteranceEnded{Reason: proto.UtteranceCancelled}}, "", "cancelled", ""},
		"no transcript":          {proto.TriggerKey, []proto.Event{released}, "", "say0(Sorry, understanding you took too long.) failed", proto.CodeTimeout},
		"utterance never ends":   {proto.TriggerKey, nil, "", "say0(Sorry, I lost the microphone.) failed", proto.CodeTimeout},
		"microphone dies":        {proto.TriggerKey, nil, "micd", "say0(Sorry, I lost the microphone.) failed", proto.CodeUnavailable},
		"recogniser dies":        {proto.TriggerKey, []proto.Event{released}, "sttd", "say0(Sorry, speech recognition is not working.) failed", proto.CodeUnavailable},
		"microphone dies, after": {proto.TriggerVoice, []proto.Event{released, proto.STTRejected{Reason: "noise"}}, "micd", "silent", ""},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				turn := w.spoken(c.trigger)
				time.Sleep(time.Second)
				for _, ev := range c.events {
					turn.Event(ev)
				}
				turn.Lost(c.lost)
				end := w.end()
				w.want(c.story)
				if c.code != "" && (end.Error == nil || end.Error.Code != c.code) {
					t.Errorf("error %+v", end.Error)
				}
				if name == "no transcript" && (end.Marks.Total < 30_000 || end.Marks.Total > 32_000) {
					t.Errorf("deadline runs from the end of the utterance: %+v", end.Marks)
				}
				if len(w.book.History(w.spec.Session, 20)) > 0 {
					t.Error("a turn without a question is in the history")
				}
			})
		})
	}
}

func TestInterrupt(t *testing.T) {
	for _, end := range []proto.End{proto.EndCancelled, proto.EndSuperseded} {
		t.Run(string(end), func(t *testing.T) {
			in(t, func(w *world) { // while it speaks
				w.model.scripts = []script{hangs("One is said. Two is begun. Three is not. Fo")}
				turn := w.start()
				turn.Ask("count", "en")
				time.Sleep(750 * time.Millisecond)
				turn.Interrupt(end)
				turn.Interrupt(proto.EndCancelled) // the first counts
				e := w.end()
				if e.End != end || e.Heard != "One is said. half a line" || w.mouth.stops != 1 {
					t.Errorf("end %+v, %d stops", e, w.mouth.stops)
				}
				if h := w.book.History(w.spec.Session, 2); h[0].Answer != e.Heard {
					t.Errorf("history %+v", h)
				}
			})
			in(t, func(w *world) { // while a tool runs
				w.tools.specs, w.tools.took = []proto.ToolSpec{weather}, map[string]time.Duration{"weather": time.Hour}
				w.model.scripts = []script{calls("", "weather")}
				turn := w.start()
				turn.Ask("rain?", "en")
				time.Sleep(time.Second)
				turn.Interrupt(end)
				if e := w.end(); e.End != end || len(w.tools.cancelled) != 1 || w.tools.cancelled[0] != w.tools.calls[0].Call || w.mouth.stops != 0 {
					t.Errorf("end %+v, cancelled %v", e, w.tools.cancelled)
				}
			})
			in(t, func(w *world) { // before it is asked
				turn := w.spoken(proto.TriggerKey)
				turn.Interrupt(end)
				if e := w.end(); e.End != end {
					t.Errorf("end %+v", e)
				}
			})
		})
	}
}

func TestStopWithoutAWordFromTtsd(t *testing.T) {
	in(t, func(w *world) {
		w.model.scripts = []script{hangs("One is said. Two is begun. Th")}
		turn := w.start()
		turn.Ask("count", "en")
		time.Sleep(750 * time.Millisecond)
		w.mouth.reset()
		w.mouth.said = nil // it knows of nothing to stop
		turn.Interrupt(proto.EndCancelled)
		if e := w.end(); e.End != proto.EndCancelled || e.Heard != "One is said." {
			t.Errorf("end %+v", e)
		}
	})
}

// TestStoppedTwice: the command line silences ttsd and interrupts brain at the
// same time, so that ttsd may have nothing to stop when brain asks; what was
// heard comes all the same.
func TestStoppedTwice(t *testing.T) {
	in(t, func(w *world) {
		w.model.scripts = []script{hangs("One is said. Two is begun. Th")}
		turn := w.start()
		turn.Ask("count", "en")
		time.Sleep(750 * time.Millisecond)
		stopped := w.mouth.stopped(1, proto.StopAsked)
		w.mouth.reset()
		w.mouth.said = nil // it was told already
		turn.Interrupt(proto.EndCancelled)
		time.Sleep(20 * time.Millisecond)
		turn.Event(stopped)
		if e := w.end(); e.End != proto.EndCancelled || e.Heard != "One is said. half a line" {
			t.Errorf("end %+v", e)
		}
	})
}

func TestBargeIn(t *testing.T) {
	in(t, func(w *world) {
		w.model.scripts = []script{hangs("One is said. Two is begun. Th")}
		turn := w.start()
		turn.Ask("count", "en")
		turn.BargeIn() // nothing is heard yet
		time.Sleep(750 * time.Millisecond)
		turn.BargeIn()
		if e := w.end(); e.End != proto.EndSuperseded {
			t.Errorf("end %+v", e)
		}
	})
}

func TestSpeechEndsBeforeItsTime(t *testing.T) {
	stopped := func(reason string) proto.SpeechStopped {
		return proto.SpeechStopped{Turn: "t1", Index: 0, Heard: "Fir", Reason: reason}
	}
	for _, c := range []struct {
		ev    proto.SpeechStopped
		end   proto.End
		story string
	}{
		{stopped(proto.StopAsked), proto.EndCancelled, "say0(First is said.) cancelled"},
		{stopped(proto.StopSuperseded), proto.EndSuperseded, "say0(First is said.) say1(Second is not.) say2(Third.) superseded"},
		{stopped(proto.StopFailed), proto.EndFailed, "say0(First is said.) say1(Second is not.) say2(Third.) say3(I can't speak: the speech engine is gone.) failed"},
	} {
		t.Run(c.ev.Reason, func(t *testing.T) {
			in(t, func(w *world) {
				w.model.scripts = []script{says("First is said. Second is not. ", "", "", "", "", "Third.")}
				turn := w.start()
				turn.Ask("count", "en")
				time.Sleep(120 * time.Millisecond)
				w.mouth.reset()
				turn.Event(c.ev)
				e := w.end()
				w.want(c.story)
				if e.Heard != "Fir" {
					t.Errorf("heard %q", e.Heard)
				}
				if c.end == proto.EndFailed && e.Error.Op != "speak through ttsd" {
					t.Errorf("error %+v", e.Error)
				}
			})
		})
	}
}

func TestTtsdComesBack(t *testing.T) {
	in(t, func(w *world) {
		w.model.scripts = []script{says("One is said. Two is cut. Three. ")}
		turn := w.start()
		turn.Ask("count", "en")
		time.Sleep(800 * time.Millisecond) // within the second line
		away := true
		w.mouth.reset()
		w.mouth.fail = func(proto.SpeechSay) error {
			if away {
				return proto.Errorf(proto.CodeUnavailable, "speech.say", "nobody answers")
			}
			return nil
		}
		turn.Lost("ttsd")
		time.Sleep(1500 * time.Millisecond)
		w.mouth.mu.Lock()
		away = false
		w.mouth.mu.Unlock()
		turn.Lost("ttsd") // the watch sees the new one
		e := w.end()
		if e.End != proto.EndSpoken || e.Heard != "One is said. Two is cut. Three." {
			t.Errorf("end %+v", e)
		}
		var again []int
		for _, s := range w.mouth.said[3:] {
			again = append(again, s.Index)
		}
		if fmt.Sprint(again) != "[1 2]" && fmt.Sprint(again) != "[1 1 2]" {
			t.Errorf("said again %v", again)
		}
	})
}

// TestNoSound: where ttsd runs but has no voice, a typed question is answered in
// text and nothing fails; a spoken one fails, with the words shown.
func TestNoSound(t *testing.T) {
	for origin, want := range map[proto.Origin]string{
		proto.OriginText:  "say0(Four.) silent",
		proto.OriginVoice: "say0(Four.) say1(I can't speak: the speech engine is gone.) failed",
	} {
		t.Run(string(origin), func(t *testing.T) {
			in(t, func(w *world) {
				w.model.scripts = []script{says("Four.")}
				w.mouth.fail = func(proto.SpeechSay) error {
					return proto.Errorf(proto.CodeUnavailable, "speech.say", "no sound server answers")
				}
				w.spec.Origin = origin
				turn := w.start()
				turn.Ask("two and two", "en")
				e := w.end()
				w.want(want)
				if e.Error == nil || e.Error.Text != "no sound server answers" {
					t.Errorf("end %+v", e)
				}
			})
		})
	}
}

func TestTtsdStaysAway(t *testing.T) {
	for name, start := range map[string]time.Duration{"from the start": 0, "later": 700 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.model.scripts = []script{says("One is said. Two is cut. ", "Three.")}
				from := time.Now().Add(start)
				w.mouth.fail = func(proto.SpeechSay) error {
					if !time.Now().Before(from) {
						return proto.Errorf(proto.CodeUnavailable, "speech.say", "nobody answers")
					}
					return nil
				}
				turn := w.start()
				turn.Ask("count", "en")
				if start > 0 {
					time.Sleep(start)
					w.mouth.reset()
					turn.Lost("ttsd")
				}
				e := w.end()
				w.want("say0(One is said.) say1(Two is cut.) say2(Three.) say3(I can't speak: the speech engine is gone.) failed")
				if e.Error.Op != "speak through ttsd" || e.Marks.Total < 2000 || e.Marks.Total > 3000 {
					t.Errorf("end %+v", e)
				}
				if h := w.book.History(w.spec.Session, 2); h[0].Answer != "One is said. Two is cut. Three." {
					t.Errorf("what was shown is not in the history: %+v", h)
				}
			})
		})
	}
}

func TestSpeechThatIsNeverHeard(t *testing.T) {
	in(t, func(w *world) {
		w.mouth.silent = true
		w.model.scripts = []script{says("Hello there.")}
		if e := w.ask("hello"); e.End != proto.EndFailed || e.Error.Code != proto.CodeTimeout || e.Marks.Total > 60_000 {
			t.Errorf("end %+v", e)
		}
	})
}

// Where events were lost, a turn goes on and ends as it would have.
func TestEventsAreLost(t *testing.T) {
	in(t, func(w *world) {
		w.mouth.silent = true // it plays, and nothing is heard of that
		w.model.scripts = []script{says("Hello there. ", "All is well.")}
		w.start().Ask("hello", "en")
		time.Sleep(time.Second)
		w.turn.EventsLost()
		if e := w.end(); e.End != proto.EndSpoken || e.Heard != "Hello there. All is well." || e.Marks.Total > 60_000 {
			t.Errorf("end %+v", e)
		}
	})
	in(t, func(w *world) {
		w.model.scripts = []script{says("Hello there. ", "All is well.")}
		w.start().EventsLost()
		w.turn.Ask("hello", "en")
		if e := w.end(); e.End != proto.EndSpoken || e.Marks.Total > 2000 {
			t.Errorf("end %+v", e)
		}
	})
}

func TestToolrunnerDies(t *testing.T) {
	in(t, func(w *world) {
		w.tools.specs, w.tools.took = []proto.ToolSpec{weather}, map[string]time.Duration{"weather": time.Hour}
		w.model.scripts = []script{calls("", "weather"), says("I could not look.")}
		turn := w.start()
		turn.Ask("rain?", "en")
		time.Sleep(time.Second)
		turn.Lost("toolrunner")
		e := w.end()
		w.want("finished(weather error: the tool runner is gone) say0(I could not look.) spoken")
		if e.Marks.Total > 2500 {
			t.Errorf("waited: %+v", e.Marks)
		}
	})
}

func TestBusGoes(t *testing.T) {
	in(t, func(w *world) {
		w.model.scripts = []script{hangs("One is said. Tw")}
		turn := w.start()
		turn.Ask("count", "en")
		time.Sleep(100 * time.Millisecond)
		turn.BusLost()
		if e := w.end(); e.End != proto.EndFailed || e.Error.Code != proto.CodeDisconnected || len(w.notices) != 1 {
			t.Errorf("end %+v, notices %v", e, w.notices)
		}
	})
}

func TestBrainStops(t *testing.T) {
	in(t, func(w *world) {
		w.tools.specs, w.tools.took = []proto.ToolSpec{weather}, map[string]time.Duration{"weather": time.Hour}
		w.model.scripts = []script{calls("", "weather")}
		w.start().Ask("count", "en")
		time.Sleep(100 * time.Millisecond)
		w.cancel()
		if e := w.end(); e.End != proto.EndFailed || len(w.notices) != 1 || len(w.tools.cancelled) != 1 {
			t.Errorf("end %+v, notices %v, cancelled %v", e, w.notices, w.tools.cancelled)
		}
	})
}

// Whatever comes in whatever order: one start, one end, nothing left running.
func TestAnySequenceHasOneStartAndOneEnd(t *testing.T) {
	for seed := range uint64(400) {
		in(t, func(w *world) {
			rng := rand.New(rand.NewPCG(seed, 7))
			chaos(w, rng)
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// asking is the call that a turn asks about.
func asking(turn *Turn) string {
	if q := turn.Asking(); q != nil {
		return q.Call
	}
	return "none"
}

// chaos runs one turn in a random world with random events.
func chaos(w *world, rng *rand.Rand) {
	dice := func(n int) bool { return rng.IntN(n) == 0 }
	w.spec.Speak = !dice(4)
	w.env.Settings.Rounds = rng.IntN(4)
	w.env.Settings.Intents = []string{"fallback", "first", "off"}[rng.IntN(3)]
	w.tools.specs, w.tools.known, w.tools.limit = []proto.ToolSpec{now, search, weather, lamp}, dice(2), rng.IntN(3)
	w.tools.took = map[string]time.Duration{"search": time.Duration(rng.IntN(3000)) * time.Millisecond, "weather": time.Hour}
	w.mouth.silent = dice(8)
	if dice(3) {
		w.mouth.fail = func(proto.SpeechSay) error {
			if len(w.mouth.said)%3 == 1 && time.Now().UnixMilli()%3 == 0 {
				return proto.Errorf([]proto.Code{proto.CodeUnavailable, proto.CodeTimeout, proto.CodeFailed}[len(w.mouth.said)%3], "speech.say", "no")
			}
			return nil
		}
	}
	kinds := model.Kinds()
	for range rng.IntN(6) {
		w.model.scripts = append(w.model.scripts, []script{
			says("One. ", "Two. ", "Three and more."), says(""), hangs("Hm. Well. "), calls("Look. ", "search", "now", "nope"), calls("", "weather"), calls("", "lamp", "search", "lamp"),
			fails(kinds[rng.IntN(len(kinds))], []model.Retry{"", "again", "later", "shorter", "bare"}[rng.IntN(5)]),
		}[rng.IntN(7)])
	}
	var turn *Turn
	if dice(2) {
		turn = w.spoken([]proto.Trigger{proto.TriggerKey, proto.TriggerVoice}[rng.IntN(2)])
	} else {
		turn = w.start()
		turn.Ask("what time is it", "")
	}
	for range rng.IntN(12) {
		time.Sleep(time.Duration(rng.IntN(900)) * time.Millisecond)
		i := rng.IntN(4) - 1
		[]func(){
			func() { turn.Ask("what time is it", "en") },
			func() { turn.Event(proto.UtteranceEnded{Reason: proto.UtteranceReleased, AgeMS: rng.Int64N(500)}) },
			func() { turn.Event(proto.STTRejected{Reason: "noise"}) },
			func() { turn.Event(proto.STTFailed{Error: proto.Error{Code: proto.CodeFailed, Text: "x"}}) },
			func() { turn.Event(proto.SpeechStarted{Index: i}) },
			func() { turn.Event(proto.SpeechPaused{Index: i}) },
			func() { turn.Event(proto.SpeechFinished{Index: i}) },
			func() {
				turn.Event(proto.SpeechStopped{Index: i, Reason: []string{"stopped", "superseded", "failed"}[rng.IntN(3)]})
			},
			func() { turn.Lost([]string{"ttsd", "toolrunner", "micd", "sttd"}[rng.IntN(4)]) },
			func() { turn.BusLost() },
			func() { turn.BargeIn() },
			func() { turn.Interrupt([]proto.End{proto.EndCancelled, proto.EndSuperseded}[rng.IntN(2)]) },
			func() { turn.Listen(asking(turn), dice(2)) },
			func() { turn.NoReply(asking(turn)) },
			func() { turn.Reply(asking(turn), []string{"yes", "no", "", "what"}[rng.IntN(4)]) },
			func() { turn.Answer(asking(turn), dice(2)) },
		}[rng.IntN(16)]()
	}
	if dice(6) {
		w.cancel()
	} else if dice(2) {
		turn.Interrupt(proto.EndCancelled)
	}
	synctest.Wait()
	select {
	case <-turn.Over():
	case <-time.After(4 * time.Hour):
		w.t.Errorf("the turn does not end: %s", w.story())
	}
	if w.spec.Speak && strings.Contains(w.story(), "silent") && turn.Origin == proto.OriginText {
		w.t.Errorf("a spoken turn ended silent: %s", w.story())
	}
}
