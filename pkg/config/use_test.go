// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestRoute(t *testing.T) {
	for llm, want := range map[string]string{
		Default().LLM:                     RouteLocal,
		"http://127.0.0.1:8080/v1":        RouteLocal,
		"http://127.9.9.9/v1":             RouteLocal,
		"http://[::1]:8080/v1":            RouteLocal,
		"http://[::ffff:127.0.0.1]/v1":    RouteLocal,
		"http://LOCALHOST./v1":            RouteLocal,
		"http://llm.localhost:1/v1":       RouteLocal,
		"http://192.168.1.4:8080/v1":      RouteExternal,
		"http://0.0.0.0:8080/v1":          RouteExternal,
		"https://api.example.org/v1":      RouteExternal,
		"http://localhost.example.org/":   RouteExternal,
		"http://notlocalhost:8080/":       RouteExternal,
		"http://127.0.0.1.example.org/":   RouteExternal,
		"http://localhost@example.org/v1": RouteExternal,
		"":                                RouteExternal,
	} {
		c := Default()
		c.LLM = llm
		if got := c.Route(); got != want {
			t.Errorf("%q: %s, want %s", llm, got, want)
		}
		for _, said := range []string{RouteLocal, RouteExternal} {
			c.Model.Route = said
			if got := c.Route(); got != said {
				t.Errorf("%q with route %s: %s", llm, said, got)
			}
		}
	}
}

func TestFolders(t *testing.T) {
	t.Setenv("HOME", "/home/you")
	t.Setenv("XDG_CONFIG_HOME", "")
	c := Default()
	check := func(what, want string, get func() (string, error)) {
		t.Helper()
		if got, err := get(); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", what, got, err, want)
		}
	}
	check("tools", "/home/you/.config/desktop-assistant/tools", c.ToolsDir)
	check("skills", "/home/you/.agents/skills", c.SkillsPath)
	c.Tools.Dir, c.SkillsDir = "~/my tools", "/srv/skills"
	check("tools", "/home/you/my tools", c.ToolsDir)
	check("skills", "/srv/skills", c.SkillsPath)
}

func TestFindModel(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_DATA_HOME", "")
	models := filepath.Join(home, ".local/share/desktop-assistant/models")
	for _, m := range []ModelFile{WhisperModel, KokoroModel, KokoroVoices} {
		want := filepath.Join(models, string(m))
		write(t, want, "model")
		if got, err := Default().FindModel(m); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}

	c := Default()
	c.Whisper.Model, c.Kokoro.Model, c.Kokoro.Voices = "~/w.bin", "/nowhere/k.onnx", home
	write(t, filepath.Join(home, "w.bin"), "model")
	if got, err := c.FindModel(WhisperModel); err != nil || got != filepath.Join(home, "w.bin") {
		t.Errorf("configured: %q, %v", got, err)
	}
	if got, err := c.FindModel(KokoroModel); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "/nowhere/k.onnx") {
		t.Errorf("configured and missing: %q, %v", got, err)
	}
	if got, err := c.FindModel(KokoroVoices); err != nil || got != home { // of raw files
		t.Errorf("configured folder of voices: %q, %v", got, err)
	}
	c.Kokoro.Model = home
	if got, err := c.FindModel(KokoroModel); err == nil || !strings.HasSuffix(err.Error(), "is not a file") {
		t.Errorf("configured folder: %q, %v", got, err)
	}
}

// The order of the places, on files that no machine has.
func TestFirstFile(t *testing.T) {
	dir := t.TempDir()
	a, b, c := filepath.Join(dir, "a/m"), filepath.Join(dir, "b/m"), filepath.Join(dir, "c/m")
	_, err := firstFile([]string{a, b, c})
	if want := "find model file: file does not exist: " + a + ", " + b + ", " + c; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for _, path := range []string{c, b, a} {
		write(t, path, "")
		if got, err := firstFile([]string{a, b, c}); err != nil || got != path {
			t.Errorf("got %q, %v, want %q", got, err, path)
		}
	}
}

func TestShow(t *testing.T) {
	c := load(t, "testdata/good/original.toml")
	c.LLM = "http://you:opensesame@example.org/v1"
	c.Bus.URL = "nats://opensesame@127.0.0.1:4222"
	c.Env["SEARCH_URL"] = "https://you:opensesame@search.example.org/"
	c.Whisper.URL = "http://example.org/?api_key=opensesame&x=1"
	c.Env["EMPTY_KEY"] = ""
	for _, key := range []string{"API_KEY", "apikey", "My_Token", "CLIENT_SECRET", "PASSWORD", "PASSPHRASE"} {
		c.Env[key] = "opensesame"
	}
	text, err := c.Show()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "opensesame") {
		t.Errorf("a secret is shown:\n%s", text)
	}
	for _, part := range []string{"card = 'Yeti'", "API_KEY = '(hidden)'", "EMPTY_KEY = ''", "HOME_ID = '42'", "[native_tools.limits]"} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is not shown:\n%s", part, text)
		}
	}
	if c.Env["API_KEY"] != "opensesame" {
		t.Error("showing changed the configuration")
	}
}

// What is shown loads as what was shown, with every key in it.
func TestShowLoadsAgain(t *testing.T) {
	for _, want := range []Config{Default(), load(t, "testdata/good/gates.toml"), load(t, "testdata/good/forms.toml")} {
		text, err := want.Show()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode("shown", []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		got.File, got.Warnings, got.cardGate = want.File, want.Warnings, want.cardGate
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		if len(text) == 0 || len(got.Warnings) != len(want.Warnings) {
			t.Errorf("shown:\n%s", text)
		}
	}
}

// TestSecrets: each key is for one daemon and kept from the others.
func TestSecrets(t *testing.T) {
	c := Default()
	c.Model.APIKeyEnv, c.STT.OpenAI.APIKeyEnv = "CHAT_KEY", "STT_KEY"
	for daemon, want := range map[string][]string{"brain": {"STT_KEY"}, "sttd": {"CHAT_KEY"}, "toolrunner": {"CHAT_KEY", "STT_KEY"}} {
		if got := c.Secrets(daemon); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", daemon, got, want)
		}
	}
	c.STT.OpenAI.APIKeyEnv = "CHAT_KEY" // one key for both
	for daemon, want := range map[string]int{"brain": 0, "sttd": 0, "ttsd": 1} {
		if got := c.Secrets(daemon); len(got) != want {
			t.Errorf("of one key for both %s is kept from %q", daemon, got)
		}
	}
}
