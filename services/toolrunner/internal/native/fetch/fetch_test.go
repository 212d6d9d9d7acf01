// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/toolrunner/internal/native/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bounds = Bounds{Methods: []string{"GET", "POST"}, RequestBytes: 100, ResponseBytes: 1000, Timeout: 5 * time.Second}

func address(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func kind(t *testing.T, err error) string {
	t.Helper()
	var f *fault.Fault
	if err != nil && !errors.As(err, &f) {
		t.Fatalf("no fault: %v", err)
	}
	if err == nil {
		return ""
	}
	return f.Kind
}

// TestDialCheck: what a connection may go to is decided by the address at hand,
// not by what the name led to before.
func TestDialCheck(t *testing.T) {
	for _, c := range []struct {
		host, port, actual string
		ok                 bool
	}{
		{"example.org", "443", "93.184.216.34:443", true},
		{"example.org", "443", "[2606:2800:220:1::1]:443", true},
		{"example.org", "443", "93.184.216.34:80", false},
		{"example.org", "443", "127.0.0.1:443", false},
		{"example.org", "443", "[::1]:443", false},
		{"example.org", "443", "[::ffff:10.0.0.1]:443", false},
		{"example.org", "443", "169.254.169.254:443", false},
		{"example.org", "443", "[fe80::1%eth0]:443", false},
		{"localhost", "80", "127.0.0.1:80", true},
		{"localhost", "80", "10.0.0.1:80", false},
		{"127.0.0.1", "80", "127.0.0.1:80", true},
		{"127.0.0.1", "80", "127.0.0.2:80", false},
		{"example.org", "443", "nonsense", false},
	} {
		if err := check(c.host, c.port, c.actual); (err == nil) != c.ok {
			t.Errorf("%s to %s: %v", c.host, c.actual, err)
		}
	}
}

// TestRebinding: a name that leads to this machine is not reached, though the
// resolver says so and something listens there.
func TestRebinding(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was reached") }))
	defer s.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	// The resolver knows these without asking anyone, by RFC 6761.
	_, err := New(bounds, nil).Do(t.Context(), Request{Method: "GET", URL: address(t, "http://evil.localhost:"+port+"/?secret")})
	if k := kind(t, err); k != proto.KindNotAllowed && k != proto.KindUnavailable || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 || r.Header.Get("User-Agent") != userAgent || r.Header.Get("Cookie") != "" {
			t.Errorf("request %v", r)
		}
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		_, _ = io.WriteString(w, "safe")
	}))
	defer s.Close()
	s.Config.ErrorLog = nil
	if _, err := New(bounds, nil).Do(t.Context(), Request{Method: "GET", URL: address(t, s.URL)}); kind(t, err) != proto.KindUnavailable {
		t.Errorf("an unknown certificate: %v", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	c := New(bounds, roots)
	for range 2 { // the second without the cookie of the first
		r, err := c.Do(t.Context(), Request{Method: "GET", URL: address(t, s.URL)})
		if text, textErr := r.Text(); err != nil || textErr != nil || text != "safe" || r.Status != 200 {
			t.Errorf("got %+v, %v", r, err)
		}
	}
}

// TestCancel: a call ends within a tenth of a second of its cancel, whatever it
// waits for.
func TestCancel(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			_, _ = io.WriteString(w, "part")
			_ = http.NewResponseController(w).Flush()
		}
		<-release
	}))
	defer s.Close()
	defer close(release)
	for _, path := range []string{"/headers", "/body"} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		_, err := New(bounds, nil).Do(ctx, Request{Method: "GET", URL: address(t, s.URL+path)})
		if kind(t, err) != proto.KindTimeout || err.Error() != "the call was cancelled" {
			t.Errorf("%s: %v", path, err)
		}
		short := bounds
		short.Timeout = 50 * time.Millisecond
		_, err = New(short, nil).Do(t.Context(), Request{Method: "GET", URL: address(t, s.URL+path)})
		if kind(t, err) != proto.KindTimeout || err.Error() != "it took too long" {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestUnusableHead: an answer whose status or packing was not asked for is none.
func TestUnusableHead(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 "+r.URL.Query().Get("head")+"\r\n\r\nraw")
	}))
	defer s.Close()
	for head, want := range map[string]string{
		"200 OK\r\nContent-Encoding: Identity": "",
		"599 X":                                "",
		"101 X\r\nUpgrade: x\r\nConnection: upgrade": proto.KindBadResponse,
		"099 X": proto.KindBadResponse,
		"600 X": proto.KindBadResponse,
		"304 X": proto.KindBadResponse,
		"200 OK\r\nContent-Encoding: identity\r\nContent-Encoding: br": proto.KindBadResponse,
	} {
		u := address(t, s.URL)
		u.RawQuery = url.Values{"head": {head}}.Encode()
		r, err := New(bounds, nil).Do(t.Context(), Request{Method: "GET", URL: u})
		if kind(t, err) != want || err == nil && string(r.Body) != "raw" {
			t.Errorf("%q: %+v, %v", head, r, err)
		}
	}
}

// TestCheck: what is wrong with a request is said before anything is sent.
func TestCheck(t *testing.T) {
	c := New(bounds, nil)
	for want, list := range map[string][]Request{
		"":                         {{Method: "GET"}, {Method: "POST", Body: make([]byte, 100), Header: map[string]string{"content-type": "a"}}},
		proto.KindInvalidArguments: {{}, {Method: "GET "}, {Method: "GET", Body: []byte("x")}, {Method: "GET", Header: map[string]string{"A b": ""}}, {Method: "GET", Header: map[string]string{"Accept": "a\nb"}}},
		proto.KindNotAllowed:       {{Method: "PUT"}, {Method: "get"}, {Method: "GET", Header: map[string]string{"Cookie": "a"}}, {Method: "GET", Header: map[string]string{"Host": "a"}}},
		proto.KindTooLarge:         {{Method: "POST", Body: make([]byte, 101)}},
	} {
		for _, r := range list {
			if err := c.Check(r); kind(t, err) != want {
				t.Errorf("%+v: %v, want %s", r, err, want)
			}
		}
	}
}
