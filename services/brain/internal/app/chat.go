// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/xdg"
	"example.org/desktop-assistant/services/brain/internal/model"
	"example.org/desktop-assistant/services/brain/internal/turn"
)

// How often the chat server is asked whether it is there.
const (
	probeAway = 15 * time.Second
	probeWell = time.Minute
)

// Model is the chat server, as [model.Client] is.
type Model interface {
	turn.Model
	Probe(ctx context.Context) (model string, err error)
	Close()
}

func client(cfg config.Config, log *slog.Logger) (*model.Client, error) {
	m := cfg.Model
	return model.New(model.Options{
		BaseURL: cfg.LLM, Model: m.Name, APIKey: func() (string, error) { return apiKey(m) }, Thinking: m.Thinking,
		Timeouts: model.Timeouts{
			Connect: m.ConnectS.Duration(), FirstToken: m.FirstTokenS.Duration(),
			Idle: m.IdleS.Duration(), Total: m.TotalS.Duration(),
		},
		Log: log,
	})
}

// apiKey reads the key anew for each request, so that it can be changed and is
// not kept. "" without an error means that none is configured.
func apiKey(m config.Model) (string, error) {
	if key := strings.TrimSpace(os.Getenv(m.APIKeyEnv)); key != "" {
		return key, nil
	}
	switch {
	case m.APIKeyFile != "":
		return readKey(m.APIKeyFile)
	case m.APIKeyEnv != "":
		return "", fmt.Errorf("the environment variable %s is not set", m.APIKeyEnv)
	}
	return "", nil
}

// maxKey is more than any key has, in bytes.
const maxKey = 16 << 10

// readKey reads a key from a file that only its owner can read.
func readKey(name string) (key string, err error) {
	path, err := xdg.Expand(name)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Size() > maxKey:
		return "", fmt.Errorf("%q is no file with a key", path)
	case info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("others can read %q, type: chmod 600 %q", path, path)
	}
	text, err := os.ReadFile(path)
	key = strings.TrimSpace(string(text))
	if err == nil && key == "" {
		err = fmt.Errorf("%q is empty", path)
	}
	return key, err
}

// chat is the model with what is known of its health.
type chat struct {
	model    Model
	problems *daemon.Problems
	address  string

	mu     sync.Mutex
	known  bool
	reason string // why it is not reachable, "" when it is
	name   string
}

// Chat asks, and learns from the outcome whether the server is there.
func (c *chat) Chat(ctx context.Context, req model.Request, emit func(text string)) (model.Reply, error) {
	reply, err := c.model.Chat(ctx, req, emit)
	c.note(err)
	return reply, err
}

// note keeps what an outcome says about the server; of most errors nothing.
func (c *chat) note(err error) {
	var e *model.Error
	errors.As(err, &e)
	switch {
	case err == nil:
		c.set("")
		c.problems.Clear("model")
	case e == nil:
	case e.Kind == model.KindUnreachable:
		c.set(e.Text)
		c.problems.Set("model", "no chat server answers at "+c.address, e.Hint)
	case e.Kind == model.KindLoading, e.Kind == model.KindUnauthorized, e.Kind == model.KindUntrusted,
		e.Kind == model.KindAddress, e.Kind == model.KindRefused, e.Kind == model.KindBadStream:
		c.set(e.Text)
		c.problems.Set("model", "the chat server at "+c.address+" does not answer questions: "+e.Text, e.Hint)
	}
}

func (c *chat) set(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.reason = true, reason
}

func (c *chat) state() (reachable bool, reason, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known {
		return false, "not asked yet", ""
	}
	return c.reason == "", c.reason, c.name
}

// probe asks whether the server is there, and for the model's name.
func (c *chat) probe(ctx context.Context) (well bool) {
	name, err := c.model.Probe(ctx)
	if ctx.Err() != nil {
		return false
	}
	c.note(err)
	if err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.name = name
	return true
}

// watchModel looks at the chat server from time to time, for the status.
func (a *App) watchModel(ctx context.Context) {
	for {
		every := probeAway
		if a.chat.probe(ctx) {
			every = probeWell
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}
