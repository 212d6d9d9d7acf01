// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/proto"
)

// Whatever is typed wrongly is named, with what to type instead.
func TestUsage(t *testing.T) {
	home(t)
	for line, words := range map[string]string{
		"frobnicate":             `unknown verb "frobnicate"|hint: desktop-assistant --help`,
		"statsu":                 `unknown verb "statsu"|hint: did you mean: desktop-assistant status`,
		"--nosuch":               `unknown flag: --nosuch|--help`,
		"status --nosuch":        `status: unknown flag: --nosuch|hint: desktop-assistant status --help`,
		"status x":               "wrong number of arguments: 1|usage: desktop-assistant status",
		"ask":                    "wrong number of arguments: 0|usage: desktop-assistant ask TEXT",
		"ask ~":                  "the question is empty|usage: desktop-assistant ask TEXT",
		"say":                    "wrong number of arguments: 0|usage: desktop-assistant say TEXT",
		"tool frob":              `unknown verb "frob"|desktop-assistant tool --help`,
		"tool lst":               "did you mean: desktop-assistant tool list",
		"tool run":               "wrong number of arguments: 0|NAME [KEY=VALUE]",
		"tool run now Rome":      `"Rome" is not KEY=VALUE|tool run weather place=Rome`,
		"tool run now =Rome":     `"=Rome" is not KEY=VALUE`,
		"tool call":              "wrong number of arguments: 0",
		"tool call a b c":        "wrong number of arguments: 3",
		"tool check x":           "wrong number of arguments: 1",
		"listen frob":            `unknown verb "frob"`,
		"listen start --lease x": "invalid argument|listen start --help",
		"mute maybe":             `"maybe" is neither on nor off|usage: desktop-assistant mute [on`,
		"mute on off":            "wrong number of arguments: 2",
		"events nosuch":          `unknown area "nosuch"|one of: bus mic utterance`,
		"run --only nosuch":      `no daemon named "nosuch"|one of: busd toolrunner`,
		"run --log loud":         `no log level "loud"|one of: debug info warn error`,
		"run x":                  "wrong number of arguments: 1",
		"config frob":            `unknown verb "frob"`,
		"version x":              "wrong number of arguments: 1",
		"completion tcsh":        `unknown verb "tcsh"`,
		"--config x tool check":  "toolrunner reads|leave --config out",
	} {
		args := strings.Fields(line)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "~", " ")
		}
		r := run(t, args...)
		if r.code != ExitUsage || r.out != "" {
			t.Errorf("%s: exit code %d, stdout %q", line, r.code, r.out)
		}
		for _, w := range strings.Split(words, "|") {
			if !strings.Contains(r.err, w) {
				t.Errorf("%s: stderr lacks %q:\n%s", line, w, r.err)
			}
		}
	}
}

func TestHelp(t *testing.T) {
	home(t)
	run(t).want(t, 0, "Start it with", "Exit status: 0 done; 1 failed; 64 wrong usage;", "ask ")
	run(t, "--help").want(t, 0, "Available Commands")
	run(t, "tool").want(t, 0, "Available Commands", "check ")
	run(t, "help", "ask").want(t, 0, "ask TEXT")
	run(t, "run", "--help").want(t, 0, "only errors of the daemons are logged", "--only")
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		if c.Short == "" {
			t.Errorf("%s says nothing of itself", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	each(newApp(Streams{}).root())
}

func TestVersion(t *testing.T) {
	home(t)
	for _, args := range [][]string{{"version"}, {"--version"}} {
		if r := run(t, args...); r.code != 0 || r.out != "desktop-assistant "+daemon.Version+"\n" {
			t.Errorf("%v: %+v", args, r)
		}
	}
	if r := run(t, "version", "--json"); r.out != `{"version":"`+daemon.Version+`"}`+"\n" {
		t.Errorf("%+v", r)
	}
}

// Without a running assistant every verb that needs one says how to start it.
func TestNothingRuns(t *testing.T) {
	dir := home(t)
	for _, line := range []string{
		"say hello", "listen start", "listen stop", "listen toggle", "listen cancel", "stop", "mute", "mute off",
		"events", "events --kept", "status", "tool list", "tool run now",
	} {
		r := run(t, strings.Fields(line)...)
		r.want(t, ExitUnavailable, "!desktop-assistant: connect to the bus: nothing answers at "+filepath.Join(dir, "run/desktop-assistant/bus.sock"),
			"!  hint: start the assistant: desktop-assistant run")
		if r.out != "" {
			t.Errorf("%s prints %q", line, r.out)
		}
	}
}

// Every exit code of an error is a documented one.
func TestExitCodes(t *testing.T) {
	for _, code := range proto.Codes() {
		switch got := codeExit(code); got {
		case ExitFailed, ExitInvalid, ExitUnavailable, ExitTimeout, ExitDenied:
		default:
			t.Errorf("%s: %d", code, got)
		}
	}
	for code, want := range map[proto.Code]int{
		proto.CodeInvalid: 65, proto.CodeNotFound: 65, proto.CodeUnavailable: 69, proto.CodeDisconnected: 69,
		proto.CodeTimeout: 75, proto.CodeDenied: 77, proto.CodeInternal: 1, proto.CodeFailed: 1, proto.CodeBusy: 1,
	} {
		if got := codeExit(code); got != want {
			t.Errorf("%s: %d, want %d", code, got, want)
		}
	}
}

const faulty = "[whisper]\nprot = 1\n\n[bus]\n  device = 7\n"

func TestConfigFaults(t *testing.T) {
	dir := home(t)
	path := configure(t, dir, faulty)
	for _, line := range []string{
		"config check", "config show", "status", "ask x", "say x", "stop", "listen start", "mute", "events", "tool list",
		"tool run now", "tool check", "tool call now", "run", "run --only busd",
	} {
		r := run(t, strings.Fields(line)...)
		r.want(t, ExitConfig, "!config: "+path+":2:1: unknown key whisper.prot\n  hint: ", "!config: "+path+":5:3: ")
		if r.out != "" {
			t.Errorf("%s prints %q", line, r.out)
		}
	}
	run(t, "--config", path+"x", "status").want(t, ExitConfig, "!"+path+"x: cannot be read: no such file")
	r := run(t, "config", "check", "--json")
	r.want(t, ExitConfig)
	c := lines[checked](t, r.out)[0]
	if len(c.Faults) != 2 || c.Faults[0].File != path || c.Faults[0].Line != 2 || c.Faults[0].Column != 1 || c.Faults[0].Hint == "" || c.Faults[1].Line != 5 || r.err != "" {
		t.Errorf("%+v, stderr %q", c, r.err)
	}
	run(t, "config", "path").want(t, 0, path) // where to mend it
}

func TestConfigShown(t *testing.T) {
	dir := home(t)
	path := filepath.Join(dir, "config/desktop-assistant/config.toml")
	if r := run(t, "config", "path"); r.code != 0 || r.out != path+"\n" {
		t.Errorf("%+v", r)
	}
	if r := run(t, "config", "path", "--json", "--config", "/x.toml"); r.code != 0 || r.out != `{"path":"/x.toml"}`+"\n" {
		t.Errorf("%+v", r)
	}
	run(t, "config", "check").want(t, 0, "no configuration file: the defaults hold\n")
	run(t, "config", "show").want(t, 0, "tool_rounds = 3", "[mic]")
	configure(t, dir, "tool_rounds = 5\n[env]\nMY_TOKEN = \"s3cret\"\nCITY = \"Rome\"\n[voice.it]\nlang = \"it\"\nblend = { a = 1.0, b = 1.0 }\n")
	run(t, "config", "check").want(t, 0, path+": ok\n", "!warning: config: "+path+":7:1: the weights of voice.it.blend")
	r := run(t, "config", "show")
	r.want(t, 0, "tool_rounds = 5", "CITY = 'Rome'")
	if strings.Contains(r.out, "s3cret") {
		t.Error("a secret is shown")
	}
	r = run(t, "config", "check", "--json")
	r.want(t, 0)
	if c := lines[checked](t, r.out)[0]; c.File != path || len(c.Faults) != 0 || len(c.Warnings) != 1 {
		t.Errorf("%+v", c)
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME"} {
		t.Setenv(name, "")
	}
}

// The scripts are what the shells read, and complete what they can know.
func TestCompletion(t *testing.T) {
	r := newRig(t)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		got := run(t, "completion", shell)
		got.want(t, 0, "desktop-assistant")
		if shell == "bash" {
			file := filepath.Join(r.dir, "completion.bash")
			if err := os.WriteFile(file, []byte(got.out), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("bash", "-n", file).CombinedOutput(); err != nil {
				t.Errorf("bash: %v\n%s", err, out)
			}
		}
	}
	r.serve("toolrunner", tools(proto.Tools{Tools: []proto.ToolSpec{{Name: "now", Description: "The time."}, {Name: "weather"}}}))
	run(t, "__complete", "tool", "run", "").want(t, 0, "now\tThe time.\nweather\n", ":4")
	if got := run(t, "__complete", "tool", "run", "now", ""); strings.Contains(got.out, "weather") {
		t.Errorf("completes %q", got.out)
	}
	run(t, "__complete", "mute", "").want(t, 0, "on\noff\n")
	run(t, "__complete", "events", "sp").want(t, 0, "speech\n")
	run(t, "__complete", "run", "--only", "").want(t, 0, "busd\ntoolrunner\n")
	run(t, "__complete", "run", "--log", "").want(t, 0, "debug\ninfo\n")
	run(t, "__complete", "listen", "t").want(t, 0, "toggle")
}

// Without a bus there is nothing to complete and no error on the line.
func TestCompletionOffline(t *testing.T) {
	home(t)
	got := run(t, "__complete", "tool", "run", "")
	got.want(t, 0, ":4")
	if strings.Contains(got.out+got.err, "bus") {
		t.Errorf("%+v", got)
	}
}
