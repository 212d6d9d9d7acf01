// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/desktop-assistant/proto"
)

const whole = `description = "  Looks up the weather. "
command = ["weather.sh", "--", "{place}", "x{days}y"]
timeout = 0.25
announce.en = ["Let me look.", "One moment."]
announce.it = ["Guardo subito."]
sentences.en = ["what is the weather [in {place}]"]
reply.en = "{output} in {place}"
external = true
confirm = "voice"
parallel = false
max_output = 300
inherit_env = true
sandbox = { read = ["~/notes", "$DATA/x"], write = ["cache"] }
[env]
UNITS = "metric"
LEVEL = 3
RATIO = 1.5
DRY = true
[params.place]
description = "City name, empty for home"
pattern = "[^-].*"
[params.days]
type = "integer"
required = true
enum = [1, 2, 7]
`

func TestDecodeWhole(t *testing.T) {
	got, problems := Decode("/x/weather.toml", []byte(whole))
	if got == nil || len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	pattern := got.Params[0].Pattern
	got.Params[0].Pattern = nil
	want := &Tool{
		Name: "weather", File: "/x/weather.toml", Description: "Looks up the weather.",
		Command: []string{"weather.sh", "--", "{place}", "x{days}y"}, Timeout: 250 * time.Millisecond,
		Announce:  map[string][]string{"en": {"Let me look.", "One moment."}, "it": {"Guardo subito."}},
		Sentences: map[string][]string{"en": {"what is the weather [in {place}]"}},
		Reply:     map[string]string{"en": "{output} in {place}"},
		Params: []Param{
			{Name: "place", Type: "string", Description: "City name, empty for home"},
			{Name: "days", Type: "integer", Required: true, Enum: []string{"1", "2", "7"}},
		},
		External: true, Confirm: proto.ConfirmVoice, MaxOutput: 300, InheritEnv: true,
		Env:     map[string]string{"UNITS": "metric", "LEVEL": "3", "RATIO": "1.5", "DRY": "true"},
		Sandbox: &Sandbox{Read: []string{"~/notes", "$DATA/x"}, Write: []string{"cache"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if pattern.MatchString("-rf") || !pattern.MatchString("Rome") {
		t.Error("the pattern does not match whole values")
	}
}

func TestDecodeDefaults(t *testing.T) {
	got, problems := Decode("x.toml", []byte("\ufeffdescription = \"D.\"\r\ncommand = [\"true\"]\r\n"))
	if got == nil || len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	want := &Tool{Name: "x", File: "x.toml", Description: "D.", Command: []string{"true"}, Timeout: DefaultTimeout,
		Confirm: proto.ConfirmNever, Parallel: true, MaxOutput: DefaultOutput}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDecodeErrors(t *testing.T) {
	const good = "description = \"D.\"\ncommand = [\"true\"]\n"
	for _, c := range []struct{ name, text, want string }{
		{"no description", "command = [\"true\"]", "x.toml:1: no description"},
		{"blank description", "command = [\"true\"]\ndescription = \" \"", "x.toml:2: description is empty"},
		{"description type", "command = [\"true\"]\ndescription = 3", "x.toml:2: description must be a string, not a number"},
		{"no command", "description = \"D.\"", "x.toml:1: no command"},
		{"command text", "description = \"D.\"\ncommand = \"ls -l\"", "x.toml:2: command must be an array of strings, not a string"},
		{"command number", "description = \"D.\"\ncommand = [\n  \"ls\",\n  3,\n]", "x.toml:4: command must be an array of strings, element 2 is a number"},
		{"command empty", "description = \"D.\"\ncommand = []", "x.toml:2: command names no program"},
		{"program empty", "description = \"D.\"\ncommand = [\"\", \"x\"]", "x.toml:2: command names no program"},
		{"program placeholder", "description = \"D.\"\ncommand = [\"a{b}\"]\n[params.b]", "x.toml:2: command: the program cannot be a placeholder"},
		{"undeclared", "description = \"D.\"\ncommand = [\n\"x\",\n# note\n\"{b}\"]", "x.toml:5: command: placeholder {b} has no [params.b]"},
		{"undeclared in sentence", good + "sentences.en = [\"a\", \"b {c}\"]", "x.toml:3: sentences: placeholder {c} has no [params.c]"},
		{"undeclared in reply", good + "reply.en = \"{outptu}\"", "x.toml:3: reply: placeholder {outptu} has no [params.outptu]"},
		{"timeout zero", good + "timeout = 0", "x.toml:3: timeout must be above 0 and at most 86400 seconds"},
		{"timeout negative", good + "timeout = -1", "x.toml:3: timeout must be above 0"},
		{"timeout nan", good + "timeout = nan", "x.toml:3: timeout must be above 0"},
		{"timeout inf", good + "timeout = inf", "x.toml:3: timeout must be above 0"},
		{"timeout text", good + "timeout = \"10\"", "x.toml:3: timeout must be a number of seconds, not a string"},
		{"params type", good + "[params]\nplace = \"string\"", "x.toml:4: params.place must be a table, not a string"},
		{"params array", good + "[[params]]\nname = \"a\"", "x.toml:3: params must be a table, not an array"},
		{"param name", good + "[params.\"a b\"]", "x.toml:3: \"a b\" cannot be a param's name"},
		{"param kind", good + "[params.a]\n\ntype = \"text\"", "x.toml:5: params.a.type must be one of"},
		{"inline param kind", good + "params = { a = { type = \"str\" } }", "x.toml:3: params.a.type must be one of"},
		{"enum kind", good + "[params.a]\nenum = [1]", "x.toml:4: params.a.enum holds a number, but the type is string"},
		{"enum empty", good + "[params.a]\nenum = []", "x.toml:4: params.a.enum allows nothing"},
		{"pattern", good + "[params.a]\npattern = \"(\"", "x.toml:4: params.a.pattern is not a regular expression: missing closing )"},
		{"confirm", good + "confirm = \"always\"", "x.toml:3: confirm must be \"never\" or \"voice\", not \"always\""},
		{"max_output", good + "max_output = 0", "x.toml:3: max_output must be from 1 to 20000"},
		{"max_output fraction", good + "max_output = 1.5", "x.toml:3: max_output must be a whole number, not a number"},
		{"sandbox", good + "sandbox = true", "x.toml:3: sandbox must be a table, not a boolean"},
		{"sandbox path", good + "[sandbox]\nread = \"/\"", "x.toml:4: sandbox.read must be an array of strings, not a string"},
		{"sandbox empty path", good + "[sandbox]\nwrite = [\"/x\",\n\" \"]", "x.toml:5: sandbox.write: \" \" is no path"},
		{"sandbox network", good + "sandbox.network = \"no\"", "x.toml:3: sandbox.network must be a boolean, not a string"},
		{"env value", good + "env.A = [1]", "x.toml:3: env.A must be a string, number or boolean, not an array"},
		{"env name", good + "env.\"A=B\" = \"1\"", "x.toml:3: env.A=B cannot be an environment variable"},
		{"language", good + "announce.english = [\"x\"]", "x.toml:3: announce.english: \"english\" is not a language such as en"},
		{"announce text", good + "announce.en = \"x\"", "x.toml:3: announce.en must be an array of strings, not a string"},
		{"announce blank", good + "announce.en = [\"a\", \" \"]", "x.toml:3: announce.en holds an empty text"},
		{"duplicate key", good + "timeout = 1\ntimeout = 2", "x.toml:4: "},
		{"syntax", good + "timeout = = 2", "x.toml:3: "},
		{"nested tables", good + "[" + strings.Repeat("a.", maxFile/2-50) + "a]", "x.toml: tables are nested more than 16 deep"},
		{"nested arrays", good + "a = " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "x.toml: tables are nested more than 16 deep"},
		{"not UTF-8", good + "a = \"\xff\"", "x.toml:3: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, problems := Decode("x.toml", []byte(c.text))
			if got != nil || len(problems) == 0 {
				t.Fatalf("got tool %v, problems %v", got, problems)
			}
			if s := problems[0].String(); !strings.HasPrefix(s, c.want) {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
		})
	}
}

func TestDecodeWarnings(t *testing.T) {
	got, problems := Decode("x.toml", []byte("description = \"D.\"\ncommand = [\"true\", \"{a}\"]\ntiemout = 3\n[params.a]\ntpye = \"string\"\ntimeout = 3\n[xyzzy]\nb = 1\n"))
	if got == nil {
		t.Fatal("the tool did not load")
	}
	var lines []string
	for _, p := range problems {
		if !p.Warning {
			t.Errorf("not a warning: %v", p)
		}
		lines = append(lines, p.String())
	}
	want := []string{
		`x.toml:3: warning: unknown key "tiemout" (did you mean "timeout"?)`,
		`x.toml:7: warning: unknown key "xyzzy"`,
		`x.toml:5: warning: unknown key "params.a.tpye" (did you mean "type"?)`,
		`x.toml:6: warning: unknown key "params.a.timeout" (it belongs to the tool, not to this table: move it above the first [params...)`,
	}
	if !reflect.DeepEqual(lines, want) {
		t.Errorf("got  %q\nwant %q", lines, want)
	}
}

func TestParamOrder(t *testing.T) {
	got, problems := Decode("x.toml", []byte("description = \"D.\"\ncommand = [\"true\"]\nparams.z.type = \"string\"\nparams = { }\n"))
	if got != nil {
		t.Fatalf("a table was defined twice: %v", problems)
	}
	got, problems = Decode("x.toml", []byte("description = \"D.\"\ncommand = [\"true\"]\nparams.z.type = \"string\"\nparams.a.type = \"number\"\nparams.m = {}\n"))
	if got == nil {
		t.Fatal(problems)
	}
	want := `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"number"},"m":{"type":"string"}}}`
	if s := string(got.Schema()); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

func TestLoadDir(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const good = "description = \"D.\"\ncommand = [\"true\"]\n"
	for _, name := range []string{"b.toml", "a.toml", "a-b.toml", "no name.toml", ".hidden.toml", "c.toml.bak", "d.TOML"} {
		write(name, good)
	}
	write("broken.toml", "description = \"D.\"\n")
	write("huge.toml", good+strings.Repeat("# filler\n", maxFile/9+1))
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.toml"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.toml"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "link.toml")); err != nil {
		t.Fatal(err)
	}
	set := LoadDir(dir)
	var names, problems []string
	for _, tool := range set.Tools {
		names = append(names, tool.Name)
	}
	for _, p := range set.Problems {
		problems = append(problems, strings.TrimPrefix(p.String(), dir+"/"))
	}
	if want := []string{"a-b", "a", "b"}; !reflect.DeepEqual(names, want) {
		t.Errorf("tools %q, want %q", names, want)
	}
	want := []string{
		"broken.toml:1: no command", "folder.toml: not a regular file", "huge.toml: larger than 262144 bytes",
		"link.toml: no such file or directory", `no name.toml: "no name" cannot be a tool's name (use 1 to 64 of A-Z a-z 0-9 _ -)`,
		"pipe.toml: not a regular file",
	}
	if !reflect.DeepEqual(problems, want) {
		t.Errorf("problems\n%q, want\n%q", problems, want)
	}
	if _, ok := set.Find("a.toml"); ok {
		t.Error("found by its file name")
	}
}

func TestLoadDirMissing(t *testing.T) {
	for _, dir := range []string{"", filepath.Join(t.TempDir(), "none")} {
		if set := LoadDir(dir); !set.Broken() || len(set.Tools) > 0 {
			t.Errorf("%q: %+v", dir, set)
		}
	}
}

func TestLoadDirOpenToAll(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if set := LoadDir(dir); len(set.Problems) != 1 || !set.Problems[0].Warning || set.Broken() {
		t.Errorf("problems: %v", set.Problems)
	}
}

// However much the files say, what goes into a list fits into a message.
func TestLoadDirIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range 8 {
		text := "description = \"" + strings.Repeat("d", 100_000) + "\"\ncommand = [\"true\"]\n" + strings.Repeat("k", 2000) + " = 1\n"
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".toml")), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set := LoadDir(dir)
	if len(set.Tools) != 5 || set.Tools[4].Name != "4" || len(set.Problems) != 11 || !set.Broken() {
		t.Errorf("%d tools, %d problems", len(set.Tools), len(set.Problems))
	}
	for _, p := range set.Problems {
		if len(p.String()) > 1000 {
			t.Errorf("a problem of %d bytes", len(p.String()))
		}
	}
}

// The tool that every fresh machine answers with.
func TestExampleNow(t *testing.T) {
	set := LoadDir("../../../../examples/tools")
	for _, p := range set.Problems {
		t.Error(p)
	}
	now, ok := set.Find("now")
	if !ok {
		t.Fatal("no tool now")
	}
	if !reflect.DeepEqual(now.Command, []string{"date", "+%A %d %B %Y, %H:%M"}) || len(now.Params) > 0 {
		t.Errorf("command %q, params %v", now.Command, now.Params)
	}
	if len(now.Announce) > 0 {
		t.Error("now announces")
	}
	for _, language := range []string{"en", "it"} {
		if len(now.Sentences[language]) < 3 || now.Reply[language] == "" {
			t.Errorf("%s: sentences %q, reply %q", language, now.Sentences[language], now.Reply[language])
		}
	}
}

// handed gives what the handed cases hold: tool files, and arguments of calls.
func handed(f *testing.F) (files, arguments []string) {
	f.Helper()
	cases, err := filepath.Glob("../adapter/testdata/*/*.json")
	if err != nil || len(cases) == 0 {
		f.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, file := range cases {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var c struct {
			Files map[string]any
			Call  struct{ Arguments string }
			Calls []struct{ Arguments string }
		}
		if err := json.Unmarshal(data, &c); err != nil {
			f.Fatal(err)
		}
		for name, content := range c.Files {
			if text, ok := content.(string); ok && strings.HasSuffix(name, ".toml") {
				files = append(files, text)
			}
		}
		arguments = append(arguments, c.Call.Arguments)
		for _, call := range c.Calls {
			arguments = append(arguments, call.Arguments)
		}
	}
	return files, arguments
}

func FuzzDecode(f *testing.F) {
	files, _ := handed(f)
	for _, text := range append(files, whole, careful) {
		f.Add([]byte(text))
	}
	f.Add([]byte("description = \"D.\"\ncommand = [\"x\", \"{a}\"]\n[params]\na = { enum = [\"1\"], pattern = \".\" }"))
	f.Add([]byte("[[params]]\nx = 1979-05-27T07:32:00Z\n[command.x]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, problems := Decode("x.toml", data)
		if (got == nil) != (Set{Problems: problems}).Broken() {
			t.Fatalf("tool %v, problems %v", got, problems)
		}
		for _, p := range problems {
			if p.File == "" || p.Text == "" || p.Line < 0 || !oneLine(p) {
				t.Fatalf("problem %+v", p)
			}
		}
		for _, p := range Lint("x.toml", data) {
			if p.Line < 1 || p.Hint == "" || !p.Warning || !oneLine(p) {
				t.Fatalf("advice %+v", p)
			}
		}
		if got == nil {
			return
		}
		if got.Description == "" || len(got.Command) == 0 || got.Timeout <= 0 || got.Timeout > MaxTimeout || got.MaxOutput < 1 {
			t.Fatalf("tool %+v", got)
		}
		checkSchema(t, got)
		if argv := got.Argv(nil); len(argv) != len(got.Command) || argv[0] != got.Command[0] {
			t.Fatalf("argv %q of %q", argv, got.Command)
		}
	})
}
