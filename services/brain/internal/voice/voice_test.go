// SPDX-License-Identifier: Apache-2.0

package voice

import (
	"testing"
	"time"

	"example.org/desktop-assistant/proto"
)

var (
	start = time.Unix(1000, 0)
	away  = proto.Errorf(proto.CodeUnavailable, "speech.say", "nobody answers")
	wrong = proto.Errorf(proto.CodeInvalid, "speech.say", "no")
)

func three(speak bool) *Voice {
	v := New(speak)
	for _, text := range []string{"One.", "Two.", "Three."} {
		v.Add(Line{Text: text, Spoken: text, Answer: true})
	}
	return &v
}

// next wants the index of the next request, -1 for the end, -2 for none.
func next(t *testing.T, v *Voice, want int) Request {
	t.Helper()
	q, ok := v.Next(start)
	if got := q.Index; !ok && want != -2 || ok && got != want {
		t.Fatalf("next is %d, %v, want %d", got, ok, want)
	}
	return q
}

func heard(v *Voice, index int) { v.Event(proto.SpeechFinished{Index: index}) }

func TestLinesAreAskedForInOrder(t *testing.T) {
	v := three(true)
	for i := range 3 {
		q := next(t, v, i)
		next(t, v, -2) // until it is acknowledged
		v.Acknowledged(q)
	}
	next(t, v, -2)
	v.Close()
	q := next(t, v, -1)
	for i := range 3 {
		heard(v, i)
	}
	if v.State() != Open || q.Count != 3 {
		t.Errorf("state %v before the end is acknowledged", v.State())
	}
	v.Acknowledged(q)
	if v.State() != Said || v.Audible() || v.Heard() != "One. Two. Three." {
		t.Errorf("state %v, heard %q", v.State(), v.Heard())
	}
}

func TestMuteAsksForNothing(t *testing.T) {
	v := three(false)
	next(t, v, -2)
	v.Close()
	if v.Audible() || v.Heard() != "One. Two. Three." || v.Answer() != v.Heard() {
		t.Errorf("heard %q", v.Heard())
	}
}

func TestBeginsAgainWithTheUnheard(t *testing.T) {
	v := three(true)
	for i := range 3 {
		v.Acknowledged(next(t, v, i))
	}
	heard(v, 0)
	if !v.Replaced() || !v.Failed(away, start) {
		t.Fatal("a replaced ttsd is no failure that passes")
	}
	next(t, v, -2) // the pause
	v.Retry()
	if !v.Failed(away, start.Add(Patience-1)) {
		t.Error("given up too early")
	}
	v.Retry()
	v.Acknowledged(next(t, v, 1))
	v.Acknowledged(next(t, v, 2))
	next(t, v, -2)
}

func TestReplacedWhileARequestIsUnderWay(t *testing.T) {
	v := three(true)
	v.Acknowledged(next(t, v, 0))
	q := next(t, v, 1)
	if v.Replaced() {
		t.Error("its answer decides")
	}
	v.Acknowledged(q)
	q = next(t, v, 0)
	if !v.Passed(q, wrong) { // the new one has line 1 already
		t.Error("a line that came too late ends the speech")
	}
	v.Acknowledged(next(t, v, 1))
}

func TestGivenUp(t *testing.T) {
	for name, f := range map[string]func(v *Voice, q Request){
		"refused":  func(v *Voice, _ Request) { v.Failed(wrong, start) },
		"too late": func(v *Voice, _ Request) { v.Failed(away, start); v.Retry(); v.Failed(away, start.Add(Patience)) },
		"failed": func(v *Voice, q Request) {
			v.Acknowledged(q)
			v.Event(proto.SpeechStopped{Index: 0, Reason: proto.StopFailed})
		},
	} {
		v := three(true)
		f(v, next(t, v, 0))
		next(t, v, -2)
		v.Close()
		if v.State() != Gone || v.Lost() == nil || v.Lost().Op != "speak through ttsd" || v.Heard() != "" || v.Answer() != "One. Two. Three." {
			t.Errorf("%s: state %v, lost %v, answer %q", name, v.State(), v.Lost(), v.Answer())
		}
	}
}

func TestStoppedByARestart(t *testing.T) {
	v := three(true)
	v.Acknowledged(next(t, v, 0))
	q := next(t, v, 1)
	if v.Event(proto.SpeechStopped{Index: 0, Reason: proto.StopFailed, Error: away}) != nil {
		t.Error("the answer to the request decides")
	}
	v.Acknowledged(q)
	q = next(t, v, 0)
	v.Acknowledged(q)
	if v.Event(proto.SpeechStopped{Index: 0, Reason: proto.StopFailed, Error: away}) == nil {
		t.Error("a ttsd that stops is no failure")
	}
}

func TestStopped(t *testing.T) {
	for reason, want := range map[string]State{proto.StopAsked: Stopped, proto.StopSuperseded: Superseded} {
		v := three(true)
		v.Acknowledged(next(t, v, 0))
		heard(v, 0)
		v.Event(proto.SpeechStopped{Index: 1, Heard: "Tw", Reason: reason})
		next(t, v, -2)
		v.Close()
		if v.State() != want || v.Heard() != "One. Tw" {
			t.Errorf("%s: state %v, heard %q", reason, v.State(), v.Heard())
		}
	}
}

func TestEventsOfUnknownLines(t *testing.T) {
	v := three(true)
	for _, i := range []int{-1, 3, 99} {
		heard(v, i)
		v.Event(proto.SpeechStarted{Index: i})
		if !v.Sample(proto.SpeechStarted{Index: i}).IsZero() {
			t.Errorf("a sample of line %d", i)
		}
	}
	if v.Heard() != "" || !v.Sample(proto.SpeechStarted{Index: 0}).IsZero() {
		t.Error("something was heard")
	}
	next(t, v, 0)
	if got := v.Sample(proto.SpeechStarted{Index: 0, DelayMS: 40}); got != start.Add(40*time.Millisecond) {
		t.Errorf("sample at %v", got)
	}
}

func TestQuiet(t *testing.T) {
	v := three(true)
	if got := v.Quiet(); got != quietBase+14*quietPerRune {
		t.Errorf("quiet %v", got)
	}
	v.Event(proto.SpeechPaused{})
	if v.Quiet() != pausedLimit {
		t.Error("a pause is not waited for")
	}
	v.Event(proto.SpeechResumed{})
	heard(v, 0)
	if got := v.Quiet(); got != quietBase+10*quietPerRune {
		t.Errorf("quiet %v", got)
	}
}

func TestRecord(t *testing.T) {
	if _, ok := (Line{Announcement: true}).Record(1).(proto.TurnAnnounced); !ok {
		t.Error("an announcement is recorded as a sentence")
	}
	if s, ok := (Line{Text: "a", Spoken: "b", Language: "en"}).Record(2).(proto.TurnSentence); !ok || s.Index != 2 || s.Spoken != "b" {
		t.Error("a sentence is not recorded")
	}
}
