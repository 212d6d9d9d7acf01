// SPDX-License-Identifier: Apache-2.0

package ledger

import "example.org/desktop-assistant/proto"

// Past finds the turns that were left open in a row of kept events, which are
// given to it oldest first. The zero value is ready.
type Past struct {
	order []string
	open  map[string]*Orphan
	ended map[string]bool
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
