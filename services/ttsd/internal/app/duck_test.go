// SPDX-License-Identifier: Apache-2.0

package app

import (
	"math"
	"slices"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/pulse"
	"example.org/desktop-assistant/pkg/testkit/soundtest"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/sink/sinktest"
	"example.org/desktop-assistant/services/ttsd/internal/synth/kokoro/kokorotest"
)

// Music is low from the first sound to the end of the turn, also in a gap, and what
// goes elsewhere is let be.
func TestMusicIsLowered(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	player, err := pulse.Dial(t.Context(), pulse.Options{Name: "music", Server: r.Server()})
	must(t, err)
	t.Cleanup(player.Close)
	for _, sink := range []string{soundtest.Speaker, soundtest.Feed} {
		p, err := player.Playback(t.Context(), pulse.PlaybackOptions{Sink: sink, Rate: 8000, Media: sink})
		must(t, err)
		must(t, p.Uncork(t.Context()))
	}
	volume := func(media string) float64 {
		list, err := player.Streams(t.Context())
		must(t, err)
		i := slices.IndexFunc(list, func(s pulse.Stream) bool { return s.Media == media })
		return math.Round(100*float64(list[i].Volumes[0])/float64(pulse.FullVolume)) / 100
	}
	_, _, parts := fakes()
	d := start(t, func(env *daemon.Env) { env.Config.TTS.Duck = 0.3 }, func(a *App) {
		parts(a)
		on(r, "")(a)
	})
	until(t, func() bool { return d.app.Sound.Ready() == nil })
	if v := volume(soundtest.Speaker); v != 1 {
		t.Errorf("volume %v before", v)
	}
	d.say("t1", 0, "one two three")
	expect[proto.SpeechStarted](d, nil)
	until(t, func() bool { return volume(soundtest.Speaker) == 0.3 })
	d.finished("t1", 0)
	if v := volume(soundtest.Speaker); v != 0.3 { // more may come
		t.Errorf("volume %v between two sentences", v)
	}
	if v := volume(soundtest.Feed); v != 1 {
		t.Errorf("volume %v on another loudspeaker", v)
	}
	d.say("t1", 1, "four")
	d.end("t1", 2)
	d.finished("t1", 1)
	until(t, func() bool { return volume(soundtest.Speaker) == 1 })
	d.say("t2", 0, long)
	until(t, func() bool { return volume(soundtest.Speaker) == 0.3 })
	d.stop() // in the middle of it
	if v := volume(soundtest.Speaker); v != 1 {
		t.Errorf("volume %v after the end", v)
	}
}

// whole says three sentences with Kokoro, the first cut into parts, the last late.
// The model hums from the first to the last symbol, so that a cut would be a step.
func whole(t *testing.T, parts func(*App), gap func()) *desk {
	t.Helper()
	v := kokorotest.Timed()
	v.Junk, v.Frames = true, 1
	model := v.Write(t)
	d := start(t, func(env *daemon.Env) {
		humming(t, &env.Config)
		env.Config.Kokoro.Model = model
	}, parts)
	until(t, func() bool { return d.detail().Engine == "kokoro" })
	d.say("t1", 0, "This is the first sentence, which is said in two parts because someone waits for it, and it goes on.")
	d.say("t1", 1, "This is the second one.")
	d.finished("t1", 1)
	gap()
	d.say("t1", 2, "And this one is late.")
	d.end("t1", 3)
	d.finished("t1", 2)
	return d
}

// The highest tone is 641 Hz at 0.3 of full scale: that much it may change between
// two samples of a rate, and a tenth more for a resampler.
func steepest(rate float64) float64 { return 1.1 * 0.3 * 2 * math.Pi * 641 / rate }

// Every sample that goes to the loudspeaker follows from the one before.
func TestKokoroHasNoClicks(t *testing.T) {
	t.Parallel()
	speaker := sinktest.New()
	whole(t, func(a *App) {
		a.Sound = speaker
		a.soundChanged(nil, nil)
	}, func() {})
	sound := speaker.Heard()
	for i := 1; i < len(sound); i++ {
		if step := math.Abs(float64(sound[i] - sound[i-1])); step > steepest(24000) {
			t.Fatalf("a step of %.3f at sample %d of %d", step, i, len(sound))
		}
	}
	if n := len(sound); n < 3*24000 {
		t.Errorf("%d samples", n)
	}
}

// And so does every one that comes out of it, but where the sound server itself had
// to wait on a busy machine, which it counts.
func TestKokoroIsHeardWithoutClicks(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	rec := r.Record()
	d := whole(t, on(r, ""), func() { rec.WaitSilence(rec.Len(), 500*time.Millisecond, limit) })
	sound := rec.Stop()
	steps, last := 0, -soundtest.Rate
	for i := 1; i < len(sound); i++ {
		if step := math.Abs(float64(sound[i]) - float64(sound[i-1])); step > 32768*steepest(soundtest.Rate) {
			if i-last > soundtest.Samples(5*time.Millisecond) { // else it is the same one
				steps++
			}
			last = i
			t.Logf("step at %v: %v", soundtest.Duration(i), sound[max(0, i-6):min(len(sound), i+6)])
		}
	}
	if most := 2 * int(d.detail().Underruns); steps > most {
		t.Errorf("%d steps, want at most %d", steps, most)
	}
	t.Logf("%d steps, %d underruns", steps, d.detail().Underruns)
	if parts := soundtest.Parts(sound, soundtest.Gap); len(parts) < 2 || soundtest.Peak(sound) < 9000 {
		t.Errorf("%d parts, peak %d", len(parts), soundtest.Peak(sound))
	}
}

// Stopped in the middle, what was heard is told to the word, by the durations of the
// model and what the loudspeaker has played.
func TestHeardToTheWord(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	d := start(t, func(env *daemon.Env) { humming(t, &env.Config) }, on(r, ""))
	until(t, func() bool { return d.detail().Engine == "kokoro" })
	const text = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
	d.say("t1", 0, text)
	rec := r.Record()
	from := rec.WaitSound(0, limit)
	rec.WaitSound(from+soundtest.Samples(1500*time.Millisecond), limit)
	_, err := bus.Request(t.Context(), d.user, proto.SpeechStop{})
	must(t, err)
	s := expect[proto.SpeechStopped](d, nil)
	// The model has two frames of 25 ms for each symbol of a word and two for a space.
	if s.Index != 0 || len(s.Heard) < len("one two three") || len(s.Heard) > len(text)/2 || text[len(s.Heard)] != ' ' || text[:len(s.Heard)] != s.Heard {
		t.Errorf("stopped is %+v", s)
	}
}
