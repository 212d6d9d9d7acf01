// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// serverInfo is what the model list tells about a server.
type serverInfo struct {
	model string // "" when the server lists none
	owner string // owned_by of that model, which names the server program
}

// Probe asks for the model list, which is quick, and refreshes what is known of
// the server. It returns the name that requests carry, "" when the server lists
// none. The error is an *Error; nil means that a chat server answers, and one
// without a model list counts.
func (c *Client) Probe(ctx context.Context) (model string, err error) {
	c.forget()
	ctx, cancel := context.WithTimeout(ctx, c.opt.Timeouts.Connect)
	defer cancel()
	info, e := c.list(ctx)
	if e != nil {
		c.aboutKey(e)
		return "", e
	}
	return c.keep(info).model, nil
}

// describe returns what is known of the server and asks it the first time. A
// server that is too busy to give its list in time may still answer the question.
func (c *Client) describe(ctx context.Context) (info serverInfo, fresh bool, e *Error) {
	c.mu.Lock()
	info, known := c.server, c.known
	c.mu.Unlock()
	if known {
		return info, false, nil
	}
	listCtx, cancel := context.WithTimeout(ctx, c.opt.Timeouts.Connect)
	defer cancel()
	info, e = c.list(listCtx)
	switch {
	case e != nil && e.Kind == KindStalled && ctx.Err() == nil:
		return serverInfo{model: c.opt.Model}, true, nil
	case e != nil:
		return serverInfo{}, true, e
	}
	return c.keep(info), true, nil
}

// keep remembers what the model list told. A name in the configuration goes before.
func (c *Client) keep(info serverInfo) serverInfo {
	if c.opt.Model != "" {
		info.model = c.opt.Model
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if info.model != c.server.model {
		c.opened = thinker.MatchString(info.model)
	}
	c.server, c.known = info, true
	return info
}

// thinker are the names of models whose templates open the thinking in the prompt,
// so that only its end is in the answer. A first answer is held back for it; later
// ones go by what came, see remember.
var thinker = regexp.MustCompile(`(?i)(^|[^a-z])(r1|qwq|reasoner|thinking|thinker)([^a-z]|$)`)

// list reads the model list. A server that has none, or lists in a form of its
// own, is no error: the chat request will tell.
func (c *Client) list(ctx context.Context) (serverInfo, *Error) {
	req, e := c.request(ctx, http.MethodGet, "/models", nil)
	if e != nil {
		return serverInfo{}, e
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return serverInfo{}, noAnswer(err, c.base)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	switch resp.StatusCode {
	case http.StatusServiceUnavailable, http.StatusUnauthorized, http.StatusForbidden:
		return serverInfo{}, refusal(resp.StatusCode, resp.Header, body)
	}
	if err != nil {
		return serverInfo{}, noAnswer(err, c.base)
	}
	return parseModels(body), nil
}

// notChat are words in the names of models that do not chat. Servers list them
// among the others.
var notChat = regexp.MustCompile(`(?i)embed|rerank|whisper|\btts\b|kokoro|bge-|clip|moderation`)

// parseModels takes the first model that can chat, or the first one. Beside
// {"data":[{"id"}]} there are {"models":[{"name"}]} and a bare list.
func parseModels(body []byte) serverInfo {
	type entry struct {
		ID      string `json:"id"`
		Name    string `json:"name"`
		OwnedBy string `json:"owned_by"`
	}
	var list struct {
		Data   []entry `json:"data"`
		Models []entry `json:"models"`
	}
	if json.Unmarshal(body, &list) != nil && json.Unmarshal(body, &list.Data) != nil {
		return serverInfo{}
	}
	if len(list.Data) == 0 {
		list.Data = list.Models
	}
	var first serverInfo
	for _, m := range list.Data {
		if m.ID == "" {
			m.ID = m.Name
		}
		switch info := (serverInfo{model: m.ID, owner: m.OwnedBy}); {
		case m.ID == "":
		case !notChat.MatchString(m.ID):
			return info
		case first.model == "":
			first = info
		}
	}
	return first
}

func (c *Client) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, *Error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, &Error{Kind: KindRefused, Text: "make request: " + err.Error(), Err: err}
	}
	key, _ := c.key() // a server that wants none is asked without, see aboutKey
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, &Error{Kind: KindUnauthorized, Text: "the api key holds blanks or signs that no key has",
			Hint: "set api_key_env or api_key_file in [model] to a valid key"}
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	return req, nil
}

func (c *Client) key() (string, error) {
	if c.opt.APIKey == nil {
		return "", nil
	}
	return c.opt.APIKey()
}

// minKey is the shortest key, in bytes, that is looked for in the words of a server.
const minKey = 6

// aboutKey takes the key out of an error, since servers repeat a wrong one, and
// tells why none was sent to a server that wants one.
func (c *Client) aboutKey(e *Error) {
	key, err := c.key()
	if len(key) >= minKey {
		e.Text = strings.ReplaceAll(e.Text, key, "(the key)")
	}
	if err != nil && e.Kind == KindUnauthorized {
		e.Text = "no key was sent: " + err.Error()
	}
}

// remember notes how the last answer showed its thinking.
func (c *Client) remember(opened bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened = opened
}

func (c *Client) opensThinking() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opened
}

// forget drops what is known of the server: it may come back as another one.
func (c *Client) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = false
}
