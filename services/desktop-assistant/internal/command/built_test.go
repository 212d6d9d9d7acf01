// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/proto"
)

// program runs the built command line to its end.
func program(t *testing.T, args ...string) result {
	t.Helper()
	binary := filepath.Join(built(t), "desktop-assistant") // before the limit: building takes long
	ctx, cancel := context.WithTimeout(t.Context(), 2*waitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("%v: %v", args, err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// processes lists the living processes whose program is in the folder of the
// built ones and whose account is the test's.
func processes(t *testing.T) (list []string) {
	t.Helper()
	mine := []byte("XDG_RUNTIME_DIR=" + os.Getenv("XDG_RUNTIME_DIR") + "\x00")
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		if err != nil || !bytes.Contains(environ, mine) { // gone, a zombie, or another's
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		list = append(list, entry.Name()+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
	}
	return list
}

// nothingLeft fails when processes or sockets are left.
func nothingLeft(t *testing.T) {
	t.Helper()
	if list := processes(t); len(list) > 0 {
		t.Errorf("left running: %q", list)
	}
	for _, pattern := range []string{"*.sock", "*notify*"} {
		if files, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "desktop-assistant", pattern)); len(files) > 0 {
			t.Errorf("left behind: %v", files)
		}
	}
}

// assistant is the built program at run.
type assistant struct {
	t     *testing.T
	cmd   *exec.Cmd
	out   buffer // of both outputs, or of the terminal
	in    io.WriteCloser
	ended chan struct{}
}

// runPiped starts run without a terminal.
func runPiped(t *testing.T, args ...string) *assistant {
	t.Helper()
	a := &assistant{t: t, ended: make(chan struct{})}
	a.cmd = exec.Command(filepath.Join(built(t), "desktop-assistant"), append([]string{"run"}, args...)...)
	in, err := a.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	a.in = in
	a.cmd.Stdout, a.cmd.Stderr = &a.out, &a.out
	a.begin()
	return a
}

// runAt starts run at a terminal of its own.
func runAt(t *testing.T, args ...string) *assistant {
	t.Helper()
	master, name := openTerminal(t)
	slave, err := os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	a := &assistant{t: t, in: master, ended: make(chan struct{})}
	a.cmd = exec.Command(filepath.Join(built(t), "desktop-assistant"), append([]string{"run"}, args...)...)
	a.cmd.Env = append(os.Environ(), "TERM=xterm")
	a.cmd.Stdin, a.cmd.Stdout, a.cmd.Stderr = slave, slave, slave
	a.cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	a.begin()
	_ = slave.Close()
	go func() { _, _ = io.Copy(&a.out, master) }() // ends when the last slave or the master is closed
	return a
}

// openTerminal makes a pseudo terminal (ptmx(4)) of 80 columns.
func openTerminal(t *testing.T) (master *os.File, slave string) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	t.Cleanup(func() { _ = master.Close() })
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	return master, fmt.Sprint("/dev/pts/", n)
}

func (a *assistant) begin() {
	a.t.Helper()
	if err := a.cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	go func() {
		_ = a.cmd.Wait() // the exit status is read from ProcessState
		close(a.ended)
	}()
	a.t.Cleanup(func() {
		_ = a.cmd.Process.Kill() // gone already, unless the test failed
		<-a.ended
		if a.t.Failed() {
			a.t.Logf("output of run:\n%q", strings.Split(a.out.String(), "\n"))
		}
	})
}

// shows waits until the output holds a text.
func (a *assistant) shows(text string) {
	a.t.Helper()
	eventually(a.t, fmt.Sprintf("%q is shown", text), func() bool { return strings.Contains(a.out.String(), text) })
}

func (a *assistant) types(text string) {
	a.t.Helper()
	if _, err := io.WriteString(a.in, text); err != nil {
		a.t.Fatal(err)
	}
}

func (a *assistant) signal(sig unix.Signal) {
	a.t.Helper()
	if err := a.cmd.Process.Signal(sig); err != nil {
		a.t.Fatal(err)
	}
}

// wait gives the exit code; nothing may be left.
func (a *assistant) wait() int {
	a.t.Helper()
	select {
	case <-a.ended:
	case <-time.After(2 * waitLimit):
		a.t.Fatal("run does not end")
	}
	nothingLeft(a.t)
	return a.cmd.ProcessState.ExitCode()
}

// connect reaches the bus of the running assistant.
func connect(t *testing.T) *bus.Conn {
	t.Helper()
	c := bus.New(bus.Options{Service: "test", Version: "0.0.0-test", Dir: filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "desktop-assistant"), Log: bustest.Log(t)})
	if err := c.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func say(t *testing.T, c *bus.Conn, turn string, events ...proto.Event) {
	t.Helper()
	for _, ev := range events {
		if err := c.Publish(ev, bus.Meta{Turn: turn}); err != nil {
			t.Fatal(err)
		}
	}
}

// Without a terminal: logs with level info, the end of the input is not the
// end, a line is a question, SIGTERM ends all in order.
func TestRunPiped(t *testing.T) {
	home(t)
	a := runPiped(t)
	a.shows("Type a question")
	for _, line := range []string{"no tools folder yet: using the examples in ", "busd       | level=INFO msg=ready daemon=busd", "micd       | level=INFO msg=ready"} {
		a.shows(line)
	}
	a.types("what time is it\n")
	a.shows("you:       what time is it")
	a.shows("tool:      now {}: ")
	a.shows("assistant: It is ")
	if err := a.in.Close(); err != nil {
		t.Fatal(err)
	}
	r := program(t, "ask", "what time is it")
	r.want(t, 0, "It is ", "!(shown, not spoken: ")
	program(t, "ask", "--no-speak", "--json", "what time is it").want(t, 0, `"type":"turn.started"`, `"end":"silent"`)
	program(t, "tool", "run", "now").want(t, 0, ":")
	program(t, "tool", "list").want(t, 0, "now ")
	program(t, "status").want(t, ExitFailed, "busd        ok", "toolrunner  ok", "micd        degraded", "sound server")
	program(t, "run").want(t, ExitFailed, "!busd runs already, as process ", "!hint: use it, for example: desktop-assistant ask")
	program(t, "listen", "start").want(t, ExitUnavailable, "!sound server", "!hint: ")
	a.signal(unix.SIGTERM)
	if code := a.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	out := a.out.String()
	if strings.Contains(out, "you> ") || strings.Contains(out, "\x1b") {
		t.Error("a prompt without a terminal")
	}
	if last := strings.LastIndex(out, "msg=stopped"); !strings.Contains(out[last:], "daemon=busd") {
		t.Errorf("the bus did not end last: %q", out[last:])
	}
}

// At a terminal: a prompt that stays below what is printed, with what is typed;
// only errors are logged.
func TestRunAtTerminal(t *testing.T) {
	home(t)
	a := runAt(t)
	a.shows("you> ")
	out := a.out.String()
	if strings.Contains(out, "level=") {
		t.Errorf("the log buries the conversation:\n%s", out)
	}
	if !strings.Contains(out, "! micd: ") || !strings.Contains(out, "There is no asking aloud for now: see above.") {
		t.Errorf("the problems are not shown:\n%s", out)
	}
	// A half-typed question survives what is printed meanwhile.
	conn := connect(t)
	a.types("what time is i")
	a.shows("you> what time is i")
	before := len(a.out.String())
	say(t, conn, "t1", proto.TurnAsked{Text: "asked elsewhere"})
	a.shows("you:       asked elsewhere\r\nyou> what time is i")
	if line := a.out.String()[before:]; !strings.HasPrefix(line, "\x1b[") {
		t.Errorf("the old prompt is not cleared: %q", line)
	}
	a.types("t\r")
	a.shows("assistant: It is ")
	a.shows("\r\nyou> ")
	if strings.Contains(a.out.String(), "you:       what time is it") {
		t.Error("what was typed is shown twice")
	}
	a.types("\r") // listen
	a.shows("! open the microphone: ")
	a.types("\x03")
	if code := a.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	state, err := unix.IoctlGetTermios(int(a.in.(*os.File).Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	if state.Lflag&unix.ECHO == 0 || state.Lflag&unix.ICANON == 0 {
		t.Error("the terminal is left raw")
	}
}

// Ctrl-C before the prompt is there comes as a signal.
func TestRunInterruptedEarly(t *testing.T) {
	home(t)
	a := runAt(t)
	a.shows("no tools folder yet")
	a.types("\x03")
	if code := a.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// Ctrl-D at an empty prompt ends all, too.
func TestRunEndOfInput(t *testing.T) {
	home(t)
	a := runAt(t, "--only", "busd,toolrunner")
	a.shows("you> ")
	a.types("\x04")
	if code := a.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The terminal closes: everything ends.
func TestRunHangup(t *testing.T) {
	home(t)
	a := runAt(t)
	a.shows("you> ")
	if err := a.in.Close(); err != nil {
		t.Fatal(err)
	}
	a.wait()
}

// Whoever kills run kills all, and the next run starts.
func TestRunKilled(t *testing.T) {
	home(t)
	a := runPiped(t)
	a.shows("Type a question")
	a.signal(unix.SIGKILL)
	<-a.ended
	eventually(t, "every daemon is gone", func() bool { return len(processes(t)) == 0 })
	nothingLeft(t)
	b := runPiped(t, "--only", "busd")
	eventually(t, "the bus is back", func() bool { return program(t, "events", "--kept").code == 0 })
	b.signal(unix.SIGINT)
	if code := b.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A daemon that is killed is back, and run says so.
func TestRunRestarts(t *testing.T) {
	home(t)
	a := runPiped(t, "--only", "toolrunner,busd")
	a.shows("msg=ready daemon=toolrunner")
	for _, p := range processes(t) {
		if pid, line, _ := strings.Cut(p, " "); strings.Contains(line, "/toolrunner ") {
			n, err := strconv.Atoi(pid)
			if err != nil {
				t.Fatal(err)
			}
			if err := unix.Kill(n, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	a.shows(`run        | level=WARN msg=restarting daemon=toolrunner after="signal: killed" in=200ms`)
	eventually(t, "the tool answers", func() bool { return program(t, "tool", "run", "now").code == 0 })
	program(t, "ask", "x").want(t, ExitUnavailable, "!the bus runs, but of brain: nobody answers", "!desktop-assistant run")
	program(t, "stop").want(t, ExitUnavailable)
	a.signal(unix.SIGTERM)
	a.wait()
	if strings.Contains(a.out.String(), "Type a question") {
		t.Error("part of the daemons is no conversation")
	}
}

func TestRunFaultyConfig(t *testing.T) {
	path := configure(t, home(t), faulty)
	r := program(t, "run")
	r.want(t, ExitConfig, "!config: "+path+":2:1: unknown key whisper.prot\n  hint: ")
	if r.out != "" {
		t.Errorf("started with it: %s", r.out)
	}
}

// Where nothing runs, ask starts what it needs, and ends it.
func TestAskOnce(t *testing.T) {
	home(t)
	r := program(t, "ask", "what", "time", "is", "it")
	r.want(t, 0, "It is ")
	if strings.Contains(r.out, "|") || strings.Count(r.out, "\n") != 1 {
		t.Errorf("stdout: %q", r.out)
	}
	nothingLeft(t)
	program(t, "ask", "--no-speak", "--json", "what time is it").want(t, 0, `"type":"turn.ended"`)
	nothingLeft(t)
}

// Ctrl-C ends the turn and what was started for it.
func TestAskOnceInterrupted(t *testing.T) {
	dir := home(t)
	configure(t, dir, "[tools]\ndir = \""+dir+"\"\n")
	slow := "description = \"Slow.\"\ncommand = [\"sleep\", \"300.271828\"]\ntimeout = 400\nsentences.en = [\"take your time\"]\n"
	if err := os.WriteFile(filepath.Join(dir, "slow.toml"), []byte(slow), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(built(t), "desktop-assistant"), "ask", "--no-speak", "--json", "take your time")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var seen []string
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		seen = append(seen, lines.Text())
		if strings.Contains(lines.Text(), "tool.called") {
			if err := cmd.Process.Signal(unix.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != ExitInterrupted || !strings.Contains(strings.Join(seen, "\n"), `"end":"cancelled"`) {
		t.Errorf("exit code %d, events %s", code, strings.Join(seen, "\n"))
	}
	nothingLeft(t)
}

// The verbs without an assistant are toolrunner's.
func TestToolrunnerVerbs(t *testing.T) {
	dir := home(t)
	program(t, "tool", "check").want(t, 0, "ok now\n")
	program(t, "tool", "call", "now").want(t, 0, ":")
	program(t, "tool", "call", "nosuch").want(t, 0, "error: no tool named nosuch\n")
	program(t, "tool", "call", "--check-exit", "nosuch", "{}").want(t, ExitFailed, "error: no tool named nosuch\n")
	tools := filepath.Join(dir, "tools")
	if err := os.Mkdir(tools, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(tools, "bad.toml")
	if err := os.WriteFile(file, []byte("description = \"x\"\ncommand = 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program(t, "tool", "check", "--tools", tools).want(t, ExitFailed, file+":2:")
	// The folder of the bus is closed to a tool with a sandbox, whatever its file says.
	text := "description = \"x\"\ncommand = [\"cat\", \"" + dir + "/run/desktop-assistant/bus.cookie\"]\nsandbox = { read = [%s] }\n"
	if err := os.WriteFile(file, fmt.Appendf(nil, text, `"$XDG_RUNTIME_DIR"`), 0o600); err != nil {
		t.Fatal(err)
	}
	program(t, "tool", "check", "--tools", tools).want(t, 0, file+":3: warning: cannot run cat: sandbox.read \"$XDG_RUNTIME_DIR\": it would open the folder of the bus")
	program(t, "tool", "call", "--tools", tools, "bad").want(t, 0, "error: cannot run cat: sandbox.read")
	if err := os.WriteFile(file, fmt.Appendf(nil, text, ""), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "run/desktop-assistant/bus.cookie"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := "Permission denied\n"
	if res := program(t, "tool", "check", "--tools", tools); strings.Contains(res.out, "the sandbox does not hold here") {
		t.Log("this kernel has no Landlock, and the tool reads what it likes")
		want = "secret\n"
	}
	program(t, "tool", "call", "--tools", tools, "bad").want(t, 0, want)
	nothingLeft(t)
}

// A new tool works as it is, and with every key that its template explains; the
// command lines that are told next are true.
func TestNewToolWorks(t *testing.T) {
	dir := home(t)
	built(t)
	res := program(t, "tool", "new", "greet")
	res.want(t, 0, "your own folder is used instead of")
	program(t, "tool", "check", "--lint").want(t, 0, "ok greet\n")
	if res := program(t, "tool", "check", "--lint"); res.out != "ok greet\n" {
		t.Errorf("the template: %s", res.out)
	}
	program(t, "tool", "call", "greet", `{"who":"Ada"}`).want(t, 0, "Hello, Ada!\n")
	file := filepath.Join(dir, "config/desktop-assistant/tools/greet.toml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "home/notes"), 0o700); err != nil {
		t.Fatal(err)
	}
	keys := regexp.MustCompile(`(?m)^#([a-z])`).ReplaceAll(text, []byte("$1"))
	if bytes.Equal(keys, text) {
		t.Error("no optional keys in the template")
	}
	if err := os.WriteFile(file, keys, 0o600); err != nil {
		t.Fatal(err)
	}
	if res := program(t, "tool", "check", "--lint"); !strings.HasPrefix(res.out, "ok greet\na sandbox confines ") || strings.Count(res.out, "\n") != 2 || res.code != 0 {
		t.Errorf("with all keys: %s", res.out)
	}
	program(t, "tool", "call", "greet", `{"who":"Ada"}`).want(t, 0, "Hello, Ada!\n")
	program(t, "tool", "check", "--json").want(t, 0, `"tools":["greet"]`)
	nothingLeft(t)
}
