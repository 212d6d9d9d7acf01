// SPDX-License-Identifier: Apache-2.0

// Package app is the work of ttsd.
package app

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/pulse"
	"example.org/desktop-assistant/pkg/xdg"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/duck"
	"example.org/desktop-assistant/services/ttsd/internal/queue"
	"example.org/desktop-assistant/services/ttsd/internal/sink"
	"example.org/desktop-assistant/services/ttsd/internal/synth"
)

const (
	tickTime = 200 * time.Millisecond
	// firstLook is how long the start waits for the sound server and the engine.
	firstLook = 2 * time.Second
	// silenceLimit is how long the answer to speech.stop waits for the silence, and
	// the end of ttsd for its last words.
	silenceLimit = 300 * time.Millisecond
)

// Sound is where speech is heard; *sink.Server in the product.
type Sound interface {
	sink.Opener
	// Run works until ctx ends.
	Run(ctx context.Context)
	// Ready is nil, or a *proto.Error why nothing can be heard.
	Ready() error
	// Sink is the name of the loudspeaker, "" when there is none.
	Sink() string
}

// App is ttsd. New sets the exported fields; tests replace them before Run.
type App struct {
	// Find looks for the speech engine. With an error, which is a *proto.Error with a
	// hint, it is not the one asked for, and may be nil; it is then called again.
	Find func(ctx context.Context) (synth.Engine, error)
	// Quick gives an engine that speaks while Find looks, nil when there is none.
	Quick func(ctx context.Context) (synth.Engine, error)
	// Sound is where it is heard.
	Sound Sound
	// Alive says whether the owner of a turn is still on the bus.
	Alive func(ctx context.Context, owner string) bool

	env    daemon.Env
	inbox  chan func() // for the goroutine of Run, which owns what is below
	queue  *queue.Queue
	player *sink.Player
	maker  *maker
	engine synth.Engine // nil while there is none
	sought bool         // Find was asked
	finder *finder
	duck   *duck.Ducker
	bus    watch
	silent []chan struct{} // closed when every Silence was answered

	once   sync.Once
	looked chan struct{} // closed by soundChanged
	// elsewhere says that the sink in use is not the one asked for; it belongs to
	// the sound server's goroutine.
	elsewhere bool

	detail atomic.Pointer[Detail]
}

// Detail is what ttsd's status shows.
type Detail struct {
	Engine    string      `json:"engine"` // "" when there is none
	Version   string      `json:"engine_version"`
	Made      any         `json:"engine_detail,omitempty"` // what the engine is made of
	Backup    string      `json:"backup,omitempty"`        // the engine that says what that one cannot
	Sink      string      `json:"sink"`                    // "" when there is none
	Queue     queue.State `json:"queue"`
	PlayedMS  int64       `json:"played_ms"` // since the start
	Underruns int64       `json:"underruns"` // a pause between two sentences is one
}

// New makes ttsd on the session's sound server with the engine of the
// configuration.
func New(env daemon.Env) (daemon.App, error) {
	cfg := env.Config
	a := &App{env: env, inbox: make(chan func(), 64), queue: queue.New(), looked: make(chan struct{})}
	a.finder = &finder{env: env}
	a.Find, a.Quick = a.finder.find, a.finder.espeak
	a.Alive = a.alive
	state, err := xdg.State()
	if err != nil {
		return nil, err
	}
	a.finder.guard.path = filepath.Join(state, "opening.json")
	a.duck = duck.New(cfg.TTS.Duck, filepath.Join(state, "lowered.json"), env.Log)
	server := sink.NewServer(pulse.Options{
		Name: "Desktop Assistant", ID: "org.example.desktop-assistant", Icon: "audio-speakers", Version: daemon.Version,
	}, cfg.TTS.Sink, a.soundChanged)
	server.Streams = a.streamsChanged
	a.Sound = server
	return a, nil
}

// streamsChanged hands what others play to what lowers it.
func (a *App) streamsChanged(c *pulse.Conn) {
	if c == nil {
		a.duck.Server(nil)
		return
	}
	a.duck.Server(c)
}

// soundChanged hears from the sound server, with or without success: why nothing
// can be heard, and why not from the sink asked for.
func (a *App) soundChanged(server, named error) {
	a.env.Problems.SetError("sound", server)
	a.env.Problems.SetError("sink", named)
	if a.elsewhere != (named != nil) {
		a.elsewhere = named != nil
		a.player.Renew()
	}
	a.once.Do(func() { close(a.looked) })
}

// Run speaks until ctx ends; then it stops at once and says so for every turn.
func (a *App) Run(ctx context.Context) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	defer a.finder.close()
	defer all.Wait()
	defer cancel()
	a.player = sink.NewPlayer(a.Sound, reports{a, work.Done()}, a.env.Config.TTS.Volume, a.env.Log)
	a.maker = newMaker()
	a.show()
	all.Go(func() { a.Sound.Run(work) })
	all.Go(func() { a.player.Run(work) })
	all.Go(func() { a.maker.run(work) })
	// It ends first: it needs the sound server to put right what it lowered.
	lowering, restore := context.WithCancel(work)
	var lowered sync.WaitGroup
	lowered.Go(func() { a.duck.Run(lowering) })
	defer lowered.Wait()
	defer restore()
	all.Go(func() { a.seek(work) })
	if err := a.firstLook(ctx); err != nil {
		return err
	}
	sub, err := a.env.Bus.Events(ctx, a.env.Bus.Device(), bus.Fail(256, func() {}), a.event, "utterance")
	if err != nil {
		return err
	}
	defer sub.Close()
	service, err := a.env.Serve(ctx, a.endpoints()...)
	if err != nil {
		return err
	}
	a.show()
	a.env.Ready()
	a.loop(ctx, work, &all)
	err = service.Stop()
	a.goodbye(work, &all)
	return err
}

// firstLook waits a moment for engine and loudspeaker, so that the first sentence
// after the start is not refused for nothing.
func (a *App) firstLook(ctx context.Context) error {
	limit := time.NewTimer(firstLook)
	defer limit.Stop()
	looked := a.looked
	for looked != nil || !a.sought {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			return nil
		case <-looked:
			looked = nil
		case f := <-a.inbox: // the engine's
			f()
		}
	}
	return nil
}

// loop is the one goroutine that owns the queue.
func (a *App) loop(ctx, work context.Context, all *sync.WaitGroup) {
	for {
		var tick <-chan time.Time // nothing happens by itself in an empty queue
		if a.queue.Busy() {
			tick = time.After(tickTime)
		}
		select {
		case <-ctx.Done():
			return
		case f := <-a.inbox:
			f()
			a.act(work, all)
		case <-tick:
			a.watchBus(work, all)
			a.queue.Tick(time.Now())
			a.act(work, all)
		}
	}
}

// act does what the queue decided.
func (a *App) act(work context.Context, all *sync.WaitGroup) {
	for _, e := range a.queue.Effects() {
		switch e := e.(type) {
		case queue.Publish:
			if err := a.env.Bus.Publish(e.Event, bus.Meta{Turn: e.Turn}); err != nil {
				a.env.Log.Error("publish", "turn", e.Turn, "error", err)
			}
		case queue.Make:
			clip := sink.NewClip(e.Key)
			a.player.Play(clip)
			a.maker.add(job{clip, a.engine, a.sentence(e)})
		case queue.Silence:
			a.maker.clear()
			a.player.Stop()
		case queue.Hold:
			a.player.Hold()
		case queue.Release:
			a.player.Release()
		}
	}
	if !a.queue.Cutting() {
		for _, ch := range a.silent {
			close(ch)
		}
		a.silent = nil
	}
	if !a.queue.Busy() {
		a.duck.Up()
	}
	if a.engine != nil && a.maker.gone() {
		a.engine = nil
		all.Go(func() { a.seek(work) })
	}
	a.show()
}

// goodbye stops what is being said, and waits for the player's word on how far it
// came.
func (a *App) goodbye(work context.Context, all *sync.WaitGroup) {
	limit := time.NewTimer(silenceLimit)
	defer limit.Stop()
	a.queue.Fail(time.Now(), proto.Errorf(proto.CodeUnavailable, "speak", "ttsd is being stopped"), nil)
	for a.act(work, all); a.queue.Cutting(); a.act(work, all) {
		select {
		case f := <-a.inbox:
			f()
		case <-limit.C:
			return
		}
	}
}

// show keeps the status up to date; the status is asked for from other goroutines.
func (a *App) show() {
	d := Detail{Queue: a.queue.State()}
	if a.engine != nil {
		d.Engine, d.Version, d.Made = a.engine.Name(), a.engine.Version(), a.engine.Detail()
		if c, ok := a.engine.(interface{ Backup() string }); ok {
			d.Backup = c.Backup()
		}
	}
	a.detail.Store(&d)
}

// Detail is for the status.
func (a *App) Detail() any {
	d := *a.detail.Load()
	d.Sink, d.PlayedMS, d.Underruns = a.Sound.Sink(), a.player.Played(), a.player.Underruns()
	return d
}

// post runs f on the goroutine of Run, unless done is closed first.
func (a *App) post(done <-chan struct{}, f func()) bool {
	select {
	case a.inbox <- f:
		return true
	case <-done:
		return false
	}
}
