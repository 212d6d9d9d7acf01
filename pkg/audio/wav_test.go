// SPDX-License-Identifier: Apache-2.0

package audio_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/audio"
)

// wav builds a file chunk by chunk; names and bodies alternate.
func wav(chunks ...string) []byte {
	var body []byte
	for i := 0; i < len(chunks); i += 2 {
		body = append(body, chunks[i]...)
		body = binary.LittleEndian.AppendUint32(body, uint32(len(chunks[i+1])))
		body = append(body, chunks[i+1]...)
		if len(chunks[i+1])%2 == 1 {
			body = append(body, 0)
		}
	}
	out := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(4+len(body)))
	return append(append(out, "WAVE"...), body...)
}

// format is the body of a "fmt " chunk.
func format(encoding, channels uint16, rate uint32, bits uint16) string {
	b := binary.LittleEndian.AppendUint16(nil, encoding)
	b = binary.LittleEndian.AppendUint16(b, channels)
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = binary.LittleEndian.AppendUint32(b, rate*uint32(channels)*uint32(bits/8))
	b = binary.LittleEndian.AppendUint16(b, channels*bits/8)
	return string(binary.LittleEndian.AppendUint16(b, bits))
}

func pcm(samples ...int16) string { return string(audio.EncodePCM(samples)) }

func TestWAVRoundTrip(t *testing.T) {
	samples := []int16{0, 1, -1, 32767, -32768, 1234}
	got, rate, err := audio.DecodeWAV(audio.EncodeWAV(samples, 22050))
	if err != nil || rate != 22050 || !slices.Equal(got, samples) {
		t.Errorf("got %v at %d, %v", got, rate, err)
	}
	if got, rate, err = audio.DecodeWAV(audio.EncodeWAV(nil, 16000)); err != nil || rate != 16000 || len(got) != 0 {
		t.Errorf("empty file: got %v at %d, %v", got, rate, err)
	}
}

func TestDecodeWAV(t *testing.T) {
	piped := wav("fmt ", format(1, 1, 16000, 16), "data", pcm(5, 6))
	binary.LittleEndian.PutUint32(piped[40:], 0xFFFFFFFF)
	extensible := format(0xFFFE, 1, 48000, 16) + "\x16\x00\x10\x00\x04\x00\x00\x00\x01\x00" + strings.Repeat("\x00", 14)
	for name, c := range map[string]struct {
		file    []byte
		samples []int16
		rate    int
	}{
		"stereo is averaged":        {wav("fmt ", format(1, 2, 44100, 16), "data", pcm(10, 20, -4, -8)), []int16{15, -6}, 44100},
		"no overflow when averaged": {wav("fmt ", format(1, 2, 44100, 16), "data", pcm(32767, 32767)), []int16{32767}, 44100},
		"other chunks of odd size":  {wav("LIST", "abc", "fmt ", format(1, 1, 8000, 16), "x   ", "y", "data", pcm(7)), []int16{7}, 8000},
		"length of a pipe":          {piped, []int16{5, 6}, 16000},
		"cut short in a sample":     {piped[:len(piped)-1], []int16{5}, 16000},
		"extensible":                {wav("fmt ", extensible, "data", pcm(3)), []int16{3}, 48000},
	} {
		t.Run(name, func(t *testing.T) {
			samples, rate, err := audio.DecodeWAV(c.file)
			if err != nil || rate != c.rate || !slices.Equal(samples, c.samples) {
				t.Errorf("got %v at %d, %v; want %v at %d", samples, rate, err, c.samples, c.rate)
			}
		})
	}
}

func TestDecodeWAVRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		file []byte
		text string
		not  bool // not a WAV file at all
	}{
		"nothing":       {nil, "not a WAV file", true},
		"ogg":           {[]byte("OggS00000000000000000000"), "not a WAV file", true},
		"header only":   {wav(), "no data chunk", true},
		"data first":    {wav("data", pcm(1), "fmt ", format(1, 1, 8000, 16)), "data before format", true},
		"short format":  {wav("fmt ", "abcd", "data", pcm(1)), "format chunk of 4 bytes", true},
		"mu-law":        {wav("fmt ", format(7, 1, 8000, 8), "data", "ab"), "encoding 7 with 8 bits", false},
		"float":         {wav("fmt ", format(3, 1, 8000, 32), "data", "abcd"), "encoding 3 with 32 bits", false},
		"no channel":    {wav("fmt ", format(1, 0, 8000, 16), "data", pcm(1)), "0 channels", false},
		"many channels": {wav("fmt ", format(1, 65, 8000, 16), "data", pcm(1)), "65 channels", false},
		"no rate":       {wav("fmt ", format(1, 1, 0, 16), "data", pcm(1)), "rate 0", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := audio.DecodeWAV(c.file)
			if err == nil || !strings.Contains(err.Error(), c.text) || errors.Is(err, audio.ErrNotWAV) != c.not {
				t.Errorf("error %v, want one with %q", err, c.text)
			}
		})
	}
}

func FuzzDecodeWAV(f *testing.F) {
	f.Add(audio.EncodeWAV([]int16{1, 2, 3}, 16000))
	f.Add(wav("LIST", "abc", "fmt ", format(1, 2, 44100, 16), "data", pcm(1, 2)))
	f.Add(wav("fmt ", format(3, 1, 8000, 32), "data", "abcd"))
	f.Fuzz(func(t *testing.T, b []byte) {
		samples, rate, err := audio.DecodeWAV(b)
		if err != nil {
			if samples != nil || rate != 0 {
				t.Fatal("an error with a value")
			}
			return
		}
		if rate <= 0 || 2*len(samples) > len(b) {
			t.Fatalf("%d samples at %d out of %d bytes", len(samples), rate, len(b))
		}
		again, rateAgain, err := audio.DecodeWAV(audio.EncodeWAV(samples, rate))
		if err != nil || rateAgain != rate || !slices.Equal(again, samples) {
			t.Fatalf("second decode differs: %v", err)
		}
	})
}

func FuzzDecodePCM(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1})
	f.Add([]byte{0, 128, 255, 127})
	f.Fuzz(func(t *testing.T, b []byte) {
		samples, err := audio.DecodePCM(b)
		if (err != nil) != (len(b)%2 == 1) {
			t.Fatalf("%d bytes: %v", len(b), err)
		}
		if err == nil && !bytes.Equal(audio.EncodePCM(samples), b) {
			t.Fatal("round trip differs")
		}
	})
}
