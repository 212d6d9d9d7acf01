// SPDX-License-Identifier: Apache-2.0

// Package voice keeps the account of what a turn says: which lines there are,
// what was asked of ttsd, what was heard. It is pure: the turn sends the
// requests and sets the timers.
//
// Lines are asked for one after the other, each when the one before was
// acknowledged. When ttsd went away and came back the account begins again with
// the first line that was not heard to its end.
package voice

import (
	"strings"
	"time"
	"unicode/utf8"

	"example.org/desktop-assistant/proto"
)

const (
	// Patience is how long a ttsd that went away is waited for.
	Patience = 2 * time.Second
	// Speech of which nothing is heard for so long is stuck: a pause for
	// synthesis, and twice the time that slow speech takes for a character.
	quietBase    = 30 * time.Second
	quietPerRune = 250 * time.Millisecond
	// pausedLimit bounds a pause: somewhat more than an utterance may take.
	pausedLimit = 150 * time.Second
)

// Line is one piece to be said, or shown where nothing is said.
type Line struct {
	Text         string // shown
	Spoken       string // said
	Language     string
	Answer       bool // part of the answer, for the history
	Announcement bool
	Question     string // the call that it asks about

	sent  time.Time // first asked for
	heard string    // what was heard of it
	over  bool      // heard to its end
}

// Record is the event that tells of the line.
func (l Line) Record(index int) proto.Event {
	switch {
	case l.Question != "":
		return proto.TurnQuestion{Index: index, Call: l.Question, Text: l.Text, Language: l.Language}
	case l.Announcement:
		return proto.TurnAnnounced{Index: index, Text: l.Text, Language: l.Language}
	}
	return proto.TurnSentence{Index: index, Text: l.Text, Spoken: l.Spoken, Language: l.Language}
}

// State is how the speech stands.
type State int

// The states. All but Open end the turn.
const (
	Open       State = iota // lines are still written, or not yet heard
	Said                    // everything was heard, and ttsd knows that it was all
	Superseded              // all is written; a newer turn took the loudspeaker meanwhile
	Gone                    // all is written; ttsd was given up meanwhile
	Stopped                 // someone silenced it
)

// Voice is the account of one turn. A mute one has lines that are only shown.
type Voice struct {
	mute       bool
	lines      []Line
	next       int  // line to ask for
	busy       bool // a request is under way, or a pause before the next
	rewind     bool // begin again after it
	again      bool // lines are asked for a second time
	closed     bool // no more lines come
	ended      bool // the end was acknowledged
	away       time.Time
	gone       *proto.Error
	superseded bool
	stopped    bool
	paused     bool
	begun      bool // something was audible
}

// New makes an empty account; with speak false its lines are only shown.
func New(speak bool) Voice { return Voice{mute: !speak} }

// Add queues a line and gives its index.
func (v *Voice) Add(l Line) int {
	v.lines = append(v.lines, l)
	return len(v.lines) - 1
}

// Len is the number of lines.
func (v *Voice) Len() int { return len(v.lines) }

// Answered says whether a line of the answer came after the first so many.
func (v *Voice) Answered(before int) bool {
	for _, l := range v.lines[before:] {
		if l.Answer {
			return true
		}
	}
	return false
}

// Heeded says that what is added now can still be heard.
func (v *Voice) Heeded() bool { return !v.mute && v.gone == nil && !v.superseded && !v.stopped }

// Close says that no more lines come.
func (v *Voice) Close() { v.closed = true }

// Closed says whether that was said.
func (v *Voice) Closed() bool { return v.closed }

// State tells how the speech stands.
func (v *Voice) State() State {
	switch {
	case v.stopped:
		return Stopped
	case !v.closed:
		return Open
	case v.superseded:
		return Superseded
	case v.gone != nil:
		return Gone
	case v.ended && v.allHeard():
		return Said
	}
	return Open
}

// Lost is why ttsd was given up, nil when it was not.
func (v *Voice) Lost() *proto.Error { return v.gone }

// Dumb says that ttsd itself refused from the start: it runs, but there is no
// engine or no sound.
func (v *Voice) Dumb() bool {
	return !v.begun && v.gone != nil && v.gone.Code == proto.CodeUnavailable && !proto.IsNobody(v.gone)
}

// allHeard goes by the last line: lines are played in order.
func (v *Voice) allHeard() bool {
	return len(v.lines) == 0 || v.lines[len(v.lines)-1].over
}

// Audible says whether ttsd has something of this turn to say or to forget.
func (v *Voice) Audible() bool {
	return !v.mute && !v.stopped && v.gone == nil && !v.superseded &&
		len(v.lines) > 0 && !v.lines[0].sent.IsZero() && !(v.closed && v.allHeard())
}

// Request is the next thing to ask of ttsd: a line, or the end after Count.
type Request struct {
	Index int // of the line, or -1 for the end
	Line  Line
	Count int
	again bool
}

// Next gives what to ask now, if anything; until [Voice.Acknowledged],
// [Voice.Failed] or [Voice.Retry] nothing else is given.
func (v *Voice) Next(now time.Time) (Request, bool) {
	switch {
	case v.mute || v.busy || v.gone != nil || v.superseded || v.stopped:
		return Request{}, false
	case v.next < len(v.lines):
		l := &v.lines[v.next]
		if l.sent.IsZero() {
			l.sent = now
		}
		v.busy = true
		return Request{Index: v.next, Line: *l, again: v.again}, true
	case v.closed && !v.ended:
		v.busy = true
		return Request{Index: -1, Count: len(v.lines)}, true
	}
	return Request{}, false
}

// Acknowledged says that ttsd took a request.
func (v *Voice) Acknowledged(q Request) {
	v.busy, v.away = false, time.Time{}
	switch {
	case v.rewind:
		v.begin()
	case q.Index >= 0:
		v.next = q.Index + 1
	case q.Count == len(v.lines):
		v.ended = true
	}
}

// Failed says that ttsd did not take a request, or went away. It reports
// whether to ask again after a pause, which [Voice.Retry] ends; otherwise ttsd
// is given up, or there was nothing left to ask it.
func (v *Voice) Failed(err *proto.Error, now time.Time) (again bool) {
	v.busy = false
	if v.away.IsZero() {
		v.away = now
	}
	switch {
	case v.closed && v.allHeard(): // only the end was not taken
		v.ended = true
		return false
	case !isAway(err) || now.Sub(v.away) >= Patience:
		v.GiveUp(err)
		return false
	}
	v.begin()
	v.busy = true
	return true
}

func isAway(err *proto.Error) bool {
	return err.Code == proto.CodeUnavailable || err.Code == proto.CodeTimeout || err.Code == proto.CodeDisconnected
}

// Passed says that a ttsd that came back quickly refuses a line, since it has a
// later one already. That line is lost; the next may be asked for.
func (v *Voice) Passed(q Request, err *proto.Error) bool {
	if !q.again || q.Index < 0 || err.Code != proto.CodeInvalid {
		return false
	}
	v.busy, v.next = false, q.Index+1
	return true
}

// Retry ends the pause after [Voice.Failed].
func (v *Voice) Retry() { v.busy = false }

// Replaced says that ttsd is another process now, or none. It reports whether
// that is a failure now; while a request is under way its answer decides.
func (v *Voice) Replaced() (failed bool) {
	if v.busy {
		v.rewind = true
		return false
	}
	v.paused = false
	return v.Audible()
}

// begin goes back to the first line that was not heard to its end.
func (v *Voice) begin() {
	v.rewind, v.again, v.ended, v.next = false, true, false, 0
	for v.next < len(v.lines) && v.lines[v.next].over {
		v.next++
	}
}

// GiveUp says that nothing can be spoken any more: what else comes is shown.
func (v *Voice) GiveUp(err *proto.Error) {
	if v.gone == nil {
		e := *err
		e.Op = "speak through ttsd"
		v.gone = &e
	}
}

// Presume takes what ttsd took for heard: what it told of it is lost.
func (v *Voice) Presume() {
	for i := range v.lines {
		l := &v.lines[i]
		if !l.over && !l.sent.IsZero() {
			l.over, l.heard = true, l.Text
		}
	}
	v.ended = true
}

// Event takes what ttsd tells of this turn. It reports whether ttsd failed in a
// way that may pass, as when it is being restarted: the turn gives that to
// [Voice.Failed].
func (v *Voice) Event(ev proto.Event) (failed *proto.Error) {
	switch ev := ev.(type) {
	case proto.SpeechStarted:
		v.begun, v.paused = true, false
	case proto.SpeechResumed:
		v.paused = false
	case proto.SpeechPaused:
		v.paused = true
	case proto.SpeechFinished:
		if l := v.line(ev.Index); l != nil {
			l.over, l.heard = true, l.Text
		}
	case proto.SpeechStopped:
		return v.stop(ev)
	}
	return nil
}

func (v *Voice) stop(ev proto.SpeechStopped) (failed *proto.Error) {
	if l := v.line(ev.Index); l != nil && !l.over {
		l.heard = ev.Heard
	}
	switch ev.Reason {
	case proto.StopSuperseded:
		v.superseded = true
	case proto.StopFailed:
		err := ev.Error
		if err == nil {
			err = proto.Errorf(proto.CodeFailed, "", "the speech failed")
		}
		if !isAway(err) {
			v.GiveUp(err)
		} else if v.Replaced() {
			return err
		}
	default:
		v.stopped = true
	}
	return nil
}

func (v *Voice) line(index int) *Line {
	if index < 0 || index >= len(v.lines) {
		return nil
	}
	return &v.lines[index]
}

// Sample is when the first sample of a line was audible, by the delay that ttsd
// reports; zero for a line that was not asked for.
func (v *Voice) Sample(ev proto.SpeechStarted) time.Time {
	l := v.line(ev.Index)
	if l == nil || l.sent.IsZero() {
		return time.Time{}
	}
	return l.sent.Add(time.Duration(ev.DelayMS) * time.Millisecond)
}

// Quiet is how long nothing may be heard of ttsd before it counts as stuck.
func (v *Voice) Quiet() time.Duration {
	if v.paused {
		return pausedLimit
	}
	limit := quietBase
	for _, l := range v.lines {
		if !l.over {
			limit += time.Duration(utf8.RuneCountInString(l.Spoken)) * quietPerRune
		}
	}
	return limit
}

// Heard is the text that was really played; of a mute turn what was shown.
func (v *Voice) Heard() string {
	return v.join(func(l Line) string {
		if v.mute {
			return l.Text
		}
		return l.heard
	})
}

// Answer is the answer as the user knows it: what was heard of it, or what was
// shown where it could not be heard.
func (v *Voice) Answer() string {
	shown := v.mute || v.gone != nil || v.superseded && v.closed
	return v.join(func(l Line) string {
		switch {
		case !l.Answer:
			return ""
		case shown:
			return l.Text
		}
		return l.heard
	})
}

func (v *Voice) join(of func(Line) string) string {
	var parts []string
	for _, l := range v.lines {
		if text := of(l); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " ")
}
