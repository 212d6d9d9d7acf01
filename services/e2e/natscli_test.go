// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/desktop-assistant/proto"
)

// natscli is the version that is tested, the Makefile's.
const natscli = "v0.5.0"

// natsBinary gives the command line of NATS: what the Makefile built, or else
// built now, once, outside the checkout.
var natsBinary = sync.OnceValues(func() (string, error) {
	path := os.Getenv("NATS_CLI")
	if path == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		path = filepath.Join(cache, "desktop-assistant", "natscli-"+natscli, "nats")
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	cmd := exec.Command("go", "install", "github.com/nats-io/natscli/nats@"+natscli)
	cmd.Env = append(os.Environ(), "GOBIN="+filepath.Dir(path), "GOWORK=off")
	cmd.Dir, cmd.Stderr = os.TempDir(), os.Stderr
	return path, cmd.Run()
})

// nats gives an account the command nats, in the folder that is first in PATH.
func (h *home) addNats(t *testing.T) {
	t.Helper()
	binary, err := natsBinary()
	if err != nil {
		t.Fatalf("build natscli %s: %v", natscli, err)
	}
	if err := os.MkdirAll(filepath.Join(h.dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary, filepath.Join(h.dir, "bin", "nats")); err != nil {
		t.Fatal(err)
	}
	h.env = append(h.env, "PATH="+filepath.Join(h.dir, "bin")+":"+os.Getenv("PATH"))
}

// shell runs a line as a user types it, until it ends.
func (h home) shell(t *testing.T, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Env, cmd.Dir, cmd.WaitDelay = h.env, h.dir, 5*time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// readmeLines are the commands of the first block of proto/README.md.
func readmeLines(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../proto/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```\n")
	block, _, found := strings.Cut(rest, "```")
	lines := strings.Split(strings.TrimSpace(block), "\n")
	if !found || len(lines) < 5 {
		t.Fatalf("proto/README.md begins with no block of commands, but %q", block)
	}
	return lines
}

// A listener is a command that prints until it is ended.
type listener struct {
	mu  sync.Mutex
	out []string
}

// listen runs a line as a user types it and leaves it running.
func (h home) listen(t *testing.T, line string) *listener {
	t.Helper()
	l := &listener{}
	cmd := exec.Command("sh", "-c", "exec "+line)
	cmd.Env, cmd.Dir = h.env, h.dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			l.mu.Lock()
			l.out = append(l.out, lines.Text())
			l.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it would print for ever
		<-read
		_ = cmd.Wait()
	})
	return l
}

func (l *listener) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.out, "\n")
}

// TestNatscli: the bus can be watched and used with the command line of NATS,
// by the very lines of proto/README.md.
func TestNatscli(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	h.addNats(t)
	s := start(t, h)
	lines := readmeLines(t)
	var sub *listener
	for _, line := range lines {
		command, _, _ := strings.Cut(line, "#")
		command = strings.TrimSpace(command)
		t.Log(command)
		switch {
		case strings.Contains(command, " sub "):
			sub = h.listen(t, command)
			eventually(t, "nats sub listens", func() bool { return strings.Contains(sub.text(), "Subscribing on da.evt.>") })
		case strings.HasSuffix(command, "micro ls"):
			out := s.shell(t, command)
			for _, d := range proto.Daemons() {
				if !regexp.MustCompile(`(?m)\b` + d + `\b`).MatchString(out) {
					t.Errorf("%s is not listed:\n%s", d, out)
				}
			}
		case strings.HasSuffix(command, "micro info toolrunner"):
			out := s.shell(t, command)
			for _, want := range []string{"da.tool.run.now", `"type":"object"`} {
				if !strings.Contains(out, want) {
					t.Errorf("%s is not shown:\n%s", want, out)
				}
			}
		case strings.Contains(command, "req da.tool.run.now"):
			var result proto.ToolResult
			reply(t, s.shell(t, command), &result)
			if !result.OK || !spokenTime("It is "+result.Result+".") {
				t.Errorf("the tool says %+v", result)
			}
		case strings.Contains(command, "turn.ask"):
			var ticket proto.TurnTicket
			reply(t, s.shell(t, command), &ticket)
			s.turnEnded(ticket.Turn)
			eventually(t, "the turn is seen by nats sub", func() bool {
				text := sub.text()
				return !slices.ContainsFunc([]string{"turn.started", "turn.asked", "tool.called", "tool.finished", "turn.sentence", "turn.ended", ticket.Turn},
					func(want string) bool { return !strings.Contains(text, want) })
			})
		default:
			t.Errorf("nothing here tries %q", line)
		}
	}
	if out := s.shell(t, "nats --context desktop-assistant req da.tool.run.nosuch '{}'"); !strings.Contains(out, "No responders") {
		t.Errorf("a tool that is not there answers %s", out)
	}
	s.closedSet()
}

// reply decodes the JSON object in what nats req printed.
func reply(t *testing.T, out string, v any) {
	t.Helper()
	at := strings.Index(out, "{")
	if at < 0 {
		t.Fatalf("no reply in %q", out)
	}
	if err := json.NewDecoder(bytes.NewReader([]byte(out[at:]))).Decode(v); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
}

// TestNatscliPrivate: the port takes nobody without the password, which only
// this user can read, and cli_tcp = false leaves neither port nor context.
func TestNatscliPrivate(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	h.addNats(t)
	s := start(t, h)
	file := filepath.Join(h.dir, "config/nats/context/desktop-assistant.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	nats := decode[struct{ URL, Password string }](t, text)
	for _, private := range []string{file, strings.TrimPrefix(nats.Password, "file://")} {
		info, err := os.Stat(private)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", private, info.Mode(), err)
		}
	}
	out := s.shell(t, "nats --server "+nats.URL+" req da.tool.run.now '{}' 2>&1 || echo refused")
	if !strings.Contains(out, "Authorization Violation") || !strings.Contains(out, "refused") {
		t.Errorf("without a password: %s", out)
	}
	s.stop()

	h.write(t, "config/desktop-assistant/config.toml", "[bus]\ncli_tcp = false\n")
	start(t, h)
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("with cli_tcp = false there is a context: %v", err)
	}
}
