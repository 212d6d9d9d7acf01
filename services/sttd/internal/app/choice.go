// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/sttd/internal/recognize"
)

const (
	probeEvery = 5 * time.Second  // while the best engine is not the one in use
	checkEvery = 30 * time.Second // while it is
	firstLook  = time.Second      // for toolrunner to tell the sentences, at start
	probeLimit = 3 * time.Second  // for all engines together
	fresh      = 3 * time.Second  // a younger probe is believed before an utterance
)

// choice knows which engine to use. It is safe for use by many goroutines.
type choice struct {
	name     string
	engines  []recognize.Engine
	problems *daemon.Problems
	log      *slog.Logger
	kick     chan struct{} // one token: probe now

	mu     sync.Mutex // guards what follows
	engine recognize.Engine
	err    error
	why    map[string]string
	at     time.Time
}

func newChoice(env daemon.Env, engines []recognize.Engine) *choice {
	c := &choice{name: env.Config.STT.Engine, engines: engines, problems: env.Problems, log: env.Log, kick: make(chan struct{}, 1)}
	if c.name == config.EngineOpenAI || c.name == config.EngineWyoming {
		env.Problems.Set("engine name", fmt.Sprintf("the speech recogniser %q is not built yet: another one is taken", c.name),
			`set engine = "auto" below [stt] in `+config.Path())
		c.name = config.Auto
	}
	return c
}

// look probes now, and shows as a problem that there is no engine.
func (c *choice) look(ctx context.Context) (recognize.Engine, error) {
	limit, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	engine, why, err := recognize.Choose(limit, c.name, c.engines...)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if c.store(engine, err, why) {
		c.log.Info("engine chosen", "engine", engine.Name())
	}
	c.problems.SetError("engine", err)
	return engine, err
}

// store reports whether another engine is used from now on.
func (c *choice) store(engine recognize.Engine, err error, why map[string]string) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed = engine != nil && engine != c.engine
	c.engine, c.err, c.why, c.at = engine, err, why, time.Now()
	return changed
}

// now gives the engine to use, and probes when the last probe is old or found
// none.
func (c *choice) now(ctx context.Context) (recognize.Engine, error) {
	c.mu.Lock()
	engine, old := c.engine, time.Since(c.at) > fresh
	c.mu.Unlock()
	if engine != nil && !old {
		return engine, nil
	}
	return c.look(ctx)
}

// again has the engines probed soon. It does not block.
func (c *choice) again() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// watch probes until ctx ends, so that the status tells the truth and a better
// engine is used when it appears.
func (c *choice) watch(ctx context.Context) {
	pause := firstLook
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.kick:
		case <-time.After(pause):
		}
		pause = probeEvery
		engine, _ := c.look(ctx) // the error is shown as a problem
		if engine != nil && (engine == c.engines[0] || c.name != config.Auto) {
			pause = checkEvery
		}
	}
}

// describe is for the status.
func (c *choice) describe() (name string, why map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.engine != nil {
		name = c.engine.Name()
	}
	return name, maps.Clone(c.why)
}

// gone tells whether an engine failed because it is not there any more, so that
// another one may do.
func gone(err error) bool {
	return proto.AsError("", err).Code == proto.CodeUnavailable
}
