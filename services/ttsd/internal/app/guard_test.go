// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/daemontest"
	"example.org/desktop-assistant/pkg/testkit/onnxtest"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/synth/kokoro"
)

// Files that ttsd dies of are let be after a while, until they are others.
func TestFilesThatKill(t *testing.T) {
	t.Parallel()
	g := guard{filepath.Join(t.TempDir(), "state", "opening.json")}
	broken := errors.New("broken")
	opened := 0
	open := func(files string, dies bool) error {
		var note []byte
		_, err := g.open(files, func() (*kokoro.Engine, error) {
			opened++
			note, _ = os.ReadFile(g.path) // it is nothing when it is not there
			return nil, broken
		})
		if dies { // then it stays
			must(t, os.WriteFile(g.path, note, 0o600))
		}
		return err
	}
	for range maxDeaths {
		if err := open("a", true); !errors.Is(err, broken) {
			t.Errorf("error is %v", err)
		}
	}
	if err := open("a", false); !errors.Is(err, &proto.Error{Code: proto.CodeUnavailable}) || !strings.Contains(proto.HintOf(err), g.path) || opened != maxDeaths {
		t.Errorf("opened %d times, error is %v", opened, err)
	}
	if err := open("b", false); !errors.Is(err, broken) {
		t.Errorf("other files: error is %v", err)
	}
	for range 2 * maxDeaths { // what only fails is tried as often as one likes
		if err := open("a", false); !errors.Is(err, broken) {
			t.Errorf("error is %v", err)
		}
	}
	if _, err := os.Stat(g.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the note stays: %v", err)
	}
}

// A file that was wrong is looked at again when it was replaced, without a new
// start.
func TestReplacedFilesAreOpened(t *testing.T) {
	env := daemontest.Env(t, bustest.New(t), "ttsd")
	humming(t, &env.Config)
	env.Config.Voice = map[string]config.Voice{"en": {Lang: "en-us", Blend: map[string]float64{"af_heart": 1}}}
	f := &finder{env: env, guard: guard{filepath.Join(env.Dir, "opening.json")}}
	defer f.close()
	file := filepath.Join(env.Config.Kokoro.Voices, "af_heart.bin")
	good, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, good[:1000], 0o600))
	for range 2 {
		if e, err := f.find(t.Context()); err == nil || !strings.Contains(err.Error(), "af_heart.bin: it has 1000 bytes") || e == nil || e.Name() != config.EngineEspeak {
			t.Errorf("found %v, %v", e, err)
		}
	}
	must(t, os.WriteFile(file, good, 0o600))
	if e, err := f.find(t.Context()); err != nil || e.Name() != config.EngineKokoro {
		t.Errorf("found %v, %v", e, err)
	}
	// So is a library that comes into the folder of the installation.
	library, data := onnxtest.Library(t), t.TempDir()
	t.Setenv("XDG_DATA_HOME", data)
	t.Setenv("ORT_DYLIB_PATH", "")
	c := kokoro.Config{Folders: libraryFolders()}
	before := f.stamps(c)
	folder := filepath.Join(data, "desktop-assistant", "lib")
	must(t, os.MkdirAll(folder, 0o700))
	must(t, os.Symlink(library, filepath.Join(folder, "libonnxruntime.so.1")))
	if f.stamps(c) == before {
		t.Error("a library that came is not seen")
	}
}
