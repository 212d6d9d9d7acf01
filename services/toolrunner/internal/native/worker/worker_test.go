// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/testkit/waittest"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/toolrunner/internal/native/engine"
	"example.org/desktop-assistant/services/toolrunner/internal/sandbox"
)

// What the test binary does when it is started as a child.
const (
	asChild = Verb
	asProbe = "probe" // says what a confined process can do
	asDeaf  = "deaf"  // is ready and then answers nothing
	asDying = "dying" // ends at its first call
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case asChild:
			os.Exit(Main(context.Background()))
		case asProbe:
			os.Exit(probe(os.Args[2], os.Args[3], os.Args[4]))
		case asDeaf, asDying:
			os.Exit(pretend(os.Args[1]))
		}
	}
	goleak.VerifyTestMain(m)
}

// pretend is a child that does not do its work.
func pretend(how string) int {
	lines := bufio.NewReader(os.Stdin)
	_, _ = lines.ReadString('\n')
	_ = encodeLine(os.Stdout, report{Ready: &Ready{}})
	_, _ = lines.ReadString('\n')
	if how == asDeaf {
		_, _ = io.Copy(io.Discard, lines)
	}
	return 3
}

func settings(t *testing.T) engine.Settings {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "tree")
	for path, text := range map[string]string{dir + "/a.txt": "inside", base + "/b.txt": "outside"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return engine.Settings{On: []string{"fetch_text", "read_file"}, Workspace: dir, Methods: engine.Methods(),
		Limits: config.Default().NativeTools.Limits, Timeout: engine.Timeout}
}

// start is a Starter without toolrunner's family.
func start(ctx context.Context, cmd *exec.Cmd) (<-chan error, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	go func() {
		err := cmd.Wait()
		stop()
		ended <- err
	}()
	return ended, nil
}

// host runs one whose children are this test binary.
func host(t *testing.T, s engine.Settings, how string) (*Host, func()) {
	t.Helper()
	h := NewHost(s, []string{os.Args[0], how}, start, slog.New(slog.NewTextHandler(t.Output(), nil)), nil)
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() { h.Serve(ctx) })
	stop := func() { cancel(); serving.Wait() }
	t.Cleanup(stop)
	return h, stop
}

var read = engine.Call{Tool: "read_file", Arguments: `{"path":"a.txt"}`}

func TestHost(t *testing.T) {
	s := settings(t)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hello" {
			_, _ = io.WriteString(w, "hello")
			return
		}
		<-r.Context().Done()
	}))
	defer web.Close()
	local := strings.Replace(web.URL, "127.0.0.1", "localhost", 1)
	s.Origins = []string{web.URL, local}
	h, stop := host(t, s, asChild)
	// Names are looked up and ports reached in spite of the confinement.
	if r := h.Run(t.Context(), engine.Call{Tool: "fetch_text", Arguments: `{"url":"` + local + `/hello"}`}); !r.OK || !strings.Contains(r.Text, "hello") {
		t.Errorf("got %+v", r)
	}
	if r := h.Run(t.Context(), read); !r.OK || !strings.Contains(r.Text, "inside") {
		t.Fatalf("got %+v", r)
	}
	if ready, ok := h.Ready(); !ok || !ready.Workspace || ready.Landlock == 0 != (sandbox.Detect().Landlock == 0) || !strings.Contains(ready.Confined, "Landlock") {
		t.Errorf("ready %+v, %v", ready, ok)
	}
	// A cancel gets through to the child, and others run meanwhile.
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan engine.Result, 1)
	go func() { got <- h.Run(ctx, engine.Call{Tool: "fetch_text", Arguments: `{"url":"` + web.URL + `/"}`}) }()
	for range 50 {
		if r := h.Run(t.Context(), read); !r.OK {
			t.Fatalf("got %+v", r)
		}
	}
	cancel()
	if r := waittest.Next(t, "the cancelled call", got); r.Kind != proto.KindTimeout {
		t.Errorf("got %+v", r)
	}
	// Stopping waits for what runs.
	go func() {
		got <- h.Run(t.Context(), engine.Call{Tool: "fetch_text", Arguments: `{"url":"` + web.URL + `/"}`, Timeout: 300 * time.Millisecond})
	}()
	waittest.Until(t, "the call", func() bool { h.mu.Lock(); defer h.mu.Unlock(); return h.calls == 1 })
	stop()
	if r := waittest.Next(t, "the last call", got); r.Kind != proto.KindTimeout || r.Text != "error: it took too long" {
		t.Errorf("got %+v", r)
	}
	if _, ok := h.Ready(); ok {
		t.Error("a child lives")
	}
}

// TestHostRestarts: a call whose child dies is unavailable, and the next call
// has another child.
func TestHostRestarts(t *testing.T) {
	s := settings(t)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer web.Close()
	s.Origins = []string{web.URL}
	h, _ := host(t, s, asChild)
	if r := h.Run(t.Context(), read); !r.OK {
		t.Fatalf("got %+v", r)
	}
	got := make(chan engine.Result, 1)
	go func() {
		got <- h.Run(t.Context(), engine.Call{Tool: "fetch_text", Arguments: `{"url":"` + web.URL + `/"}`})
	}()
	waittest.Until(t, "the call", func() bool {
		h.mu.Lock()
		p := h.live
		h.mu.Unlock()
		if p == nil {
			return false
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.waiting) == 1
	})
	h.lives().cancel()
	if r := waittest.Next(t, "the call", got); r.OK || r.Kind != proto.KindUnavailable {
		t.Errorf("got %+v", r)
	}
	if r := h.Run(t.Context(), read); !r.OK {
		t.Errorf("the next call: %+v", r)
	}
}

// lives gives the child that lives.
func (h *Host) lives() *process {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.live
}

// TestHostBadChildren: one that ends with its first call, one that answers
// nothing and one that cannot be started fail calls, each in its time.
func TestHostBadChildren(t *testing.T) {
	s := settings(t)
	s.Timeout = 100 * time.Millisecond
	for _, how := range []string{asDying, asDeaf} {
		h, _ := host(t, s, how)
		for range 2 {
			before := h.lives()
			if r := h.Run(t.Context(), read); r.OK || r.Kind != proto.KindUnavailable {
				t.Errorf("%s: %+v", how, r)
			}
			if how == asDeaf && before != nil && h.lives() == before {
				t.Error("a child that answers nothing is asked again")
			}
		}
	}
	h := NewHost(s, []string{"/no/such/program"}, start, slog.New(slog.NewTextHandler(t.Output(), nil)), nil)
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() { h.Serve(ctx) })
	if r := h.Run(t.Context(), read); r.Kind != proto.KindUnavailable {
		t.Errorf("got %+v", r)
	}
	limit, done := context.WithTimeout(t.Context(), time.Millisecond)
	defer done()
	if r := h.Run(limit, read); r.Kind != proto.KindTimeout {
		t.Errorf("got %+v", r)
	}
	cancel()
	serving.Wait()
}

// probe confines itself and then tries what it must not be able to do.
func probe(workspace, outside, address string) int {
	confine(engine.Settings{Workspace: workspace, Origins: []string{"http://127.0.0.1:9"}})
	can := func(what string, err error) {
		if err == nil {
			_, _ = io.WriteString(os.Stdout, what+"\n")
		}
	}
	_, err := os.ReadFile(filepath.Join(workspace, "a.txt"))
	can("read inside", err)
	_, err = os.ReadFile(outside)
	can("read outside", err)
	_, err = os.ReadDir(filepath.Dir(outside))
	can("list outside", err)
	can("write inside", os.WriteFile(filepath.Join(workspace, "new"), nil, 0o600))
	can("write outside", os.WriteFile(outside+".new", nil, 0o600))
	_, err = os.ReadFile("/etc/hosts")
	can("read hosts", err)
	_, err = os.ReadFile("/etc/passwd")
	can("read passwd", err)
	can("run", exec.Command("/bin/true").Run())
	resp, err := http.Get(address)
	if err == nil {
		_ = resp.Body.Close()
	}
	can("connect", err)
	listener, err := net.Listen("tcp", "127.0.0.1:0") // tries multipath TCP first
	if err == nil {
		_ = listener.Close()
	}
	can("listen", err)
	conn, err := net.Dial("unix", outside+".sock")
	if err == nil {
		_ = conn.Close()
	}
	can("dial a file", err)
	return 0
}

// TestConfine: the kernel holds the child, whatever its code does.
func TestConfine(t *testing.T) {
	if level, needs := sandbox.Detect(), 4; level.Landlock < needs || !level.Seccomp {
		t.Skipf("this kernel has Landlock %d, the test needs %d", level.Landlock, needs)
	}
	s := settings(t)
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer web.Close()
	outside := filepath.Join(filepath.Dir(s.Workspace), "b.txt")
	listener, err := net.Listen("unix", outside+".sock")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0], asProbe, s.Workspace, outside, web.URL)
	out, err := cmd.Output()
	if err != nil || string(out) != "read inside\nread hosts\n" {
		t.Errorf("it can:\n%s%v", out, err)
	}
}

// TestServeBadLines: a child that is told nonsense ends.
func TestServeBadLines(t *testing.T) {
	for _, text := range []string{"", "\n", "{}\n", "nonsense\n", `{"settings":{"Origins":["x"]}}` + "\n", strings.Repeat("x", maxLine+1<<20)} {
		err := serve(t.Context(), strings.NewReader(text), io.Discard, func(engine.Settings) Ready { return Ready{} })
		if err == nil {
			t.Errorf("%.20q was taken", text)
		}
	}
}

// FuzzLine: whatever comes from the other side is a line or an error.
func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"id":1,"result":{"OK":true}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReaderSize(strings.NewReader(string(data)), 16)
		for {
			var v report
			if err := decodeLine(r, &v); err != nil {
				return
			}
		}
	})
}

// TestResolverState: a file of name servers that was replaced is another one.
func TestResolverState(t *testing.T) {
	if a, b := resolverState(), resolverState(); a != b || a == "" {
		t.Errorf("%q, then %q", a, b)
	}
}

// BenchmarkHost is a small file read through the child.
func BenchmarkHost(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("inside"), 0o600); err != nil {
		b.Fatal(err)
	}
	s := engine.Settings{On: []string{"read_file"}, Workspace: dir, Limits: config.Default().NativeTools.Limits, Timeout: engine.Timeout}
	h := NewHost(s, []string{os.Args[0], asChild}, start, slog.New(slog.DiscardHandler), nil)
	ctx, cancel := context.WithCancel(b.Context())
	var serving sync.WaitGroup
	serving.Go(func() { h.Serve(ctx) })
	for b.Loop() {
		if r := h.Run(b.Context(), read); !r.OK {
			b.Fatalf("got %+v", r)
		}
	}
	cancel()
	serving.Wait()
}
