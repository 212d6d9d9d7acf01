// SPDX-License-Identifier: Apache-2.0

// Package store keeps the sound of phrases that come again, on disk: what the
// assistant says of itself is synthesised once.
package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"example.org/desktop-assistant/services/ttsd/internal/synth"
)

const (
	// suffix is of every file here, and part of those that are being written.
	suffix, part = ".phrase", "part-"
	// partAge is how old a file being written may be before it was left by a crash.
	partAge = time.Hour
)

// An Engine is a synth.Engine whose fixed sentences are kept.
type Engine struct {
	synth.Engine
	maker string
	dir   string
	limit int64
	log   *slog.Logger
}

// New keeps what e says in dir, up to limit bytes. maker says what the sound depends
// on beside the sentence: the model, its version, the voices, the speed. What a
// folder or a file does wrong is logged, and then the engine speaks as if there were
// no store.
func New(e synth.Engine, maker, dir string, limit int64, log *slog.Logger) *Engine {
	return &Engine{Engine: e, maker: maker, dir: dir, limit: limit, log: log}
}

// Synthesize gives the sound of a fixed sentence from the store, when it is there.
func (e *Engine) Synthesize(ctx context.Context, s synth.Sentence, emit synth.Emit) error {
	if !s.Fixed || s.Voice != "" || e.limit <= 0 {
		return e.Engine.Synthesize(ctx, s, emit)
	}
	path := filepath.Join(e.dir, e.name(s))
	if sound, ok := e.load(path); ok {
		emit(sound)
		return nil
	}
	var all synth.Sound
	err := e.Engine.Synthesize(ctx, s, func(sound synth.Sound) {
		for _, w := range sound.Words {
			all.Words = append(all.Words, synth.Word{At: len(all.Samples) + w.At, Text: w.Text})
		}
		all.Rate = sound.Rate
		all.Samples = append(all.Samples, sound.Samples...)
		emit(sound)
	})
	if err == nil && len(all.Samples) > 0 {
		if err := e.save(path, all); err != nil {
			e.log.Warn("a phrase is not kept", "error", err)
		}
	}
	return err
}

// name tells all that the sound depends on, and nothing of what is said.
func (e *Engine) name(s synth.Sentence) string {
	h := sha256.New()
	for _, field := range []string{e.Name(), e.Version(), e.maker, s.Language, s.Text} {
		fmt.Fprintf(h, "%d %s\n", len(field), field)
	}
	return hex.EncodeToString(h.Sum(nil)) + suffix
}

// load reads a file and makes it the one used last.
func (e *Engine) load(path string) (synth.Sound, bool) {
	b, err := readFile(path, e.limit)
	if errors.Is(err, fs.ErrNotExist) {
		return synth.Sound{}, false
	}
	sound, err2 := DecodeSound(b)
	if err == nil {
		err = err2
	}
	if err != nil {
		e.log.Warn("a kept phrase cannot be used", "error", err)
		_ = os.Remove(path) // it will be made anew
		return synth.Sound{}, false
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // without it the phrase only goes sooner
	return sound, true
}

func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}

// save writes a file whole or not at all, and makes room first.
func (e *Engine) save(path string, sound synth.Sound) error {
	b := encode(sound)
	if int64(len(b)) > e.limit {
		return nil
	}
	if err := os.MkdirAll(e.dir, 0o700); err != nil {
		return err
	}
	if err := e.makeRoom(int64(len(b))); err != nil {
		return err
	}
	f, err := os.CreateTemp(e.dir, part+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // of no use, whatever happened
	}
	return err
}

// makeRoom removes the phrases that were not used for the longest time.
func (e *Engine) makeRoom(wanted int64) error {
	entries, err := os.ReadDir(e.dir)
	if err != nil {
		return err
	}
	var list []fs.FileInfo
	total := wanted
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		switch name := info.Name(); {
		case filepath.Ext(name) == suffix:
			list = append(list, info)
			total += info.Size()
		case len(name) > len(part) && name[:len(part)] == part && time.Since(info.ModTime()) > partAge:
			_ = os.Remove(filepath.Join(e.dir, name)) // left by a crash
		}
	}
	slices.SortFunc(list, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range list {
		if total <= e.limit {
			return nil
		}
		if err := os.Remove(filepath.Join(e.dir, info.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= info.Size()
	}
	return nil
}
