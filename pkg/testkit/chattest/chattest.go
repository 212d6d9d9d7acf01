// SPDX-License-Identifier: Apache-2.0

// Package chattest is a chat server for tests and manual tries. It answers on a
// loopback port with scripted exchanges, piece by piece as a real server would,
// or by simple rules, and keeps what it was asked.
package chattest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// A Server is a chat server that ends with its test.
type Server struct {
	URL string // base address, ends in /v1

	t testing.TB
	h *handler
}

// New starts a server. Requests take the scripted exchanges first, then the
// rules; a request for which there is neither fails the test.
func New(t testing.TB, rules ...Rule) *Server {
	t.Helper()
	h := newHandler(rules)
	h.unexpected = func(req *Request) { t.Errorf("chattest: no exchange and no rule for %q", req.LastUser()) }
	ts := httptest.NewServer(h)
	t.Cleanup(func() {
		close(h.stop)
		ts.CloseClientConnections()
		ts.Close()
	})
	return &Server{URL: ts.URL + "/v1", t: t, h: h}
}

// Handler gives the server without a test: rules only, and a polite sentence
// when none matches.
func Handler(rules ...Rule) http.Handler { return newHandler(rules) }

// Script adds exchanges. Each answers one request: the first one left whose
// Match holds.
func (s *Server) Script(exchanges ...Exchange) {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	s.h.script = append(s.h.script, exchanges...)
}

// Left counts the scripted exchanges that no request has taken.
func (s *Server) Left() int {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	return len(s.h.script)
}

// Requests returns the chat requests so far, oldest first.
func (s *Server) Requests() []*Request {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	return slices.Clone(s.h.requests)
}

// Forget drops the requests kept so far: a long test would fill the memory.
func (s *Server) Forget() {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	s.h.requests = nil
	for {
		select {
		case <-s.h.arrived:
		default:
			return
		}
	}
}

// Next blocks until a chat request arrives that Next has not returned yet, or
// the test's context ends, which fails the test.
func (s *Server) Next() *Request {
	s.t.Helper()
	select {
	case req := <-s.h.arrived:
		return req
	case <-s.t.Context().Done():
		s.t.Fatal("chattest: the test ended before a request came")
		return nil
	}
}

// SetModels sets what the model list answers.
func (s *Server) SetModels(status int, body string) {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	s.h.models = reply{status, body}
}

type reply struct {
	status int
	body   string
}

// maxRequests is how many requests may wait for Next before they are no longer
// queued for it; Requests has them all.
const maxRequests = 1024

type handler struct {
	rules      []Rule
	unexpected func(*Request)
	stop       chan struct{}
	arrived    chan *Request

	mu       sync.Mutex
	script   []Exchange
	strict   func(*Request) (Exchange, bool)
	requests []*Request
	models   reply
}

func newHandler(rules []Rule) *handler {
	return &handler{
		rules: rules, stop: make(chan struct{}), arrived: make(chan *Request, maxRequests),
		models: reply{http.StatusOK, `{"object":"list","data":[{"id":"fixture.gguf","object":"model","created":1760000000,"owned_by":"llamacpp"}]}`},
	}
}

// ServeHTTP answers as an OpenAI-compatible server.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/v1/chat/completions":
		h.chat(w, r)
	case "/v1/models":
		h.mu.Lock()
		m := h.models
		h.mu.Unlock()
		writeJSON(w, m.status, m.body)
	case "/health":
		writeJSON(w, http.StatusOK, `{"status":"ok"}`)
	default:
		writeJSON(w, http.StatusNotFound, `{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}`)
	}
}

func (h *handler) chat(w http.ResponseWriter, r *http.Request) {
	req, err := readRequest(r)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, `{"error":{"code":400,"message":"the request is no JSON","type":"invalid_request_error"}}`)
		return
	}
	defer close(req.done)
	ex := h.choose(req)
	select {
	case h.arrived <- req:
	default: // nobody asks for them
	}
	if !ex.play(w, r, h.stop) {
		close(req.gone)
	}
}

// choose records the request and takes the exchange that answers it.
func (h *handler) choose(req *Request) Exchange {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = append(h.requests, req)
	if h.strict != nil {
		if ex, refused := h.strict(req); refused {
			return ex
		}
	}
	for i, ex := range h.script {
		if ex.Match == nil || ex.Match(req) {
			h.script = slices.Delete(h.script, i, i+1)
			return ex
		}
	}
	for _, rule := range h.rules {
		if rule.matches(req) {
			return rule.exchange(req)
		}
	}
	if h.unexpected != nil {
		h.unexpected(req)
		return Fail(http.StatusInternalServerError, `{"error":{"code":500,"message":"no exchange left","type":"server_error"}}`)
	}
	return Say("I have ", "no answer ", "to that.")
}

func writeJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // the client may be gone, nobody to tell
}
