// SPDX-License-Identifier: Apache-2.0

package kokoro

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"example.org/desktop-assistant/pkg/onnx"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/phoneme"
	"example.org/desktop-assistant/services/ttsd/internal/synth/kokoro/voice"
)

const (
	// rate is Kokoro's, hop the samples of one frame, in which durations are.
	rate = 24000
	hop  = 600
	// configKey is where newer exports keep their vocabulary, and speakersKey where
	// sherpa's keep the names of the voices.
	configKey   = "kokoro_config"
	speakersKey = "speaker_names"
	// knownSize is that of kokoro-onnx's kokoro-v1.0.onnx, for the hint.
	knownSize = 325532387
)

// A layout is the interface of one export: the graph tells names and types.
type layout struct {
	tokens, style, speed onnx.Value
	outputs              []string // the sound, and the durations when there are some
	vocabulary           phoneme.Vocabulary
	speakers             []string
}

// inputs are their names in the order in which they are given.
func (l layout) inputs() []string { return []string{l.tokens.Name, l.style.Name, l.speed.Name} }

// wholeSpeed says that only 1, 2 and so on can be asked for.
func (l layout) wholeSpeed() bool { return l.speed.Type != onnx.Float32 }

func modelFault(path, format string, args ...any) *proto.Error {
	return proto.Errorf(proto.CodeUnavailable, "open model", "%s: %s", path, fmt.Sprintf(format, args...)).
		WithHint("put kokoro-v1.0.onnx (%d bytes) of kokoro-onnx there, or name it: model below [kokoro] in the configuration", knownSize)
}

// readLayout reads it from a model file. The error is a *proto.Error with a hint.
func readLayout(path string) (layout, error) {
	g, err := onnx.ReadGraph(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return layout{}, modelFault(path, "there is no such file")
	case errors.Is(err, onnx.ErrTruncated):
		return layout{}, modelFault(path, "it was cut off: %v", errors.Unwrap(err))
	case err != nil:
		return layout{}, modelFault(path, "%v", errors.Unwrap(err))
	}
	l, err := layoutOf(g)
	if err != nil {
		return layout{}, modelFault(path, "%v", err)
	}
	return l, nil
}

func layoutOf(g onnx.Graph) (l layout, err error) {
	whole := []onnx.ElementType{onnx.Int64, onnx.Int32}
	if l.tokens, err = input(g, whole, "tokens", "input_ids"); err != nil {
		return l, err
	}
	if l.style, err = input(g, []onnx.ElementType{onnx.Float32}, "style", "ref_s"); err != nil {
		return l, err
	}
	if n := len(l.style.Dims); n > 0 && l.style.Dims[n-1] > 0 && l.style.Dims[n-1] != voice.StyleSize {
		return l, fmt.Errorf("its input %s has %d numbers, want %d", l.style.Name, l.style.Dims[n-1], voice.StyleSize)
	}
	if l.speed, err = input(g, append(whole, onnx.Float32), "speed"); err != nil {
		return l, err
	}
	if len(g.Inputs) != 3 {
		return l, fmt.Errorf("it is no Kokoro model: its inputs are %s, want 3", names(g.Inputs))
	}
	sound := 0
	if i := slices.IndexFunc(g.Outputs, func(v onnx.Value) bool {
		return slices.Contains([]string{"audio", "waveform", "waveforms"}, v.Name)
	}); i > 0 {
		sound = i
	}
	if g.Outputs[sound].Type != onnx.Float32 {
		return l, fmt.Errorf("its output %s is %s, want float32", g.Outputs[sound].Name, g.Outputs[sound].Type)
	}
	l.outputs = []string{g.Outputs[sound].Name}
	for _, v := range g.Outputs {
		if v.Name == "duration" || v.Name == "durations" || v.Name == "pred_dur" {
			l.outputs = append(l.outputs, v.Name)
			break
		}
	}
	l.vocabulary = phoneme.Standard()
	if text, ok := g.Metadata[configKey]; ok {
		if l.vocabulary, err = phoneme.ParseVocabulary([]byte(text)); err != nil {
			return l, err
		}
	}
	if r, ok := g.Metadata["sample_rate"]; ok && r != fmt.Sprint(rate) {
		return l, fmt.Errorf("it gives %.20s samples a second, want %d", r, rate)
	}
	if text := g.Metadata[speakersKey]; text != "" {
		l.speakers = strings.Split(text, ",")
	}
	return l, nil
}

// input finds one by the names it goes by.
func input(g onnx.Graph, types []onnx.ElementType, called ...string) (onnx.Value, error) {
	for _, v := range g.Inputs {
		if !slices.Contains(called, v.Name) {
			continue
		}
		if !slices.Contains(types, v.Type) {
			return v, fmt.Errorf("its input %s is %s, which Kokoro's never is", v.Name, v.Type)
		}
		return v, nil
	}
	return onnx.Value{}, fmt.Errorf("it is no Kokoro model: its inputs are %s, and none is %s", names(g.Inputs), strings.Join(called, " or "))
}

func names(list []onnx.Value) string {
	var out []string
	for _, v := range list {
		out = append(out, v.Name)
	}
	return strings.Join(out, ", ")
}

// A model runs.
type model struct {
	layout
	session *onnx.Session
}

// A take is what the model made of some tokens.
type take struct {
	samples []float32
	frames  []int // of each token, with the padding; nil when the model does not tell
}

// run takes at most phoneme.MaxTokens tokens without the padding.
func (m *model) run(ctx context.Context, tokens []phoneme.Token, style []float32, speed float64) (take, error) {
	ids := make([]int64, 1, len(tokens)+2)
	for _, t := range tokens {
		ids = append(ids, t.ID)
	}
	ids = append(ids, 0)
	out, err := m.session.Run(ctx,
		onnx.Tensor{Dims: []int64{1, int64(len(ids))}, Data: integers(m.tokens.Type, ids)},
		onnx.Tensor{Dims: []int64{1, voice.StyleSize}, Data: style},
		onnx.Tensor{Dims: []int64{1}, Data: m.speedValue(speed)},
	)
	if err != nil {
		return take{}, err
	}
	samples, ok := out[0].Data.([]float32)
	if !ok {
		return take{}, fmt.Errorf("the model gives %T for sound", out[0].Data)
	}
	t := take{samples: samples}
	if len(out) > 1 {
		t.frames = wholeFrames(out[1], len(ids), len(samples))
	}
	return t, nil
}

func integers(kind onnx.ElementType, ids []int64) any {
	if kind == onnx.Int64 {
		return ids
	}
	small := make([]int32, len(ids))
	for i, id := range ids {
		small[i] = int32(id)
	}
	return small
}

func (m *model) speedValue(speed float64) any {
	whole := max(1, math.Round(speed))
	switch m.speed.Type {
	case onnx.Int32:
		return []int32{int32(whole)}
	case onnx.Int64:
		return []int64{int64(whole)}
	}
	return []float32{float32(speed)}
}

// wholeFrames reads durations, if they fit the sound.
func wholeFrames(t onnx.Tensor, tokens, samples int) []int {
	var list []int
	sum := 0
	add := func(v float64) {
		if !(v >= 0 && v <= 1<<20) {
			v = 1 << 20 // it will not fit
		}
		list = append(list, int(math.Round(v)))
		sum += list[len(list)-1]
	}
	switch data := t.Data.(type) {
	case []float32:
		for _, v := range data {
			add(float64(v))
		}
	case []int64:
		for _, v := range data {
			add(float64(v))
		}
	case []int32:
		for _, v := range data {
			add(float64(v))
		}
	}
	// Some exports give a frame more or less of sound at the end.
	if len(list) != tokens || sum*hop < samples-2*hop || sum*hop > samples+2*hop {
		return nil
	}
	return list
}
