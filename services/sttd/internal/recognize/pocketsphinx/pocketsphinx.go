// SPDX-License-Identifier: Apache-2.0

// Package pocketsphinx recognises the sentences of a grammar, and only those,
// with the pocketsphinx of Debian: the fallback that needs no model of ours and
// no server. It is English only and no dictation.
//
// A grammar always answers with one of its sentences, whatever was said. So
// each utterance is decoded twice, at the same time: with the grammar, and with
// a loop over all phones of English, which can follow any speech. Where the
// grammar explains the sound nearly as well as the free loop does, the sentence
// was said; where it is far behind, as a whole or in one word, it was not.
// Each decoder takes 0.1 to 0.2 s of processor time. The stock language model as
// the free side was measured too: as good, somewhat better on near misses, five
// times slower (0.53 s against 0.09) and 100 MB instead of 13. rates_test.go
// prints the rates.
package pocketsphinx

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/sttd/internal/recognize"
)

// Bounds of the decision, in the decoder's log units per frame of 10 ms.
// Picked on flite slt and kal16 and espeak-ng en-us and en-us+f3 with grammars
// of 6 and 20 sentences and 60 others; the rates are printed for other voices
// and sentences too. There flite's sentences of the grammar had -6 and more,
// speech without words of the grammar -25 and less.
const (
	minAgainstLoop = -24.0  // grammar's score less the loop's, over the frames of words
	minWord        = -110.0 // score of the worst word
	sureAt         = 10.0   // score against the loop that counts as certain
	maxSpeech      = 12 * time.Second
)

// modelRate is the sample rate, in hertz, that the acoustic model was made for.
const modelRate = 16000

// pad is put before and after the samples: a decoder cuts words that begin or
// end with the recording, as they do when a key is held just long enough.
const pad = 200 * time.Millisecond

// Engine runs pocketsphinx_batch for each utterance. The zero Engine is not
// usable; see New.
type Engine struct {
	Program string // looked up in PATH
	Model   string // folder of the English model

	mu      sync.Mutex // guards what follows
	grammar grammar
	lexicon *lexicon // of grammar; nil until it is first needed
	probed  probe
}

// grammar is what SetGrammar was given.
type grammar struct {
	jsgf  string
	words []string
}

// New makes an engine with the names that Debian gives program and model. It
// hears nothing until SetGrammar.
func New() *Engine {
	return &Engine{Program: "pocketsphinx_batch", Model: "/usr/share/pocketsphinx/model/en-us"}
}

// Name is "pocketsphinx".
func (e *Engine) Name() string { return "pocketsphinx" }

// SetGrammar replaces the sentences to listen for, from the next utterance on:
// a JSGF grammar with one public rule, and all words in it. Empty means none.
// Words are plain tokens of lower-case letters and apostrophes.
func (e *Engine) SetGrammar(jsgf string, words []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.grammar = grammar{jsgf: jsgf, words: append([]string(nil), words...)}
	e.lexicon = nil
}

// Unpronounceable lists the words of the grammar that are not in the
// dictionary and are not two of its words written together. Sentences that
// need one of them cannot be heard; all others can. It reads the dictionary,
// which takes tens of milliseconds, once for each grammar.
func (e *Engine) Unpronounceable() ([]string, error) {
	lex, err := e.prepare()
	if err != nil {
		return nil, err
	}
	return append([]string(nil), lex.unknown...), nil
}

// Ready looks for the program, its options, the model and a grammar.
func (e *Engine) Ready(ctx context.Context) error {
	if _, err := e.program(ctx); err != nil {
		return err
	}
	if err := e.findModel(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if strings.TrimSpace(e.grammar.jsgf) == "" {
		return proto.Errorf(proto.CodeUnavailable, "prepare pocketsphinx", "no sentence to listen for").
			WithHint("enable a tool that has sentences.en without free text, such as examples/tools/now.toml")
	}
	return nil
}

// Recognize decides by energy, length and the two scores. Both child processes
// are gone when it returns.
func (e *Engine) Recognize(ctx context.Context, u recognize.Utterance) (recognize.Transcript, error) {
	speech, err := recognize.Screen(u)
	if err != nil {
		return recognize.Transcript{}, err
	}
	if speech > maxSpeech {
		return recognize.Transcript{}, recognize.Reject(recognize.OutOfGrammar, "%v of speech is longer than a sentence of the grammar", speech)
	}
	if err := e.Ready(ctx); err != nil {
		return recognize.Transcript{}, err
	}
	heard, free, err := e.decodeBoth(ctx, u)
	if ctx.Err() != nil {
		return recognize.Transcript{}, fmt.Errorf("run pocketsphinx: %w", ctx.Err())
	}
	if err != nil {
		return recognize.Transcript{}, err
	}
	return decide(heard, free)
}

// decodeBoth runs the two decoders side by side.
func (e *Engine) decodeBoth(ctx context.Context, u recognize.Utterance) (heard, free hypothesis, err error) {
	program, err := e.program(ctx)
	if err != nil {
		return heard, free, err
	}
	lex, err := e.prepare()
	if err != nil {
		return heard, free, err
	}
	wav := audio.EncodeWAV(padded(audio.Resample(u.PCM, u.Rate, modelRate)), modelRate)
	var freeErr error
	var both sync.WaitGroup
	both.Go(func() { free, freeErr = decode(ctx, program, e.loopJob(wav)) })
	heard, err = decode(ctx, program, e.grammarJob(lex, wav))
	both.Wait()
	return heard, free, errors.Join(err, freeErr)
}

// decide compares what the grammar and the loop made of the same sound.
func decide(heard, free hypothesis) (recognize.Transcript, error) {
	if heard.frames == 0 {
		return recognize.Transcript{}, recognize.Reject(recognize.OutOfGrammar, "no sentence of the grammar fits")
	}
	against := (heard.total - free.total) / float64(heard.frames)
	if against < minAgainstLoop || heard.worst < minWord {
		return recognize.Transcript{}, recognize.Reject(recognize.OutOfGrammar,
			"nearest %q, %.0f a frame against the loop, worst word %.0f", heard.text, against, heard.worst)
	}
	sure := (against - minAgainstLoop) / (sureAt - minAgainstLoop)
	return recognize.Transcript{Text: heard.text, Language: "en", Confidence: min(1, 0.5+0.5*sure)}, nil
}

// padded puts silence around the samples.
func padded(samples []int16) []int16 {
	n := audio.Samples(pad, modelRate)
	out := make([]int16, n+len(samples)+n)
	copy(out[n:], samples)
	return out
}
