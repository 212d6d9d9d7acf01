// SPDX-License-Identifier: Apache-2.0

package recognize_test

import (
	"math"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/sttd/internal/recognize"
)

// syllables are 200 ms of tone every 300 ms at a level from 0 to 1.
func syllables(d time.Duration, level float64) recognize.Utterance {
	samples := make([]int16, audio.Samples(d, proto.Rate))
	for i := range samples {
		if i%4800 < 3200 {
			samples[i] = int16(level * math.MaxInt16 * math.Sin(2*math.Pi*300*float64(i)/proto.Rate))
		}
	}
	return recognize.Utterance{PCM: samples, Rate: proto.Rate}
}

func TestScreen(t *testing.T) {
	hum := recognize.Utterance{PCM: make([]int16, 2*proto.Rate), Rate: proto.Rate}
	for i := range hum.PCM {
		hum.PCM[i] = int16(9000 * math.Sin(2*math.Pi*200*float64(i)/proto.Rate))
	}
	for name, c := range map[string]struct {
		u    recognize.Utterance
		want recognize.Reason
	}{
		"speech":         {syllables(2*time.Second, 0.3), ""},
		"quiet speech":   {syllables(2*time.Second, 0.01), ""},
		"a tap":          {syllables(240*time.Millisecond, 0.3), recognize.TooShort},
		"no samples":     {recognize.Utterance{Rate: proto.Rate}, recognize.TooShort},
		"no rate":        {recognize.Utterance{PCM: make([]int16, 99999)}, recognize.TooShort},
		"nothing":        {recognize.Utterance{PCM: make([]int16, 32000), Rate: proto.Rate}, recognize.Silence},
		"hardly a sound": {syllables(2*time.Second, 0.0005), recognize.Silence},
		"a hum":          {hum, recognize.Noise},
	} {
		speech, err := recognize.Screen(c.u)
		if got := reasonOf(err); got != c.want || (err == nil) != (speech > 0) {
			t.Errorf("%s: %v of speech, %v; want %q", name, speech, err, c.want)
		}
	}
}

// The reasons are those of the wire.
func TestReasons(t *testing.T) {
	for reason, wire := range map[recognize.Reason]string{
		recognize.Silence: proto.RejectSilence, recognize.Noise: proto.RejectNoise, recognize.Invented: proto.RejectInvented,
		recognize.TooShort: proto.RejectTooShort, recognize.OutOfGrammar: proto.RejectOutOfGrammar,
	} {
		if string(reason) != wire {
			t.Errorf("%q is %q on the wire", reason, wire)
		}
	}
}
