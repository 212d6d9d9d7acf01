// SPDX-License-Identifier: Apache-2.0

// Package kokorotest makes models with Kokoro's interface that hum: a model of a
// few kilobytes in which everything that goes in is heard. Each symbol is a tone of
// a frequency of its own; the first half of the style bends all tones, the second
// half stretches all symbols, and the speed divides how long they last.
package kokorotest

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"example.org/desktop-assistant/pkg/testkit/onnxtest"
	"example.org/desktop-assistant/services/ttsd/internal/phoneme"
)

// Rate and Hop are Kokoro's: samples a second, and a frame, the unit of durations.
const (
	Rate = 24000
	Hop  = 600
)

// vocabulary is how many symbols the model knows.
const vocabulary = 178

// A Variant is one of the interfaces with which Kokoro was exported.
type Variant struct {
	Name           string
	Tokens, Style  string // names of inputs
	WholeSpeed     bool   // speed is an int32
	Audio          string // name of the first output
	Rank           int    // of it, 1 to 3
	Durations      string // name of the second output, "" for none
	FloatDurations bool   // they are float32 and not int64
	Metadata       map[string]string
	Level          float32 // of the tones; 0 means 0.3
	Junk           bool    // punctuation sounds
	NotANumber     bool    // what comes out is no sound
	Rush           bool    // every symbol lasts a tenth of what is sane
	Frames         float32 // of each letter; 0 means 2
	Layers         int     // of work that changes nothing: 4 million multiplications each, for each frame
}

// Variants are those that are around.
func Variants() []Variant {
	return []Variant{
		{Name: "kokoro-onnx 1.0", Tokens: "tokens", Style: "style", Audio: "audio", Rank: 1},
		{Name: "sherpa-onnx", Tokens: "tokens", Style: "style", Audio: "audio", Rank: 3, Metadata: map[string]string{
			"sample_rate": "24000", "version": "2", "n_speakers": "2", "style_dim": "510,1,256", "speaker_names": "if_sara,af_bella", "voice": "en-us",
		}},
		{Name: "onnx-community", Tokens: "input_ids", Style: "style", Audio: "waveform", Rank: 2},
		{Name: "onnx-community timestamped", Tokens: "input_ids", Style: "style", Audio: "waveform", Rank: 2, Durations: "durations", FloatDurations: true},
		{Name: "hexgrad", Tokens: "input_ids", Style: "ref_s", WholeSpeed: true, Audio: "waveform", Rank: 1, Durations: "duration"},
		{Name: "kokoro-onnx 1.1", Tokens: "tokens", Style: "style", Audio: "audio", Rank: 1, Durations: "duration", Metadata: map[string]string{"kokoro_config": Config()}},
	}
}

// Timed is a variant that tells durations and takes every speed.
func Timed() Variant { return Variants()[5] }

// Config is what newer exports embed: the vocabulary.
func Config() string {
	table := map[string]int64{}
	for r, id := range phoneme.Standard() {
		table[string(r)] = id
	}
	b, err := json.Marshal(map[string]any{"n_token": vocabulary, "vocab": table})
	if err != nil {
		panic(err) // a map of numbers
	}
	return string(b)
}

// Frequency is the tone of a symbol with a style of zeros, in hertz; 0 is silence.
func (v Variant) Frequency(id int64) float64 {
	if id == 0 || id <= 16 && !v.Junk {
		return 0 // padding, punctuation, the space
	}
	return 110 + 3*float64(id)
}

// frames is how long a symbol lasts before style and speed.
func (v Variant) frames(id int64) float32 {
	switch {
	case v.Rush:
		return 0.1
	case id == 0:
		return 4
	case id <= 15:
		return 6
	case v.Frames > 0:
		return v.Frames
	}
	return 2
}

// Durations is what the model answers, for tokens with the padding and the mean of
// the second half of the style.
func (v Variant) DurationsOf(tokens []int64, melody, speed float64) []int {
	if v.WholeSpeed {
		speed = math.Trunc(speed)
	}
	stretch := 1 + 0.25*math.Tanh(4*melody)
	list := make([]int, len(tokens))
	for i, id := range tokens {
		list[i] = int(max(1, math.RoundToEven(float64(v.frames(id))*stretch/speed)))
	}
	return list
}

// Write puts the model into a temporary folder.
func (v Variant) Write(t testing.TB) string {
	t.Helper()
	return v.model().Write(t)
}

func (v Variant) model() onnxtest.Model {
	frequencies, frames := make([]float32, vocabulary), make([]float32, vocabulary)
	for id := range frequencies {
		frequencies[id], frames[id] = float32(v.Frequency(int64(id))), v.frames(int64(id))
	}
	level := v.Level
	if level == 0 {
		level = 0.3
	}
	if v.NotANumber {
		level = float32(math.NaN())
	}
	g := &graph{}
	// Which symbol each frame is of.
	tokens := g.op("Reshape", v.Tokens, g.ints(1, -1))
	speed := g.op("Reshape", g.op("Cast", "speed").with("to", onnxtest.Float32), g.ints(1, 1))
	half := func(from, to int64) result {
		part := g.op("Slice", v.Style, g.ints(1, from), g.ints(1, to), g.ints(1, 1))
		mean := g.op("Reshape", g.op("ReduceMean", part).list("axes", 1), g.ints(1, 1))
		return g.op("Tanh", g.op("Mul", mean, g.floats(4)))
	}
	stretch := g.op("Add", g.floats(1), g.op("Mul", g.floats(0.25), half(128, 256)))
	length := g.op("Gather", g.table(frames), tokens)
	length = g.op("Div", g.op("Mul", length, stretch), speed)
	length = g.op("Max", g.floats(1), g.op("Round", length))
	ends := g.op("CumSum", length, g.scalar(0))
	total := g.op("Reshape", g.op("ReduceSum", length, g.ints(1, 0)).with("keepdims", 1), g.ints(0))
	frame := g.op("Range", g.number(0), total, g.number(1))
	passed := g.op("GreaterOrEqual", g.op("Unsqueeze", frame, g.ints(1, 1)), g.op("Unsqueeze", ends, g.ints(1, 0)))
	index := g.op("ReduceSum", g.op("Cast", passed).with("to", onnxtest.Float32), g.ints(1, 1)).with("keepdims", 0)
	index = g.op("Cast", index).with("to", onnxtest.Int64)
	// The tone of each frame, and of each sample.
	tone := g.op("Gather", g.table(frequencies), g.op("Gather", tokens, index))
	bend := g.op("Add", g.floats(1), g.op("Mul", g.floats(0.5), half(0, 128)))
	samples := func(perFrame result) result {
		count := g.op("Concat", g.op("Shape", perFrame), g.ints(1, Hop)).with("axis", 0)
		wide := g.op("Expand", g.op("Unsqueeze", perFrame, g.ints(1, 1)), count)
		return g.op("Reshape", wide, g.ints(1, -1))
	}
	step := g.op("Mul", samples(g.op("Mul", tone, bend)), g.floats(2*math.Pi/Rate))
	wave := g.op("Sin", g.op("CumSum", step, g.scalar(0)))
	wave = g.op("Mul", wave, samples(g.op("Mul", g.op("Sign", tone), g.floats(level))))
	if v.Layers > 0 {
		wave = g.op("Add", wave, samples(g.work(tone, v.Layers)))
	}
	shape := make([]int64, v.Rank)
	for i := range shape {
		shape[i] = 1
	}
	shape[v.Rank-1] = -1
	g.nodes = append(g.nodes, onnxtest.Node{Op: "Reshape", In: []string{wave.String(), g.ints(len(shape), shape...)}, Out: []string{v.Audio}})
	m := onnxtest.Model{
		Inputs: []onnxtest.Value{
			{Name: v.Tokens, Type: onnxtest.Int64, Dims: []int64{1, -1}},
			{Name: v.Style, Type: onnxtest.Float32, Dims: []int64{1, 256}},
			{Name: "speed", Type: onnxtest.Float32, Dims: []int64{1}},
		},
		Outputs:  []onnxtest.Value{{Name: v.Audio, Type: onnxtest.Float32, Dims: shape}},
		Metadata: v.Metadata,
	}
	if v.WholeSpeed {
		m.Inputs[2].Type = onnxtest.Int32
	}
	if v.Durations != "" {
		kind := onnxtest.Int64
		if v.FloatDurations {
			kind = onnxtest.Float32
		}
		g.nodes = append(g.nodes, onnxtest.Node{Op: "Cast", In: []string{length.String()}, Out: []string{v.Durations}, Attributes: map[string]any{"to": int64(kind)}})
		m.Outputs = append(m.Outputs, onnxtest.Value{Name: v.Durations, Type: kind, Dims: []int64{-1}})
	}
	m.Nodes, m.Constants = g.nodes, g.constants
	return m
}

// Voice is a voice file of one style for all lengths: all of its first half and
// all of its second half are the same number. Row 8 has another timbre, so that
// one can hear whether it was used.
func Voice(timbre, melody float32) []byte {
	b := make([]byte, 0, 510*256*4)
	for row := range 510 {
		for i := range 256 {
			v := timbre
			if i >= 128 {
				v = melody
			} else if row == 8 {
				v = -timbre
			}
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
	}
	return b
}

// WriteVoices makes a folder of voice files of the names given.
func WriteVoices(t testing.TB, voices map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, b := range voices {
		if err := os.WriteFile(filepath.Join(dir, name+".bin"), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
