// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/waittest"
	"example.org/desktop-assistant/proto"
)

// wire speaks the client protocol of NATS by hand, to say what our client
// never would.
type wire struct {
	net.Conn
	in *bufio.Scanner
}

func (r *running) wire(network, address string) *wire {
	r.t.Helper()
	c, err := net.Dial(network, address)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(waittest.Limit)); err != nil {
		r.t.Fatal(err)
	}
	w := &wire{c, bufio.NewScanner(c)}
	if !w.in.Scan() || !strings.HasPrefix(w.in.Text(), "INFO ") {
		r.t.Fatalf("greeted with %q, %v", w.in.Text(), w.in.Err())
	}
	return w
}

// login names a user and gives the server's answer to the first ping.
func (w *wire) login(user, password string) string {
	hello := map[string]any{"verbose": false, "protocol": 1, "lang": "test", "version": "0"}
	if user != "" {
		hello["user"], hello["pass"] = user, password
	}
	text, err := json.Marshal(hello)
	if err != nil {
		return err.Error()
	}
	if _, err := fmt.Fprintf(w, "CONNECT %s\r\nPING\r\n", text); err != nil {
		return err.Error()
	}
	if !w.in.Scan() {
		return fmt.Sprint("nothing: ", w.in.Err())
	}
	return w.in.Text()
}

func (w *wire) publish(subject, reply string, body []byte) error {
	_, err := fmt.Fprintf(w, "PUB %s %s %d\r\n%s\r\n", subject, reply, len(body), body)
	return err
}

// ping waits until all that was sent is processed.
func (w *wire) ping(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(w, "PING\r\n"); err != nil {
		t.Fatal(err)
	}
	for w.in.Scan() {
		if w.in.Text() == "PONG" {
			return
		}
	}
	t.Fatalf("no answer to a ping: %v", w.in.Err())
}

func (r *running) secret(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// Each user comes in by one door and with one secret; nothing else gets in.
func TestAccess(t *testing.T) {
	r := start(t, folders(t), nil)
	cookie, password := r.secret("bus.cookie"), r.secret("cli.pw")
	_, d := r.status()
	tcp := strings.TrimPrefix(d.TCP, "nats://")
	for _, c := range []struct {
		network, address, user, password string
		in                               bool
	}{
		{"unix", d.Socket, "local", cookie, true},
		{"unix", d.Socket, "", "", false},
		{"unix", d.Socket, "local", "", false},
		{"unix", d.Socket, "local", cookie[1:], false},
		{"unix", d.Socket, "local", password, false},
		{"unix", d.Socket, "dev", password, false},
		{"tcp", tcp, "dev", password, true},
		{"tcp", tcp, "", "", false},
		{"tcp", tcp, "dev", "", false},
		{"tcp", tcp, "dev", password + "x", false},
		{"tcp", tcp, "dev", cookie, false},
		{"tcp", tcp, "local", cookie, false},
		{"tcp", tcp, "root", password, false},
	} {
		want := "-ERR 'Authorization Violation'"
		if c.in {
			want = "PONG"
		}
		if got := r.wire(c.network, c.address).login(c.user, c.password); got != want {
			t.Errorf("%s as %q: got %q, want %q", c.network, c.user, got, want)
		}
	}
	// Without a word about who one is, nothing is done either.
	w := r.wire("tcp", tcp)
	if err := w.publish("x", "", nil); err != nil {
		t.Fatal(err)
	}
	if w.in.Scan(); !strings.HasPrefix(w.in.Text(), "-ERR") {
		t.Errorf("got %q", w.in.Text())
	}
}

// The port is for this machine only.
func TestPortIsLoopback(t *testing.T) {
	r := start(t, folders(t), nil)
	_, d := r.status()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(d.TCP, "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		ip, _, err := net.ParseCIDR(a.String())
		if err != nil || ip.IsLoopback() || ip.To4() == nil {
			continue
		}
		if c, err := net.Dial("tcp", net.JoinHostPort(ip.String(), port)); err == nil {
			c.Close()
			t.Errorf("reached through %s", ip)
		}
	}
}

// A refused client always learns why, never just that the line is dead.
func TestRefusalIsHeard(t *testing.T) {
	r := start(t, folders(t), nil)
	wrong := t.TempDir()
	if err := os.WriteFile(filepath.Join(wrong, bus.CookieName), []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	said := map[string]int{}
	for range 200 {
		c := bus.New(bus.Options{
			Service: "client", Version: "0.0.0", Dir: wrong, Log: r.env.Log,
			Dial: func() (net.Conn, error) { return net.Dial("unix", filepath.Join(r.dir, bus.SocketName)) },
		})
		err := c.Dial(t.Context())
		if err == nil {
			t.Fatal("got in with a wrong cookie")
		}
		c.Close()
		said[err.Error()]++
	}
	if len(said) != 1 || said["connect to the bus: nats: Authorization Violation"] != 200 {
		t.Errorf("200 refusals said %v", said)
	}
}

// Garbage on every subject, and what is no protocol at all, harms nobody else.
func TestGarbage(t *testing.T) {
	r := start(t, folders(t), nil)
	brain, client := r.connect("brain"), r.connect("client")
	heard := make(chan proto.Event, 4)
	if _, err := brain.Events(t.Context(), proto.Any, bus.Fail(8192, func() { t.Error("events lost") }),
		func(_ context.Context, _ proto.Envelope, ev proto.Event) { heard <- ev }, "turn"); err != nil {
		t.Fatal(err)
	}
	if err := brain.Flush(waittest.Context(t)); err != nil {
		t.Fatal(err)
	}
	w := r.wire("unix", filepath.Join(r.dir, bus.SocketName))
	if got := w.login("local", r.secret("bus.cookie")); got != "PONG" {
		t.Fatal(got)
	}
	subjects := []string{
		proto.AudioIn("local", "s"), proto.LiveSubject("local", "turn.delta"), proto.ToolRun("now"), proto.ToolCancel("c"),
		"$SRV.PING", "$SRV.INFO.busd", "$SRV.STATS.x.y", "$JS.API.STREAM.INFO." + bus.StreamName, "$JS.API.STREAM.NAMES", "$JS.ACK.x",
		"$JS.API.CONSUMER.CREATE." + bus.StreamName, "$SYS.REQ.SERVER.PING", "_INBOX.x", "a.b.c",
	}
	for _, verb := range []string{"busd.status", "busd.reload", "mic.start"} {
		subjects = append(subjects, proto.CommandSubject("local", verb))
	}
	for _, typ := range proto.EventTypes() {
		subjects = append(subjects, proto.EventSubject("local", typ), proto.EventSubject("else where", typ))
	}
	for _, body := range []string{"", "{", "null", "[1]", "\x00\xff\r\n", `{"v":1,"type":"turn.asked","data":[]}`, strings.Repeat("[", 100000)} {
		for _, s := range subjects {
			if err := w.publish(strings.ReplaceAll(s, " ", ""), "reply.to.nobody", []byte(body)); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.ping(t)
	for _, noise := range []string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00", "PUB\r\n", "PUB x 99999999\r\n", "CONNECT {\r\n", strings.Repeat("A", 70000)} {
		n := r.wire("unix", filepath.Join(r.dir, bus.SocketName))
		_, _ = io.WriteString(n, noise) // cut off in the middle of it is fine
		n.Close()
	}
	if err := client.Publish(proto.TurnAsked{Text: "well"}, bus.Meta{}); err != nil {
		t.Fatal(err)
	}
	if got := waittest.Next(t, "the good event", heard); got.(proto.TurnAsked).Text != "well" {
		t.Errorf("got %+v", got)
	}
	if s, d := r.status(); s.Counts.Reconnects != 0 || d.Stream == nil {
		t.Errorf("status %+v, detail %+v", s, d)
	}
	for _, c := range []*bus.Conn{brain, client} {
		if n := c.Counts().Reconnects; n != 0 {
			t.Errorf("%s was cut off %d times", c.Service(), n)
		}
	}
}

// The pipeline's sizes and orders hold over the socket: a request of nearly a
// megabyte, and streams whose end never overtakes a frame.
func TestThroughTheSocket(t *testing.T) {
	r := start(t, folders(t), nil)
	brain, client := r.connect("brain"), r.connect("client")
	s, err := brain.Serve(t.Context(), "test", bus.Command(func(_ context.Context, c proto.TurnAsk) (proto.TurnTicket, error) {
		return proto.TurnTicket{Turn: c.Text}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	text := strings.Repeat("0123456789abcdef", 56<<10) // 896 KiB, with its envelope just below what the bus carries
	begun := time.Now()
	got, err := bus.Request(waittest.Context(t), client, proto.TurnAsk{Text: text})
	if err != nil || got.Turn != text {
		t.Errorf("%d bytes came back as %d, %v", len(text), len(got.Turn), err)
	}
	t.Logf("%d bytes there and back in %s", len(text), time.Since(begun))

	const rounds, frames = 200, 50
	type message struct {
		stream string
		a      proto.Audio
	}
	heard := make(chan message, rounds*(frames+2))
	if _, err := brain.Audio(t.Context(), "local", bus.Drop(rounds*(frames+2)), func(_ context.Context, _, stream string, a proto.Audio) {
		heard <- message{stream, a}
	}); err != nil {
		t.Fatal(err)
	}
	if err := brain.Flush(waittest.Context(t)); err != nil {
		t.Fatal(err)
	}
	ops := slices.Concat([]proto.AudioOp{proto.AudioBegin}, slices.Repeat([]proto.AudioOp{proto.AudioData}, frames), []proto.AudioOp{proto.AudioEnd})
	for i := range rounds {
		for seq, op := range ops {
			if err := client.PublishAudio(fmt.Sprint("s", i), proto.Audio{Op: op, Seq: uint64(seq), PCM: make([]byte, 640)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range rounds {
		for seq, op := range ops {
			m := waittest.Next(t, "a frame", heard)
			if m.stream != fmt.Sprint("s", i) || m.a.Op != op || m.a.Seq != uint64(seq) {
				t.Fatalf("stream %d: got %s %s %d, want %s %d", i, m.stream, m.a.Op, m.a.Seq, op, seq)
			}
		}
	}
}

// A tool call over the socket: cancelled by its id, ended by its budget, and a
// tool that panics is an answer.
func TestToolThroughTheSocket(t *testing.T) {
	r := start(t, folders(t), nil)
	runner, brain := r.connect("toolrunner"), r.connect("brain")
	cancels, started := make(chan string, 1), make(chan struct{}, 1)
	if _, err := runner.ToolCancels(t.Context(), bus.Fail(16, func() {}), func(_ context.Context, call string) { cancels <- call }); err != nil {
		t.Fatal(err)
	}
	wait := func(ctx context.Context, c proto.ToolCall, _ []byte) proto.ToolResult {
		started <- struct{}{}
		ctx, cancel := context.WithTimeout(ctx, c.Timeout)
		defer cancel()
		select {
		case <-ctx.Done():
			return proto.ToolResult{Call: c.Call, Kind: proto.KindTimeout, Result: "error: timed out"}
		case id := <-cancels:
			return proto.ToolResult{Call: id, Kind: proto.KindCancelled, Result: "error: cancelled"}
		}
	}
	spec := func(name string) proto.ToolSpec {
		return proto.ToolSpec{Name: name, Description: "test", Parameters: json.RawMessage(`{}`)}
	}
	s, err := runner.Serve(t.Context(), "test", bus.Tool(spec("wait"), wait),
		bus.Tool(spec("panic"), func(context.Context, proto.ToolCall, []byte) proto.ToolResult { panic("broken") }))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	if err := runner.Flush(waittest.Context(t)); err != nil {
		t.Fatal(err)
	}
	go func() {
		<-started
		if err := brain.CancelTool("c1"); err != nil {
			t.Error(err)
		}
	}()
	got, err := brain.CallTool(waittest.Context(t), "wait", proto.ToolCall{Call: "c1", Timeout: time.Hour}, nil)
	if err != nil || got.Kind != proto.KindCancelled || got.Call != "c1" {
		t.Errorf("cancelled: got %+v, %v", got, err)
	}
	got, err = brain.CallTool(waittest.Context(t), "wait", proto.ToolCall{Call: "c2", Timeout: time.Millisecond}, nil)
	if err != nil || got.Kind != proto.KindTimeout {
		t.Errorf("timed out: got %+v, %v", got, err)
	}
	if _, err := brain.CallTool(waittest.Context(t), "panic", proto.ToolCall{Call: "c3"}, nil); proto.AsError("", err).Code != proto.CodeInternal {
		t.Errorf("panicked: got %v", err)
	}
	// A client that goes, however it goes, is no matter to the others.
	for range 20 {
		r.connect("sttd").Close()
	}
	if n := runner.Counts().Reconnects + brain.Counts().Reconnects; n != 0 {
		t.Errorf("the others were cut off %d times", n)
	}
}
