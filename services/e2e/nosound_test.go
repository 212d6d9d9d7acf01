// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/testkit/soundtest"
	"example.org/desktop-assistant/proto"
)

// TestNoSound: on a machine without sound run says why there is no voice and
// what to do, and typed questions are answered.
func TestNoSound(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	h.env = append(h.env, "PULSE_SERVER=unix:"+h.dir+"/none")
	s := start(t, h)
	eventually(t, "run says that there is no voice", func() bool { return s.printed("There is no", "see above") })
	for _, d := range []string{"micd", "ttsd"} {
		if st := s.status(d); st == nil || len(st.Problems) == 0 || st.Problems[0].Hint == "" || !s.printed(st.Problems[0].What) {
			t.Errorf("%s says %+v", d, st)
		}
	}
	if _, err := s.stdin.Write([]byte("what time is it\n")); err != nil {
		t.Fatal(err)
	}
	if ended, _ := s.turnEnded(""); ended.End != proto.EndSilent {
		t.Errorf("typed at run, the turn ended %+v", ended)
	}
	eventually(t, "run shows the answer", func() bool { return s.printed("assistant:", "It is ") })
	out := s.must(t, "ask", "what time is it")
	if !spokenTime(strings.TrimSpace(out)) {
		t.Errorf("ask prints %q", out)
	}
	if _, errs, code := s.cli(t, "listen", "start"); code != 69 || !strings.Contains(errs, "hint: ") {
		t.Errorf("listen ends with %d: %s", code, errs)
	}
	if _, errs, code := s.cli(t, "say", "hello"); code != 69 || !strings.Contains(errs, "hint: ") {
		t.Errorf("say ends with %d: %s", code, errs)
	}
	s.closedSet()
}

// pathWithout makes a folder with links to everything in PATH but some programs.
func (h home) pathWithout(t *testing.T, programs ...string) string {
	t.Helper()
	dir := filepath.Join(h.dir, "path")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, from := range filepath.SplitList(os.Getenv("PATH")) {
		list, err := os.ReadDir(from)
		if err != nil {
			continue // PATH may name what is not there
		}
		for _, e := range list {
			if !slices.Contains(programs, e.Name()) {
				_ = os.Symlink(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name())) // the first one counts
			}
		}
	}
	return dir
}

// TestNoEspeak: with sound but without a speech engine, it says what to
// install, shows its answers, and speaks as soon as there is one.
func TestNoEspeak(t *testing.T) {
	t.Parallel()
	rig := soundtest.Start(t)
	h := newHome(t, "", rig.Env()...)
	path := h.pathWithout(t, "espeak-ng", "pocketsphinx_batch", "pocketsphinx")
	h.env = append(h.env, "PATH="+path)
	s := start(t, h)
	eventually(t, "ttsd says what to install", func() bool { return s.printed("apt install espeak-ng") })
	eventually(t, "sttd says what to install", func() bool { return s.printed("apt install pocketsphinx") })
	if out, _, _ := s.cli(t, "ask", "what time is it"); !strings.HasPrefix(out, "It is ") {
		t.Errorf("ask prints %q", out)
	}
	espeak, err := exec.LookPath("espeak-ng")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(espeak, filepath.Join(path, "espeak-ng")); err != nil {
		t.Fatal(err)
	}
	s.well("ttsd")
	rec := rig.Record()
	out := s.must(t, "ask", "what time is it")
	if l := likeness(t, toTheEnd(rec), "en-us", strings.TrimSpace(out)); l < 0.9 {
		t.Errorf("what was played is like %q by %.2f", out, l)
	}
	s.closedSet()
}

// TestNoTools: an empty folder of tools, and one that is not there.
func TestNoTools(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	h.write(t, "config/desktop-assistant/tools/notes.txt", "nothing here yet\n")
	s := start(t, h)
	if out := s.must(t, "tool", "list"); !strings.Contains(out, "no tools in "+h.dir) {
		t.Errorf("tool list prints %q", out)
	}
	if out, errs, code := s.cli(t, "ask", "--no-speak", "what time is it"); code != 69 || !strings.Contains(out, "can't reach a chat server") {
		t.Errorf("ask ends with %d: %s%s", code, out, errs)
	}
	if err := os.RemoveAll(filepath.Join(h.dir, "config/desktop-assistant/tools")); err != nil {
		t.Fatal(err)
	}
	now, err := os.ReadFile("../../examples/tools/now.toml")
	if err != nil {
		t.Fatal(err)
	}
	h.write(t, "config/desktop-assistant/tools/now.toml", string(now)) // the folder is another one now
	eventually(t, "the new tool is offered", func() bool { return strings.Contains(s.must(t, "tool", "list"), "now ") })
	if out := s.must(t, "ask", "--no-speak", "what time is it"); !spokenTime(strings.TrimSpace(out)) {
		t.Errorf("ask prints %q", out)
	}
	s.closedSet()
}

// TestNoRuntimeFolder: without XDG_RUNTIME_DIR there is a private folder below
// /tmp, and the command line finds the assistant there.
func TestNoRuntimeFolder(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	h.env = slices.DeleteFunc(h.env, func(v string) bool { return strings.HasPrefix(v, "XDG_RUNTIME_DIR=") })
	if own := fmt.Sprintf("/run/user/%d/desktop-assistant", os.Getuid()); exists(own) {
		t.Fatalf("%s is there: an assistant of this user runs, and this test would meddle with it", own)
	}
	run := h.begin(t, "run")
	eventually(t, "ask finds it", func() bool {
		out, _, code := h.cli(t, "status")
		return code == 1 && strings.Count(out, "up ") == len(proto.Daemons())
	})
	if out := h.must(t, "ask", "--no-speak", "what time is it"); !spokenTime(strings.TrimSpace(out)) {
		t.Errorf("ask prints %q", out)
	}
	if dir := fmt.Sprintf("/tmp/desktop-assistant-%d", os.Getuid()); exists(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
	if err := run.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := run.Wait(); err != nil {
		t.Errorf("run: %v", err)
	}
	h.nothingLeft(t)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
