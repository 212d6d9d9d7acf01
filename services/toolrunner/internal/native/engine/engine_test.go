// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/toolrunner/internal/native/catalog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func settings(t *testing.T) Settings {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\u202e\x1b[1m\ntwo"), 0o600); err != nil {
		t.Fatal(err)
	}
	return Settings{On: []string{"list_directory", "read_file", "fetch_text"}, External: true, Workspace: dir, Methods: Methods(),
		Limits: config.Default().NativeTools.Limits, Timeout: Timeout}
}

func engine(t *testing.T, s Settings) *Engine {
	t.Helper()
	e, err := New(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func TestRun(t *testing.T) {
	e := engine(t, settings(t))
	r := e.Run(t.Context(), Call{Tool: "read_file", Arguments: `{"path":"a.txt"}`})
	head, rest, _ := strings.Cut(r.Text, "\n")
	if !r.OK || r.Kind != "" || !strings.HasPrefix(head, "read_file, file a.txt of the workspace: lines 1-2,") || !strings.Contains(rest, "]\none[1m\ntwo\n[/") {
		t.Errorf("got %+v", r)
	}
	if strings.Contains(r.Label, "one") || !strings.HasPrefix(r.Text, r.Label) {
		t.Errorf("label %q", r.Label)
	}
	// The mark around data is another one each time.
	if again := e.Run(t.Context(), Call{Tool: "read_file", Arguments: `{"path":"a.txt"}`}); again.Text == r.Text {
		t.Error("the mark can be guessed")
	}
	for name, c := range map[string]Call{
		proto.KindNotAllowed:       {Tool: "web_search", Arguments: `{}`},
		proto.KindInvalidArguments: {Tool: "read_file", Arguments: `{}`},
		proto.KindNotFound:         {Tool: "read_file", Arguments: `{"path":"none"}`},
	} {
		if r := e.Run(t.Context(), c); r.OK || r.Kind != name || !strings.HasPrefix(r.Text, "error: ") || r.Label != r.Text {
			t.Errorf("%+v: %+v", c, r)
		}
	}
	if r := e.Run(t.Context(), Call{Tool: "fetch_text", Arguments: `{"url":"https://example.org"}`, External: true}); r.Kind != proto.KindNotAllowed {
		t.Errorf("got %+v", r)
	}
	if r := e.Run(t.Context(), Call{Tool: "read_file", Arguments: `{"path":"a.txt"}`, External: true}); !r.OK {
		t.Errorf("got %+v", r)
	}
}

// TestRunEnds: a call ends when it is cancelled and when its time is over, also
// while others hold all places.
func TestRunEnds(t *testing.T) {
	s := settings(t)
	e := engine(t, s)
	for range maxRunning {
		e.places <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := e.Run(ctx, Call{Tool: "read_file", Arguments: `{"path":"a.txt"}`}); r.Kind != proto.KindTimeout || r.Text != "error: the call was cancelled" {
		t.Errorf("got %+v", r)
	}
	if r := e.Run(t.Context(), Call{Tool: "read_file", Arguments: `{"path":"a.txt"}`, Timeout: time.Millisecond}); r.Kind != proto.KindTimeout || r.Text != "error: it took too long" {
		t.Errorf("got %+v", r)
	}
	for range maxRunning {
		<-e.places
	}
	var calls sync.WaitGroup
	for range 4 * maxRunning {
		calls.Go(func() {
			if r := e.Run(t.Context(), Call{Tool: "list_directory", Arguments: `{"path":"."}`}); !r.OK {
				t.Errorf("got %+v", r)
			}
		})
	}
	calls.Wait()
}

// TestDefect: a tool that fails badly says so without saying what it held.
func TestDefect(t *testing.T) {
	e := engine(t, settings(t))
	e.world = catalog.World{} // without the function that opens the workspace
	if r := e.Run(t.Context(), Call{Tool: "read_file", Arguments: `{"path":"a.txt"}`}); r.Kind != proto.KindUnavailable || strings.Contains(r.Text, "nil") {
		t.Errorf("got %+v", r)
	}
}

// TestNoWorkspace: without a workspace the file tools say so, and the folder is
// opened as soon as it is there.
func TestNoWorkspace(t *testing.T) {
	s := settings(t)
	if err := os.Rename(s.Workspace, s.Workspace+".away"); err != nil {
		t.Fatal(err)
	}
	e := engine(t, s)
	if r := e.Run(t.Context(), Call{Tool: "read_file", Arguments: `{"path":"a.txt"}`}); r.Kind != proto.KindUnavailable {
		t.Errorf("got %+v", r)
	}
	if err := os.Rename(s.Workspace+".away", s.Workspace); err != nil {
		t.Fatal(err)
	}
	if r := e.Run(t.Context(), Call{Tool: "read_file", Arguments: `{"path":"a.txt"}`}); !r.OK {
		t.Errorf("got %+v", r)
	}
}

// TestBadSettings: a setting that is not valid is named.
func TestBadSettings(t *testing.T) {
	s := settings(t)
	s.Origins = []string{"http://example.org"}
	if _, err := New(s, nil); err == nil || !strings.Contains(err.Error(), "http://example.org") {
		t.Errorf("got %v", err)
	}
	s = settings(t)
	s.Endpoint = "file:///etc/passwd"
	if _, err := New(s, nil); err == nil {
		t.Error("accepted")
	}
}

// TestPipe: a pipe that nobody writes to is not waited for.
func TestPipe(t *testing.T) {
	s := settings(t)
	if err := unix.Mkfifo(filepath.Join(s.Workspace, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := engine(t, s).Run(t.Context(), Call{Tool: "read_file", Arguments: `{"path":"pipe"}`}); r.Kind != proto.KindNotAFile {
		t.Errorf("got %+v", r)
	}
}
