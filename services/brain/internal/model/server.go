// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
)

// serverInfo is what the model list tells about a server.
type serverInfo struct {
	model string // "" when the server lists none
	owner string // owned_by of that model, which names the server program
}

// templateServers are the values of owned_by by which servers that take
// chat_template_kwargs give themselves away; others may refuse the field.
var templateServers = map[string]bool{"llamacpp": true, "vllm": true, "sglang": true}

// Probe asks for the model list, which is quick, and refreshes what is known of
// the server. It returns the name that requests carry, "" when the server lists
// none. The error is an *Error; nil means that a chat server answers, and one
// without a model list counts.
func (c *Client) Probe(ctx context.Context) (model string, err error) {
	c.forget()
	ctx, cancel := context.WithTimeout(ctx, c.opt.Timeouts.Connect)
	defer cancel()
	info, e := c.describe(ctx)
	if e != nil {
		return "", e
	}
	return info.model, nil
}

// describe returns what is known of the server and asks it the first time.
func (c *Client) describe(ctx context.Context) (serverInfo, *Error) {
	c.mu.Lock()
	info, known := c.server, c.known
	c.mu.Unlock()
	if known {
		return info, nil
	}
	info, err := c.list(ctx)
	if err != nil {
		return serverInfo{}, err
	}
	if c.opt.Model != "" {
		info.model = c.opt.Model
	}
	c.mu.Lock()
	c.server, c.known = info, true
	c.mu.Unlock()
	return info, nil
}

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

func parseModels(body []byte) serverInfo {
	var list struct {
		Data []struct {
			ID      string `json:"id"`
			OwnedBy string `json:"owned_by"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &list) != nil {
		return serverInfo{}
	}
	for _, m := range list.Data {
		if m.ID != "" {
			return serverInfo{model: m.ID, owner: m.OwnedBy}
		}
	}
	return serverInfo{}
}

func (c *Client) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, *Error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, &Error{Kind: KindRefused, Text: "make request: " + err.Error(), Err: err}
	}
	if c.opt.APIKey != nil {
		if key := c.opt.APIKey(); key != "" {
			req.Header.Set("Authorization", "Bearer "+key)
		}
	}
	return req, nil
}

// optional returns the optional fields to send to this server.
func (c *Client) optional(info serverInfo) map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	send := map[string]bool{}
	if !c.refused[fieldStreamOptions] {
		send[fieldStreamOptions] = true
	}
	if !c.opt.Thinking && templateServers[info.owner] && !c.refused[fieldTemplate] {
		send[fieldTemplate] = true
	}
	return send
}

// learn notes that the server refused an optional field.
func (c *Client) learn(field string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[field] = true
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
