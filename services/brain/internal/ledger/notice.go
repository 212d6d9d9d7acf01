// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/phrase"
)

const (
	noticeLimit  = 10 * time.Second       // for ttsd or the bus to come back
	partingLimit = 500 * time.Millisecond // for the last words of a brain that stops
	noticeRetry  = 200 * time.Millisecond
	// noticeGap is how long the same words are not said again, about as long as
	// they last: what ends many turns at once is told once.
	noticeGap = 3 * time.Second
	// An older turn that was left open ends without words: nobody waits for it.
	mournLimit = 10 * time.Minute
)

// notice says something apart from any turn: under an id of its own, behind
// what is being said, and owned by nobody, so that it outlives this process.
func (l *Ledger) notice(ctx context.Context, dev, text, language string) {
	if !l.spoken.begin(time.Now(), dev, text) {
		return
	}
	id := "notice-" + rand.Text()
	l.work.Go(func() {
		defer func() { l.spoken.end(time.Now(), dev, text) }()
		limit := noticeLimit
		if ctx.Err() != nil { // stopping: quick, or not at all
			ctx, limit = context.WithoutCancel(ctx), partingLimit
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		say := proto.SpeechSay{Turn: id, Text: text, Spoken: text, Language: language, Behind: true}
		for {
			err := l.speech.Say(ctx, dev, say)
			if err == nil {
				err = l.speech.End(ctx, dev, proto.SpeechEnd{Turn: id, Count: 1})
			}
			if err == nil {
				return
			}
			select {
			case <-ctx.Done():
				l.log.Warn("notice not spoken", "text", text, "error", err)
				return
			case <-time.After(noticeRetry):
			}
		}
	})
}

// notices knows what is on its way to be said. Turns say their notices
// themselves, so that it is safe for use by many goroutines. The zero value is
// ready.
type notices struct {
	mu   sync.Mutex
	last map[[2]string]time.Time // by device and words: when ttsd took it, zero = not yet
}

// begin says whether these words are news on the device.
func (n *notices) begin(now time.Time, dev, text string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last == nil {
		n.last = map[[2]string]time.Time{}
	}
	for key, at := range n.last {
		if !at.IsZero() && now.Sub(at) >= noticeGap {
			delete(n.last, key)
		}
	}
	key := [2]string{dev, text}
	if _, there := n.last[key]; there {
		return false
	}
	n.last[key] = time.Time{}
	return true
}

// end is called when ttsd took the words, or when nobody does.
func (n *notices) end(now time.Time, dev, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last[[2]string{dev, text}] = now
}

// Orphan is a turn that an earlier brain left open.
type Orphan struct {
	ID       string
	Device   string
	Session  string
	Language string // "" when it was not asked yet
	Started  bool   // false: only its utterance was seen
	Origin   proto.Origin
	Stream   string
	Heard    []string  // the sentences of it that were played
	At       time.Time // of its first event, by the wall clock
}

// Bury ends the turns of an earlier brain as failed, and says so once for each
// device. Turns of this brain are none of them.
func (l *Ledger) Bury(orphans []Orphan) {
	l.post(func(ctx context.Context) {
		told := map[string]bool{}
		for _, o := range orphans {
			if l.known[o.ID] {
				continue
			}
			l.remember(o.ID)
			l.bury(o)
			if time.Since(o.At) >= mournLimit {
				continue
			}
			l.hush(ctx, o)
			if !told[o.Device] {
				told[o.Device] = true
				if o.Language == "" {
					o.Language = l.env.Languages[0]
				}
				text, lang := phrase.Say(phrase.Restarted, o.Language)
				l.env.Notice(o.Device, text, lang)
			}
		}
	})
}

func (l *Ledger) bury(o Orphan) {
	meta := bus.Meta{Device: o.Device, Session: o.Session, Turn: o.ID}
	ended := proto.TurnEnded{
		End:   proto.EndFailed,
		Error: proto.Errorf(proto.CodeCancelled, "answer", "brain was restarted").WithHint("ask again"),
		Heard: strings.Join(o.Heard, " "),
	}
	var events []proto.Event
	if !o.Started {
		events = append(events, proto.TurnStarted{Origin: o.Origin, Stream: o.Stream, Route: l.env.Settings.Route})
	}
	for _, ev := range append(events, ended) {
		if err := l.env.Bus.Publish(ev, meta); err != nil {
			l.log.Error("publish event", "type", ev.EventType(), "error", err)
		}
	}
}

// hush stops what ttsd still says of a turn that is over now. It would notice
// by itself that nobody stands behind it, but only after a while.
func (l *Ledger) hush(ctx context.Context, o Orphan) {
	l.work.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, requestLimit)
		defer cancel()
		if err := l.speech.Stop(ctx, o.Device, o.ID); err != nil {
			l.log.Debug("stop the speech of an orphan", "turn", o.ID, "error", err)
		}
	})
}
