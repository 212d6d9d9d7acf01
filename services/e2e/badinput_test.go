// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/chattest"
	"example.org/desktop-assistant/pkg/testkit/soundtest"
	"example.org/desktop-assistant/pkg/testkit/whispertest"
	"example.org/desktop-assistant/proto"
)

// TestBadConfig: a fault in the configuration is named with its place and a
// hint by everything that reads it, and nothing starts.
func TestBadConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want, hint string }{
		{"unknown key", "llm = \"http://localhost:1/v1\"\n[whisper]\nprot = 1\n", ":3:1: unknown key whisper.prot", "whisper.port"},
		{"wrong type", "tool_rounds = \"three\"\n", ":1:", "tool_rounds"},
		{"no table", "whisper = 7\n", ":1:", "whisper must be a table"},
		{"no TOML", "[mic\n", ":1:", ""},
		{"out of bounds", "[mic]\nwake_threshold = 7\n", ":2:", "wake_threshold"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHome(t, c.text)
			file := filepath.Join(h.dir, "config/desktop-assistant/config.toml")
			programs := [][]string{{"desktop-assistant", "run"}, {"desktop-assistant", "ask", "hello"}, {"desktop-assistant", "config", "check"},
				{"desktop-assistant", "status"}, {"desktop-assistant", "tool", "check"}}
			for _, d := range proto.Daemons() {
				programs = append(programs, []string{d})
			}
			for _, program := range programs {
				out, code := h.program(t, program...)
				if code != 78 || !strings.Contains(out, "config: "+file+c.want) || !strings.Contains(out, c.hint) {
					t.Errorf("%v ends with %d:\n%s", program, code, out)
				}
			}
			h.nothingLeft(t)
		})
	}
}

// program runs one of the built programs to its end.
func (h home) program(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, args[0]), args[1:]...)
	cmd.Env, cmd.Dir = h.env, h.dir
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatalf("%v: %v", args, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestBadTools: a tool file that cannot be used is named with its place where
// the user looks; the others work, and it works as soon as it is mended.
func TestBadTools(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	const tools = "config/desktop-assistant/tools/"
	h.write(t, tools+"good.toml", "description = \"Says hello.\"\ncommand = [\"echo\", \"hello\"]\n")
	h.write(t, tools+"number.toml", "# first\ndescription = 7\ncommand = [\"true\"]\n")
	h.write(t, tools+"hole.toml", "description = \"x\"\ncommand = [\"echo\", \"{place}\"]\n")
	h.write(t, tools+"syntax.toml", "description = \"x\"\n[[[\n")
	h.write(t, tools+"binary.toml", "\x00\xff\xfe")
	h.write(t, tools+"typo.toml", "description = \"Says ho.\"\ncommand = [\"echo\", \"ho\"]\ntimeot = 3\n")
	faults := []string{"number.toml:2: description must be a string", "hole.toml:2:", "syntax.toml:2:", "binary.toml:1:"}
	s := start(t, h)

	check, errs, code := h.cli(t, "tool", "check")
	check += errs
	if code != 1 || !strings.Contains(check, "ok good") || !strings.Contains(check, `typo.toml:3: warning: unknown key "timeot" (did you mean "timeout"?)`) {
		t.Errorf("tool check ends with %d:\n%s", code, check)
	}
	status, _, code := h.cli(t, "status")
	if code != 1 {
		t.Errorf("status ends with %d", code)
	}
	for _, fault := range faults {
		if !strings.Contains(check, fault) {
			t.Errorf("tool check does not name %s:\n%s", fault, check)
		}
		if !strings.Contains(status, fault) {
			t.Errorf("status does not name %s:\n%s", fault, status)
		}
		if !s.printed(fault) {
			t.Errorf("run did not print %s", fault)
		}
	}
	for tool, want := range map[string]string{"good": "hello\n", "typo": "ho\n"} {
		if out := h.must(t, "tool", "run", tool); out != want {
			t.Errorf("the tool %s says %q", tool, out)
		}
	}
	if _, errs, code := h.cli(t, "tool", "run", "number"); code != 65 || !strings.Contains(errs, "no tool named \"number\"") || !strings.Contains(errs, "good, typo") {
		t.Errorf("a broken tool ends with %d: %s", code, errs)
	}
	for _, name := range []string{"number", "hole", "syntax", "binary", "typo"} {
		h.write(t, tools+name+".toml", "description = \"x\"\ncommand = [\"echo\", \"mended\"]\n")
	}
	s.well("toolrunner")
	if out := h.must(t, "tool", "run", "number"); out != "mended\n" {
		t.Errorf("the mended tool says %q", out)
	}
}

// closedPort is an address at which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return address
}

// TestNoChatServer: without a chat server, what no local command answers is
// answered with words about that, spoken and printed.
func TestNoChatServer(t *testing.T) {
	t.Parallel()
	rig := soundtest.Start(t)
	s := start(t, newHome(t, "llm = \"http://"+closedPort(t)+"/v1\"\n", rig.Env()...))
	s.well("ttsd")
	out, errs, code := s.cli(t, "ask", "who wrote the first opera?")
	if code != 69 || !strings.Contains(out, "I can't reach a chat server") || !strings.Contains(out, "what time is it") || !strings.Contains(errs, "hint: ") {
		t.Errorf("ask ends with %d:\n%s%s", code, out, errs)
	}
	ended, _ := s.turnEnded("")
	if ended.End != proto.EndFailed || ended.Heard != strings.TrimSpace(out) {
		t.Errorf("the turn ended %+v", ended)
	}
	if status, _, _ := s.cli(t, "status"); !strings.Contains(status, "no chat server answers") {
		t.Errorf("status says\n%s", status)
	}
	s.closedSet()
}

// TestBadChatServer: a chat server may do what it likes; each turn ends with
// words about it, and the next one works.
func TestBadChatServer(t *testing.T) {
	t.Parallel()
	rig := soundtest.Start(t)
	chat := chattest.New(t, chattest.Rule{Match: "are you well", Say: "I am well again."})
	s := start(t, newHome(t, "llm = \""+chat.URL+"\"\n[model]\nconnect_s = 1\nfirst_token_s = 1\nidle_s = 1\ntotal_s = 5\n", rig.Env()...))
	s.well("ttsd")
	s.well("brain")
	for _, c := range []struct {
		name, words string
		ex          chattest.Exchange
	}{
		{"a web page", "does not know this address", chattest.Exchange{ContentType: "text/html", Pieces: chattest.Raw("<html><body>It works!</body></html>")}},
		{"garbage", "", chattest.Exchange{Pieces: chattest.Raw("data: {\"choices\":[{]}\n\n", "\x00\xff\n\ndata: nonsense\n\n")}},
		{"odd JSON", "", chattest.Exchange{Pieces: chattest.Raw("data: {\"choices\":7}\n\ndata: []\n\ndata: {\"choices\":[{\"delta\":\"x\"}]}\n\ndata: [DONE]\n\n")}},
		{"an error", "had a problem", chattest.Fail(500, `{"error":{"code":500,"message":"out of memory","type":"server_error"}}`)},
		{"a bad gateway", "", chattest.Fail(502, "Bad Gateway")},
		{"a wrong key", "does not accept the key", chattest.Fail(401, `{"error":{"message":"Invalid API Key"}}`)},
		{"an unknown model", "does not know this address or model", chattest.Fail(404, `{"error":{"message":"model not found"}}`)},
		{"nothing", "gave me no answer", chattest.Exchange{Pieces: chattest.Finish("stop")}},
		{"an empty body", "", chattest.Exchange{}},
		{"a silence before", "stopped answering", chattest.Exchange{Pieces: chattest.Role(), End: chattest.Stall}},
		{"a silence after words", "broke off", chattest.Exchange{Pieces: chattest.Join(chattest.Role(), chattest.Text("It began. ", "But")), End: chattest.Stall}},
		{"a cut after words", "broke off", chattest.Exchange{Pieces: chattest.Join(chattest.Role(), chattest.Text("It began. ", "But")), End: chattest.Cut}},
		{"a reset", "", chattest.Exchange{Pieces: chattest.Role(), End: chattest.Reset}},
		{"loading for ever", "not loaded yet", chattest.Loading()},
		{"a call without a name", "", chattest.CallTool("c1", "", "{}")},
	} {
		c.ex.Match = func(r *chattest.Request) bool { return strings.HasSuffix(r.LastUser(), c.name) }
		for range 40 { // as often as it asks again
			chat.Script(c.ex)
		}
		out, errs, code := s.cli(t, "ask", "what about "+c.name)
		ended, _ := s.turnEnded("")
		if code == 0 || ended.End != proto.EndFailed || ended.Error == nil || !strings.HasSuffix(ended.Heard, lastLine(out)) || ended.Heard == "" {
			t.Errorf("%s: ask ends with %d and prints %q, %q; the turn ended %+v", c.name, code, out, errs, ended)
		}
		if !strings.Contains(ended.Heard, c.words) {
			t.Errorf("%s: what is heard is %q", c.name, ended.Heard)
		}
		t.Logf("%s: %q (%v)", c.name, ended.Heard, ended.Error)
	}
	if out := s.must(t, "ask", "are you well?"); out != "I am well again.\n" {
		t.Errorf("then it answers %q", out)
	}
	s.closedSet()
}

func lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[len(lines)-1]
}

// TestBadSpeechServer: a whisper-server may do what it likes; each turn ends
// with words, and the next one is understood.
func TestBadSpeechServer(t *testing.T) {
	t.Parallel()
	rig := soundtest.Start(t)
	stt := whispertest.New(t, func(whispertest.Request) whispertest.Answer { return whispertest.Answer{Text: "What time is it?"} })
	s := start(t, newHome(t, "[stt]\nengine = \"whisper\"\ndeadline_s = 2\n[whisper]\nurl = \""+stt.URL+"\"\n", rig.Env()...))
	for _, name := range []string{"micd", "sttd", "ttsd"} {
		s.well(name)
	}
	question := soundtest.Synthesize(t, soundtest.Slt, "what time is it")
	ask := func() (proto.TurnEnded, string) {
		state, err := bus.Request(t.Context(), s.conn, proto.MicStart{})
		if err != nil {
			t.Fatal(err)
		}
		rig.Play(question)
		if _, err := bus.Request(t.Context(), s.conn, proto.MicStop{}); err != nil {
			t.Fatal(err)
		}
		ended, seen := s.turnEnded(state.Turn)
		return ended, seen.Turn
	}
	for _, c := range []struct {
		name    string
		answers []whispertest.Answer // a connection that breaks is tried once more
	}{
		{"garbage", []whispertest.Answer{{Body: "\x00\xff{"}}},
		{"odd JSON", []whispertest.Answer{{Body: `{"text":7,"segments":"none"}`}}},
		{"an error", []whispertest.Answer{{Status: 500, Body: "std::bad_alloc"}}},
		{"a cut", []whispertest.Answer{{Text: "what time", Cut: true}, {Text: "what time", Cut: true}}},
		{"a reset", []whispertest.Answer{{Reset: true}, {Reset: true}}},
		{"no answer", []whispertest.Answer{{Hang: true}}},
		{"nothing", []whispertest.Answer{{}}},
	} {
		stt.Push(c.answers...)
		ended, turn := ask()
		if ended.End != proto.EndFailed || !strings.HasPrefix(ended.Heard, "Sorry, ") || ended.Error == nil {
			t.Errorf("%s: the turn ended %+v: %v", c.name, ended, s.events(turn))
		}
		t.Logf("%s: %q (%v)", c.name, ended.Heard, ended.Error)
	}
	if ended, turn := ask(); ended.End != proto.EndSpoken || !spokenTime(ended.Heard) {
		t.Errorf("then the turn ended %+v: %v", ended, s.events(turn))
	}
	s.closedSet()
}

// TestLongQuestion: what is too long or empty is refused with a reason.
func TestLongQuestion(t *testing.T) {
	t.Parallel()
	s := start(t, newHome(t, ""))
	for _, c := range []struct{ question, want string }{
		{"  ", "the question is empty"}, {strings.Repeat("why ", 20000), "bytes, over"},
	} {
		if _, errs, code := s.cli(t, "ask", c.question); code != 64 && code != 65 || !strings.Contains(errs, c.want) {
			t.Errorf("%.10q ends with %d: %s", c.question, code, errs)
		}
	}
	if _, errs, code := s.cli(t, "ask"); code != 64 || !strings.Contains(errs, "usage: ") {
		t.Errorf("no question ends with %d: %s", code, errs)
	}
	for _, seen := range s.watch.All() {
		if _, started := seen.Event.(proto.TurnStarted); started {
			t.Errorf("it began the turn %+v", seen.Envelope)
		}
	}
}
