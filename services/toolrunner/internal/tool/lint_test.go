// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// A tool that takes the advice of lint.
const careful = `description = "Tells the weather."
command = ["weather.sh", "--", "{place}", "--days={days}"]
timeout = 30
announce.en = ["Let me look."]
sentences.en = ["weather [in {place}]"]
reply.en = "{output}"
sandbox = { read = ["~/notes"], write = ["~/.cache/weather"] }
[params.place]
description = "City, empty for home"
[params.days]
type = "integer"
description = "How many, empty for 1"
`

func TestLint(t *testing.T) {
	const head = "description = \"D.\"\n"
	const param = "\n[params.a]\ndescription = \"D.\"\n"
	for _, c := range []struct{ name, text, want, hint string }{
		{"careful", careful, "", ""},
		{"cannot be used", "command = [\"true\"]", "", ""},
		{"alone", head + `command = ["grep", "{a}"]` + param, "x.toml:2: warning: {a} stands alone: a value such as -rf", `"--name={a}"`},
		{"alone on its line", head + "command = [\n\"grep\",\n\"{a}\",\n]" + param, "x.toml:4: warning: {a} stands alone", ""},
		{"after --", head + `command = ["grep", "--", "{a}"]` + param, "", ""},
		{"with a name", head + `command = ["grep", "--regexp={a}"]` + param, "", ""},
		{"pattern", head + `command = ["grep", "{a}"]` + param + `pattern = "[^-].*"`, "", ""},
		{"pattern of letters", head + `command = ["grep", "{a}"]` + param + `pattern = "[a-z]+"`, "", ""},
		{"pattern that allows it", head + `command = ["grep", "{a}"]` + param + `pattern = ".{2,9}"`, "x.toml:2: warning: {a} stands alone", ""},
		{"enum", head + `command = ["x", "{a}"]` + param + `enum = ["b", "c"]`, "", ""},
		{"enum of options", head + `command = ["x", "{a}"]` + param + `enum = ["b", "-c"]`, "x.toml:2: warning: {a} stands alone", ""},
		{"param without description", head + "command = [\"x\", \"--\", \"{a}\"]\n[params.a]\n", "x.toml:3: warning: params.a has no description", "[params.a] description ="},
		{"long description", "description = \"" + strings.Repeat("word ", 200) + "\"\ncommand = [\"true\"]", "x.toml:1: warning: the description has 999 characters", "keep what"},
		{"long and silent", head + "command = [\"true\"]\ntimeout = 10.5", "x.toml:3: warning: it may take 10.5s and says nothing", "announce.en"},
		{"not that long", head + "command = [\"true\"]\ntimeout = 10", "", ""},
		{"shell", head + `command = ["sh", "-c", "ls ~"]`, "x.toml:2: warning: sh in command", "#!"},
		{"shell by path", head + `command = ["/usr/bin/env", "-i", "A=b", "bash", "x.sh"]`, "x.toml:2: warning: bash in command", ""},
		{"shell in time", head + `command = ["timeout", "-k", "1s", "5", "sh", "x.sh"]`, "x.toml:2: warning: sh in command", ""},
		{"value in shell code", head + `command = ["bash", "-ec", "ls {a}"]` + param, "x.toml:2: warning: {a} is put into code for the shell", "an argument of its own"},
		{"value in other code", head + `command = ["python3", "-c", "print('{a}')"]` + param, "x.toml:2: warning: {a} is put into code for python3", ""},
		{"value beside code", head + `command = ["python3", "-c", "import sys; print(sys.argv[1:])", "--", "{a}"]` + param, "", ""},
		{"script of an interpreter", head + `command = ["python3", "x.py", "--", "{a}"]` + param, "", ""},
		{"removes", head + `command = ["rm", "-r", "--", "{a}"]` + param, "x.toml:2: warning: rm changes or ends something", `confirm = "voice"`},
		{"removes after a yes", head + "confirm = \"voice\"\ncommand = [\"rm\", \"--\", \"{a}\"]" + param, "", ""},
		{"file of curl", head + `command = ["curl", "-d", "{a}", "https://example.org"]` + param, "x.toml:2: warning: curl takes a value that begins with @", "--data-raw"},
		{"file of curl joined", head + `command = ["curl", "--data-binary={a}", "https://example.org"]` + param, "x.toml:2: warning: curl takes", ""},
		{"raw data of curl", head + `command = ["curl", "--data-raw", "{a}", "https://example.org", "--", "x"]` + param, "x.toml:2: warning: {a} stands alone", ""},
		{"address", head + `command = ["curl", "https://example.org/?q={a}"]` + param, "x.toml:2: warning: {a} is put into an address", "--data-urlencode"},
		{"unused", head + "command = [\"true\"]" + param, "x.toml:3: warning: params.a is used nowhere", "put {a} into command"},
		{"sentence", head + "command = [\"true\"]\nsentences.en = [\n\"good\",\n\"bad (a\"]", "x.toml:5: warning: sentences.en: \"bad (a\" is never understood: column", ""},
		{"reply without sentences", head + "command = [\"true\"]\nsentences.en = [\"x\"]\nreply.it = \"{output}\"", "x.toml:4: warning: reply.it is never said", "sentences.it"},
		{"inherit", head + "command = [\"true\"]\ninherit_env = true", "x.toml:3: warning: inherit_env gives", "[env]"},
		{"secret", head + "command = [\"true\"]\nenv.OPENWEATHER_API_KEY = \"k\"", "x.toml:3: warning: env.OPENWEATHER_API_KEY looks like a secret", "_FILE"},
		{"no secret", head + "command = [\"true\"]\nenv.KEYBOARD = \"k\"\nenv.API_KEY = \"\"", "", ""},
		{"home", head + "command = [\"true\"]\n[sandbox]\nread = [\"~\"]\nwrite = [\"~\"]", "x.toml:5: warning: the sandbox lets it change your whole home", "~/.cache/x"},
	} {
		got := Lint("x.toml", []byte(c.text))
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s: %v", c.name, got)
		case c.want != "" && (len(got) == 0 || !strings.HasPrefix(got[0].String(), c.want) || !strings.Contains(got[0].Hint, c.hint) || got[0].Hint == ""):
			t.Errorf("%s: got %v, want %s", c.name, got, c.want)
		}
	}
}

func TestLintDir(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.toml": careful, "b.toml": "description = \"D.\"\ncommand = [\"sh\", \"x.sh\"]\ninherit_env = true\n", "c.toml": "nothing = 1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := LintDir(dir)
	if len(got) != 2 || got[0].File != filepath.Join(dir, "b.toml") || got[0].Line != 2 || got[1].Line != 3 {
		t.Errorf("got %v", got)
	}
	// Ours are for others to copy.
	if got := LintDir("../../../../examples/tools"); len(got) > 0 {
		t.Errorf("the examples: %v", got)
	}
}

// Whatever a file is called or holds, a problem is one line that a terminal
// shows as it is.
func TestProblemsAreOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"/home/you/tools/x.toml":     "/home/you/tools/x.toml",
		`a "b" \c é 日本 👍`:            `a "b" \c é 日本 👍`,
		"a\nb\x1b[31m\u202e\xff\x00": `a\nb\x1b[31m\u202e\xff\x00`,
	} {
		if got := plain(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
	dir := filepath.Join(t.TempDir(), "to\nols\x1b[2J")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text := "description = \"D.\"\ncommand = [\"true\"]\nenv.\"A\\u001b[31m\" = [1]\nannounce.\"\\n\" = [\"x\"]\n\"\\u001b\" = 1\n"
	for _, name := range []string{"bad\nname.toml", "esc\x1b[31m.toml", "\xff.toml", "good.toml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	problems := append(LoadDir(dir).Problems, LoadDir(filepath.Join(dir, "no\nne")).Problems...)
	if len(problems) != 7 {
		t.Fatalf("only %v", problems)
	}
	for _, p := range problems {
		if !oneLine(p) {
			t.Errorf("%q", p)
		}
	}
}

func oneLine(p Problem) bool {
	text := p.String() + p.What() + p.Hint
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}
