// SPDX-License-Identifier: Apache-2.0

// Package fetch sends the HTTP requests of built-in tools: to the address it is
// given and nowhere else, and with a bound on everything that comes back.
package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"example.org/desktop-assistant/services/toolrunner/internal/native/fault"
	"example.org/desktop-assistant/services/toolrunner/internal/native/origin"
)

const (
	maxHeader      = 64 << 10 // bytes of all response headers
	maxHeaderValue = 1024     // bytes of one request header
	userAgent      = "desktop-assistant"
)

// settable are the request headers that a model may set.
var settable = []string{"Accept", "Accept-Language", "Content-Type"}

// Shown are the response headers that a model may see.
var Shown = []string{"Content-Type", "Content-Length", "Last-Modified", "Etag"}

// Bounds of every request.
type Bounds struct {
	Methods       []string      // allowed, in upper case
	RequestBytes  int           // of a body
	ResponseBytes int           // of a body, after it is unpacked
	Timeout       time.Duration // for everything, until the body has come whole
}

// Client sends requests. It keeps no connections, no cookies and no other state
// between two of them, asks no proxy and follows no redirect. Its methods may
// be called at the same time.
type Client struct {
	bounds Bounds
	http   *http.Client
}

// New makes a client. roots are the certificates to trust, nil for those of the
// system.
func New(b Bounds, roots *x509.CertPool) *Client {
	return &Client{b, &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil,
			DialContext:            dial,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
			DisableKeepAlives:      true, // or a request might be sent twice
			MaxResponseHeaderBytes: maxHeader,
			TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1 only
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// errUnreachable is why a dial was refused.
var errUnreachable = fault.NotAllowed("the name of that origin leads to an address that is not public")

// dial connects to one of the host's addresses that may be dialled for it. Each
// is looked at when the kernel is about to connect, so that a name that changes
// its mind in between gains nothing.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{
		Resolver: &net.Resolver{PreferGo: true}, // the other takes 0x7f.1 for an address
		Control: func(_, actual string, _ syscall.RawConn) error {
			return check(host, port, actual)
		},
	}
	return d.DialContext(ctx, network, address)
}

// check says whether a connection for host and port may go to an address.
func check(host, port, actual string) error {
	to, err := netip.ParseAddrPort(actual)
	if err != nil || !origin.Reachable(host, to.Addr()) {
		return errUnreachable
	}
	if _, actualPort, _ := net.SplitHostPort(actual); actualPort != port {
		return errUnreachable
	}
	return nil
}

// Request is one request. URL was accepted by package origin.
type Request struct {
	Method string
	URL    *url.URL
	Header map[string]string // set by a model
	Body   []byte            // nil for none
}

// Response is what came back, whole. Its status is never that of a redirect.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Check says what is wrong with a request before it is sent. The error is a
// *[fault.Fault].
func (c *Client) Check(r Request) error {
	switch {
	case !token(r.Method):
		return fault.Invalid("the method is not valid")
	case !slices.Contains(c.bounds.Methods, r.Method):
		return fault.NotAllowed("that method is not allowed: use " + strings.Join(c.bounds.Methods, " or "))
	case r.Method == http.MethodGet && len(r.Body) > 0:
		return fault.Invalid("GET has no body")
	case len(r.Body) > c.bounds.RequestBytes:
		return fault.TooLarge("the body of the request is too large")
	}
	seen := map[string]bool{}
	for name, value := range r.Header {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !token(name) || len(value) > maxHeaderValue || !fieldValue(value):
			return fault.Invalid("a header is not valid")
		case !slices.Contains(settable, canonical):
			return fault.NotAllowed("only these headers may be set: " + strings.Join(settable, ", "))
		case seen[canonical]:
			return fault.Invalid("a header is given twice")
		}
		seen[canonical] = true
	}
	return nil
}

// token says whether s is a token by RFC 9110, section 5.6.2.
func token(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	})
}

// fieldValue says whether s can be the value of a header: printable ASCII.
func fieldValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// Do sends a request that was checked and reads the whole answer. The error is a
// *[fault.Fault] without any text of the answer, the address or the system.
func (c *Client) Do(ctx context.Context, r Request) (Response, error) {
	if err := c.Check(r); err != nil {
		return Response{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.bounds.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL.String(), bytes.NewReader(r.Body))
	if err != nil {
		return Response{}, fault.Invalid("the request is not valid")
	}
	req.Header.Set("User-Agent", userAgent)
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return Response{}, sendFault(ctx, err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return Response{}, fault.BadResponse("the server answered with a redirect, which is not followed")
	case resp.StatusCode < 200 || resp.StatusCode > 599: // 101 among them, after which no HTTP follows
		return Response{}, fault.BadResponse("the server answered with a status that was not asked for")
	case slices.ContainsFunc(resp.Header["Content-Encoding"], packed):
		return Response{}, fault.BadResponse("the answer is packed in a way that was not asked for")
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(c.bounds.ResponseBytes)+1))
	switch {
	case len(body) > c.bounds.ResponseBytes:
		return Response{}, fault.TooLarge("the answer is too large")
	case err != nil && ctx.Err() != nil:
		return Response{}, fault.Ended(ctx)
	case err != nil:
		return Response{}, fault.BadResponse("the answer broke off or is damaged")
	}
	return Response{resp.StatusCode, resp.Header, body}, nil
}

// packed says whether a body with that Content-Encoding is not what it means:
// the transport unpacks what it asked for and takes the header away.
func packed(encoding string) bool { return encoding != "" && !strings.EqualFold(encoding, "identity") }

// sendFault says in our words why no answer began.
func sendFault(ctx context.Context, err error) error {
	var timeout net.Error
	if f, ok := errors.AsType[*fault.Fault](err); ok {
		return f
	}
	switch {
	case ctx.Err() != nil:
		return fault.Ended(ctx)
	case errors.As(err, &timeout) && timeout.Timeout():
		return fault.Unavailable("the server does not answer")
	case isDial(err):
		return fault.Unavailable("the server cannot be reached")
	case isTrust(err):
		return fault.Unavailable("the server cannot be trusted: its certificate is not valid")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return fault.Unavailable("the server closed the connection without an answer")
	}
	return fault.BadResponse("the answer is not valid HTTP")
}

func isDial(err error) bool {
	var op *net.OpError
	var name *net.DNSError
	return errors.As(err, &name) || errors.As(err, &op) && op.Op == "dial"
}

func isTrust(err error) bool {
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	return errors.As(err, &cert) || errors.As(err, &record) || errors.As(err, &alert)
}

// Text gives a body that is text. The error is a *[fault.Fault].
func (r Response) Text() (string, error) {
	if !utf8.Valid(r.Body) || bytes.IndexByte(r.Body, 0) >= 0 {
		return "", fault.NotText("the answer is not text in UTF-8")
	}
	return string(r.Body), nil
}
