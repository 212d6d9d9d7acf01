// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/services/brain/internal/stream"
)

// Timeouts are the deadlines of a request; every one must be above 0.
type Timeouts struct {
	Connect    time.Duration // to a connection, TLS included
	FirstToken time.Duration // silence before the first token; keep-alive comments count as life
	Idle       time.Duration // silence after it
	Total      time.Duration // the whole answer
}

// grace is how long usage and [DONE] may lag behind a finish reason before the
// answer counts as complete. Some servers leave the connection open there.
const grace = time.Second

// maxBody bounds what one answer may weigh on the wire, maxRefusal what is read
// of a refusal.
const (
	maxBody    = 32 << 20
	maxRefusal = 64 << 10
)

// Options configure a [Client].
type Options struct {
	BaseURL  string                         // up to and with /v1
	Model    string                         // "" takes the first one that the server lists
	APIKey   func() (key string, err error) // asked at each request; nil or "" sends none
	Thinking bool                           // false asks servers known to take it for no thinking
	Timeouts Timeouts
	Log      *slog.Logger
}

// A Client talks to one chat server. Its methods may be called concurrently.
type Client struct {
	opt  Options
	base string
	http *http.Client

	mu     sync.Mutex
	known  bool
	server serverInfo
	quirks map[quirk]bool // what this server was found not to take
	opened bool           // the template opens the thinking block in the prompt
}

// New checks the options and makes a client; it does not connect.
func New(opt Options) (*Client, error) {
	u, err := url.Parse(opt.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, &Error{Kind: KindAddress, Text: fmt.Sprintf("%q is no http address", opt.BaseURL),
			Hint: `set llm in the configuration to an address like "http://localhost:8181/v1"`, Err: err}
	}
	dialer := &net.Dialer{Timeout: opt.Timeouts.Connect}
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: opt.Timeouts.Connect,
		DisableCompression:  true, // a compressed stream arrives in lumps
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        2,
		IdleConnTimeout:     30 * time.Second,
	}
	if loopback(u.Hostname()) {
		transport.Proxy = nil
	}
	return &Client{
		opt:    opt,
		base:   strings.TrimRight(opt.BaseURL, "/"),
		quirks: map[quirk]bool{},
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // never carry a question elsewhere
		}},
	}, nil
}

// Close drops idle connections. It does not end requests: their contexts do.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// A Reply is an answer. Together with an error it holds what came before it.
type Reply struct {
	Text    string // the sum of what emit was given
	Calls   []Call
	Finish  string // as the server gave it: stop, tool_calls, length, ... or ""
	Usage   Usage
	Thought bool // the model thought, whether it said something or not
}

// Chat sends one request and blocks until the answer is complete or failed. emit
// is called from this goroutine with each piece of text that is certain to be
// spoken, in order, never with "". The error is always an *Error. When ctx ends
// the connection is closed at once.
func (c *Client) Chat(ctx context.Context, req Request, emit func(text string)) (Reply, error) {
	r := &round{client: c, log: c.opt.Log, emit: emit}
	own, stop := r.begin(ctx)
	defer stop()
	if e := r.send(own, req); e != nil {
		return Reply{}, r.fail(ctx, own, e)
	}
	end := r.read()
	res, e := r.finish(own, end)
	reply := Reply{Text: res.Text, Calls: res.Calls, Finish: res.Finish, Usage: res.Usage, Thought: res.Thought}
	if e != nil {
		return reply, r.fail(ctx, own, e)
	}
	return reply, nil
}

// A round is one request and its answer.
type round struct {
	client *Client
	log    *slog.Logger
	emit   func(string)

	cancel   context.CancelCauseFunc
	watchdog *time.Timer
	patience time.Duration // what each byte grants; 0: nothing any more

	body   io.Closer
	plain  io.Reader // the body without compression
	header http.Header
	bytes  int
	shape  shape
	fresh  bool // the model list was read for this request
	tools  bool
	answer *stream.Answer
}

// The causes with which a round ends its own context.
var (
	errSilent   = errors.New("no byte came for too long")
	errOverlong = errors.New("the answer did not end in time")
	errGrace    = errors.New("the answer was complete")
	errHuge     = errors.New("the answer is larger than 32 MiB")
)

// begin puts the deadlines into a context; stop ends it and the connection.
func (r *round) begin(ctx context.Context) (own context.Context, stop func()) {
	t := r.client.opt.Timeouts
	ctx, stopTotal := context.WithTimeoutCause(ctx, t.Total, errOverlong)
	own, r.cancel = context.WithCancelCause(ctx)
	r.patience = t.FirstToken
	r.watchdog = time.AfterFunc(t.FirstToken, func() { r.cancel(errSilent) })
	return own, func() {
		r.watchdog.Stop()
		r.cancel(nil)
		stopTotal()
		if r.body != nil {
			_ = r.body.Close()
		}
	}
}

func (r *round) send(ctx context.Context, req Request) *Error {
	c := r.client
	info, fresh, err := c.describe(ctx)
	if err != nil {
		return err
	}
	r.fresh = fresh
	body, shape, jsonErr := encodeRequest(req, c.form(info))
	if jsonErr != nil {
		return &Error{Kind: KindRefused, Text: "encode request: " + jsonErr.Error(), Err: jsonErr}
	}
	r.shape = shape
	o, opened := offer(req.Tools), c.opensThinking()
	r.tools = len(o) > 0
	r.answer = stream.NewAnswer(o, offer(slices.Concat(req.Tools, req.Spent)), opened)
	hr, httpErr := c.request(ctx, http.MethodPost, "/chat/completions", bytes.NewReader(body))
	if httpErr != nil {
		return httpErr
	}
	hr.Header.Set("Content-Type", "application/json")
	hr.Header.Set("Accept", "text/event-stream")
	hr.Header.Set("Accept-Encoding", "identity")
	r.log.DebugContext(ctx, "chat request", "bytes", len(body), "messages", len(req.Messages), "tools", len(req.Tools))
	resp, doErr := c.http.Do(hr)
	if doErr != nil {
		return noAnswer(doErr, c.base)
	}
	r.body, r.header = resp.Body, resp.Header
	r.plain = plain(resp.Body, resp.Header)
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	page, _ := io.ReadAll(io.LimitReader(r, maxRefusal)) // a cut-off refusal is still one
	e := refusal(resp.StatusCode, resp.Header, page)
	switch {
	case c.learn(e, r.shape):
		e.Retry = RetryAdapted
	case e.Status == http.StatusNotFound && c.opt.Model == "" && !fresh:
		e.Retry = RetryAdapted // the server may have another model by now
	}
	return e
}

// plain undoes a compression that was not asked for. It reads nothing yet.
func plain(body io.Reader, header http.Header) io.Reader {
	switch enc := strings.ToLower(header.Get("Content-Encoding")); enc {
	case "", "identity":
		return body
	case "gzip", "x-gzip":
		return &lateReader{open: func() (io.Reader, error) { return gzip.NewReader(body) }}
	case "deflate":
		return &lateReader{open: func() (io.Reader, error) { return zlib.NewReader(body) }}
	default:
		return &lateReader{open: func() (io.Reader, error) {
			return nil, &Error{Kind: KindBadStream, Text: fmt.Sprintf("the answer is compressed as %q", enc),
				Hint: "turn compression off in the proxy before the chat server"}
		}}
	}
}

// A lateReader opens its source at the first read, which may block.
type lateReader struct {
	open func() (io.Reader, error)
	src  io.Reader
}

func (l *lateReader) Read(p []byte) (int, error) {
	if l.src == nil {
		src, err := l.open()
		if err != nil {
			return 0, err
		}
		l.src = src
	}
	return l.src.Read(p)
}

// Read reads the body and counts every byte as a sign of life.
func (r *round) Read(p []byte) (int, error) {
	n, err := r.plain.Read(p)
	r.bytes += n
	if n > 0 && r.patience > 0 {
		r.watchdog.Reset(r.patience)
	}
	if r.bytes > maxBody {
		return n, errHuge
	}
	return n, err
}

// read takes the answer to its end and returns why reading stopped: nil at the
// end of the body or at [DONE], a *stream.Fault, or a read error.
func (r *round) read() error {
	events := stream.NewReader(r)
	for {
		ev, err := events.Next()
		if err == io.EOF {
			return r.whole(events.Body())
		}
		if err != nil {
			return err
		}
		text, err := r.answer.Add(ev)
		r.say(text)
		if err != nil || r.answer.Done() {
			return err
		}
		r.grant()
	}
}

// grant sets what the next byte is given: the first token ends the patience for
// it (a role chunk may come long before), a finish reason leaves a moment for
// usage.
func (r *round) grant() {
	switch {
	case r.patience == 0:
	case r.answer.Finished():
		r.patience = 0
		r.watchdog.Stop()
		r.watchdog = time.AfterFunc(grace, func() { r.cancel(errGrace) })
	case r.answer.Began() && r.patience != r.client.opt.Timeouts.Idle:
		r.patience = r.client.opt.Timeouts.Idle
		r.watchdog.Reset(r.patience)
	}
}

// whole takes a body without any event: one JSON document, or something else.
func (r *round) whole(body []byte) error {
	body = bytes.TrimSpace(comment.ReplaceAll(body, nil))
	if len(body) == 0 {
		return nil
	}
	if webPage(r.header.Get("Content-Type"), body) {
		return &Error{Kind: KindAddress, Text: "a web page instead of an answer" + pageTitle(body),
			Hint: "check llm in the configuration: the address usually ends in /v1"}
	}
	text, err := r.answer.Add(stream.Event{Data: body})
	r.say(text)
	return err
}

// comment is a comment line of an event stream.
var comment = regexp.MustCompile(`(?m)^:.*$`)

func (r *round) say(text string) {
	if text != "" {
		r.emit(text)
	}
}

// finish closes the answer and judges it.
func (r *round) finish(ctx context.Context, end error) (stream.Result, *Error) {
	tail, res := r.answer.Close()
	r.say(tail)
	r.client.remember(res.Opened)
	r.log.DebugContext(ctx, "chat answer", "bytes", r.bytes, "frames", res.Frames, "finish", res.Finish, "calls", len(res.Calls),
		"prompt_tokens", res.Usage.Prompt, "cached_tokens", res.Usage.Cached, "completion_tokens", res.Usage.Completion,
		"prompt_ms", res.Usage.PromptMS, "completion_ms", res.Usage.CompletionMS)
	if res.Bad > 0 || res.Dropped > 0 {
		r.log.WarnContext(ctx, "chat answer had unusable parts", "bad_frames", res.Bad, "dropped_calls", res.Dropped)
	}
	return res, r.judge(end, res)
}

func (r *round) judge(end error, res stream.Result) *Error {
	var fault *stream.Fault
	var own *Error
	switch {
	case errors.As(end, &fault):
		return reported(fault)
	case errors.As(end, &own):
		return own
	case errors.Is(end, stream.ErrLineTooLong), errors.Is(end, errHuge):
		return &Error{Kind: KindBadStream, Text: end.Error(), Err: end}
	case !res.Ended && end != nil:
		return &Error{Kind: KindInterrupted, Text: "the answer broke off: " + end.Error(), Retry: RetryAgain, Err: end}
	case res.Frames == 0 && res.Bad > 0:
		return &Error{Kind: KindBadStream, Text: "what came is no chat completion",
			Hint: "check llm in the configuration: is it a chat server"}
	case res.Suspect != nil && blank(res.Text) && len(res.Calls) == 0:
		return reported(res.Suspect)
	case !res.Ended && r.bytes == 0:
		return &Error{Kind: KindEmpty, Text: "the answer has no content", Retry: RetryAgain}
	case !res.Ended:
		return &Error{Kind: KindInterrupted, Text: "the answer ended without a finish reason", Retry: RetryAgain}
	}
	return r.weigh(res)
}

// weigh judges an answer that ended properly.
func (r *round) weigh(res stream.Result) *Error {
	switch {
	case res.Finish == "content_filter":
		return &Error{Kind: KindFiltered, Text: "the server's content filter stopped the answer"}
	case res.Finish == "length" && (blank(res.Text) || len(res.Calls) > 0 || res.Leaked):
		return &Error{Kind: KindTruncated, Text: "the answer hit the length limit",
			Hint: "give the chat server a larger context or answer length"}
	case res.Leaked:
		return &Error{Kind: KindLeak, Text: "a tool call came as text and could not be read", Retry: RetryAgain}
	case blank(res.Text) && (len(res.Calls) == 0 || !r.tools):
		text := "the answer is empty"
		if res.Thought {
			text = "the model thought and said nothing"
		}
		if len(res.Calls) > 0 {
			text = "the model called a tool although none was offered"
		}
		return &Error{Kind: KindEmpty, Text: text, Retry: RetryAgain}
	}
	return nil
}

// blank tells that a text holds nothing that could be heard: white space, and
// signs without a glyph.
func blank(text string) bool {
	return strings.TrimFunc(text, func(c rune) bool { return !unicode.IsGraphic(c) || unicode.IsSpace(c) }) == ""
}

// fail gives an error its last form: the end of a context goes before what it
// caused, and after a word was spoken nothing is asked again.
func (r *round) fail(outer, own context.Context, e *Error) *Error {
	cause := context.Cause(own)
	ended := r.answer != nil && r.answer.Finished()
	switch {
	case outer.Err() != nil:
		e = &Error{Kind: KindCancelled, Text: "the request was cancelled", Err: context.Cause(outer)}
	case errors.Is(cause, errSilent) && !ended:
		e = &Error{Kind: KindStalled, Text: "the server went silent", Retry: RetryAgain, Err: cause}
	case errors.Is(cause, errOverlong) && !ended:
		e = &Error{Kind: KindStalled, Text: "the answer took too long", Err: cause}
	}
	r.client.aboutKey(e)
	if r.answer != nil && r.answer.Spoke() {
		e.Retry = RetryNever
	}
	switch {
	case e.Kind == KindUnreachable, e.Kind == KindLoading, e.Kind == KindInterrupted, e.Status == http.StatusNotFound:
		r.client.forget() // the server may come back with another model
	}
	return e
}

// noAnswer reads the error of a request that got no response.
func noAnswer(err error, base string) *Error {
	var op *net.OpError
	var dns *net.DNSError
	if e := untrusted(err); e != nil {
		return e
	}
	switch {
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return &Error{Kind: KindUnreachable, Text: "connect through the proxy: " + bare(err).Error(), Err: err,
			Hint: "check HTTP_PROXY and HTTPS_PROXY, or name the chat server's host in NO_PROXY"}
	case errors.As(err, &dns), errors.As(err, &op) && op.Op == "dial", strings.Contains(strings.ToLower(err.Error()), "tls"):
		return &Error{Kind: KindUnreachable, Text: "connect: " + bare(err).Error(), Err: err,
			Hint: fmt.Sprintf("start the chat server at %s, or set llm in the configuration to its address", config.Redact(base))}
	case errors.Is(err, context.Canceled):
		return &Error{Kind: KindCancelled, Text: "the request was cancelled", Err: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Kind: KindStalled, Text: "no answer in time", Retry: RetryAgain, Err: err}
	case strings.Contains(err.Error(), "malformed HTTP"):
		hint := "check llm in the configuration: is it a chat server"
		if strings.Contains(err.Error(), `\x15\x03`) { // a TLS alert
			hint = "set llm in the configuration to the same address with https"
		}
		return &Error{Kind: KindBadStream, Text: bare(err).Error(), Err: err, Hint: hint}
	}
	return &Error{Kind: KindInterrupted, Text: "no response: " + bare(err).Error(), Retry: RetryAgain, Err: err}
}

// untrusted reads the errors of TLS, nil when err is none.
func untrusted(err error) *Error {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	e := &Error{Kind: KindUntrusted, Text: "connect: " + bare(err).Error(), Err: err}
	switch {
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		e.Hint = "set llm in the configuration to the same address with http"
	case errors.As(err, &unknown):
		e.Hint = "add the certificate of the chat server, or of who signed it, to those the system trusts"
	case errors.As(err, &host):
		e.Hint = "set llm in the configuration to a name that the certificate of the chat server is for"
	case errors.As(err, &invalid):
		e.Hint = "renew the certificate of the chat server, and check the clock of this machine"
	default:
		return nil
	}
	return e
}

// bare takes the method and address off, they are in the hint.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
