// SPDX-License-Identifier: Apache-2.0

// Package queue decides what is spoken when.
//
// A [Queue] is pure state: commands and what the player tells go in, [Effect]
// values come out, in the order in which they are to be done. It knows no clock, no
// sound and no bus, and belongs to one goroutine.
package queue

import (
	"slices"
	"time"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/sink"
)

const (
	// Remembered is how many turns that are over are known, so that what comes late
	// for them is not spoken.
	Remembered = 64
	// HoldLimit is how long speech stays paused when nobody says how to go on.
	HoldLimit = 30 * time.Second
	// lookahead is how many sentences are synthesised before they are heard.
	lookahead = 3
	// missingLimit is how long a turn waits for sentences that its end has counted.
	missingLimit = 2 * time.Second
	// silentLimit is how long a turn may say nothing: longer than a model may take
	// ([model] total_s is 300 by default).
	silentLimit = 6 * time.Minute
	// maxWaiting and maxText bound what one sender can make us keep; a sentence of
	// 4000 bytes lasts four minutes and 22 MB.
	maxWaiting = 1000
	maxText    = 4000
	// maxTurns is how many turns may wait behind each other: notices and what is
	// typed at a shell.
	maxTurns = 32
	// maxName bounds what is kept of a sentence beside its text.
	maxName = 200
	// maxVoice is the longest blend.
	maxVoice = 1000
)

// An Effect is something to do: [Publish], [Make], [Silence], [Hold] or [Release].
type Effect interface{ effect() }

// Publish is an event of a turn.
type Publish struct {
	Turn  string
	Event proto.Event
}

// Make is to synthesise a sentence and play it behind those made before. Key is of
// its clip; First says that nothing of its turn is to be heard before it.
type Make struct {
	Key   int64
	Say   proto.SpeechSay
	First bool
}

// Silence stops the player and forgets all that was made; Cut has to be called then.
type Silence struct{}

// Hold pauses the player; Held has to be called then. Release ends it; Released.
type (
	Hold    struct{}
	Release struct{}
)

func (Publish) effect() {}
func (Make) effect()    {}
func (Silence) effect() {}
func (Hold) effect()    {}
func (Release) effect() {}

// An extent is how far the player was.
type extent = sink.Extent

// A sentence is one that was accepted.
type sentence struct {
	say     proto.SpeechSay
	at      time.Time // when it was
	key     int64     // 0 until it is made
	started bool
}

// A turn is one whose speech is not over.
type turn struct {
	id, owner string
	behind    bool
	list      []*sentence // by rising index
	made      int         // list[:made] were given to the player
	done      int         // list[:done] were heard
	count     int         // of all sentences, -1 while more may come
	touched   time.Time   // last command or end of a sentence
	doomed    *proto.Error
}

func (t *turn) high() int {
	if len(t.list) == 0 {
		return -1
	}
	return t.list[len(t.list)-1].say.Index
}

// A past turn is over.
type past struct {
	id      string
	stopped bool
	high    int // highest index that was accepted
}

// A cut is a turn that was stopped and whose position the player has not told yet.
type cut struct {
	turn   *turn
	reason string
	err    *proto.Error
	// failedAt is where the player gave up by itself; its answer to the Silence
	// is empty then.
	failedAt extent
}

// A Queue holds the turns. The zero value is not ready; use [New].
type Queue struct {
	turns   []*turn // the first is being spoken
	cuts    []cut
	past    []past
	out     []Effect
	lastKey int64
	held    *turn // the first turn, while paused
	heldAt  time.Time
	// What the player has still to answer, oldest first; a nil turn is not told of.
	holds, releases []*turn
}

// New makes an empty queue.
func New() *Queue { return &Queue{} }

// Effects gives what is to be done and forgets it.
func (q *Queue) Effects() []Effect {
	out := q.out
	q.out = nil
	return out
}

func (q *Queue) emit(e ...Effect) { q.out = append(q.out, e...) }

func (q *Queue) publish(t *turn, ev proto.Event) { q.emit(Publish{t.id, ev}) }

// Check says whether a sentence would be accepted, without changing anything: nil,
// or a *proto.Error; known means that it was accepted before.
func (q *Queue) Check(say proto.SpeechSay) (known bool, err error) {
	op := say.Verb()
	switch {
	case say.Turn == "":
		return false, proto.Errorf(proto.CodeInvalid, op, "the turn is missing")
	case max(len(say.Turn), len(say.Language)) > maxName:
		return false, proto.Errorf(proto.CodeInvalid, op, "turn and language have at most %d bytes", maxName)
	case len(say.Voice) > maxVoice:
		return false, proto.Errorf(proto.CodeInvalid, op, "the voice has %d bytes, at most %d", len(say.Voice), maxVoice)
	case !validOwner(say.Owner):
		return false, proto.Errorf(proto.CodeInvalid, op, "the owner %.80q is not service/instance", say.Owner)
	case say.Index < 0:
		return false, proto.Errorf(proto.CodeInvalid, op, "the index %d is negative", say.Index)
	case len(say.Spoken) > maxText || len(say.Text) > maxText:
		return false, proto.Errorf(proto.CodeInvalid, op, "the sentence has %d bytes, at most %d can be said at once", max(len(say.Spoken), len(say.Text)), maxText).
			WithHint("cut it into sentences")
	}
	if i := q.pastIndex(say.Turn); i >= 0 {
		if p := q.past[i]; !p.stopped && say.Index <= p.high {
			return true, nil
		}
		return false, stale(op, say.Turn)
	}
	t := q.find(say.Turn)
	if t == nil {
		if say.Behind && len(q.turns) >= maxTurns {
			return false, proto.Errorf(proto.CodeBusy, op, "%d turns wait already", maxTurns).WithHint("silence them: desktop-assistant stop")
		}
		return false, nil
	}
	if slices.ContainsFunc(t.list, func(s *sentence) bool { return s.say.Index == say.Index }) {
		return true, nil
	}
	switch {
	case t.doomed != nil:
		return false, stale(op, say.Turn)
	case say.Index < t.high():
		return false, proto.Errorf(proto.CodeInvalid, op, "sentence %d comes after sentence %d", say.Index, t.high())
	case say.Index > t.high()+1:
		return false, proto.Errorf(proto.CodeInvalid, op, "sentence %d comes after sentence %d: number %d is missing", say.Index, t.high(), t.high()+1)
	case t.count >= 0 && say.Index >= t.count:
		return false, proto.Errorf(proto.CodeInvalid, op, "the turn was said to have %d sentences, and this is number %d", t.count, say.Index+1)
	case len(t.list)-t.done >= maxWaiting:
		return false, proto.Errorf(proto.CodeBusy, op, "%d sentences wait already", maxWaiting)
	}
	return false, nil
}

// validOwner says whether the owner can be looked for; none is fine.
func validOwner(owner string) bool {
	_, _, ok := proto.SplitAsker(owner)
	return ok || owner == ""
}

func stale(op, turn string) *proto.Error {
	return proto.Errorf(proto.CodeCancelled, op, "the speech of turn %q is over", turn)
}

// Say queues a sentence for which Check gave false and nil.
func (q *Queue) Say(now time.Time, say proto.SpeechSay) {
	t := q.find(say.Turn)
	if t == nil {
		t = q.begin(now, say)
	}
	t.list = append(t.list, &sentence{say: say, at: now})
	t.touched = now
	if say.Owner != "" {
		t.owner = say.Owner
	}
	q.advance(now)
}

// begin puts a new turn in its place: behind all, or before all, which stops what
// is being spoken and whatever else waited for its turn by right.
func (q *Queue) begin(now time.Time, say proto.SpeechSay) *turn {
	t := &turn{id: say.Turn, owner: say.Owner, behind: say.Behind, count: -1, touched: now}
	if say.Behind {
		q.turns = append(q.turns, t)
		return t
	}
	for i, old := range slices.Clone(q.turns) {
		if i == 0 || !old.behind {
			q.drop(old, proto.StopSuperseded, nil)
		}
	}
	q.turns = slices.Insert(q.turns, 0, t)
	return t
}

// advance gives the first turn's next sentences to the player, and ends turns that
// have none left.
func (q *Queue) advance(now time.Time) {
	for len(q.turns) > 0 {
		t := q.turns[0]
		for t.made < len(t.list) && t.made-t.done < lookahead && t.doomed == nil {
			s := t.list[t.made]
			t.made++
			q.lastKey++
			s.key = q.lastKey
			q.emit(Make{s.key, s.say, t.made-1 == t.done})
		}
		if !t.complete() {
			return
		}
		q.finish(t)
		if len(q.turns) > 0 {
			q.turns[0].touched = now
		}
	}
}

func (t *turn) complete() bool {
	return t.count >= 0 && t.done == len(t.list) && t.high()+1 >= t.count
}

// finish ends a turn that was heard to its end.
func (q *Queue) finish(t *turn) {
	q.remove(t)
	q.remember(past{t.id, false, t.high()})
	if q.held == t {
		q.release(nil)
	}
}

// drop ends a turn early.
func (q *Queue) drop(t *turn, reason string, err *proto.Error) {
	first := q.first(t)
	q.remove(t)
	q.remember(past{t.id, true, t.high()})
	if first && t.made > 0 {
		q.held = nil
		q.cuts = append(q.cuts, cut{turn: t, reason: reason, err: err})
		q.emit(Silence{})
		return
	}
	if q.held == t {
		q.release(nil)
	}
	q.publish(t, proto.SpeechStopped{Turn: t.id, Index: -1, Reason: reason, Error: err})
}

func (q *Queue) remove(t *turn) {
	q.turns = slices.DeleteFunc(q.turns, func(o *turn) bool { return o == t })
}

func (q *Queue) remember(p past) {
	if i := q.pastIndex(p.id); i >= 0 {
		q.past = slices.Delete(q.past, i, i+1)
	}
	if len(q.past) == Remembered {
		q.past = slices.Delete(q.past, 0, 1)
	}
	q.past = append(q.past, p)
}

func (q *Queue) pastIndex(id string) int {
	return slices.IndexFunc(q.past, func(p past) bool { return p.id == id })
}

func (q *Queue) find(id string) *turn {
	for _, t := range q.turns {
		if t.id == id {
			return t
		}
	}
	return nil
}

// End says how many sentences a turn has. An error is a *proto.Error.
func (q *Queue) End(now time.Time, end proto.SpeechEnd) error {
	switch {
	case end.Turn == "":
		return proto.Errorf(proto.CodeInvalid, end.Verb(), "the turn is missing")
	case len(end.Turn) > maxName:
		return proto.Errorf(proto.CodeInvalid, end.Verb(), "the turn has more than %d bytes", maxName)
	case end.Count < 0:
		return proto.Errorf(proto.CodeInvalid, end.Verb(), "the count %d is negative", end.Count)
	}
	if i := q.pastIndex(end.Turn); i >= 0 {
		if q.past[i].stopped {
			return stale(end.Verb(), end.Turn)
		}
		return nil
	}
	t := q.find(end.Turn)
	if t == nil {
		q.remember(past{end.Turn, false, -1})
		return nil
	}
	t.count, t.touched = end.Count, now
	q.advance(now)
	return nil
}

// Stop ends the speech of a turn, or of all (""), and gives those that were stopped.
// A turn not known yet is stopped before it begins.
func (q *Queue) Stop(now time.Time, id string) []string {
	stopped := []string{}
	for _, t := range slices.Backward(slices.Clone(q.turns)) {
		if id == "" || t.id == id {
			stopped = append(stopped, t.id)
			q.drop(t, proto.StopAsked, nil)
		}
	}
	if id != "" && len(id) <= maxName && len(stopped) == 0 && q.pastIndex(id) < 0 {
		q.remember(past{id, true, -1})
	}
	slices.Reverse(stopped)
	q.advance(now)
	return stopped
}

// Fail ends the speech of every turn for which which holds (nil: every turn).
func (q *Queue) Fail(now time.Time, err *proto.Error, which func(owner string) bool) {
	for _, t := range slices.Backward(slices.Clone(q.turns)) {
		if which == nil || which(t.owner) {
			q.drop(t, proto.StopFailed, err)
		}
	}
	q.advance(now)
}

// Doom ends every turn as soon as the sentence being heard is over: what is left
// has lost its meaning.
func (q *Queue) Doom(now time.Time, err *proto.Error) {
	for i, t := range slices.Backward(slices.Clone(q.turns)) {
		if i == 0 && t.done < t.made && t.list[t.done].started {
			t.doomed = err
		} else {
			q.drop(t, proto.StopFailed, err)
		}
	}
	q.advance(now)
}

// Pause holds the speech, if there is any.
func (q *Queue) Pause(now time.Time) {
	if len(q.turns) > 0 && q.held == nil {
		q.held, q.heldAt = q.turns[0], now
		q.holds = append(q.holds, q.held)
		q.emit(Hold{})
	}
}

// Resume ends a pause.
func (q *Queue) Resume() {
	if q.held != nil {
		q.release(q.held)
	}
}

func (q *Queue) release(tell *turn) {
	q.held = nil
	q.releases = append(q.releases, tell)
	q.emit(Release{})
}

// Tick ends what has waited too long. Call it a few times a second while Busy.
func (q *Queue) Tick(now time.Time) {
	if q.held != nil && now.Sub(q.heldAt) >= HoldLimit {
		q.drop(q.held, proto.StopAsked, nil)
	}
	if q.held == nil && len(q.turns) > 0 {
		t := q.turns[0]
		idle := t.done == len(t.list)
		switch waited := now.Sub(t.touched); {
		case idle && t.count >= 0 && waited >= missingLimit:
			q.finish(t)
		case idle && waited >= silentLimit:
			q.drop(t, proto.StopFailed, proto.Errorf(proto.CodeTimeout, "speak", "nothing came for %v", silentLimit))
		}
	}
	q.advance(now)
}

// Busy says whether any turn is to be spoken or stopped.
func (q *Queue) Busy() bool { return len(q.turns) > 0 || len(q.cuts) > 0 }

// Cutting says whether a Silence has not been answered yet.
func (q *Queue) Cutting() bool { return len(q.cuts) > 0 }

// Owners lists who the turns belong to, each once.
func (q *Queue) Owners() []string {
	var list []string
	for _, t := range q.turns {
		if t.owner != "" && !slices.Contains(list, t.owner) {
			list = append(list, t.owner)
		}
	}
	return list
}

// State is what the status shows of a queue.
type State struct {
	Turn    string `json:"turn,omitempty"` // being spoken
	Turns   int    `json:"turns"`          // with that one
	Waiting int    `json:"waiting"`        // sentences not yet heard
	Paused  bool   `json:"paused"`
}

// State gives it.
func (q *Queue) State() State {
	s := State{Turns: len(q.turns), Paused: q.held != nil}
	for i, t := range q.turns {
		if i == 0 {
			s.Turn = t.id
		}
		s.Waiting += len(t.list) - t.done
	}
	return s
}
