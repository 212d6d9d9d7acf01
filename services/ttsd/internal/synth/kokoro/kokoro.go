// SPDX-License-Identifier: Apache-2.0

// Package kokoro speaks with the Kokoro-82M model, in this process.
//
// A sentence becomes phonemes (package phoneme), these become tokens, in parts that
// the model speaks well, and each part one run of it (package onnx), in a style
// from a mixture of voices (package voice) that fits its length. What comes out is
// cut at both ends and joined with the pauses that punctuation asks for.
package kokoro

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"example.org/desktop-assistant/pkg/onnx"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/phoneme"
	"example.org/desktop-assistant/services/ttsd/internal/phoneme/reader"
	"example.org/desktop-assistant/services/ttsd/internal/synth"
	"example.org/desktop-assistant/services/ttsd/internal/synth/kokoro/voice"
)

// Config says what to speak with.
type Config struct {
	Model, Voices string // paths
	Runtime       string // path of the onnxruntime library, "" to look for it
	Folders       []string
	Threads       int // 0 = physical cores
	Speed         float64
	Languages     map[string]Language // by key of the configuration
	Helper        string              // path of the phoneme helper, "" for the command
	Log           *slog.Logger
}

// Language is how one language is spoken.
type Language struct {
	Tag   string // as espeak-ng names it, like en-us
	Blend voice.Blend
}

// Engine is a synth.Engine. Make it with [Open].
type Engine struct {
	config   Config
	model    *model
	set      *voice.Set
	reader   *reader.Reader
	file     onnx.File
	provider string
	warnings []*proto.Error
	refused  map[string]error // by key of the configuration
	dropped  map[rune]bool    // symbols that the log has named
}

// Open looks at all files, opens the model (some 0.5 s and its size in memory) and
// runs it once. The error is a *proto.Error that says which file is wrong and what
// to do.
func Open(ctx context.Context, c Config) (*Engine, error) {
	layout, err := readLayout(c.Model)
	if err != nil {
		return nil, err
	}
	set, err := voice.Open(c.Voices, layout.speakers)
	if err != nil {
		return nil, err
	}
	e := &Engine{config: c, set: set, refused: map[string]error{}, dropped: map[rune]bool{}}
	if err := e.checkLanguages(layout); err != nil {
		return nil, err
	}
	e.file, err = onnx.Find(c.Runtime, c.Folders...)
	if err != nil {
		return nil, runtimeFault(err)
	}
	library, err := onnx.Load(e.file)
	if err != nil {
		return nil, runtimeFault(err)
	}
	e.file, e.provider = library.File(), library.Provider()
	if e.reader, err = reader.Open(ctx, c.Helper, c.Log); err != nil {
		return nil, readerFault(err)
	}
	session, err := library.Open(c.Model, layout.inputs(), layout.outputs, onnx.Options{Threads: c.Threads})
	if err != nil {
		e.reader.Close()
		return nil, modelFault(c.Model, "onnxruntime %s does not take it: %v", e.file.Version, err)
	}
	e.model = &model{layout: layout, session: session}
	if err := e.warmUp(ctx); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

func runtimeFault(err error) *proto.Error {
	return proto.Errorf(proto.CodeUnavailable, "open onnxruntime", "%v", err).
		WithHint("put libonnxruntime.so of version 1.28.0 into a folder and name it: runtime below [kokoro] in the configuration")
}

func readerFault(err error) *proto.Error {
	return proto.Errorf(proto.CodeUnavailable, "read text for Kokoro", "%v", err).WithHint("apt install espeak-ng")
}

// checkLanguages names voices and languages that cannot be spoken, and fails when
// none can.
func (e *Engine) checkLanguages(l layout) error {
	for _, key := range slices.Sorted(maps.Keys(e.config.Languages)) {
		if err := e.check(e.config.Languages[key]); err != nil {
			fault := proto.AsError("speak", err)
			fault.Text = fmt.Sprintf("voice.%s: %s", key, fault.Text)
			e.refused[key] = fault
			e.warnings = append(e.warnings, fault)
		}
	}
	if n := len(e.warnings); n > 0 && n == len(e.config.Languages) {
		return e.warnings[0]
	}
	if speed := e.config.Speed; l.wholeSpeed() && speed != 1 && speed != 2 {
		e.warnings = append(e.warnings, proto.Errorf(proto.CodeInvalid, "open model", "%s knows no speed between 1 and 2: %v is not obeyed", e.config.Model, speed).
			WithHint("take another export of the model, such as kokoro-v1.0.onnx of kokoro-onnx, or leave speed out"))
	}
	return nil
}

func (e *Engine) check(l Language) error {
	if _, err := phoneme.Lookup(l.Tag); err != nil {
		return proto.Errorf(proto.CodeInvalid, "speak", "%v", err).WithHint("espeak-ng speaks it meanwhile; for Kokoro set lang to one of those")
	}
	_, err := e.set.Table(l.Blend)
	return err
}

// warmUp runs once: a model whose graph is not what it says shows here, and the
// first sentence does not pay for the first run.
func (e *Engine) warmUp(ctx context.Context) error {
	tokens, _ := e.model.vocabulary.Tokens(phoneme.Line{{Rune: 'a'}, {Rune: 'ˈ'}, {Rune: 'a'}, {Rune: '.'}})
	for len(tokens) < firstLeast {
		tokens = append(tokens, tokens...)
	}
	var table voice.Table
	for _, l := range e.config.Languages {
		if t, err := e.set.Table(l.Blend); err == nil {
			table = t
			break
		}
	}
	if len(tokens) == 0 || table == nil {
		return modelFault(e.config.Model, "its vocabulary has no letter a, or no voice can be read")
	}
	if _, err := e.model.run(ctx, tokens, table.Row(len(tokens)), e.config.Speed); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return modelFault(e.config.Model, "it does not run: %v", err)
	}
	return nil
}

// Warnings are what is asked for and cannot be had.
func (e *Engine) Warnings() []*proto.Error { return e.warnings }

// Name is "kokoro".
func (e *Engine) Name() string { return "kokoro" }

// Version names the model and onnxruntime.
func (e *Engine) Version() string {
	return fmt.Sprintf("%s, onnxruntime %s", filepath.Base(e.config.Model), e.file.Version)
}

// Voices are those of the file.
func (e *Engine) Voices() []string { return e.set.Names() }

// Timed says whether the model tells durations.
func (e *Engine) Timed() bool { return len(e.model.outputs) > 1 }

// Detail is what the status shows of it.
type Detail struct {
	Model          string            `json:"model"`
	Voices         string            `json:"voices"`
	Runtime        string            `json:"runtime"`
	RuntimeVersion string            `json:"runtime_version"`
	Provider       string            `json:"provider"`
	Threads        int               `json:"threads"`
	Phonemes       string            `json:"phonemes"`  // espeak-ng's version and how it is run
	Durations      bool              `json:"durations"` // the model tells them
	Blends         map[string]string `json:"blends"`    // by language
}

// Detail gives it.
func (e *Engine) Detail() any {
	d := Detail{
		Model: e.config.Model, Voices: e.set.Path(), Runtime: e.file.Path, RuntimeVersion: e.file.Version,
		Provider: e.provider, Threads: e.config.Threads, Phonemes: e.reader.Version(),
		Durations: e.Timed(), Blends: map[string]string{},
	}
	if d.Threads == 0 {
		d.Threads = onnx.Cores()
	}
	for key, l := range e.config.Languages {
		d.Blends[key] = l.Blend.String()
	}
	return d
}

// Close gives the model's memory back and ends the phoneme helper.
func (e *Engine) Close() {
	e.model.session.Close()
	e.reader.Close()
}

// prefixes are the languages of voices, by the first letter of their names.
var prefixes = map[byte]string{'a': "en-us", 'b': "en-gb", 'e': "es", 'f': "fr-fr", 'h': "hi", 'i': "it", 'j': "ja", 'p': "pt-br", 'z': "zh"}

// manner finds how a sentence is to be spoken.
func (e *Engine) manner(s synth.Sentence) (phoneme.Language, voice.Table, error) {
	l, known := e.language(s.Language)
	if s.Voice != "" {
		blend, err := voice.ParseBlend(s.Voice)
		if err == nil {
			err = e.set.Check(blend)
		}
		if err != nil {
			return phoneme.Language{}, nil, err
		}
		if s.Language == "" {
			l.Tag = prefixes[heaviest(blend)[0]]
		} else if !known {
			l.Tag = s.Language
		}
		l.Blend, known = blend, true
	} else if err := e.refused[s.Language]; err != nil {
		return phoneme.Language{}, nil, err
	}
	if !known {
		return phoneme.Language{}, nil, proto.Errorf(proto.CodeInvalid, "speak", "no voice is configured for the language %q", s.Language).
			WithHint("give it one: [voice.%s] with lang and blend in the configuration", s.Language)
	}
	language, err := phoneme.Lookup(l.Tag)
	if err != nil {
		return language, nil, proto.Errorf(proto.CodeInvalid, "speak", "%v", err)
	}
	table, err := e.set.Table(l.Blend)
	return language, table, err
}

// language finds what is configured for a key, or for a tag of that language.
func (e *Engine) language(key string) (Language, bool) {
	key = strings.ToLower(key)
	if l, ok := e.config.Languages[key]; ok {
		return l, true
	}
	for _, l := range e.config.Languages {
		if strings.EqualFold(l.Tag, key) {
			return l, true
		}
	}
	plain, _, _ := strings.Cut(key, "-")
	l, ok := e.config.Languages[plain]
	if ok && plain != key {
		if _, err := phoneme.Lookup(key); err == nil {
			l.Tag = key
		}
	}
	return l, ok
}

// heaviest is the voice with the largest share.
func heaviest(b voice.Blend) string {
	return slices.MaxFunc(slices.Sorted(maps.Keys(b)), func(x, y string) int {
		switch {
		case b[x] < b[y]:
			return -1
		case b[x] > b[y]:
			return 1
		}
		return 0
	})
}

// Synthesize speaks one sentence; see synth.Engine.
func (e *Engine) Synthesize(ctx context.Context, s synth.Sentence, emit synth.Emit) error {
	language, table, err := e.manner(s)
	if err != nil {
		return err
	}
	line, err := phoneme.Read(ctx, e.reader, language, s.Text)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, reader.ErrUnavailable):
		return readerFault(err)
	case err != nil:
		return proto.Errorf(proto.CodeFailed, "read text for Kokoro", "%v", err).WithHint("try it by hand: espeak-ng -q --ipa -v %s hello", language.Name)
	}
	tokens, dropped := e.model.vocabulary.Tokens(line)
	e.note(dropped)
	for _, p := range pack(tokens, s.Soon) {
		sound, err := e.speak(ctx, p, table, true)
		if err != nil {
			return err
		}
		emit(sound)
	}
	return nil
}

// note logs symbols that the model does not know, each once.
func (e *Engine) note(dropped []rune) {
	for _, r := range dropped {
		if !e.dropped[r] {
			e.dropped[r] = true
			e.config.Log.Info("the model has no such symbol", "symbol", string(r), "code", fmt.Sprintf("U+%04X", r))
		}
	}
}

// speak makes the sound of one part. What cannot be speech is tried once more: in
// two halves, if it can be cut.
func (e *Engine) speak(ctx context.Context, p part, table voice.Table, again bool) (synth.Sound, error) {
	t, err := e.model.run(ctx, p.tokens, table.Row(len(p.tokens)), e.config.Speed)
	switch {
	case ctx.Err() != nil:
		return synth.Sound{}, ctx.Err()
	case err != nil:
		return synth.Sound{}, proto.Errorf(proto.CodeFailed, "speak with Kokoro", "%v", err)
	}
	why := sane(t, len(p.tokens), e.speed())
	switch {
	case why == "":
		return shape(t, p), nil
	case !again:
		return synth.Sound{}, proto.Errorf(proto.CodeFailed, "speak with Kokoro", "the model gives no speech: %s", why).
			WithHint("see whether the model's file is whole, and one that this version of onnxruntime computes rightly")
	}
	e.config.Log.Warn("the model gives no speech, it is tried once more", "why", why)
	return e.inHalves(ctx, p, table)
}

func (e *Engine) inHalves(ctx context.Context, p part, table voice.Table) (synth.Sound, error) {
	n := 0
	if len(p.tokens) >= 2*least {
		n = bestCut(p.tokens, len(p.tokens)/2)
	}
	if n == 0 || seamAt(p.tokens, n) == noSeam {
		return e.speak(ctx, p, table, false)
	}
	sound, err := e.speak(ctx, cut(p.tokens[:n], seamAt(p.tokens, n)), table, false)
	if err != nil {
		return sound, err
	}
	rest, err := e.speak(ctx, part{trimSpace(p.tokens[n:]), p.pause}, table, false)
	for _, w := range rest.Words {
		sound.Words = append(sound.Words, synth.Word{At: w.At + len(sound.Samples), Text: w.Text})
	}
	sound.Samples = append(sound.Samples, rest.Samples...)
	return sound, err
}

// speed is the one that the model obeys.
func (e *Engine) speed() float64 {
	if e.model.wholeSpeed() {
		return float64(int(e.config.Speed + 0.5))
	}
	return e.config.Speed
}
