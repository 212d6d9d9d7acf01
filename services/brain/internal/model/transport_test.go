// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/testkit/chattest"
)

const plainAnswer = `data: {"choices":[{"delta":{"content":"Yes."},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

func TestCompressedAnswer(t *testing.T) {
	for encoding, wrap := range map[string]func(io.Writer) io.WriteCloser{
		"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
	} {
		var body bytes.Buffer
		w := wrap(&body)
		if _, err := io.WriteString(w, plainAnswer); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		server := chattest.New(t)
		server.Script(chattest.Exchange{Header: http.Header{"Content-Encoding": {encoding}}, Pieces: chattest.Raw(body.String())})
		if reply, err := newClient(t, server.URL, nil).Chat(t.Context(), hello, func(string) {}); err != nil || reply.Text != "Yes." {
			t.Errorf("%s: got %q, %v", encoding, reply.Text, err)
		}
	}
	server := chattest.New(t)
	server.Script(chattest.Exchange{Header: http.Header{"Content-Encoding": {"br"}}, Pieces: chattest.Raw("x")},
		chattest.Exchange{Header: http.Header{"Content-Encoding": {"gzip"}}, Pieces: chattest.Raw("no gzip")})
	client := newClient(t, server.URL, nil)
	_, err := client.Chat(t.Context(), hello, func(string) {})
	if e := wantKind(t, err, KindBadStream); !strings.Contains(e.Text, "br") {
		t.Errorf("got %v", e)
	}
	_, err = client.Chat(t.Context(), hello, func(string) {})
	wantKind(t, err, KindInterrupted)
}

// promise: a redirect is not followed, so that neither question nor key go to
// another server.
func TestRedirectIsNotFollowed(t *testing.T) {
	elsewhere := chattest.New(t)
	target := elsewhere.URL + "/chat/completions"
	server := chattest.New(t)
	for _, status := range []int{301, 302, 307, 308} {
		server.Script(chattest.Exchange{Status: status, Header: http.Header{"Location": {target}}})
		client := newClient(t, server.URL, func(o *Options) { o.APIKey = func() (string, error) { return "secret-key", nil } })
		_, err := client.Chat(t.Context(), hello, func(string) {})
		if e := wantKind(t, err, KindAddress); e.Hint == "" {
			t.Errorf("%d: no hint", status)
		}
	}
	if n := len(elsewhere.Requests()); n > 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
}

func TestTLS(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, plainAnswer) })
	secure := httptest.NewUnstartedServer(h)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	open := httptest.NewServer(h)
	defer open.Close()
	for _, tt := range []struct {
		name, url string
		kind      Kind
		hint      string
	}{
		{"unknown authority", secure.URL + "/v1", KindUntrusted, "certificate"},
		{"https to http", "https" + strings.TrimPrefix(open.URL, "http") + "/v1", KindUntrusted, "with http"},
		{"http to https", "http" + strings.TrimPrefix(secure.URL, "https") + "/v1", KindAddress, "with https"},
	} {
		client := newClient(t, tt.url, nil)
		_, err := client.Chat(t.Context(), hello, func(string) {})
		if e := wantKind(t, err, tt.kind); !strings.Contains(e.Hint, tt.hint) {
			t.Errorf("%s: got %v, hint %q", tt.name, e, e.Hint)
		}
	}
	trusting := newClient(t, secure.URL+"/v1", nil)
	trusting.http.Transport.(*http.Transport).TLSClientConfig = secure.Client().Transport.(*http.Transport).TLSClientConfig
	if reply, err := trusting.Chat(t.Context(), hello, func(string) {}); err != nil || reply.Text != "Yes." {
		t.Errorf("a certificate that is trusted: %q, %v", reply.Text, err)
	}
}

func TestOddKeyIsNotSent(t *testing.T) {
	server := chattest.New(t)
	for _, key := range []string{"two words", "line\nbreak", "schlüssel"} {
		client := newClient(t, server.URL, func(o *Options) { o.APIKey = func() (string, error) { return key, nil } })
		_, err := client.Chat(t.Context(), hello, func(string) {})
		if e := wantKind(t, err, KindUnauthorized); strings.Contains(e.Error(), key) {
			t.Errorf("%q is in %v", key, e)
		}
	}
}

// TestCancelIsQuick tells how long after the cancel the server sees the connection
// closed: while the model writes, and while it reads the prompt.
func TestCancelIsQuick(t *testing.T) {
	for name, pieces := range map[string][]chattest.Piece{
		"while it writes": chattest.Text("One "), "while it reads": chattest.Raw(": ping\n\n"),
	} {
		server := chattest.New(t)
		server.Script(chattest.Exchange{Pieces: pieces, End: chattest.Stall})
		client := newClient(t, server.URL, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := client.Chat(ctx, hello, func(string) {})
			done <- err
		}()
		req := server.Next()
		start := time.Now()
		cancel()
		<-req.Gone()
		t.Logf("%s: closed after %v", name, time.Since(start))
		wantKind(t, <-done, KindCancelled)
	}
}
