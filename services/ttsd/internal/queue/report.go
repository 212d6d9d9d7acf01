// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"example.org/desktop-assistant/proto"
)

// perRune is how long a letter is spoken, for a sentence whose length is not known
// yet: 15 a second.
const perRune = time.Second / 15

// sounding finds the turn and the sentence of a clip, among the turn being spoken
// and those just stopped. Others are of the past.
func (q *Queue) sounding(key int64) (*turn, int) {
	var list []*turn
	for _, c := range q.cuts {
		list = append(list, c.turn)
	}
	if len(q.turns) > 0 {
		list = append(list, q.turns[0])
	}
	for _, t := range list {
		for i := t.done; i < t.made; i++ {
			if t.list[i].key == key {
				return t, i
			}
		}
	}
	return nil, 0
}

// Started takes the player's word that a clip became audible.
func (q *Queue) Started(key int64, at time.Time) {
	if t, i := q.sounding(key); t != nil {
		s := t.list[i]
		s.started = true
		q.publish(t, proto.SpeechStarted{Turn: t.id, Index: s.say.Index, DelayMS: max(0, at.Sub(s.at).Milliseconds())})
	}
}

// Finished takes its word that one was heard to the end.
func (q *Queue) Finished(now time.Time, key int64, played time.Duration) {
	t, i := q.sounding(key)
	if t == nil {
		return
	}
	t.done, t.touched = i+1, now
	s := t.list[i]
	q.publish(t, proto.SpeechFinished{Turn: t.id, Index: s.say.Index, PlayedMS: played.Milliseconds(), Heard: s.say.Text})
	if t.doomed != nil && !t.complete() && q.first(t) {
		q.drop(t, proto.StopFailed, t.doomed)
	}
	q.advance(now)
}

// Failed takes its word that one cannot be spoken: its turn ends.
func (q *Queue) Failed(now time.Time, e extent, err *proto.Error) {
	if t, _ := q.sounding(e.Key); t != nil && q.first(t) {
		q.drop(t, proto.StopFailed, err)
		last := len(q.cuts) - 1
		q.cuts[last].failedAt = e
	}
	q.advance(now)
}

// Cut answers the oldest Silence.
func (q *Queue) Cut(e extent) {
	if len(q.cuts) == 0 {
		return
	}
	c := q.cuts[0]
	q.cuts = q.cuts[1:]
	if e.Key == 0 {
		e = c.failedAt
	}
	ev := proto.SpeechStopped{Turn: c.turn.id, Reason: c.reason, Error: c.err}
	ev.Index, ev.PlayedMS, ev.Heard = c.turn.at(e)
	q.publish(c.turn, ev)
}

// at says which sentence of a turn an extent lies in and what was heard of it. In
// a pause between two sentences that is the next one, of which nothing was heard;
// before the first sound of the turn it is -1.
func (t *turn) at(e extent) (index int, ms int64, heard string) {
	for i := t.done; i < t.made; i++ {
		if s := t.list[i]; s.key == e.Key && s.started {
			return s.say.Index, e.Played.Milliseconds(), heardOf(s.say, e)
		}
	}
	switch {
	case t.done == 0:
		return -1, 0, ""
	case t.done < len(t.list):
		return t.list[t.done].say.Index, 0, ""
	}
	return t.high() + 1, 0, ""
}

// Held answers a Hold.
func (q *Queue) Held(e extent) {
	if t := take(&q.holds); t != nil && q.first(t) {
		index, ms, _ := t.at(e)
		q.publish(t, proto.SpeechPaused{Turn: t.id, Index: index, PlayedMS: ms})
	}
}

// Released answers a Release.
func (q *Queue) Released(e extent) {
	if t := take(&q.releases); t != nil && q.first(t) {
		index, _, _ := t.at(e)
		q.publish(t, proto.SpeechResumed{Turn: t.id, Index: index})
	}
}

// take removes the first of a list, nil when there is none.
func take(list *[]*turn) *turn {
	if len(*list) == 0 {
		return nil
	}
	t := (*list)[0]
	*list = (*list)[1:]
	return t
}

// first says whether a turn is the one being spoken.
func (q *Queue) first(t *turn) bool { return len(q.turns) > 0 && q.turns[0] == t }

// heardOf cuts the shown text to what was heard, back to the last whole word: by the
// words that the engine told, else by the share of the sound that was played.
func heardOf(say proto.SpeechSay, e extent) string {
	text, total := say.Text, e.Total
	if e.Timed && say.Spoken != "" {
		return heardWords(text, say.Spoken, e.Said)
	}
	if !e.Whole {
		total = max(total, time.Duration(utf8.RuneCountInString(text))*perRune)
	}
	if total <= 0 || e.Played <= 0 {
		return ""
	}
	if e.Played >= total {
		return text
	}
	return wholeWords(text, float64(e.Played)/float64(total))
}

// heardWords finds in the shown text what was said of the spoken one: word by word
// when both have as many, else by the share.
func heardWords(text, spoken string, said int) string {
	said = max(0, min(said, len(spoken)))
	if said == len(spoken) {
		return text
	}
	shown := strings.Fields(text)
	if len(shown) != len(strings.Fields(spoken)) {
		return wholeWords(text, float64(said)/float64(len(spoken)))
	}
	end := 0
	for _, word := range shown[:len(strings.Fields(spoken[:said]))] {
		end += strings.Index(text[end:], word) + len(word)
	}
	return text[:end]
}

// wholeWords is the beginning of a text of that share, back to the last whole word.
func wholeWords(text string, share float64) string {
	runes := []rune(text)
	n := int(float64(len(runes)) * share)
	if n >= len(runes) {
		return text
	}
	for n > 0 && !unicode.IsSpace(runes[n]) {
		n--
	}
	return strings.TrimRightFunc(string(runes[:n]), unicode.IsSpace)
}
