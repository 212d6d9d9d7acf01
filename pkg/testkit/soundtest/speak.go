// SPDX-License-Identifier: Apache-2.0

package soundtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/audio"
)

// Voices of flite that the recogniser understands best: 80 of 80 test sentences
// right through a grammar, "rms" 15 of 16. A voice of espeak-ng is written
// "espeak:en-us" and is understood less well, 14 of 16.
const (
	Slt   = "slt"
	Kal16 = "kal16"
	Awb   = "awb"
	Rms   = "rms"
)

const (
	// lead and tailPause surround what is said, so that both edges of the speech
	// are there for an endpointer to find.
	lead      = 300 * time.Millisecond
	tailPause = 1200 * time.Millisecond
	// playDelay is the buffer between us and the microphone.
	playDelay = "--latency-msec=50"
)

// Synthesize speaks a text into memory at half of full scale. It needs no Rig.
func Synthesize(tb testing.TB, voice, text string) []int16 {
	tb.Helper()
	dir := tb.TempDir()
	file := filepath.Join(dir, "speech.wav")
	// espeak-ng asks for a sound server even to write a file; all its folders are
	// ours, so that it leaves none behind.
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "LC_ALL=C",
		"PULSE_RUNTIME_PATH=" + dir, "PULSE_COOKIE=" + filepath.Join(dir, "cookie"), "PULSE_SERVER=unix:" + filepath.Join(dir, "none")}
	if name, ok := strings.CutPrefix(voice, "espeak:"); ok {
		run(tb, env, nil, "espeak-ng", "-v", name, "-s", "140", "-w", file, text)
	} else {
		run(tb, env, nil, "flite", "-voice", voice, "-t", text, "-o", file)
	}
	return samplesOf(tb, run(tb, env, nil, "sox", "-q", file, "-t", "raw", "-r", "16000", "-c", "1", "-b", "16", "-e", "signed", "-", "norm", "-6"))
}

// Say speaks into the microphone in real time, with 0.3 s of silence before and
// 1.2 s after, and returns when all was heard.
func (r *Rig) Say(voice, text string) {
	r.tb.Helper()
	r.Play(Pad(Synthesize(r.tb, voice, text), lead, tailPause))
}

// Play plays samples into the microphone in real time and returns when they were
// heard.
func (r *Rig) Play(samples []int16) {
	r.tb.Helper()
	r.StartPlay(Feed, samples)()
}

// StartPlay begins to play samples to a sink and gives a function that waits until
// they were heard; it is for the test's goroutine too.
func (r *Rig) StartPlay(sink string, samples []int16) (wait func()) {
	r.tb.Helper()
	p := start(r.tb, r.privateEnv(), func(cmd *exec.Cmd) {
		cmd.Stdin = bytes.NewReader(audio.EncodePCM(samples))
	}, "pacat", "--playback", "--raw", "--format=s16le", "--rate=16000", "--channels=1", playDelay, "-d", sink)
	r.tb.Cleanup(p.kill)
	return func() {
		r.tb.Helper()
		p.wait(r.tb)
	}
}
