// SPDX-License-Identifier: Apache-2.0

package audio

import (
	"math"
	"slices"
	"time"
)

// Figures of the speech gate. They were chosen on flite and espeak-ng voices,
// white and pink noise, hum and clicks; speech_test.go holds the cases.
const (
	gateFrame  = 20 * time.Millisecond
	gateRun    = 3     // shorter bursts, under 60 ms, are clicks and key presses
	gateAbove  = 9.0   // dB a frame must stand above the floor
	gateLowest = -58.0 // dBFS under which nothing counts as speech
	gateFloor  = 0.10  // the floor is the level that a tenth of the frames stay below
	gateCorner = 120.0 // Hz, high-pass against hum, rumble and offset
)

// Speech estimates how much of the samples is speech-like: the time in which
// the level stands clear of the recording's own floor for long enough to be a
// syllable. Steady sounds of any level (a fan, hum, hiss) raise the floor and
// give about zero, as does digital silence; a spoken word gives 200 ms or more.
// Music and a door that slams can pass: it is a cheap first look, not a
// voice detector. It reads the whole recording and keeps nothing.
func Speech(samples []int16, rate int) time.Duration {
	size := Samples(gateFrame, rate)
	if size <= 0 {
		return 0
	}
	levels := frameLevels(samples, size, rate)
	threshold := max(gateLowest, floorOf(levels)+gateAbove)
	count, run := 0, 0
	for _, level := range levels {
		if level < threshold {
			run = 0
			continue
		}
		run++
		switch {
		case run == gateRun:
			count += gateRun
		case run > gateRun:
			count++
		}
	}
	return time.Duration(count) * gateFrame
}

// frameLevels is the level in dBFS of each whole frame after a high-pass.
func frameLevels(samples []int16, size, rate int) []float64 {
	keep := 1 / (1 + 2*math.Pi*gateCorner/float64(rate))
	var levels []float64
	var before, high, sum float64
	for i, s := range samples {
		v := float64(s)
		if i == 0 {
			before = v
		}
		high = keep * (high + v - before)
		before = v
		sum += high * high
		if (i+1)%size == 0 {
			levels = append(levels, DBFS(math.Sqrt(sum/float64(size))/FullScale))
			sum = 0
		}
	}
	return levels
}

// floorOf is the background level. Digital silence before and after the sound,
// which padding and a closed microphone make, says nothing about the room and is
// left out; between sounds it does, since a noise-gated microphone makes it too.
func floorOf(levels []float64) float64 {
	sounds := func(level float64) bool { return level > Silence+5 }
	first := slices.IndexFunc(levels, sounds)
	if first < 0 {
		return Silence
	}
	last := len(levels) - 1
	for !sounds(levels[last]) {
		last--
	}
	heard := slices.Sorted(slices.Values(levels[first : last+1]))
	return heard[int(gateFloor*float64(len(heard)))]
}
