// SPDX-License-Identifier: Apache-2.0

// Package app joins sttd: microphone streams in, transcripts out. One goroutine
// owns the streams and the queue; engines run on another, one utterance at a
// time.
package app

import (
	"context"
	"net"
	"strconv"
	"sync"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/sttd/internal/recognize"
	"example.org/desktop-assistant/services/sttd/internal/recognize/pocketsphinx"
	"example.org/desktop-assistant/services/sttd/internal/recognize/whisper"
)

const (
	// audioPending is how many messages of a device may wait, 3 s of 80 ms each.
	// What does not fit is lost, counted, and becomes silence in the recording:
	// it only happens when this process gets no processor for that long.
	audioPending = 40
	// eventsPending is far above what comes in a moment.
	eventsPending = 256
	healthLimit   = time.Second
	// startLimit is what the first choice of an engine may take of the start.
	startLimit = 2 * time.Second
)

// App is the daemon. The exported fields are its seams: change them between
// New and Run.
type App struct {
	Engines []recognize.Engine // the best one first

	env    daemon.Env
	posts  chan func(*queue)
	stale  chan struct{} // one token: list the tools again
	engine *choice
	known  *sentences
}

// New makes the daemon's app.
func New(env daemon.Env) (daemon.App, error) {
	return &App{
		Engines: []recognize.Engine{whisper.New(whisperURL(env.Config.Whisper)), pocketsphinx.New()},
		env:     env, posts: make(chan func(*queue)), stale: make(chan struct{}, 1),
	}, nil
}

// whisperURL is where a whisper-server is looked for.
func whisperURL(cfg config.Whisper) string {
	if cfg.URL != "" {
		return cfg.URL
	}
	return "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(cfg.Port))
}

// Run implements [daemon.App].
func (a *App) Run(ctx context.Context) error {
	a.engine = newChoice(a.env, a.Engines)
	a.known = &sentences{env: a.env, engines: a.Engines}
	q := newQueue(a.env, a.engine)
	running, cancel := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer cancel()
	subs, err := a.subscribe(running)
	defer func() {
		for _, s := range subs {
			s.Close()
		}
	}()
	if err != nil {
		return err
	}
	listed := make(chan struct{}, 1)
	helpers.Go(func() {
		a.known.watch(running, a.stale, func() {
			select {
			case listed <- struct{}{}:
			default:
			}
			a.engine.again()
		})
	})
	a.chooseFirst(running, listed)
	service, err := a.env.Serve(running)
	if err != nil {
		return err
	}
	helpers.Go(func() { a.engine.watch(running) })
	a.env.Ready()
	a.loop(running, q)
	q.drain()
	cancel()
	_ = service.Stop() // the bus may be gone already, which is no fault of ours
	return nil
}

// chooseFirst chooses an engine before anybody is told that sttd is ready, so
// that its status is true from the first question on. Without the best engine it
// waits a moment for the sentences of toolrunner, which the next one needs.
func (a *App) chooseFirst(ctx context.Context, listed <-chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if a.Engines[0].Ready(ctx) != nil {
		select {
		case <-listed:
		case <-time.After(firstLook):
		case <-ctx.Done():
		}
	}
	_, _ = a.engine.look(ctx) // the error is shown as a problem
}

// subscribe hears the audio and the events of every device that is served.
func (a *App) subscribe(ctx context.Context) (subs []*bus.Sub, err error) {
	a.env.Bus.OnChange(func(up bool) {
		if up {
			a.refresh()
		}
	})
	a.refresh()
	devices := a.env.Config.Bus.Serve
	if len(devices) == 0 {
		devices = []string{a.env.Bus.Device()}
	}
	for _, dev := range devices {
		audio, err := a.env.Bus.Audio(ctx, dev, bus.Drop(audioPending), a.audio)
		if err != nil {
			return subs, err
		}
		subs = append(subs, audio)
		events, err := a.env.Bus.Events(ctx, dev, bus.Fail(eventsPending, a.refresh), a.event, "turn", "tool", "service")
		if err != nil {
			return subs, err
		}
		subs = append(subs, events)
	}
	return subs, nil
}

func (a *App) audio(ctx context.Context, dev, stream string, m proto.Audio) {
	a.post(ctx, func(q *queue) { q.take(ctx, dev, stream, m) })
}

func (a *App) event(ctx context.Context, env proto.Envelope, ev proto.Event) {
	switch ev := ev.(type) {
	case proto.TurnEnded:
		a.post(ctx, func(q *queue) { q.forget(env.Turn) })
	case proto.ToolChanged:
		a.refresh()
	case proto.ServiceState:
		if ev.Service == "toolrunner" {
			a.refresh()
		}
	}
}

// refresh has the tools listed again soon. It does not block.
func (a *App) refresh() {
	select {
	case a.stale <- struct{}{}:
	default:
	}
}

// post runs f on the owner's goroutine, or never when we stop.
func (a *App) post(ctx context.Context, f func(*queue)) {
	select {
	case a.posts <- f:
	case <-ctx.Done():
	}
}

// loop is the one goroutine that owns the queue.
func (a *App) loop(ctx context.Context, q *queue) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if q.desk.Open() > 0 {
			timer.Reset(staleEvery)
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
			return
		case f := <-a.posts:
			f(q)
		case j := <-q.done:
			q.finish(ctx, j)
		case now := <-timer.C:
			q.expire(now)
		}
	}
}

// Healthy implements [daemon.Healthy]: the owner's goroutine makes progress.
func (a *App) Healthy() bool {
	select {
	case a.posts <- func(*queue) {}:
		return true
	case <-time.After(healthLimit):
		return false
	}
}

// detail is what status shows of sttd: nothing of what was said.
type detail struct {
	Engine    string            `json:"engine"`            // in use, "" when none works
	WhyNot    map[string]string `json:"why_not,omitempty"` // of better engines
	Sentences int               `json:"sentences"`         // of tools, that the recogniser of commands knows
	Unheard   []string          `json:"unheard,omitempty"` // words in them it cannot pronounce
	Streams   int               `json:"streams"`           // being recorded now
	Queue     int               `json:"queue"`             // utterances waiting or at an engine
	Done      uint64            `json:"done"`              // utterances so far
	Ignored   uint64            `json:"ignored"`           // audio messages of no known stream
	LastAt    *proto.Time       `json:"last_at,omitempty"` // when the last utterance was done
	LastMS    int64             `json:"last_took_ms"`      // from its end to its transcript
	LastAudio int64             `json:"last_audio_ms"`     // how long it was
}

// Detail implements [daemon.Detailer].
func (a *App) Detail() any {
	got := make(chan detail, 1)
	select {
	case a.posts <- func(q *queue) { got <- q.detail() }:
		d := <-got
		d.Engine, d.WhyNot = a.engine.describe()
		d.Sentences, d.Unheard = a.known.describe()
		return d
	case <-time.After(healthLimit): // not running yet or any more
		return detail{}
	}
}
