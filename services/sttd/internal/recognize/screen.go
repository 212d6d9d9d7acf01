// SPDX-License-Identifier: Apache-2.0

package recognize

import (
	"time"

	"example.org/desktop-assistant/pkg/audio"
)

// Bounds of [Screen]. A key pressed by accident records less than minAudio;
// the shortest real answers ("no", "yes") have 160 ms and more above the floor
// in every voice measured, and clicks have less than 100 ms.
const (
	minAudio  = 250 * time.Millisecond
	minSpeech = 120 * time.Millisecond
	quiet     = -50.0 // dBFS of the loudest sample: a microphone that hears nothing stays below
)

// Screen is the first look at an utterance, before any engine: it gives the
// time that sounds like speech, or a [Rejection] when there cannot be a word in
// it. It costs about a millisecond for ten seconds of sound.
func Screen(u Utterance) (speech time.Duration, err error) {
	if length := u.Duration(); length < minAudio {
		return 0, Reject(TooShort, "%d ms of sound", length.Milliseconds())
	}
	speech = audio.Speech(u.PCM, u.Rate)
	if speech >= minSpeech {
		return speech, nil
	}
	peak := audio.DBFS(audio.Peak(u.PCM))
	if peak < quiet {
		return 0, Reject(Silence, "peak %.0f dBFS", peak)
	}
	return 0, Reject(Noise, "peak %.0f dBFS, %d ms like speech", peak, speech.Milliseconds())
}
