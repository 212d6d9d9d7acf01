// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/services/ttsd/internal/synth"
)

// A file is magic, the checksum of what follows, the rate, the number of words, the
// words (two numbers each) and 16-bit samples, all little-endian and 32 bits.
const (
	magic      = "dap1"
	headerSize = 16
	wordSize   = 8
)

func encode(s synth.Sound) []byte {
	b := make([]byte, 0, headerSize+wordSize*len(s.Words)+2*len(s.Samples))
	b = append(b, magic...)
	for _, v := range []int{0, s.Rate, len(s.Words)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	for _, w := range s.Words {
		b = binary.LittleEndian.AppendUint32(b, uint32(w.At))
		b = binary.LittleEndian.AppendUint32(b, uint32(w.Text))
	}
	for _, v := range s.Samples {
		sample := int16(math.Round(float64(max(-1, min(1, v))) * math.MaxInt16))
		b = binary.LittleEndian.AppendUint16(b, uint16(sample))
	}
	binary.LittleEndian.PutUint32(b[len(magic):], crc32.ChecksumIEEE(b[8:]))
	return b
}

// DecodeSound reads what a file of the store holds.
func DecodeSound(b []byte) (synth.Sound, error) {
	if len(b) < headerSize || string(b[:len(magic)]) != magic {
		return synth.Sound{}, errors.New("read phrase: it is none")
	}
	number := func(at int) int { return int(binary.LittleEndian.Uint32(b[at:])) }
	if uint32(number(4)) != crc32.ChecksumIEEE(b[8:]) {
		return synth.Sound{}, errors.New("read phrase: it is damaged")
	}
	s := synth.Sound{Rate: number(8)}
	words, data := number(12), b[headerSize:]
	if s.Rate < 4000 || s.Rate > 192000 || words > len(data)/wordSize {
		return synth.Sound{}, errors.New("read phrase: it makes no sense")
	}
	at, text := 0, 0
	for i := range words {
		w := synth.Word{At: number(headerSize + i*wordSize), Text: number(headerSize + i*wordSize + 4)}
		if w.At < at || w.Text < text {
			return synth.Sound{}, errors.New("read phrase: its words are in disorder")
		}
		at, text = w.At, w.Text
		s.Words = append(s.Words, w)
	}
	samples, err := audio.DecodePCM(data[words*wordSize:])
	if err != nil {
		return synth.Sound{}, err
	}
	s.Samples = make([]float32, len(samples))
	for i, v := range samples {
		s.Samples[i] = float32(v) / math.MaxInt16
	}
	return s, nil
}
