// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the expected texts of testdata/bad")

// Every bad file gives exactly the faults, places and hints beside it.
func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.toml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".toml"), func(t *testing.T) {
			_, err := Load(file)
			var b strings.Builder
			for _, f := range Faults(err) {
				b.WriteString(f.Error() + "\n\thint: " + f.Hint + "\n")
				if f.Line == 0 || f.Col == 0 || f.Hint == "" {
					t.Errorf("%v: no place or no hint", f)
				}
			}
			golden := strings.TrimSuffix(file, ".toml") + ".want"
			if *update {
				if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, readErr := os.ReadFile(golden)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if b.String() != string(want) {
				t.Errorf("got\n%s\nwant\n%s", b.String(), want)
			}
			if strings.Contains(b.String(), "sk-live") || strings.Contains(b.String(), "word@") {
				t.Error("a secret is printed")
			}
		})
	}
}

// Promises of the design, word for word.
func TestExactTexts(t *testing.T) {
	for _, c := range []struct{ text, want, hint string }{
		{"[whisper]\nprot = 1\n", "config: FILE:2:1: unknown key whisper.prot", "did you mean whisper.port?"},
		{"whisper = 3\n", "config: FILE:1:1: whisper must be a table", "write its keys below a line [whisper]"},
		{"tool_rounds = 1.5\n", "config: FILE:1:1: tool_rounds must be a whole number", "tool_rounds = 3, without quotes and fraction"},
	} {
		_, err := Decode("FILE", []byte(c.text))
		e, ok := errors.AsType[*Error](err)
		if !ok || err.Error() != c.want || e.Error() != c.want || e.Hint != c.hint {
			t.Errorf("%q: got %v (%+v), want %s", c.text, err, e, c.want)
		}
	}
}

// The file of the original assistant loads as it is.
func TestOriginalFile(t *testing.T) {
	got := load(t, "testdata/good/original.toml")
	want := Default()
	want.File = "testdata/good/original.toml"
	want.Card = "Yeti"
	want.LLM = "http://127.0.0.1:8080/v1"
	want.System = "Be kind."
	want.ToolRounds = 5
	want.SkillsEnabled = false
	want.SkillsDir = "/srv/skills"
	want.Whisper = Whisper{Device: 1, Port: 9001, Model: "/data/voice-models/whisper/ggml-large-v3-turbo-q5_0.bin"}
	want.Kokoro.Model = "/data/voice-models/kokoro/kokoro-v1.0.onnx"
	want.Kokoro.Voices = "/data/voice-models/kokoro/voices-v1.0.bin"
	want.Voice["it"] = Voice{Lang: "it", Blend: map[string]float64{"if_sara": 1}} // blend replaced, lang kept
	want.Voice["fr"] = Voice{Lang: "fr-fr", Blend: map[string]float64{"ff_siwis": 1}}
	want.Env = map[string]string{"SEARXNG_URL": "http://localhost:8888", "HOME_ID": "42"}
	want.cardGate = true
	want.Warnings = got.Warnings // of what is not built yet
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if gates := got.MicGates(); !slices.Equal(gates, []string{GatePushToTalk, GateMuteSwitch}) {
		t.Errorf("gates %q", gates)
	}
}

func TestForms(t *testing.T) {
	c := load(t, "testdata/good/forms.toml")
	if len(c.MicGates()) != 0 || c.Mic.LeaseS.Duration() != 250*time.Millisecond || c.ToolRounds != 10 {
		t.Errorf("mic %+v, tool rounds %d", c.Mic, c.ToolRounds)
	}
	if en := c.Voice["en"]; en.Lang != "en-gb" || en.Blend["af_heart"] != 1 {
		t.Errorf("voice.en %+v", en)
	}
	if c.STT.Engine != EngineOpenAI || c.STT.OpenAI.URL != "https://example.org/v1" || c.STT.DeadlineS != 30 {
		t.Errorf("stt %+v", c.STT)
	}
	wantBlend := map[string]float64{"pf_dora": 0.25, "pm alex": 0.75}
	if got := c.Voice["pt-br"].Blend; !reflect.DeepEqual(got, wantBlend) {
		t.Errorf("blend %v, want %v", got, wantBlend)
	}
	wantWarning := []string{"config: testdata/good/forms.toml:6:33: the weights of voice.pt-br.blend add up to 4, each was divided by that"}
	if !slices.Equal(c.Warnings, wantWarning) {
		t.Errorf("warnings %q, want %q", c.Warnings, wantWarning)
	}
	wantEnv := map[string]string{
		"TEXT": "a\tb", "EMPTY": "", "WHOLE": "1000", "HEX": "0xFF", "ROUND": "1.50",
		"BIG": "123456789012345678", "SMALL": "-0.10e-3", "PLUS": "+5", "YES": "true", "NO": "false",
	}
	if !reflect.DeepEqual(c.Env, wantEnv) {
		t.Errorf("env %q, want %q", c.Env, wantEnv)
	}
}

func TestMicGates(t *testing.T) {
	if got := Default().MicGates(); !slices.Equal(got, []string{GatePushToTalk}) {
		t.Errorf("default: %q", got)
	}
	if got := load(t, "testdata/good/gates.toml").MicGates(); !slices.Equal(got, []string{GateVoice, GatePushToTalk}) {
		t.Errorf("written gate beside card: %q", got)
	}
	c, err := Decode("FILE", []byte(`card = ""`))
	if err != nil || !slices.Equal(c.MicGates(), []string{GatePushToTalk}) {
		t.Errorf("empty card: %q, %v", c.MicGates(), err)
	}
}

func TestMissingFile(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	c, err := Load("")
	if err != nil || !reflect.DeepEqual(c, Default()) {
		t.Errorf("no default file: %+v, %v", c, err)
	}
	_, err = Load(Path())
	want := "config: " + Path() + ": cannot be read: no such file or directory"
	if err == nil || err.Error() != want || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %s", err, want)
	}
	if f := Faults(err); len(f) != 1 || f[0].Hint == "" {
		t.Errorf("faults %v", f)
	}
}

func TestDefaultFileIsRead(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	want := filepath.Join(dir, "desktop-assistant", "config.toml")
	if Path() != want {
		t.Fatalf("path %q, want %q", Path(), want)
	}
	write(t, want, "tool_rounds = 7\n")
	c, err := Load("")
	if err != nil || c.ToolRounds != 7 || c.File != want {
		t.Errorf("got %d from %q, %v", c.ToolRounds, c.File, err)
	}
	write(t, want, "tool_rounds = 7_\n")
	if _, err := Load(""); err == nil {
		t.Error("a bad default file is no fault")
	}
}

func TestUnreadableFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(dir); err == nil || err.Error() != "config: "+dir+": cannot be read: is a directory" {
		t.Errorf("folder: %v", err)
	}
	big := filepath.Join(dir, "big.toml")
	write(t, big, strings.Repeat("# long\n", maxFile/7+1))
	if _, err := Load(big); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("big file: %v", err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(pipe); err == nil || !strings.HasSuffix(err.Error(), "cannot be read: is a pipe") {
		t.Errorf("pipe: %v", err)
	}
}

// A file that is nearly all brackets must not exhaust the stack.
func TestDeepNesting(t *testing.T) {
	for _, text := range []string{
		"card = " + strings.Repeat("[", maxFile-10),
		"card = " + strings.Repeat("[", maxFile/2-10) + strings.Repeat("]", maxFile/2-10),
		"card" + strings.Repeat(".a", maxFile/2-10) + " = 1",
	} {
		if _, err := Decode("FILE", []byte(text)); err == nil {
			t.Errorf("%.20s…: no fault", text)
		}
	}
}

func TestCheck(t *testing.T) {
	c := Default()
	if found := c.check(); len(found) > 0 {
		t.Errorf("defaults: %v", found)
	}
	c.ToolRounds, c.Mic.Patience = -1, "slow"
	want := []string{"tool_rounds must be from 0 to 100, not -1", `mic.patience must be "quick", "normal" or "patient", not "slow"`}
	var got []string
	for _, f := range c.check() {
		got = append(got, f.text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len((Config{}).check()) == 0 {
		t.Error("an empty struct is valid")
	}
}

func TestDefaultIsFresh(t *testing.T) {
	c := Default()
	c.Env["A"], c.Mic.Gate[0], c.Voice["it"].Blend["x"] = "b", "x", 1
	delete(c.Voice, "en")
	if d := Default(); len(d.Env) != 0 || d.Mic.Gate[0] != GatePushToTalk || len(d.Voice) != 2 || len(d.Voice["it"].Blend) != 2 {
		t.Errorf("changed: %+v", d)
	}
}

func TestNearest(t *testing.T) {
	candidates := []string{"url", "model", "device", "port"}
	for word, want := range map[string]string{
		"prot": "port", "Port": "port", "modle": "model", "models": "model", "devcie": "device", "uri": "url",
		"threads": "", "": "", "x": "", "größe": "", "MODEL": "model",
	} {
		if got := Nearest(word, candidates); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"prot", "port", 1},
		{"kitten", "sitting", 3}, {"ca", "abc", 3}, {"größe", "groesse", 4},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// The example shows every key with its default: all of it uncommented is the
// default, but for the three lines of [env].
func TestExampleFile(t *testing.T) {
	data, err := os.ReadFile("../../examples/config.toml")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(data), "\n") {
		if line != "" && line[0] != '#' {
			t.Errorf("line %d is not commented out: %s", i+1, line)
		}
	}
	if c, err := Decode("config.toml", data); err != nil || len(c.Env) != 0 {
		t.Errorf("as it is: %v", err)
	}
	// Prose has a blank after its #, a key has none.
	text := regexp.MustCompile(`(?m)^#(\S)`).ReplaceAll(data, []byte("$1"))
	c, err := Decode("config.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	wantEnv := map[string]string{
		"SEARXNG_URL":  "https://search.example.org",
		"WEATHER_ENV":  "/home/you/.config/udt/weather.env",
		"CALENDAR_DIR": "/home/you/calendars",
	}
	if !reflect.DeepEqual(c.Env, wantEnv) {
		t.Errorf("env %q", c.Env)
	}
	want := Default()
	want.File, want.Env = "config.toml", c.Env
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}

	root, err := parseTree(text)
	if err != nil {
		t.Fatal(err)
	}
	keys := allKeys(reflect.TypeFor[Config](), "")
	keys = append(keys, "voice.it.lang", "voice.it.blend", "voice.en.lang", "voice.en.blend")
	for _, key := range keys {
		n := root
		for part := range strings.SplitSeq(key, ".") {
			if n = n.child(part); n == nil {
				t.Errorf("key %s is missing", key)
				break
			}
		}
	}
}

func load(t *testing.T, path string) Config {
	t.Helper()
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
