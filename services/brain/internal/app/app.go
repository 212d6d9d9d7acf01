// SPDX-License-Identifier: Apache-2.0

// Package app wires brain: the bus to the ledger of turns, the chat server, the
// tools and the voice to the turns.
package app

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/catalog"
	"example.org/desktop-assistant/services/brain/internal/ledger"
	"example.org/desktop-assistant/services/brain/internal/peer"
	"example.org/desktop-assistant/services/brain/internal/session"
	"example.org/desktop-assistant/services/brain/internal/skill"
	"example.org/desktop-assistant/services/brain/internal/turn"
)

const (
	eventsWaiting = 4096             // events that may wait for the ledger
	listenGrace   = 10 * time.Second // beyond the longest utterance
	sttGrace      = time.Second      // beyond the deadline of sttd, whose reason says more
)

// areas are the events that brain acts on.
var areas = []string{"utterance", "stt", "speech", "service", "tool"}

// App is brain. Change its exported fields before Run.
type App struct {
	env daemon.Env

	// Model is the chat server.
	Model Model

	busBack  chan struct{} // one token: it is there
	busGone  chan struct{}
	missed   chan struct{} // one token: events were lost
	chat     *chat
	sessions *session.Store
	skills   *skill.Folder
	skillOff string // why there are none, whatever the folder holds
	catalog  *catalog.Catalog
	ledger   *ledger.Ledger
	watch    *peer.Watch
}

// New builds brain from its environment.
func New(env daemon.Env) (daemon.App, error) {
	client, err := client(env.Config, env.Log)
	if err != nil {
		return nil, err
	}
	a := &App{env: env, Model: client, busBack: make(chan struct{}, 1), busGone: make(chan struct{}, 1), missed: make(chan struct{}, 1)}
	env.Bus.OnChange(func(up bool) {
		if up {
			token(a.busBack)
		} else {
			token(a.busGone)
		}
	})
	return a, nil
}

// token does not block: one stands for any number.
func token(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run answers until ctx ends.
func (a *App) Run(ctx context.Context) error {
	a.build()
	defer a.Model.Close()
	var work sync.WaitGroup
	defer work.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before the wait
	for _, f := range []func(context.Context){
		a.ledger.Run, a.catalog.Run, a.watch.Run, a.watchBus, a.watchModel, a.watchPeers, a.buryOrphans,
	} {
		work.Go(func() { f(ctx) })
	}
	for _, dev := range a.devices() {
		sub, err := a.env.Bus.Events(ctx, dev, bus.Fail(eventsWaiting, a.eventsLost), a.event, areas...)
		if err != nil {
			return err
		}
		defer sub.Close()
	}
	service, err := a.env.Serve(ctx, a.endpoints()...)
	if err != nil {
		return err
	}
	a.env.Ready()
	<-ctx.Done()
	if err := service.Stop(); err != nil {
		return fmt.Errorf("stop brain: %w", err)
	}
	return ctx.Err()
}

func (a *App) build() {
	cfg := a.env.Config
	a.chat = &chat{model: a.Model, problems: a.env.Problems, address: config.Redact(cfg.LLM)}
	a.sessions = session.New(time.Duration(cfg.Session.IdleMinutes) * time.Minute)
	a.catalog = catalog.New(func(ctx context.Context) (proto.Tools, error) {
		return bus.Request(ctx, a.env.Bus, proto.ToolList{})
	}, a.env.Log)
	a.skills, a.skillOff = skills(cfg, a.env.Log)
	mouth := mouth{a.env.Bus}
	a.ledger = ledger.New(turn.Env{
		Log: a.env.Log, Bus: a.env.Bus, Model: a.chat, Tools: tools{a.env.Bus, a.catalog}, Skills: a.skills,
		Asker: a.env.Bus.Asker(), Languages: languages(cfg), Settings: settings(cfg), Phrase: new(picker).pick,
	}, mouth, a.sessions, filepath.Join(a.env.Dir, "brain.turns"))
	a.watch = peer.New(a.instance, func() bool { return a.ledger.Running() > 0 }, a.peerChanged,
		"toolrunner", "ttsd", "sttd", "micd")
}

// devices are those that brain serves.
func (a *App) devices() []string {
	if serve := a.env.Config.Bus.Serve; len(serve) > 0 {
		return serve
	}
	return []string{a.env.Bus.Device()}
}

func settings(cfg config.Config) turn.Settings {
	return turn.Settings{
		System: cfg.System, Rounds: cfg.ToolRounds, Intents: cfg.Intents, Route: cfg.Route(),
		HistoryMessages: cfg.Model.HistoryMessages,
		STTDeadline:     cfg.STT.DeadlineS.Duration() + sttGrace,
		ListenLimit:     max(cfg.Mic.LimitS, cfg.Mic.LeaseS).Duration() + listenGrace,
		AnnounceAfter:   time.Duration(cfg.TTS.AnnounceAfterMS) * time.Millisecond,
		LoadingLimit:    cfg.Model.FirstTokenS.Duration(),
	}
}

// event hands an event to whoever acts on it.
func (a *App) event(_ context.Context, env proto.Envelope, ev proto.Event) {
	switch ev := ev.(type) {
	case proto.ServiceState:
		a.watch.Poke(ev.Service)
		return
	case proto.ToolChanged:
		a.catalog.Refresh()
		return
	case proto.UtteranceStarted:
		defer a.watch.PokeAll()
	}
	a.ledger.Event(env, ev)
}

// eventsLost is told when there were more events than the ledger can take. It
// does not block.
func (a *App) eventsLost() { token(a.missed) }

func (a *App) endpoints() []bus.Endpoint {
	dev := a.env.Bus.Device()
	return append(a.skillEndpoints(dev),
		bus.Command(func(ctx context.Context, cmd proto.TurnAsk) (proto.TurnTicket, error) {
			ticket, err := a.ledger.Ask(ctx, dev, cmd)
			a.watch.PokeAll() // after it, so that it watches as while a turn runs
			return ticket, err
		}),
		bus.Command(func(ctx context.Context, cmd proto.TurnInterrupt) (proto.TurnsStopped, error) {
			return a.ledger.Interrupt(ctx, dev, cmd.Turn)
		}),
		bus.Command(func(ctx context.Context, cmd proto.TurnAnswer) (proto.Done, error) {
			return proto.Done{}, a.ledger.Answer(ctx, cmd)
		}),
		bus.Command(func(context.Context, proto.SessionNew) (proto.SessionInfo, error) {
			return a.sessions.Begin(dev), nil
		}),
		bus.Command(func(context.Context, proto.SessionList) (proto.Sessions, error) {
			return proto.Sessions{Sessions: a.sessions.List(dev)}, nil
		}),
		bus.Command(func(_ context.Context, cmd proto.SessionResume) (proto.SessionInfo, error) {
			return a.sessions.Resume(dev, cmd.ID)
		}),
	)
}

// Detail is brain's part of its status.
type Detail struct {
	LLM       string   `json:"llm"`
	Reachable bool     `json:"reachable"`
	Reason    string   `json:"reason,omitempty"` // why the chat server is not reachable
	Model     string   `json:"model,omitempty"`  // the name that requests carry
	Route     string   `json:"route"`
	Intents   string   `json:"intents"`
	Languages []string `json:"languages"`
	Turns     int      `json:"turns"` // running now
	Sessions  int      `json:"sessions"`
	Tools     int      `json:"tools"`
	// Skills is how many there are, or why there are none.
	Skills string `json:"skills"`
	// BadSkills are files that are no skills or not quite, with the reason.
	BadSkills []string `json:"bad_skills,omitempty"`
	// Withheld are the tools kept from an external chat server, with the reason.
	Withheld map[string]string `json:"withheld,omitempty"`
}

// Detail gives brain's part of its status.
func (a *App) Detail() any {
	if a.ledger == nil {
		return Detail{}
	}
	d := Detail{
		LLM: a.chat.address, Route: a.env.Config.Route(), Intents: a.env.Config.Intents,
		Languages: languages(a.env.Config), Turns: a.ledger.Running(),
		Sessions: len(a.sessions.List(a.env.Bus.Device())),
	}
	d.Reachable, d.Reason, d.Model = a.chat.state()
	offer, _ := a.catalog.Known()
	d.Tools = len(offer.Specs)
	list := a.listSkills(a.env.Bus.Device())
	d.Skills, d.BadSkills = fmt.Sprintf("%d in %s", len(list.Known), list.Dir), list.Warnings
	if list.Off != "" {
		d.Skills = "off: " + list.Off
	}
	if d.Route == config.RouteExternal {
		d.Withheld = map[string]string{}
		for _, s := range offer.Specs {
			switch {
			case s.External:
			case s.Held != "":
				d.Withheld[s.Name] = s.Held
			default:
				d.Withheld[s.Name] = "external = true is not in its file"
			}
		}
	}
	return d
}
