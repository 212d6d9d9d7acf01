// SPDX-License-Identifier: Apache-2.0

package audio

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrNotWAV is wrapped by every error of DecodeWAV about bytes that are not a
// WAV file at all, as against one of a kind that is not read here.
var ErrNotWAV = errors.New("not a WAV file")

const (
	wavHeaderSize = 44 // RIFF, fmt of 16 bytes and the data header
	formatPCM     = 1
	formatExt     = 0xFFFE // WAVE_FORMAT_EXTENSIBLE: the real format leads the sub-format GUID
	maxWAVRate    = 384000
	maxChannels   = 64
)

// EncodeWAV makes a WAV file of one channel, 16 bits, at rate hertz.
func EncodeWAV(samples []int16, rate int) []byte {
	size := 2 * len(samples)
	b := make([]byte, 0, wavHeaderSize+size)
	b = append(b, "RIFF"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(wavHeaderSize-8+size))
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16)
	b = binary.LittleEndian.AppendUint16(b, formatPCM)
	b = binary.LittleEndian.AppendUint16(b, 1)
	b = binary.LittleEndian.AppendUint32(b, uint32(rate))
	b = binary.LittleEndian.AppendUint32(b, uint32(2*rate))
	b = binary.LittleEndian.AppendUint16(b, 2)
	b = binary.LittleEndian.AppendUint16(b, 16)
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	return AppendPCM(b, samples)
}

// DecodeWAV reads a WAV file of 16-bit PCM with any number of channels, which
// are averaged into one, and returns its samples and rate in hertz. A data
// length longer than the file (0xFFFFFFFF of a program that wrote to a pipe, or
// a file cut short) means "to the end". Other encodings are an error that names
// the encoding. The result does not share memory with b.
func DecodeWAV(b []byte) (samples []int16, rate int, err error) {
	if len(b) < 12 || string(b[:4]) != "RIFF" || string(b[8:12]) != "WAVE" {
		return nil, 0, fmt.Errorf("decode wav: %w", ErrNotWAV)
	}
	channels := 0
	for rest := b[12:]; len(rest) >= 8; {
		name, size := string(rest[:4]), int64(binary.LittleEndian.Uint32(rest[4:]))
		body := rest[8:]
		if size < int64(len(body)) {
			body = body[:size]
		}
		switch name {
		case "fmt ":
			if channels, rate, err = decodeFormat(body); err != nil {
				return nil, 0, err
			}
		case "data":
			if channels == 0 {
				return nil, 0, fmt.Errorf("decode wav: data before format: %w", ErrNotWAV)
			}
			return mono(body, channels), rate, nil
		}
		next := 8 + size + size%2 // chunks are padded to an even length
		if next >= int64(len(rest)) {
			break
		}
		rest = rest[next:]
	}
	return nil, 0, fmt.Errorf("decode wav: no data chunk: %w", ErrNotWAV)
}

// decodeFormat reads the body of a "fmt " chunk.
func decodeFormat(body []byte) (channels, rate int, err error) {
	if len(body) < 16 {
		return 0, 0, fmt.Errorf("decode wav: format chunk of %d bytes: %w", len(body), ErrNotWAV)
	}
	encoding := binary.LittleEndian.Uint16(body)
	if encoding == formatExt && len(body) >= 26 {
		encoding = binary.LittleEndian.Uint16(body[24:])
	}
	channels = int(binary.LittleEndian.Uint16(body[2:]))
	speed := binary.LittleEndian.Uint32(body[4:])
	bits := binary.LittleEndian.Uint16(body[14:])
	switch {
	case encoding != formatPCM || bits != 16:
		return 0, 0, fmt.Errorf("decode wav: encoding %d with %d bits, want 16-bit PCM", encoding, bits)
	case channels < 1 || channels > maxChannels:
		return 0, 0, fmt.Errorf("decode wav: %d channels, want 1 to %d", channels, maxChannels)
	case speed < 1 || speed > maxWAVRate:
		return 0, 0, fmt.Errorf("decode wav: rate %d, want 1 to %d", speed, maxWAVRate)
	}
	return channels, int(speed), nil
}

// mono averages the channels of interleaved samples; an incomplete last frame
// is dropped.
func mono(body []byte, channels int) []int16 {
	samples := make([]int16, len(body)/(2*channels))
	for i := range samples {
		sum := 0
		for c := range channels {
			sum += int(int16(binary.LittleEndian.Uint16(body[2*(i*channels+c):])))
		}
		samples[i] = int16(sum / channels)
	}
	return samples
}
