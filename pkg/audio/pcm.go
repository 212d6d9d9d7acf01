// SPDX-License-Identifier: Apache-2.0

// Package audio holds the arithmetic of sound: PCM samples and their bytes,
// levels, WAV files, a pre-roll ring, resampling and a first guess at how much
// of a recording is speech. It opens no device and starts no goroutine.
//
// Samples are signed 16-bit, one channel, unless a name says otherwise.
package audio

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// FullScale is the magnitude of the loudest sample; levels are relative to it.
const FullScale = 32768

// Silence is the level in dBFS that stands for digital silence, the floor of
// what DBFS returns (just under one step of 16 bits).
const Silence = -100.0

// DecodePCM turns little-endian 16-bit bytes into samples of its own. An odd
// number of bytes is an error: half a sample means the stream lost its step.
func DecodePCM(b []byte) ([]int16, error) {
	if len(b)%2 != 0 {
		return nil, fmt.Errorf("decode pcm: %d bytes is not a whole number of 16-bit samples", len(b))
	}
	samples := make([]int16, len(b)/2)
	for i := range samples {
		samples[i] = int16(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return samples, nil
}

// AppendPCM appends the samples as little-endian 16-bit bytes to dst.
func AppendPCM(dst []byte, samples []int16) []byte {
	for _, s := range samples {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(s))
	}
	return dst
}

// EncodePCM is the inverse of DecodePCM.
func EncodePCM(samples []int16) []byte {
	return AppendPCM(make([]byte, 0, 2*len(samples)), samples)
}

// RMS is the root mean square as a fraction of full scale, 0 to 1; 0 when
// there are no samples. A sine at full scale has 0.707.
func RMS(samples []int16) float64 {
	if len(samples) == 0 {
		return 0
	}
	var sum float64
	for _, s := range samples {
		v := float64(s)
		sum += v * v
	}
	return math.Sqrt(sum/float64(len(samples))) / FullScale
}

// Peak is the largest magnitude as a fraction of full scale, 0 to 1.
func Peak(samples []int16) float64 {
	peak := 0
	for _, s := range samples {
		peak = max(peak, int(s), -int(s))
	}
	return float64(peak) / FullScale
}

// DBFS turns a fraction of full scale into decibels: 1 is 0 dB, a half is
// about -6 dB. Nothing is below Silence.
func DBFS(level float64) float64 {
	if level <= 0 {
		return Silence
	}
	return max(Silence, 20*math.Log10(level))
}

// Duration is how long n samples last at rate hertz; 0 when rate is not positive.
func Duration(n, rate int) time.Duration {
	if rate <= 0 {
		return 0
	}
	return time.Duration(int64(n) * int64(time.Second) / int64(rate))
}

// Samples is how many samples at rate hertz last d, rounded down.
func Samples(d time.Duration, rate int) int {
	return int(int64(d) * int64(rate) / int64(time.Second))
}

// clip rounds to the nearest sample and limits to the range of 16 bits.
func clip(v float64) int16 {
	return int16(max(math.MinInt16, min(math.MaxInt16, math.Round(v))))
}
