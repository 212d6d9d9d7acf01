// SPDX-License-Identifier: Apache-2.0

// Package ledger keeps the turns that run: it begins them, tells them what
// happens, and decides which turn gives way to which.
//
// One goroutine owns the ledger; everything else posts to it. A turn id is used
// once: what carries the id of a turn that has ended is dropped.
package ledger

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.org/desktop-assistant/pkg/speech"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/session"
	"example.org/desktop-assistant/services/brain/internal/turn"
)

const (
	remembered   = 512 // ended turns whose ids are known, so that they stay ended
	maxQuestion  = 32 << 10
	inboxSize    = 1024
	requestLimit = time.Second
	// maxListening is how many utterances of one device may wait for their
	// words. micd records one at a time, and a few may be at sttd.
	maxListening = 8
	// maxTurns is how many turns run at once; each conversation has one.
	maxTurns = 64
)

// Speech is what the ledger itself asks of ttsd.
type Speech interface {
	turn.Mouth
	Resume(ctx context.Context, dev string) error
}

// Ledger begins and ends turns. Its methods may be called from any goroutine
// once Run runs; they wait for the ledger, never for a turn.
type Ledger struct {
	env      turn.Env
	speech   Speech
	sessions *session.Store
	log      *slog.Logger

	inbox   chan func(ctx context.Context)
	stopped chan struct{}
	running atomic.Int32
	work    sync.WaitGroup // requests and notices under way
	spoken  notices

	file string
	left []Orphan // by an earlier brain, as the file says

	// Only Run's goroutine touches these.
	turns  map[string]*entry
	ended  []string
	known  map[string]bool // running and ended
	buried bool            // left is over
	stale  bool            // the file names turns that are over
}

type entry struct {
	*turn.Turn
	asked   bool
	dropped bool   // too many others came
	trace   Orphan // what is left of it when brain dies
	// reply is the question that its utterance may answer; nil when there is none,
	// or when it was answered.
	reply *reply
}

// reply says whose question an utterance may answer.
type reply struct {
	*entry
	call string
}

// New makes a ledger. It fills in the parts of env that tell it of the turns.
// The open turns are kept in a file, which a brain that is killed leaves to the
// next one: see [Ledger.Left].
func New(env turn.Env, speech Speech, sessions *session.Store, file string) *Ledger {
	left, err := readTraces(file)
	if err != nil {
		env.Log.Warn("cannot tell which turns were left open", "error", err)
	}
	l := &Ledger{
		speech: speech, sessions: sessions, log: env.Log, file: file, left: left,
		inbox: make(chan func(context.Context), inboxSize), stopped: make(chan struct{}),
		turns: map[string]*entry{}, known: map[string]bool{},
	}
	env.Mouth, env.Book = speech, sessions
	l.env = env
	return l
}

// Run works until ctx ends; then every turn is ended and waited for.
func (l *Ledger) Run(ctx context.Context) {
	l.env.Ending = func(res turn.Result) { l.ending(ctx, res) }
	l.env.Ended = func(res turn.Result) { l.post(func(ctx context.Context) { l.over(ctx, res) }) }
	l.env.Notice = func(dev, text, language string) { l.notice(ctx, dev, text, language) }
	for {
		select {
		case f := <-l.inbox:
			f(ctx)
			if l.stale && len(l.inbox) == 0 {
				l.save()
			}
		case <-ctx.Done():
			close(l.stopped)
			for _, e := range l.turns {
				<-e.Done()
			}
			clear(l.turns)
			l.save()
			l.work.Wait()
			return
		}
	}
}

// post hands f to the ledger's goroutine. It reports false when Run has ended.
func (l *Ledger) post(f func(ctx context.Context)) bool {
	select {
	case l.inbox <- f:
		return true
	case <-l.stopped:
		return false
	}
}

// call posts f and waits until it has run.
func (l *Ledger) call(ctx context.Context, op string, f func(ctx context.Context)) error {
	ran := make(chan struct{})
	if l.post(func(ctx context.Context) { f(ctx); close(ran) }) {
		select {
		case <-ran:
			return nil
		case <-ctx.Done():
		case <-l.stopped:
		}
	}
	return proto.Errorf(proto.CodeUnavailable, op, "brain is stopping")
}

// Running is the number of turns that run now.
func (l *Ledger) Running() int { return int(l.running.Load()) }

// Event takes an event of the bus.
func (l *Ledger) Event(env proto.Envelope, ev proto.Event) {
	l.post(func(ctx context.Context) { l.event(ctx, env, ev) })
}

func (l *Ledger) event(ctx context.Context, env proto.Envelope, ev proto.Event) {
	switch ev := ev.(type) {
	case proto.UtteranceStarted:
		id := ev.Turn
		if id == "" {
			id = env.Turn
		}
		l.heard(ctx, env.Dev, id, ev)
	case proto.STTFinal:
		l.transcript(ctx, env.Turn, ev)
	case proto.UtteranceEnded, proto.STTRejected, proto.STTFailed:
		l.tell(env.Turn, ev)
	case proto.SpeechStarted:
		l.tell(ev.Turn, ev)
	case proto.SpeechPaused:
		l.tell(ev.Turn, ev)
	case proto.SpeechResumed:
		l.tell(ev.Turn, ev)
	case proto.SpeechFinished:
		l.tell(ev.Turn, ev)
	case proto.SpeechStopped:
		l.tell(ev.Turn, ev)
	}
}

func (l *Ledger) tell(id string, ev proto.Event) {
	if e := l.turns[id]; e != nil {
		e.Event(ev)
	}
}

// heard begins a spoken turn. A key or a switch was pressed on purpose, so the
// turns before give way at once; a voice may be a cough, so they wait for words.
func (l *Ledger) heard(ctx context.Context, dev, id string, ev proto.UtteranceStarted) {
	if l.known[id] || !proto.ValidToken(id) {
		l.log.Debug("utterance without a turn of its own", "turn", id)
		return
	}
	current := l.sessions.Current(dev)
	q := l.question(dev)
	if q == nil && !handsFree(ev.Trigger) {
		l.giveWay(dev, current, "")
	}
	l.thin(dev)
	// Whether an answer was caught is heard from the turn that asked.
	e := l.begin(ctx, turn.Spec{
		ID: id, Session: current, Device: dev, Origin: proto.OriginVoice, Stream: ev.Stream,
		Trigger: ev.Trigger, Speak: q == nil, Language: l.sessions.Language(current),
	})
	if q != nil {
		e.reply = q
		q.Listen(q.call, handsFree(ev.Trigger))
	}
}

// handsFree says that nobody pressed anything.
func handsFree(t proto.Trigger) bool { return t != proto.TriggerKey && t != proto.TriggerSwitch }

// thin makes room for one more utterance of a device: of too many at once none
// but the newest can be meant.
func (l *Ledger) thin(dev string) {
	var waiting []*entry
	for _, e := range l.turns {
		if e.Device == dev && !e.asked && !e.dropped {
			waiting = append(waiting, e)
		}
	}
	if len(waiting) < maxListening {
		return
	}
	l.log.Debug("too many utterances at once", "device", dev, "waiting", len(waiting))
	for _, e := range waiting {
		e.dropped = true
		e.Interrupt(proto.EndSuperseded)
	}
}

func (l *Ledger) begin(ctx context.Context, spec turn.Spec) *entry {
	e := &entry{trace: trace(spec)}
	l.turns[spec.ID], l.known[spec.ID] = e, true
	l.running.Add(1)
	l.save() // before anybody hears of it
	e.Turn = turn.Start(ctx, spec, l.env)
	return e
}

// transcript gives a spoken turn its question, if there are words.
func (l *Ledger) transcript(_ context.Context, id string, ev proto.STTFinal) {
	e := l.turns[id]
	if e == nil || e.asked {
		return
	}
	text := strings.TrimSpace(speech.Plain(ev.Text))
	if text == "" {
		e.Event(ev)
		return
	}
	if q := e.reply; q != nil {
		e.reply = nil
		q.Reply(q.call, text)
		e.Interrupt(proto.EndSilent)
		return
	}
	if len(text) > maxQuestion { // nobody spoke that long
		e.Event(proto.STTFailed{Error: *proto.Errorf(proto.CodeInvalid, "listen", "the transcript has %d bytes, over %d", len(text), maxQuestion), Engine: ev.Engine})
		return
	}
	e.asked = true
	before := l.giveWay(e.Device, e.Session, id)
	e.Ask(text, l.language(ev.Language), before...)
}

// language is a configured language for what the engine said, "" when it said
// none of them.
func (l *Ledger) language(tag string) string {
	if tag == "" {
		return ""
	}
	primary, _, _ := strings.Cut(strings.ToLower(tag), "-")
	for _, c := range l.env.Languages {
		if p, _, _ := strings.Cut(c, "-"); p == primary {
			return c
		}
	}
	return ""
}

// giveWay supersedes the asked turns of a session, and what is heard on the
// device, for a newer turn. It returns the turns of the session, whose answers
// the newer one must know.
func (l *Ledger) giveWay(dev, session, newer string) (before []*turn.Turn) {
	for id, e := range l.turns {
		switch {
		case id == newer:
		case e.Session == session && (e.asked || newer == ""):
			e.Interrupt(proto.EndSuperseded)
			before = append(before, e.Turn)
		case e.Device == dev:
			e.BargeIn()
		}
	}
	return before
}

// Ask begins a typed turn.
func (l *Ledger) Ask(ctx context.Context, dev string, cmd proto.TurnAsk) (ticket proto.TurnTicket, err error) {
	text := strings.TrimSpace(speech.Plain(strings.ToValidUTF8(cmd.Text, "\uFFFD")))
	switch {
	case text == "":
		return ticket, proto.Errorf(proto.CodeInvalid, "turn.ask", "the question is empty").WithHint("type a question")
	case len(text) > maxQuestion:
		return ticket, proto.Errorf(proto.CodeInvalid, "turn.ask", "the question has %d bytes, over %d", len(text), maxQuestion)
	case cmd.Turn != "" && !proto.ValidToken(cmd.Turn):
		return ticket, proto.Errorf(proto.CodeInvalid, "turn.ask", "%q is no turn id", cmd.Turn)
	case cmd.Session != "" && !l.sessions.Has(cmd.Session):
		return ticket, session.NotFound("turn.ask", cmd.Session)
	}
	called := l.call(ctx, "turn.ask", func(ctx context.Context) { ticket, err = l.ask(ctx, dev, cmd, text) })
	if called != nil {
		return proto.TurnTicket{}, called
	}
	return ticket, err
}

func (l *Ledger) ask(ctx context.Context, dev string, cmd proto.TurnAsk, text string) (proto.TurnTicket, error) {
	id, conversation := cmd.Turn, cmd.Session
	if id == "" {
		id = rand.Text()
	}
	if l.known[id] {
		return proto.TurnTicket{}, proto.Errorf(proto.CodeBusy, "turn.ask", "turn %q exists already", id)
	}
	if len(l.turns) >= maxTurns {
		return proto.TurnTicket{}, proto.Errorf(proto.CodeBusy, "turn.ask", "%d turns run already", len(l.turns)).
			WithHint("end them: desktop-assistant stop")
	}
	if conversation == "" {
		conversation = l.sessions.Current(dev)
	}
	var before []*turn.Turn
	for _, e := range l.turns {
		if e.Session == conversation && e.asked {
			e.Interrupt(proto.EndSuperseded)
			before = append(before, e.Turn)
		}
	}
	e := l.begin(ctx, turn.Spec{
		ID: id, Session: conversation, Device: dev, Origin: proto.OriginText, Speak: cmd.Speak,
		Language: l.sessions.Language(conversation),
	})
	e.asked = true
	e.Ask(text, "", before...)
	return proto.TurnTicket{Turn: id, Session: conversation}, nil
}

// Interrupt cancels one turn, or every turn of a device.
func (l *Ledger) Interrupt(ctx context.Context, dev, id string) (proto.TurnsStopped, error) {
	stopped := proto.TurnsStopped{Turns: []string{}}
	err := l.call(ctx, "turn.interrupt", func(context.Context) {
		for _, e := range l.turns {
			if e.ID == id || id == "" && e.Device == dev {
				e.Interrupt(proto.EndCancelled)
				stopped.Turns = append(stopped.Turns, e.ID)
			}
		}
	})
	return stopped, err
}

// Answer answers the open question about a call. One that is not open is an
// error with code not_found.
func (l *Ledger) Answer(ctx context.Context, cmd proto.TurnAnswer) error {
	found := false
	err := l.call(ctx, cmd.Verb(), func(context.Context) {
		for _, e := range l.turns {
			if q := e.Asking(); q != nil && q.Call == cmd.Call {
				e.Turn.Answer(q.Call, cmd.Yes)
				found = true
			}
		}
	})
	if err == nil && !found {
		return proto.Errorf(proto.CodeNotFound, cmd.Verb(), "no question %q is open", cmd.Call)
	}
	return err
}

// question is the one that the next utterance of a device answers: the last that
// was asked aloud there.
func (l *Ledger) question(dev string) *reply {
	var last *reply
	var at time.Time
	for _, e := range l.turns {
		if q := e.Asking(); q != nil && q.Spoken && e.Device == dev && q.At.After(at) {
			last, at = &reply{e, q.Call}, q.At
		}
	}
	return last
}

// unanswered tells whoever asked that the utterance had no words. A noise that
// nobody made on purpose is not even an answer.
func (e *entry) unanswered(end proto.End) {
	if end == proto.EndSilent && handsFree(e.Trigger) {
		e.reply.NoReply(e.reply.call)
		return
	}
	e.reply.Reply(e.reply.call, "")
}

// Lost tells the turns that a daemon is gone or was replaced.
func (l *Ledger) Lost(service string) {
	l.each(func(e *entry) { e.Lost(service) })
}

// BusLost tells the turns that the bus was away.
func (l *Ledger) BusLost() {
	l.each(func(e *entry) { e.BusLost() })
}

// EventsLost tells the turns that some events did not come through.
func (l *Ledger) EventsLost() {
	l.each(func(e *entry) { e.EventsLost() })
}

func (l *Ledger) each(f func(*entry)) {
	l.post(func(context.Context) {
		for _, e := range l.turns {
			f(e)
		}
	})
}

// ending keeps that a turn is told to have ended, so that a brain that is killed
// at this moment does not leave it to be ended in another way.
func (l *Ledger) ending(ctx context.Context, res turn.Result) {
	_ = l.call(ctx, "turn.ended", func(context.Context) { // else the next brain ends it again
		if e := l.turns[res.ID]; e != nil {
			e.trace.Ending = res.End
			if res.Err != nil {
				e.trace.Code = res.Err.Code
			}
			l.save()
		}
	})
}

// over forgets a turn. A turn that began with a sound paused what was being
// said; without words that goes on.
func (l *Ledger) over(ctx context.Context, res turn.Result) {
	e := l.turns[res.ID]
	delete(l.turns, res.ID)
	if e != nil && e.reply != nil {
		e.unanswered(res.End)
	}
	l.running.Add(-1)
	l.remember(res.ID)
	l.stale = true
	if e == nil || res.Asked || l.listening(e.Device) {
		return
	}
	l.work.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, requestLimit)
		defer cancel()
		if err := l.speech.Resume(ctx, e.Device); err != nil {
			l.log.Debug("resume speech", "error", err)
		}
	})
}

// listening says whether someone is speaking on the device.
func (l *Ledger) listening(dev string) bool {
	for _, e := range l.turns {
		if e.Device == dev && !e.asked {
			return true
		}
	}
	return false
}

func (l *Ledger) remember(id string) {
	l.known[id] = true
	l.ended = append(l.ended, id)
	if len(l.ended) > remembered {
		delete(l.known, l.ended[0])
		l.ended = l.ended[1:]
	}
}
