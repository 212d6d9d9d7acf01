// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/onnx"
	"example.org/desktop-assistant/pkg/xdg"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/phoneme/reader"
	"example.org/desktop-assistant/services/ttsd/internal/synth"
	"example.org/desktop-assistant/services/ttsd/internal/synth/chain"
	"example.org/desktop-assistant/services/ttsd/internal/synth/espeak"
	"example.org/desktop-assistant/services/ttsd/internal/synth/kokoro"
	"example.org/desktop-assistant/services/ttsd/internal/synth/kokoro/voice"
	"example.org/desktop-assistant/services/ttsd/internal/synth/speechserver"
	"example.org/desktop-assistant/services/ttsd/internal/synth/store"
)

// A finder makes the engines that the configuration asks for, each once. Its
// methods are for one goroutine at a time.
type finder struct {
	env    daemon.Env
	plain  *espeak.Engine
	better synth.Engine // the one that plain stands behind, nil while there is none
	tried  string       // the files with which Kokoro was opened in vain
	why    error        // why it was
	guard  guard
}

// close gives back what was made.
func (f *finder) close() {
	if f.better != nil {
		f.better.Close()
	}
}

// espeak finds the engine that is there at once.
func (f *finder) espeak(ctx context.Context) (synth.Engine, error) {
	if f.plain != nil && f.plain.There() {
		return f.plain, nil
	}
	voices := map[string]string{}
	for language, v := range f.env.Config.Voice {
		voices[language] = v.Lang
	}
	e, err := espeak.Find(ctx, f.env.Config.TTS.Speed, voices)
	if err != nil {
		return nil, err
	}
	f.plain = e
	return e, nil
}

// find gives the best engine there is, and why it is not the one asked for. With
// an error it is worth asking again.
func (f *finder) find(ctx context.Context) (synth.Engine, error) {
	plain, missing := f.espeak(ctx)
	var better error
	if f.better == nil {
		f.better, better = f.open(ctx)
	}
	switch {
	case f.better != nil && plain != nil:
		return chain.New(f.better, plain, func(err error) { f.env.Problems.SetError("speech", err) }), nil
	case f.better != nil:
		return f.better, nil // whatever espeak-ng is missing for is not needed
	case plain != nil:
		return plain, better
	}
	if better != nil {
		return nil, errors.Join(better, missing)
	}
	return nil, missing
}

// open makes the engine that is better than espeak-ng; nil without an error when
// none is asked for.
func (f *finder) open(ctx context.Context) (synth.Engine, error) {
	switch f.env.Config.TTS.Engine {
	case config.EngineHTTP:
		e, err := speechserver.Find(ctx, f.server())
		if err != nil {
			return nil, err
		}
		return f.keep(e, fmt.Sprintf("%+v", e.Detail())), nil
	case config.EngineKokoro, config.Auto:
		return f.kokoro(ctx)
	}
	return nil, nil
}

func (f *finder) server() speechserver.Config {
	cfg := f.env.Config
	c := speechserver.Config{
		URL: cfg.TTS.HTTP.URL, Model: cfg.TTS.HTTP.Model, Voice: cfg.TTS.HTTP.Voice, Speed: cfg.TTS.Speed,
		Blends: map[string]string{}, Log: f.env.Log,
	}
	for language, v := range cfg.Voice {
		c.Blends[language] = voice.Blend(v.Blend).Sum()
	}
	return c
}

// kokoro opens the model, unless it was in vain with the same files before. With
// engine = "auto" a machine without the model is as it should be.
func (f *finder) kokoro(ctx context.Context) (synth.Engine, error) {
	cfg := f.env.Config
	model, err := cfg.FindModel(config.KokoroModel)
	voices, err2 := cfg.FindModel(config.KokoroVoices)
	if err == nil {
		err = err2
	}
	if err != nil {
		asked := cfg.TTS.Engine == config.EngineKokoro || cfg.Kokoro.Model != "" || cfg.Kokoro.Voices != ""
		if errors.Is(err, fs.ErrNotExist) && !asked {
			return nil, nil
		}
		return nil, proto.Errorf(proto.CodeUnavailable, "speak with Kokoro", "%v", err).
			WithHint("put kokoro-v1.0.onnx and voices-v1.0.bin of kokoro-onnx into one of these folders, or name them: model and voices below [kokoro] in %s", config.Path())
	}
	c := kokoro.Config{
		Model: model, Voices: voices, Runtime: cfg.Kokoro.Runtime, Folders: libraryFolders(), Threads: cfg.Kokoro.Threads,
		Speed: cfg.TTS.Speed, Languages: map[string]kokoro.Language{}, Helper: reader.Beside(), Log: f.env.Log,
	}
	if c.Runtime, err = xdg.Expand(c.Runtime); err != nil {
		return nil, proto.AsError("speak with Kokoro", err)
	}
	for key, v := range cfg.Voice {
		c.Languages[key] = kokoro.Language{Tag: v.Lang, Blend: v.Blend}
	}
	files := f.stamps(c)
	if files == f.tried {
		return nil, f.why
	}
	e, err := f.guard.open(files, func() (*kokoro.Engine, error) { return kokoro.Open(ctx, c) })
	if err != nil {
		f.tried, f.why = files, err
		return nil, err
	}
	f.tried, f.why = "", nil
	f.warn(e.Warnings())
	return f.keep(e, files+fmt.Sprintf("%+v", e.Detail())), nil
}

// keep has an engine keep the sound of phrases that come again. maker is what their
// sound depends on.
func (f *finder) keep(e synth.Engine, maker string) synth.Engine {
	dir, err := xdg.Cache()
	if err != nil {
		f.env.Log.Warn("phrases are not kept", "error", err)
		return e
	}
	const megabyte = 1 << 20
	return store.New(e, maker+fmt.Sprint(f.env.Config.TTS.Speed), filepath.Join(dir, "speech"), int64(f.env.Config.TTS.CacheMB)*megabyte, f.env.Log)
}

// warn shows what of the configuration is not obeyed.
func (f *finder) warn(list []*proto.Error) {
	if len(list) == 0 {
		return
	}
	var texts []string
	for _, w := range list {
		texts = append(texts, w.Text)
	}
	f.env.Problems.Set("kokoro", strings.Join(texts, "; "), list[0].Hint)
}

// stamps tells all that Kokoro is made of from what it was before.
func (f *finder) stamps(c kokoro.Config) string {
	paths := []string{c.Model, c.Voices}
	folder, _ := filepath.Glob(filepath.Join(c.Voices, "*.bin")) // of a path that is a folder
	paths = append(paths, folder...)
	if library, err := onnx.Find(c.Runtime, c.Folders...); err == nil {
		paths = append(paths, library.Path)
	}
	var b strings.Builder
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintf(&b, "%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		}
	}
	if f.plain != nil {
		fmt.Fprintln(&b, f.plain.Version())
	}
	return b.String()
}

// libraryFolders are where an installation has the onnxruntime library: beside the
// program, or in the data folder.
func libraryFolders() []string {
	var list []string
	if self, err := os.Executable(); err == nil {
		list = append(list, filepath.Dir(self))
	}
	if data, err := xdg.Data(); err == nil {
		list = append(list, filepath.Join(data, "lib"))
	}
	return list
}

const (
	// seekTime is between two looks for a missing engine, at first and in the end.
	seekTime, lastSeekTime = 5 * time.Second, time.Minute
)

// seek looks for the engine until it is the one asked for. Each result is posted
// whether good or bad; until the first one, what is there at once speaks.
func (a *App) seek(work context.Context) {
	if e, err := a.Quick(work); err == nil && e != nil {
		a.post(work.Done(), func() {
			if a.engine == nil {
				a.engine = e
			}
		})
	}
	for wait := seekTime; ; wait = min(2*wait, lastSeekTime) {
		e, err := a.Find(work)
		if work.Err() != nil {
			return
		}
		a.env.Problems.SetError("engine", err)
		if !a.post(work.Done(), func() { a.engine, a.sought = e, true }) || err == nil {
			return
		}
		select {
		case <-work.Done():
			return
		case <-time.After(wait):
		}
	}
}
