// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"strings"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/phrase"
	"example.org/desktop-assistant/services/brain/internal/turn"
)

// mournLimit is how old a turn may be that somebody still waits for: an older
// one that was left open ends without words.
const mournLimit = 10 * time.Minute

// Orphan is a turn that an earlier brain left open. The file of open turns holds
// no word of what was said.
type Orphan struct {
	ID       string       `json:"id"`
	Device   string       `json:"device"`
	Session  string       `json:"session,omitempty"`
	Language string       `json:"language,omitempty"` // "" when it is not known
	Started  bool         `json:"-"`                  // false: only its utterance was seen
	Origin   proto.Origin `json:"origin"`
	Stream   string       `json:"stream,omitempty"`
	Mute     bool         `json:"mute,omitempty"` // the answer was to be shown only
	Heard    []string     `json:"-"`              // the sentences of it that were played
	At       time.Time    `json:"started"`        // or of its first event, by the wall clock
	// Ending is how it ended when that was about to be published, or had been
	// already: one that no kept event tells of is published again as it was. Code
	// is of its error.
	Ending proto.End  `json:"ending,omitempty"`
	Code   proto.Code `json:"code,omitempty"`
}

// Past finds the turns that were left open: those that the file of an earlier
// brain names, and those in a row of kept events, which are given to it
// afterwards and oldest first. A turn in both is one. The zero value is ready.
type Past struct {
	order []string
	open  map[string]*Orphan
	ended map[string]bool
}

// Left takes what [Ledger.Left] gives.
func (p *Past) Left(orphans []Orphan) {
	for _, o := range orphans {
		*p.at(proto.Envelope{Turn: o.ID}) = o
	}
}

// Event takes one event of the areas utterance, turn and speech.
func (p *Past) Event(env proto.Envelope, ev proto.Event) {
	if env.Turn == "" || p.ended[env.Turn] {
		return
	}
	switch ev := ev.(type) {
	case proto.UtteranceStarted:
		o := p.at(env)
		o.Origin, o.Stream = proto.OriginVoice, ev.Stream
	case proto.TurnStarted:
		o := p.at(env)
		o.Started, o.Origin, o.Stream, o.Session = true, ev.Origin, ev.Stream, env.Session
	case proto.TurnAsked:
		p.at(env).Language = ev.Language
	case proto.SpeechFinished:
		p.heard(env.Turn, ev.Heard)
	case proto.SpeechStopped:
		p.heard(env.Turn, ev.Heard)
	case proto.TurnEnded:
		if p.ended == nil {
			p.ended = map[string]bool{}
		}
		p.ended[env.Turn] = true
		delete(p.open, env.Turn)
	}
}

// heard keeps what was said of an open turn; other things are said too.
func (p *Past) heard(id, text string) {
	if o := p.open[id]; o != nil && text != "" {
		o.Heard = append(o.Heard, text)
	}
}

func (p *Past) at(env proto.Envelope) *Orphan {
	if p.open == nil {
		p.open = map[string]*Orphan{}
	}
	o := p.open[env.Turn]
	if o == nil {
		o = &Orphan{ID: env.Turn, Device: env.Dev, At: env.TS.Time}
		p.open[env.Turn] = o
		p.order = append(p.order, env.Turn)
	}
	return o
}

// Orphans lists the turns that have no ending, oldest first.
func (p *Past) Orphans() []Orphan {
	var list []Orphan
	for _, id := range p.order {
		if o := p.open[id]; o != nil {
			list = append(list, *o)
		}
	}
	return list
}

// Bury ends the turns of an earlier brain as failed, and says so once for each
// device. Turns of this brain are none of them. What the file said of the
// earlier brain is over then.
func (l *Ledger) Bury(orphans []Orphan) {
	l.post(func(ctx context.Context) {
		told := map[string]bool{}
		for _, o := range orphans {
			if l.known[o.ID] {
				continue
			}
			l.remember(o.ID)
			l.bury(o)
			if o.Ending != "" { // all was said
				continue
			}
			if time.Since(o.At) >= mournLimit {
				continue
			}
			l.hush(ctx, o)
			if !told[o.Device] && !o.Mute {
				told[o.Device] = true
				if o.Language == "" {
					o.Language = l.env.Languages[0]
				}
				text, lang := phrase.Say(phrase.Restarted, o.Language)
				l.env.Notice(o.Device, text, lang)
			}
		}
		l.buried = true
		l.save()
	})
}

func (l *Ledger) bury(o Orphan) {
	meta := bus.Meta{Device: o.Device, Session: o.Session, Turn: o.ID}
	ended := proto.TurnEnded{
		End:   proto.EndFailed,
		Error: proto.Errorf(proto.CodeCancelled, "answer", "brain was restarted").WithHint("ask again"),
		Heard: strings.Join(o.Heard, " "),
	}
	switch {
	case o.Ending == "":
	case o.Code == "":
		ended.End, ended.Error = o.Ending, nil
	default:
		ended.End, ended.Error = o.Ending, proto.Errorf(o.Code, "answer", "it ended while brain was restarted")
	}
	var events []proto.Event
	if !o.Started {
		events = append(events, proto.TurnStarted{Origin: o.Origin, Stream: o.Stream, Route: l.env.Settings.Route})
	}
	for _, ev := range append(events, ended) {
		if _, end := ev.(proto.TurnEnded); end {
			meta.ID = turn.EndID(o.ID)
		}
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
