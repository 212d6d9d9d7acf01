// SPDX-License-Identifier: Apache-2.0

package soundtest

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"
	"time"
)

const (
	// Rate is the sample rate of all sound here.
	Rate = 16000
	// Audible is the peak from which sound counts as heard: half a percent of full
	// scale. A sink that plays nothing records exact zeros.
	Audible = 164
	// Gap is the silence that separates two parts of a recording; pauses inside a
	// spoken sentence are shorter.
	Gap = 300 * time.Millisecond
)

// Samples is how many samples last d.
func Samples(d time.Duration) int { return int(d * Rate / time.Second) }

// Duration is how long n samples last.
func Duration(n int) time.Duration { return time.Duration(n) * time.Second / Rate }

// Peak is the largest amplitude, 0 to 32768.
func Peak(samples []int16) int {
	peak := 0
	for _, v := range samples {
		peak = max(peak, int(v), -int(v))
	}
	return peak
}

// A Part is a run of sound in a recording: the first sample and the one after the
// last.
type Part struct{ Start, End int }

// Parts finds what is audible, split where gap or more of silence lies between.
func Parts(samples []int16, gap time.Duration) []Part {
	var parts []Part
	for i, v := range samples {
		if max(int(v), -int(v)) < Audible {
			continue
		}
		if n := len(parts); n > 0 && i-parts[n-1].End < Samples(gap) {
			parts[n-1].End = i + 1
		} else {
			parts = append(parts, Part{i, i + 1})
		}
	}
	return parts
}

// Trim cuts silence off both ends; what is silent as a whole becomes empty.
func Trim(samples []int16) []int16 {
	parts := Parts(samples, Gap)
	if len(parts) == 0 {
		return nil
	}
	return samples[parts[0].Start:parts[len(parts)-1].End]
}

// Pad puts silence before and after.
func Pad(samples []int16, before, after time.Duration) []int16 {
	out := make([]int16, Samples(before), Samples(before)+len(samples)+Samples(after))
	out = append(out, samples...)
	return append(out, make([]int16, Samples(after))...)
}

// WriteWAV writes a WAV file.
func WriteWAV(tb testing.TB, path string, samples []int16) {
	tb.Helper()
	if err := os.WriteFile(path, wav(samples), 0o600); err != nil {
		tb.Fatalf("write recording: %v", err)
	}
}

// ReadWAV reads a sound file of any format sox knows.
func ReadWAV(tb testing.TB, path string) []int16 {
	tb.Helper()
	return samplesOf(run(tb, nil, nil, "sox", "-q", path, "-t", "raw", "-r", "16000", "-c", "1", "-b", "16", "-e", "signed", "-"))
}

// wav is a file of one format chunk and one data chunk.
func wav(samples []int16) []byte {
	const header, channels, bits = 36, 1, 16
	data := bytesOf(samples)
	le := binary.LittleEndian
	b := append([]byte("RIFF"), le.AppendUint32(nil, uint32(header+len(data)))...)
	b = append(b, "WAVEfmt "...)
	b = le.AppendUint32(b, bits)
	b = le.AppendUint16(b, 1) // PCM
	b = le.AppendUint16(b, channels)
	b = le.AppendUint32(b, Rate)
	b = le.AppendUint32(b, Rate*channels*bits/8)
	b = le.AppendUint16(b, channels*bits/8)
	b = le.AppendUint16(b, bits)
	b = append(b, "data"...)
	b = le.AppendUint32(b, uint32(len(data)))
	return append(b, data...)
}

func bytesOf(samples []int16) []byte {
	var b bytes.Buffer
	b.Grow(2 * len(samples))
	for _, v := range samples {
		b.WriteByte(byte(v))
		b.WriteByte(byte(uint16(v) >> 8))
	}
	return b.Bytes()
}

func samplesOf(data []byte) []int16 {
	out := make([]int16, len(data)/2)
	for i := range out {
		out[i] = int16(binary.LittleEndian.Uint16(data[2*i:]))
	}
	return out
}
