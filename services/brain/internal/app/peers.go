// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/catalog"
	"example.org/desktop-assistant/services/brain/internal/ledger"
)

const (
	sayLimit     = time.Second     // for ttsd to acknowledge
	statusLimit  = time.Second     // for a daemon to say who it is
	startGrace   = 3 * time.Second // in which the other daemons may still start
	historyLimit = 5 * time.Second
	historyTries = 5
)

// mouth asks ttsd.
type mouth struct{ conn *bus.Conn }

func (m mouth) Say(ctx context.Context, dev string, s proto.SpeechSay) error {
	return ask(ctx, m.conn, dev, s)
}

func (m mouth) End(ctx context.Context, dev string, e proto.SpeechEnd) error {
	return ask(ctx, m.conn, dev, e)
}

func (m mouth) Resume(ctx context.Context, dev string) error {
	return ask(ctx, m.conn, dev, proto.SpeechResume{})
}

func (m mouth) Stop(ctx context.Context, dev, turn string) error {
	_, err := bus.RequestOn(ctx, m.conn, dev, proto.SpeechStop{Turn: turn})
	return err
}

func ask[C proto.Command[proto.Done]](ctx context.Context, conn *bus.Conn, dev string, cmd C) error {
	ctx, cancel := context.WithTimeout(ctx, sayLimit)
	defer cancel()
	_, err := bus.RequestOn[C, proto.Done](ctx, conn, dev, cmd)
	return err
}

// tools asks toolrunner.
type tools struct {
	conn    *bus.Conn
	catalog *catalog.Catalog
}

func (t tools) Offer(ctx context.Context) catalog.Offer { return t.catalog.Offer(ctx) }
func (t tools) Known() (catalog.Offer, bool)            { return t.catalog.Known() }
func (t tools) Cancel(call string) error                { return t.conn.CancelTool(call) }

func (t tools) Call(ctx context.Context, name string, call proto.ToolCall, arguments []byte) (proto.ToolResult, error) {
	return t.conn.CallTool(ctx, name, call, arguments)
}

// instance asks a daemon who it is.
func (a *App) instance(ctx context.Context, service string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, statusLimit)
	defer cancel()
	status, err := bus.Request(ctx, a.env.Bus, proto.StatusOf{Daemon: service})
	return status.Instance, err
}

// peerChanged is told when another daemon came, went or was replaced.
func (a *App) peerChanged(service, was, now string) {
	a.env.Log.Debug("peer changed", "service", service, "was", was, "now", now)
	if was != "" {
		a.ledger.Lost(service)
	}
	if service != "toolrunner" {
		return
	}
	if now == "" {
		a.catalog.Forget()
		return
	}
	a.catalog.Refresh()
}

// watchPeers keeps the problems about missing daemons up to date.
func (a *App) watchPeers(ctx context.Context) {
	missing := map[string]string{
		"toolrunner": "toolrunner does not run: there are no tools and no local commands",
		"ttsd":       "ttsd does not run: answers are shown, not spoken",
	}
	tick := time.NewTicker(startGrace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for service, what := range missing {
			if !a.env.Bus.Connected() || a.watch.Instance(service) != "" {
				a.env.Problems.Clear(service)
				continue
			}
			a.env.Problems.Set(service, what, "start it: desktop-assistant run")
		}
	}
}

// watchBus ends the turns when the bus goes: ttsd and the tools forget them then.
// Where only events were lost they go on.
func (a *App) watchBus(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.busGone:
			a.ledger.BusLost()
		case <-a.missed:
			a.env.Log.Warn("more events than can be followed, some were lost")
			a.ledger.EventsLost()
		}
	}
}

// buryOrphans ends what an earlier brain left open, once the bus is there. What
// the bus kept says more than our file, but a bus may keep nothing.
func (a *App) buryOrphans(ctx context.Context) {
	for try := 0; try < historyTries; try++ {
		if !a.connected(ctx) {
			return
		}
		orphans, err := a.orphans(ctx)
		if err == nil {
			if len(orphans) > 0 && !wait(ctx, othersBack) {
				return
			}
			a.ledger.Bury(orphans)
			return
		}
		a.env.Log.Debug("look for open turns", "error", err)
		if !wait(ctx, time.Second) {
			return
		}
	}
	a.env.Log.Warn("could not look for all turns left open: the bus does not tell its history")
	a.ledger.Bury(a.ledger.Left())
}

// othersBack is how long the others may take to renew their subscriptions after
// the bus came back: it may have gone together with the brain before.
const othersBack = 500 * time.Millisecond

// wait lets some time pass; false means that ctx ended meanwhile.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// connected waits until the bus is there; false means that ctx ended meanwhile.
func (a *App) connected(ctx context.Context) bool {
	for !a.env.Bus.Connected() {
		select {
		case <-ctx.Done():
			return false
		case <-a.busBack:
		}
	}
	return true
}

func (a *App) orphans(ctx context.Context) ([]ledger.Orphan, error) {
	ctx, cancel := context.WithTimeout(ctx, historyLimit)
	defer cancel()
	var past ledger.Past
	past.Left(a.ledger.Left())
	for _, dev := range a.devices() {
		err := a.env.Bus.History(ctx, dev, func(_ context.Context, env proto.Envelope, ev proto.Event) {
			past.Event(env, ev)
		}, "utterance", "turn", "speech")
		if err != nil {
			return nil, err
		}
	}
	return past.Orphans(), nil
}

// languages are the configured ones, the user's own first.
func languages(cfg config.Config) []string {
	list := cfg.Languages()
	if len(list) == 0 {
		list = []string{"en"}
	}
	for _, own := range []string{"en", localeLanguage()} { // the last one found is first
		if i := slices.Index(list, own); i >= 0 {
			list = slices.Insert(slices.Delete(list, i, i+1), 0, own)
		}
	}
	return list
}

// localeLanguage is the language of the user's locale, "" when it says none.
func localeLanguage() string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := os.Getenv(name); v != "" {
			lang, _, _ := strings.Cut(v, "_")
			return lang
		}
	}
	return ""
}

// picker picks phrases at random, never the same twice in a row.
type picker struct {
	mu   sync.Mutex
	last string
}

func (p *picker) pick(phrases []string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	choice := slices.DeleteFunc(slices.Clone(phrases), func(s string) bool { return s == p.last })
	if len(choice) == 0 {
		choice = phrases
	}
	p.last = choice[rand.IntN(len(choice))]
	return p.last
}
