// SPDX-License-Identifier: Apache-2.0

// Package whispertest is a whisper-server for tests: it speaks HTTP as that of
// whisper.cpp 1.8.5 to 1.9.3 does, down to its plain-text errors and the
// newlines it puts into words, and answers what the test scripts, or what a
// recogniser given to it hears.
package whispertest

import (
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// An Answer is what the server does with one request. The zero Answer is what
// a silent recording gives: status 200 and an empty text.
type Answer struct {
	Text     string   // shorthand for one segment
	Segments []string // the text as the server cut it; a newline is added after each
	Language string   // code that is detected when the request says auto; "" = en
	LogProb  float64  // avg_logprob of every segment, 0 or less

	Status int    // when not 0, the status, with Body as text/plain
	Body   string // sent as it is; with Status 0 and Body not empty: status 200 and JSON type
	Delay  time.Duration
	Hang   bool // nothing is sent until the client leaves or the server closes
	Reset  bool // the connection is reset without an answer
	Cut    bool // the connection ends in the middle of the answer's body
}

// A Request is what a client asked of /inference, in full.
type Request struct {
	Form    map[string]string // the fields but the file
	WAV     []byte            // the file
	Samples []int16           // its sound, one channel
	Rate    int               // hertz
}

// A Server is one running fixture.
type Server struct {
	URL string // "http://127.0.0.1:PORT"

	answer    func(Request) Answer
	inference sync.Mutex // as in the real one: one transcription at a time

	mu       sync.Mutex // guards what follows
	script   []Answer
	requests []Request
	loading  bool
	open     int // requests between arrival and answer
	peak     int

	stop chan struct{}
}

// New starts a server on a free loopback port and stops it when the test ends.
// Requests take the scripted answers of [Server.Push] first, then answer is
// asked; nil answers with silence. answer runs for one request at a time.
func New(t testing.TB, answer func(Request) Answer) *Server {
	t.Helper()
	if answer == nil {
		answer = func(Request) Answer { return Answer{} }
	}
	s := &Server{answer: answer, stop: make(chan struct{})}
	web := httptest.NewServer(http.HandlerFunc(s.route))
	s.URL = web.URL
	t.Cleanup(func() {
		close(s.stop)
		web.Close()
	})
	return s
}

// Hearing answers with what a recogniser hears in the file, for end-to-end
// tests: hear gets the WAV as sent and gives the text, "" for nothing.
func Hearing(hear func(wav []byte) string) func(Request) Answer {
	return func(r Request) Answer { return Answer{Text: hear(r.WAV), LogProb: -0.2} }
}

// Push adds answers for the next requests, one each.
func (s *Server) Push(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, answers...)
}

// SetLoading makes /health answer as during a change of model: 404, since the
// real server's error handler rewrites the 503.
func (s *Server) SetLoading(loading bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loading = loading
}

// Requests are those that arrived so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Peak is the largest number of requests that were in flight at once.
func (s *Server) Peak() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/health":
		s.health(w, r)
	case r.Method == http.MethodPost && r.URL.Path == "/inference":
		s.serve(w, r)
	default:
		plain(w, http.StatusNotFound, "File Not Found ("+r.URL.Path+")")
	}
}

func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	loading := s.loading
	s.mu.Unlock()
	if loading {
		plain(w, http.StatusNotFound, "File Not Found ("+r.URL.Path+")")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"status":"ok"}`))
}

// serve answers one POST of /inference.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.enter()
	defer s.leave()
	req, ok := read(r)
	if !ok {
		plain(w, http.StatusBadRequest, "Invalid request")
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, req)
	s.mu.Unlock()

	s.inference.Lock()
	defer s.inference.Unlock()
	a := s.next(req)
	if !s.wait(r, a) {
		return
	}
	if a.Reset {
		reset(w)
		return
	}
	status, kind, body := render(req, a)
	w.Header().Set("Content-Type", kind)
	if a.Cut {
		cut(w, status, body)
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func (s *Server) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	s.peak = max(s.peak, s.open)
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
}

// next takes the scripted answer, or asks for one.
func (s *Server) next(req Request) Answer {
	s.mu.Lock()
	if len(s.script) > 0 {
		a := s.script[0]
		s.script = s.script[1:]
		s.mu.Unlock()
		return a
	}
	s.mu.Unlock()
	return s.answer(req)
}

// wait spends the time that the answer takes; false when the client left.
func (s *Server) wait(r *http.Request, a Answer) bool {
	var due <-chan time.Time
	if !a.Hang {
		timer := time.NewTimer(a.Delay)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
		return true
	case <-r.Context().Done():
	case <-s.stop:
	}
	return false
}

// reset ends the connection with a TCP reset.
func reset(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}
