// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/chattest"
	"example.org/desktop-assistant/proto"
)

// TestBuiltin: the installed build, launched once with a workspace and then
// without, lists and reads it, through the bus and in a turn of an external chat
// server; a tool that is switched on is there for the next question.
func TestBuiltin(t *testing.T) {
	t.Parallel()
	chat := chattest.New(t, chattest.Rule{Match: "", Say: "{result}"})
	h := newHome(t, "llm = \""+chat.URL+"\" # a fixture\n[model]\nroute = \"external\"\n[native_tools]\nexternal = true\nfetch_text = true\n", goCaches(t)...)
	h.env = append(h.env, "PULSE_SERVER=unix:"+h.dir+"/none")
	h.shell(t, "make --no-print-directory -C "+filepath.Dir(bin)+" PREFIX="+h.dir+"/prefix -o build install") // what is built already
	h.command = filepath.Join(h.dir, "prefix/bin/desktop-assistant")
	h.write(t, "tree/notes.txt", "the word is marmalade\n")
	tree, err := filepath.EvalSymlinks(filepath.Join(h.dir, "tree"))
	if err != nil {
		t.Fatal(err)
	}

	once := h
	once.env = append(slices.Clone(h.env), "DESKTOP_ASSISTANT_WORKSPACE="+tree)
	s := start(t, once)
	s.stop()

	s = start(t, h)
	if out := s.must(t, "tool", "list"); !strings.Contains(out, "(off: it is not switched on)") || !strings.Contains(out, "one never gets this tool") {
		t.Errorf("tool list prints\n%s", out)
	}
	if _, out, code := s.cli(t, "tool", "run", "read_file", "path=notes.txt"); code != 77 || !strings.Contains(out, "tool enable read_file") {
		t.Errorf("what is off ended with %d: %s", code, out)
	}
	for _, name := range []string{"list_directory", "read_file"} {
		if out := s.must(t, "tool", "enable", name); out != name+" is on\n" {
			t.Errorf("enable prints %q", out)
		}
	}
	if out := s.must(t, "tool", "run", "list_directory", "path=.", "filetype=file"); !strings.Contains(out, "file notes.txt") {
		t.Errorf("listed\n%s", out)
	}
	if out := s.must(t, "tool", "run", "read_file", "path=notes.txt"); !strings.Contains(out, "the word is marmalade") {
		t.Errorf("read\n%s", out)
	}
	s.builtinTurn(chat)
	s.builtinStatus(tree)
}

// builtinTurn asks a question for which the model lists and reads.
func (s *stack) builtinTurn(chat *chattest.Server) {
	s.t.Helper()
	chat.Script(chattest.CallTool("a", "list_directory", `{"path":".","filetype":"file"}`), chattest.CallTool("b", "read_file", `{"path":"notes.txt"}`))
	ticket, err := bus.Request(s.t.Context(), s.conn, proto.TurnAsk{Text: "what is the word", Speak: false})
	if err != nil {
		s.t.Fatal(err)
	}
	ended, _ := s.turnEnded(ticket.Turn)
	if ended.End != proto.EndSilent || !strings.Contains(ended.Heard, "marmalade") {
		s.t.Errorf("ended %+v", ended)
	}
	for _, q := range chat.Requests() {
		if q.LastUser() != "what is the word" {
			continue
		}
		if !slices.Contains(q.Tools, "read_file") || slices.Contains(q.Tools, "fetch_text") || slices.Contains(q.Tools, "now") {
			s.t.Errorf("an external chat server was offered %v", q.Tools)
		}
	}
	var done []string
	for _, seen := range s.watch.All() {
		f, ok := seen.Event.(proto.ToolFinished)
		if !ok || seen.Turn != ticket.Turn {
			continue
		}
		done = append(done, f.Name)
		if !f.OK || strings.Contains(f.Result, "marmalade") || !strings.Contains(f.Result, f.Name) {
			s.t.Errorf("told %+v", f)
		}
	}
	if !slices.Equal(done, []string{"list_directory", "read_file"}) {
		s.t.Errorf("finished %v", done)
	}
}

// builtinStatus checks what status says of the process and of the workspace.
func (s *stack) builtinStatus(tree string) {
	s.t.Helper()
	var detail struct {
		Native struct {
			On                        []string
			Workspace, From, Confined string
		}
	}
	status := s.status("toolrunner")
	if status == nil || json.Unmarshal(status.Detail, &detail) != nil {
		s.t.Fatalf("status %+v", status)
	}
	n := detail.Native
	if n.Workspace != tree || n.From != "saved" || !strings.Contains(n.Confined, "Landlock") || !slices.Contains(n.On, "read_file") {
		s.t.Errorf("status says %+v", n)
	}
}
