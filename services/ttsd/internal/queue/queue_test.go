// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/proto"
)

// A scene is a queue with a clock and a player that does what it is told.
type scene struct {
	t    *testing.T
	q    *Queue
	now  time.Time
	keys []int64          // clips at the player
	text map[int64]string // what each clip says
	log  []string         // effects, as "say t1.0", "silence", "stopped t1 ..."
	held bool
}

func play(t *testing.T) *scene {
	t.Helper()
	return &scene{t: t, q: New(), now: time.Unix(1000, 0), text: map[int64]string{}}
}

// run notes the effects and answers as the player would: silence with the given
// extent.
func (s *scene) run(at extent) {
	for list := s.q.Effects(); len(list) > 0; list = s.q.Effects() {
		for _, e := range list {
			switch e := e.(type) {
			case Publish:
				s.log = append(s.log, show(e))
			case Make:
				s.keys = append(s.keys, e.Key)
				s.text[e.Key] = fmt.Sprintf("%s.%d", e.Say.Turn, e.Say.Index)
				s.log = append(s.log, "make "+s.text[e.Key])
			case Silence:
				s.keys, s.held = nil, false
				s.log = append(s.log, "silence")
				s.q.Cut(at)
			case Hold:
				s.held = true
				s.log = append(s.log, "hold")
				s.q.Held(at)
			case Release:
				s.held = false
				s.log = append(s.log, "release")
				s.q.Released(at)
			}
		}
	}
}

func show(p Publish) string {
	switch e := p.Event.(type) {
	case proto.SpeechStarted:
		return fmt.Sprintf("started %s.%d", e.Turn, e.Index)
	case proto.SpeechFinished:
		return fmt.Sprintf("finished %s.%d", e.Turn, e.Index)
	case proto.SpeechStopped:
		text := fmt.Sprintf("stopped %s.%d %s %q", e.Turn, e.Index, e.Reason, e.Heard)
		if e.Error != nil {
			text += " " + string(e.Error.Code)
		}
		return text
	case proto.SpeechPaused:
		return fmt.Sprintf("paused %s.%d", e.Turn, e.Index)
	case proto.SpeechResumed:
		return fmt.Sprintf("resumed %s.%d", e.Turn, e.Index)
	}
	return "?"
}

// say is an accepted sentence; a turn ending in "+" queues behind.
func (s *scene) say(turn string, index int) {
	s.t.Helper()
	id, behind := strings.CutSuffix(turn, "+")
	cmd := proto.SpeechSay{Turn: id, Index: index, Text: "one two three four", Spoken: "x", Behind: behind, Owner: "brain/" + id}
	known, err := s.q.Check(cmd)
	if known || err != nil {
		s.t.Fatalf("say %s.%d: known %v, error %v", turn, index, known, err)
	}
	s.q.Say(s.now, cmd)
	s.run(extent{})
}

func (s *scene) refused(turn string, index int, code proto.Code) {
	s.t.Helper()
	_, err := s.q.Check(proto.SpeechSay{Turn: turn, Index: index, Spoken: "x"})
	if !errors.Is(err, &proto.Error{Code: code}) {
		s.t.Errorf("say %s.%d gives %v, want %s", turn, index, err, code)
	}
}

func (s *scene) known(turn string, index int) {
	s.t.Helper()
	if known, err := s.q.Check(proto.SpeechSay{Turn: turn, Index: index, Spoken: "x"}); !known || err != nil {
		s.t.Errorf("say %s.%d again gives %v, %v, want known", turn, index, known, err)
	}
}

func (s *scene) end(turn string, count int) {
	s.t.Helper()
	if err := s.q.End(s.now, proto.SpeechEnd{Turn: turn, Count: count}); err != nil {
		s.t.Fatal(err)
	}
	s.run(extent{})
}

// hear plays the first clip to its end; begin only begins it.
func (s *scene) begin() int64 {
	s.t.Helper()
	if len(s.keys) == 0 {
		s.t.Fatal("nothing is being played")
	}
	s.q.Started(s.keys[0], s.now)
	s.run(extent{})
	return s.keys[0]
}

func (s *scene) hear() {
	s.t.Helper()
	key := s.begin()
	s.keys = s.keys[1:]
	s.q.Finished(s.now, key, time.Second)
	s.run(extent{})
}

// part is a clip of which a share was heard.
func part(key int64, played, total time.Duration) extent {
	return extent{Key: key, Played: played, Total: total, Whole: true}
}

func (s *scene) want(log ...string) {
	s.t.Helper()
	if !slices.Equal(s.log, log) {
		s.t.Errorf("happened:\n\t%s\nwant:\n\t%s", strings.Join(s.log, "\n\t"), strings.Join(log, "\n\t"))
	}
	s.log = nil
}

func TestSentencesInOrderAndAhead(t *testing.T) {
	s := play(t)
	for i := range 5 {
		s.say("a", i)
	}
	s.want("make a.0", "make a.1", "make a.2") // no more than lookahead before they are heard
	s.hear()
	s.want("started a.0", "finished a.0", "make a.3")
	s.known("a", 0)
	s.known("a", 4)
	for range 4 {
		s.hear()
	}
	s.refused("a", 6, proto.CodeInvalid)
	s.say("a", 5)
	s.end("a", 6)
	s.log = nil
	s.hear()
	s.want("started a.5", "finished a.5")
	if s.q.Busy() {
		t.Error("busy after the last sentence")
	}
	s.known("a", 5)
	s.refused("a", 6, proto.CodeCancelled)
	s.end("a", 6)

	s.say("b", 4) // ttsd was restarted
	s.refused("b", 3, proto.CodeInvalid)
	s.say("b", 5)
}

func TestEndBeforeTheLastSentences(t *testing.T) {
	s := play(t)
	s.say("a", 0)
	s.end("a", 2)
	s.hear()
	s.say("a", 1)
	s.refused("a", 2, proto.CodeInvalid)
	s.hear()
	if s.q.Busy() {
		t.Error("busy after the last sentence")
	}
	s.end("nothing", 0)
	s.refused("nothing", 0, proto.CodeCancelled)

	s.say("b", 0)
	s.end("b", 2)
	s.hear()
	s.q.Tick(s.now.Add(missingLimit - 1))
	if !s.q.Busy() {
		t.Error("a missing sentence was not waited for")
	}
	s.q.Tick(s.now.Add(missingLimit))
	if s.q.Busy() {
		t.Error("a missing sentence is waited for for ever")
	}
}

func TestStopTellsWhatWasHeard(t *testing.T) {
	s := play(t)
	s.say("a", 0)
	s.say("a", 1)
	s.hear()
	key := s.begin()
	s.log = nil
	if got := s.q.Stop(s.now, "a"); !slices.Equal(got, []string{"a"}) {
		t.Errorf("stopped %v", got)
	}
	s.run(part(key, time.Second, 2*time.Second))
	s.want("silence", `stopped a.1 stopped "one two"`)
	s.refused("a", 2, proto.CodeCancelled)
	s.refused("a", 0, proto.CodeCancelled)
	if err := s.q.End(s.now, proto.SpeechEnd{Turn: "a", Count: 2}); !errors.Is(err, &proto.Error{Code: proto.CodeCancelled}) {
		t.Errorf("end of a stopped turn gives %v", err)
	}
	if got := s.q.Stop(s.now, "a"); len(got) != 0 || got == nil {
		t.Errorf("stopped %v again", got)
	}
}

func TestStopBetweenSentencesAndBeforeTheFirst(t *testing.T) {
	s := play(t)
	s.say("a", 0)
	s.q.Stop(s.now, "")
	s.run(extent{})
	s.say("b", 0)
	s.hear()
	s.q.Stop(s.now, "")
	s.run(extent{})
	s.say("c", 0)
	s.say("c", 1)
	s.hear()
	s.q.Stop(s.now, "")
	s.run(extent{Key: s.keys[0]}) // synthesised, not begun
	s.want("make a.0", "silence", `stopped a.-1 stopped ""`,
		"make b.0", "started b.0", "finished b.0", "silence", `stopped b.1 stopped ""`,
		"make c.0", "make c.1", "started c.0", "finished c.0", "silence", `stopped c.1 stopped ""`)
	s.q.Stop(s.now, "later")
	s.refused("later", 0, proto.CodeCancelled)
}

func TestNewTurnSupersedes(t *testing.T) {
	s := play(t)
	s.say("a", 0)
	key := s.begin()
	s.say("notice+", 0)
	s.want("make a.0", "started a.0")
	cmd := proto.SpeechSay{Turn: "b", Text: "x", Spoken: "x"}
	s.q.Say(s.now, cmd)
	s.run(part(key, 2*time.Second, 2*time.Second))
	s.want("silence", "make b.0", `stopped a.0 superseded "one two three four"`)
	s.end("b", 1)
	s.hear()
	s.want("started b.0", "finished b.0", "make notice.0")
	s.end("notice", 1)
	s.hear()
	s.refused("a", 1, proto.CodeCancelled)
	if s.q.Busy() {
		t.Error("still busy")
	}
}

// A turn that waits behind is stopped alone, and without a word to the player.
func TestStopOfATurnThatWaits(t *testing.T) {
	s := play(t)
	s.say("a", 0)
	s.say("b+", 0)
	s.say("c+", 0)
	s.q.Stop(s.now, "b")
	s.run(extent{})
	s.want("make a.0", `stopped b.-1 stopped ""`)
	if got := s.q.Stop(s.now, ""); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("stopped %v, want a and c", got)
	}
	s.run(extent{})
	s.want(`stopped c.-1 stopped ""`, "silence", `stopped a.-1 stopped ""`)
}

func TestPauseAndResume(t *testing.T) {
	s := play(t)
	s.q.Pause(s.now)
	s.q.Resume()
	s.run(extent{})
	s.want()
	s.say("a", 0)
	key := s.begin()
	s.q.Pause(s.now)
	s.q.Pause(s.now)
	s.run(part(key, time.Second, 2*time.Second))
	s.say("a", 1)
	s.q.Resume()
	s.q.Resume()
	s.run(part(key, time.Second, 2*time.Second))
	s.want("make a.0", "started a.0", "hold", "paused a.0", "make a.1", "release", "resumed a.0")
	s.q.Pause(s.now)
	s.run(extent{})
	s.q.Tick(s.now.Add(HoldLimit - 1))
	s.run(extent{})
	s.want("hold", "paused a.-1")
	s.q.Tick(s.now.Add(HoldLimit))
	s.run(part(key, time.Second, 2*time.Second))
	s.want("silence", `stopped a.0 stopped "one two"`)
}

// A turn that is held and ends, or is superseded, leaves nothing held.
func TestHoldEndsWithItsTurn(t *testing.T) {
	s := play(t)
	s.say("a", 0)
	s.hear()
	s.q.Pause(s.now)
	s.run(extent{})
	s.end("a", 1)
	if s.held || s.q.State().Paused {
		t.Error("held after the end of the turn")
	}
	s.say("b", 0)
	s.q.Pause(s.now)
	s.run(extent{})
	s.say("c", 0)
	if s.held || s.q.State().Paused {
		t.Error("held after a new turn began")
	}
	s.hear()
	s.want("make a.0", "started a.0", "finished a.0", "hold", "paused a.1", "release",
		"make b.0", "hold", "paused b.-1", "silence", "make c.0", `stopped b.-1 superseded ""`, "started c.0", "finished c.0")
}

func TestFailureEndsTheTurn(t *testing.T) {
	s := play(t)
	s.say("a", 0)
	s.say("a", 1)
	s.say("b+", 0)
	key := s.begin()
	s.q.Failed(s.now, part(key, time.Second, 2*time.Second), proto.Errorf(proto.CodeFailed, "speak", "it broke"))
	s.run(extent{})
	s.want("make a.0", "make a.1", "started a.0", "silence", "make b.0", `stopped a.0 failed "one two" failed`)
	s.q.Failed(s.now, part(key, 0, 0), proto.Errorf(proto.CodeFailed, "speak", "late"))
	s.run(extent{})
	s.want()
}

func TestOwnerGone(t *testing.T) {
	s := play(t)
	s.say("a", 0)
	s.say("b+", 0)
	if got := s.q.Owners(); !slices.Equal(got, []string{"brain/a", "brain/b"}) {
		t.Errorf("owners %v", got)
	}
	s.q.Fail(s.now, proto.Errorf(proto.CodeUnavailable, "speak", "gone"), func(o string) bool { return o == "brain/a" })
	s.run(extent{})
	s.want("make a.0", "silence", "make b.0", `stopped a.-1 failed "" unavailable`)
}

func TestLostBusLetsTheSentenceFinish(t *testing.T) {
	s := play(t)
	s.say("a", 0)
	s.say("a", 1)
	s.say("b+", 0)
	s.begin()
	lost := proto.Errorf(proto.CodeDisconnected, "speak", "the bus was lost")
	s.q.Doom(s.now, lost)
	s.run(extent{})
	s.refused("a", 2, proto.CodeCancelled)
	s.want("make a.0", "make a.1", "started a.0", `stopped b.-1 failed "" disconnected`)
	s.q.Finished(s.now, s.keys[0], time.Second)
	s.run(extent{})
	s.want("finished a.0", "silence", `stopped a.1 failed "" disconnected`)
	s.say("c", 0)
	s.q.Doom(s.now, lost)
	s.run(extent{})
	s.want("make c.0", "silence", `stopped c.-1 failed "" disconnected`)
	s.say("d", 0)
	s.end("d", 1)
	s.begin()
	s.q.Doom(s.now, lost)
	s.q.Finished(s.now, s.keys[0], time.Second)
	s.run(extent{})
	s.want("make d.0", "started d.0", "finished d.0")
}

func TestSilentTurnIsGivenUp(t *testing.T) {
	s := play(t)
	s.say("a", 0)
	s.hear()
	s.say("b+", 0)
	s.q.Tick(s.now.Add(silentLimit))
	s.run(extent{})
	s.want("make a.0", "started a.0", "finished a.0", "silence", "make b.0", `stopped a.1 failed "" timeout`)
}

func TestRefusals(t *testing.T) {
	s := play(t)
	s.refused("", 0, proto.CodeInvalid)
	s.refused("a", -1, proto.CodeInvalid)
	for _, cmd := range []proto.SpeechSay{{Turn: "a", Spoken: strings.Repeat("x", maxText+1)}, {Turn: "a", Text: strings.Repeat("x", maxText+1)}} {
		if _, err := s.q.Check(cmd); !errors.Is(err, &proto.Error{Code: proto.CodeInvalid}) {
			t.Errorf("a text over the limit gives %v", err)
		}
	}
	for _, end := range []proto.SpeechEnd{{}, {Turn: "a", Count: -1}} {
		if err := s.q.End(s.now, end); !errors.Is(err, &proto.Error{Code: proto.CodeInvalid}) {
			t.Errorf("end %+v gives %v", end, err)
		}
	}
	for i := range maxWaiting {
		s.say("a", i)
	}
	s.refused("a", maxWaiting, proto.CodeBusy)
	for i := range Remembered + 1 {
		s.q.Stop(s.now, fmt.Sprint("old", i))
	}
	s.refused("old1", 0, proto.CodeCancelled)
	if _, err := s.q.Check(proto.SpeechSay{Turn: "old0"}); err != nil {
		t.Errorf("more than %d turns are remembered: %v", Remembered, err)
	}
}

// What one sender can make us keep has an end.
func TestBounds(t *testing.T) {
	s := play(t)
	for i := range maxTurns {
		s.say(fmt.Sprintf("t%d+", i), 0)
	}
	behind := proto.SpeechSay{Turn: "late", Spoken: "x", Behind: true}
	if _, err := s.q.Check(behind); !errors.Is(err, &proto.Error{Code: proto.CodeBusy}) {
		t.Errorf("one turn more gives %v", err)
	}
	s.say("t0+", 1)
	s.say("answer", 0) // it supersedes instead of waiting
	long := strings.Repeat("x", maxName+1)
	for _, cmd := range []proto.SpeechSay{{Turn: long}, {Turn: "a", Owner: long}, {Turn: "a", Language: long}} {
		if _, err := s.q.Check(cmd); !errors.Is(err, &proto.Error{Code: proto.CodeInvalid}) {
			t.Errorf("a long name gives %v", err)
		}
	}
	if err := s.q.End(s.now, proto.SpeechEnd{Turn: long}); !errors.Is(err, &proto.Error{Code: proto.CodeInvalid}) {
		t.Errorf("a long name gives %v", err)
	}
	s.q.Stop(s.now, long)
	if s.q.pastIndex(long) >= 0 {
		t.Error("a long name is remembered")
	}
}

func TestHeardOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		played, total time.Duration
		whole         bool
		want          string
	}{
		{0, time.Second, true, ""},
		{time.Second, time.Second, true, "It is ten past four."},
		{500 * time.Millisecond, time.Second, true, "It is ten"},
		{100 * time.Millisecond, time.Second, true, "It"},
		{50 * time.Millisecond, time.Second, true, ""},
		{100 * time.Millisecond, 100 * time.Millisecond, false, ""}, // the rest is not synthesised yet
		{500 * time.Millisecond, 500 * time.Millisecond, false, "It is"},
		{time.Second, 0, false, "It is ten past"},
	} {
		if got := heardOf(proto.SpeechSay{Text: "It is ten past four."}, extent{Played: c.played, Total: c.total, Whole: c.whole}); got != c.want {
			t.Errorf("%v of %v (whole %v): %q, want %q", c.played, c.total, c.whole, got, c.want)
		}
	}
	for _, c := range []struct {
		text, spoken string
		said         int
		want         string
	}{
		{"It is 10:15.", "It is 10:15.", 5, "It is"},
		{"It is 10:15.", "It is 10:15.", 12, "It is 10:15."},
		{"It is 10:15.", "It is 10:15.", 0, ""},
		{"**It** is  ten.", "It is ten.", 5, "**It** is"}, // as many words
		{"See [it](x) at 5 km.", "See it at five km per hour.", 9, "See"},
		{"a", "a", 99, "a"},
		{"It is so.", "", 0, "It"}, // without a spoken form the share counts
	} {
		say := proto.SpeechSay{Text: c.text, Spoken: c.spoken}
		if got := heardOf(say, extent{Played: 400, Total: 1000, Whole: true, Timed: true, Said: c.said}); got != c.want {
			t.Errorf("%d bytes of %q said of %q: %q, want %q", c.said, c.spoken, c.text, got, c.want)
		}
	}
	if got := heardOf(proto.SpeechSay{Text: "però è così"}, extent{Played: 50, Total: 100, Whole: true}); got != "però" {
		t.Errorf("heard %q", got)
	}
}

// Whatever is done in whatever order: each turn that said something and is over
// ended once, nothing is spoken of a turn after its end, and nothing stays held.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := play(t)
		for range 60 {
			turn := fmt.Sprint(r.IntN(4))
			switch r.IntN(12) {
			case 0, 1, 2, 3:
				cmd := proto.SpeechSay{Turn: turn, Index: r.IntN(4), Text: "a b c", Behind: r.IntN(2) == 0}
				if known, err := s.q.Check(cmd); !known && err == nil {
					s.q.Say(s.now, cmd)
				}
			case 4:
				_ = s.q.End(s.now, proto.SpeechEnd{Turn: turn, Count: r.IntN(4)}) // may be refused
			case 5:
				s.q.Stop(s.now, []string{turn, ""}[r.IntN(2)])
			case 6:
				s.q.Pause(s.now)
			case 7:
				s.q.Resume()
			case 8, 9:
				if len(s.keys) > 0 && !s.held {
					s.hear()
				}
			case 10:
				s.now = s.now.Add(time.Duration(r.IntN(40)) * time.Second)
				s.q.Tick(s.now)
			case 11:
				s.q.Doom(s.now, proto.Errorf(proto.CodeDisconnected, "speak", "lost"))
			}
			s.run(extent{})
		}
		s.q.Stop(s.now, "")
		s.run(extent{})
		if s.held || s.q.Busy() || len(s.keys) > 0 {
			t.Fatalf("seed %d: held %v, busy %v, playing %v after all was stopped:\n%s", seed, s.held, s.q.Busy(), s.keys, strings.Join(s.log, "\n"))
		}
		over := map[string]bool{}
		for _, line := range s.log {
			verb, rest, _ := strings.Cut(line, " ")
			id, _, _ := strings.Cut(rest, ".")
			switch {
			case verb == "silence" || verb == "hold" || verb == "release":
			case over[id]:
				t.Fatalf("seed %d: %q after the end of its turn:\n%s", seed, line, strings.Join(s.log, "\n"))
			case verb == "stopped":
				over[id] = true
			}
		}
	}
}
