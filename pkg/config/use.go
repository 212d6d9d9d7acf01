// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"example.org/desktop-assistant/pkg/xdg"
)

// MicGates returns what opens the microphone, each Gate constant once. A file
// that names a card and no [mic] gate means the original's mute switch, which
// is then there beside push-to-talk.
func (c Config) MicGates() []string {
	if c.cardGate {
		return []string{GatePushToTalk, GateMuteSwitch}
	}
	var gates []string
	for _, gate := range c.Mic.Gate {
		if !slices.Contains(gates, gate) {
			gates = append(gates, gate)
		}
	}
	return gates
}

// Route returns RouteLocal or RouteExternal: what [model] route says, else
// local exactly when the chat server's address is loopback.
func (c Config) Route() string {
	if c.Model.Route != "" {
		return c.Model.Route
	}
	if u, err := url.Parse(c.LLM); err == nil && isLoopback(u.Hostname()) {
		return RouteLocal
	}
	return RouteExternal
}

// ToolsDir returns the folder of the tool files: [tools] dir, else tools in
// the program's configuration folder. Whether the file named one is told by
// Tools.Dir being empty.
func (c Config) ToolsDir() (string, error) {
	if c.Tools.Dir != "" {
		return xdg.Expand(c.Tools.Dir)
	}
	dir, err := xdg.Config()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "tools"), nil
}

// SkillsPath returns skills_dir with a leading ~/ replaced.
func (c Config) SkillsPath() (string, error) { return xdg.Expand(c.SkillsDir) }

// ModelFile is one of the model files that are looked for.
type ModelFile string

// The model files, by the names their makers gave them.
const (
	WhisperModel ModelFile = "ggml-large-v3-turbo-q5_0.bin"
	KokoroModel  ModelFile = "kokoro-v1.0.onnx"
	KokoroVoices ModelFile = "voices-v1.0.bin"
)

// FindModel returns the path of a model file: the configured one, else the
// first that exists in models below the program's data folder, in
// /usr/share/desktop-assistant/models and where the original assistant kept
// it. The error wraps [fs.ErrNotExist] when there is none and names every
// place; a configured path is never replaced by another.
func (c Config) FindModel(m ModelFile) (string, error) {
	if path := c.configured(m); path != "" {
		path, err := xdg.Expand(path)
		if err != nil {
			return "", err
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() && m == KokoroVoices {
			return path, nil // of raw files, one a voice
		}
		return firstFile([]string{path})
	}
	data, err := xdg.Data()
	if err != nil {
		return "", err
	}
	original := "/data/voice-models/kokoro"
	if m == WhisperModel {
		original = "/data/voice-models/whisper"
	}
	var places []string
	for _, dir := range []string{filepath.Join(data, "models"), "/usr/share/desktop-assistant/models", original} {
		places = append(places, filepath.Join(dir, string(m)))
	}
	return firstFile(places)
}

func (c Config) configured(m ModelFile) string {
	switch m {
	case WhisperModel:
		return c.Whisper.Model
	case KokoroModel:
		return c.Kokoro.Model
	default:
		return c.Kokoro.Voices
	}
}

// firstFile returns the first path that is a file. One that is there and
// cannot be looked at ends the search: a rights problem must be seen.
func firstFile(paths []string) (string, error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", fmt.Errorf("find model file: %w", err)
		case !info.Mode().IsRegular():
			return "", fmt.Errorf("find model file: %q is not a file", path)
		default:
			return path, nil
		}
	}
	return "", fmt.Errorf("find model file: %w: %s", fs.ErrNotExist, strings.Join(paths, ", "))
}

// hidden stands for a secret in what is shown.
const hidden = "(hidden)"

// Show renders the effective configuration as TOML that Load accepts. Values
// of [env] whose names sound like secrets and passwords in addresses are
// hidden; keys of servers are not in the configuration at all.
func (c Config) Show() (string, error) {
	c.Env = maps.Clone(c.Env)
	for key, value := range c.Env {
		if isSecret(key) && value != "" {
			value = hidden
		}
		c.Env[key] = Redact(value)
	}
	for _, address := range []*string{
		&c.LLM, &c.STT.OpenAI.URL, &c.STT.Wyoming.URI, &c.Whisper.URL, &c.TTS.HTTP.URL,
		&c.NativeTools.SearchEndpoint, &c.Bus.URL, &c.Bus.Leaf, &c.Telemetry.OTLP,
	} {
		*address = Redact(*address)
	}
	text, err := toml.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("show configuration: %w", err)
	}
	return string(text), nil
}

// isSecret reports whether a variable of that name is likely to hold one.
func isSecret(key string) bool {
	key = strings.ToUpper(key)
	return slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL"}, func(word string) bool {
		return strings.Contains(key, word)
	})
}

// Redact makes an address fit for logs and screens: it replaces the password,
// or the user name when it stands alone, which then is a token, and the values
// of a query whose names sound like secrets. Other text comes back as it is.
func Redact(value string) string {
	u, err := url.Parse(value)
	if err != nil {
		return value
	}
	query, found := u.Query(), u.User != nil
	for name := range query {
		if isSecret(name) {
			query.Set(name, "xxxxx")
			found, u.RawQuery = true, query.Encode()
		}
	}
	if !found {
		return value
	}
	if _, ok := u.User.Password(); !ok && u.User != nil {
		u.User = url.User("xxxxx")
	}
	return u.Redacted()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Languages lists the configured languages, the keys of [voice], sorted.
func (c Config) Languages() []string { return sortedKeys(c.Voice) }

// ToolsEnv names the environment variable with a folder of tools that is used
// when the configuration names none and the user has none yet: `run` from a
// checkout sets it.
const ToolsEnv = "DESKTOP_ASSISTANT_TOOLS"

// Secrets names the environment variables with keys that a daemon has no use
// for: a tool can read the environment that its parent was started with.
func (c Config) Secrets(daemon string) []string {
	chat, stt := c.Model.APIKeyEnv, c.STT.OpenAI.APIKeyEnv
	var list []string
	if chat != "" && daemon != "brain" && (daemon != "sttd" || chat != stt) {
		list = append(list, chat)
	}
	if stt != "" && stt != chat && daemon != "sttd" {
		list = append(list, stt)
	}
	return list
}
