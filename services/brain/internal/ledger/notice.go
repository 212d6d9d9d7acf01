// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"example.org/desktop-assistant/proto"
)

const (
	noticeLimit  = 10 * time.Second       // for ttsd or the bus to come back
	partingLimit = 500 * time.Millisecond // for the last words of a brain that stops
	noticeRetry  = 200 * time.Millisecond
	// noticeGap is how long the same words are not said again, about as long as
	// they last: what ends many turns at once is told once.
	noticeGap = 3 * time.Second
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
		say := proto.SpeechSay{Turn: id, Text: text, Spoken: text, Language: language, Behind: true, Fixed: true}
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
