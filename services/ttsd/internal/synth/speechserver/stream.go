// SPDX-License-Identifier: Apache-2.0

package speechserver

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/services/ttsd/internal/synth"
)

const (
	// block is how much is handed on at once at most.
	block = 8 << 10
	// maxChunk bounds what is jumped over in front of the sound of a WAV file.
	maxChunk = 1 << 20
	// Encodings of WAV.
	integerPCM, floatPCM, extended = 1, 3, 0xFFFE
)

// A format is how samples lie in a stream.
type format struct {
	rate, channels, bytes int
	float                 bool
}

// decodeStream reads raw 16-bit sound or a WAV file, and hands it on as it comes.
func decodeStream(r io.Reader, contentType string, emit synth.Emit) error {
	in := bufio.NewReaderSize(io.LimitReader(r, maxSound), block)
	head, err := in.Peek(12)
	switch {
	case err == io.EOF && len(head) == 0:
		return nil // the sound of a text that has none
	case err != nil && len(head) == 0:
		return fmt.Errorf("read its sound: %w", err)
	}
	f, left := format{rate: rateOf(contentType), channels: 1, bytes: 2}, int64(math.MaxInt64)
	switch text := string(head); {
	case strings.HasPrefix(text, "RIFF"):
		if f, left, err = wavHeader(in); err != nil {
			return err
		}
	case strings.HasPrefix(text, "ID3"), strings.HasPrefix(text, "OggS"), strings.HasPrefix(text, "fLaC"), strings.Contains(contentType, "mpeg"):
		return errors.New("it sends packed sound, and was asked for pcm or wav")
	case strings.HasPrefix(contentType, "application/json"), strings.HasPrefix(contentType, "text/"), isText(text):
		return fmt.Errorf("it sends no sound: %s", words(in))
	}
	return samples(io.LimitReader(in, left), f, emit)
}

// isText knows a web page or JSON by its first characters, whatever its type says:
// sound that begins with the same bytes would begin with a bang.
func isText(head string) bool {
	return (strings.HasPrefix(head, "<") || strings.HasPrefix(head, "{")) &&
		!strings.ContainsFunc(head, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r > '~' })
}

// wavHeader reads up to the sound. What comes behind the sound is none: left is
// its length, or everything where the server did not know it.
func wavHeader(in *bufio.Reader) (f format, left int64, err error) {
	if _, err := in.Discard(12); err != nil {
		return f, 0, fmt.Errorf("read its WAV header: %w", err)
	}
	for {
		head := make([]byte, 8)
		if _, err := io.ReadFull(in, head); err != nil {
			return f, 0, fmt.Errorf("read its WAV header: %w", err)
		}
		size := int64(binary.LittleEndian.Uint32(head[4:]))
		name := string(head[:4])
		if name == "data" {
			if f.rate == 0 {
				return f, 0, errors.New("its WAV file has no format")
			}
			if size == 0 || size >= math.MaxInt32-64 { // written to a pipe
				size = math.MaxInt64
			}
			return f, size, nil
		}
		if size > maxChunk {
			return f, 0, fmt.Errorf("its WAV file has %d bytes of %.4q in front of the sound", size, name)
		}
		body := make([]byte, size+size%2)
		if _, err := io.ReadFull(in, body); err != nil {
			return f, 0, fmt.Errorf("read its WAV header: %w", err)
		}
		if name == "fmt " {
			if f, err = formatOf(body[:size]); err != nil {
				return f, 0, err
			}
		}
	}
}

func formatOf(body []byte) (format, error) {
	if len(body) < 16 {
		return format{}, errors.New("its WAV file has half a format")
	}
	encoding := binary.LittleEndian.Uint16(body)
	if encoding == extended && len(body) >= 26 {
		encoding = binary.LittleEndian.Uint16(body[24:])
	}
	bits := int(binary.LittleEndian.Uint16(body[14:]))
	f := format{
		rate: int(min(binary.LittleEndian.Uint32(body[4:]), math.MaxInt32)), channels: int(binary.LittleEndian.Uint16(body[2:])),
		bytes: bits / 8, float: encoding == floatPCM,
	}
	good := encoding == integerPCM && bits == 16 || encoding == floatPCM && bits == 32
	if !good || f.channels < 1 || f.channels > 8 || f.rate < 4000 || f.rate > 192000 {
		return f, fmt.Errorf("its WAV file has encoding %d with %d bits, %d channels, rate %d: want 16-bit PCM", encoding, bits, f.channels, f.rate)
	}
	return f, nil
}

// samples hands on whole frames, the channels made one.
func samples(r io.Reader, f format, emit synth.Emit) error {
	frame := f.bytes * f.channels
	buf := make([]byte, 0, block)
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if whole := len(buf) / frame * frame; whole > 0 {
			emit(synth.Sound{Rate: f.rate, Samples: f.decode(buf[:whole])})
			buf = buf[:copy(buf, buf[whole:])]
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("read its sound: %w", err)
		}
	}
}

func (f format) decode(b []byte) []float32 {
	out := make([]float32, len(b)/f.bytes/f.channels)
	for i := range out {
		var sum float64
		for c := range f.channels {
			at := b[(i*f.channels+c)*f.bytes:]
			if f.float {
				sum += float64(math.Float32frombits(binary.LittleEndian.Uint32(at)))
			} else {
				sum += float64(int16(binary.LittleEndian.Uint16(at))) / audio.FullScale
			}
		}
		v := sum / float64(f.channels)
		if math.IsNaN(v) {
			v = 0
		}
		out[i] = float32(max(-1, min(1, v)))
	}
	return out
}
