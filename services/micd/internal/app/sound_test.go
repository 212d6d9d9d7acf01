// SPDX-License-Identifier: Apache-2.0

package app

import (
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/soundtest"
	"example.org/desktop-assistant/pkg/testkit/waittest"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/micd/internal/capture"
)

const question = "what time is it"

var ear = soundtest.OneOf(question, "open the browser", "tell me about the weather in rome")

// listen runs micd on a private sound server.
func listen(t *testing.T, change func(*daemon.Env)) (*rig, *soundtest.Rig) {
	t.Helper()
	sound := soundtest.Start(t)
	r := prepare(t, change)
	r.on(sound)
	r.until("the source is known", func() bool { return r.detail().Source == soundtest.Mic })
	return r, sound
}

// on starts micd with the real client on a sound server, running or not.
func (r *rig) on(sound *soundtest.Rig) {
	r.Helper()
	for _, v := range sound.Env() {
		name, value, _ := strings.Cut(v, "=")
		r.Setenv(name, value)
	}
	r.run(capture.Pulse{Version: "0.0.0-test", Log: bustest.Log(r.T)})
}

// recorders lists the streams that record at the server.
func recorders(sound *soundtest.Rig) string { return sound.Pactl("list", "short", "source-outputs") }

func TestSpoken(t *testing.T) {
	r, sound := listen(t, nil)
	before := recorders(sound)
	pressed := time.Now()
	turn := ask(r, proto.MicStart{}).Turn
	bustest.Expect[proto.MicOpened](r.seen, nil)
	t.Logf("key to first frame: %v", time.Since(pressed))
	// Nothing behind the last syllable: the key goes up as soon as it was heard.
	said := soundtest.Trim(soundtest.Synthesize(t, soundtest.Slt, question))
	sound.Play(soundtest.Pad(said, 200*time.Millisecond, 0))
	released := time.Now()
	ask(r, proto.MicStop{})
	ev := r.ended(turn, proto.UtteranceReleased)
	t.Logf("key up to utterance.ended: %v, age %d ms", time.Since(released), ev.AgeMS)
	heard := r.whole(turn, proto.AudioEnd, proto.UtteranceReleased)
	if int(ev.Samples) != len(heard) {
		t.Errorf("told of %d samples, sent %d", ev.Samples, len(heard))
	}
	if lost := soundtest.Duration(soundtest.Loud(said) - soundtest.Loud(heard)); lost > 20*time.Millisecond {
		t.Errorf("%v of %v said are missing", lost, soundtest.Duration(soundtest.Loud(said)))
	}
	if text := soundtest.Recognize(t, heard, ear); text != question {
		t.Errorf("heard %q", text)
	}
	r.until("capture is closed at the server", func() bool { return recorders(sound) == before })
}

// With a warm microphone, what is said just before the key counts.
func TestSpokenBeforeTheKey(t *testing.T) {
	r, sound := listen(t, func(env *daemon.Env) { env.Config.Mic.Warm = true })
	bustest.Expect[proto.MicOpened](r.seen, nil)
	said := soundtest.Trim(soundtest.Synthesize(t, soundtest.Slt, "what"))
	rec := sound.RecordSource(soundtest.Mic)
	var turn string
	r.until("the key comes right after the word", func() bool { // a busy machine may press it too late
		from := rec.Len()
		sound.Play(soundtest.Pad(said, 100*time.Millisecond, 0))
		turn = ask(r, proto.MicStart{}).Turn
		if time.Since(rec.At(rec.WaitSound(from, waittest.Limit))) < preRoll-100*time.Millisecond {
			return true
		}
		ask(r, proto.MicCancel{})
		return false
	})
	ask(r, proto.MicStop{})
	r.ended(turn, proto.UtteranceReleased)
	heard := r.whole(turn, proto.AudioEnd, proto.UtteranceReleased)
	if lost := soundtest.Loud(said) - soundtest.Loud(heard); lost > soundtest.Samples(50*time.Millisecond) {
		t.Errorf("%v of %v are missing", soundtest.Duration(lost), soundtest.Duration(soundtest.Loud(said)))
	}
}

// The microphone goes while someone talks. Another one is there, live: nothing
// of it may be heard.
func TestSourceUnloaded(t *testing.T) {
	r, sound := listen(t, nil)
	sound.Pactl("load-module", "module-null-sink", "sink_name=other", "norewinds=1")
	sound.Pactl("load-module", "module-remap-source", "source_name=second", "master=other.monitor")
	buzz := make([]int16, soundtest.Samples(4*time.Second))
	for i := range buzz {
		buzz[i] = int16(i%40*800 - 16000)
	}
	wait := sound.StartPlay("other", buzz)
	turn := ask(r, proto.MicStart{}).Turn
	bustest.Expect[proto.MicOpened](r.seen, nil)
	r.until("sound is sent", func() bool { return len(r.of(turn)) > 4 })
	for line := range strings.Lines(sound.Pactl("list", "short", "modules")) {
		if strings.Contains(line, "source_name="+soundtest.Mic+" ") {
			sound.Pactl("unload-module", strings.Fields(line)[0])
		}
	}
	r.ended(turn, proto.UtteranceLost)
	if ev, _ := bustest.Expect[proto.MicLost](r.seen, nil); ev.Source != soundtest.Mic || ev.Reason == "" {
		t.Errorf("%+v", ev)
	}
	if peak := audio.Peak(r.whole(turn, proto.AudioAbort, proto.UtteranceLost)); peak > 0.001 {
		t.Errorf("something was heard in a silent room: peak %.3f", peak)
	}
	sound.Pactl("load-module", "module-remap-source", "source_name="+soundtest.Mic, "master="+soundtest.Feed+".monitor")
	sound.Pactl("set-default-source", soundtest.Mic)
	r.until("the microphone is back", func() bool {
		d := r.detail()
		s, _ := r.status()
		return d.Source == soundtest.Mic && len(s.Problems) == 0
	})
	again := ask(r, proto.MicStart{}).Turn
	sound.Say(soundtest.Slt, question)
	ask(r, proto.MicStop{})
	r.ended(again, proto.UtteranceReleased)
	if text := soundtest.Recognize(t, r.whole(again, proto.AudioEnd, proto.UtteranceReleased), ear); text != question {
		t.Errorf("heard %q", text)
	}
	wait()
}

func TestServerKilled(t *testing.T) {
	r, sound := listen(t, nil)
	turn := ask(r, proto.MicStart{}).Turn
	bustest.Expect[proto.MicOpened](r.seen, nil)
	r.until("sound is sent", func() bool { return len(r.of(turn)) > 4 })
	sound.Kill()
	r.ended(turn, proto.UtteranceLost)
	bustest.Expect[proto.MicLost](r.seen, nil)
	r.whole(turn, proto.AudioAbort, proto.UtteranceLost)
	r.until("the problem is shown", func() bool { s, _ := r.status(); return len(s.Problems) == 1 && s.Problems[0].Hint != "" })
	if e := refused(r, proto.MicStart{}, proto.CodeUnavailable); e.Hint == "" {
		t.Errorf("%+v", e)
	}
	back := time.Now()
	sound.Restart()
	r.until("the problem is solved", func() bool { s, _ := r.status(); return len(s.Problems) == 0 })
	t.Logf("back %v after the server", time.Since(back))
	again := ask(r, proto.MicStart{}).Turn
	sound.Say(soundtest.Slt, question)
	ask(r, proto.MicStop{})
	r.ended(again, proto.UtteranceReleased)
	if text := soundtest.Recognize(t, r.whole(again, proto.AudioEnd, proto.UtteranceReleased), ear); text != question {
		t.Errorf("heard %q", text)
	}
}

func TestNoServerAtStart(t *testing.T) {
	sound := soundtest.Start(t)
	sound.Kill()
	r := prepare(t, nil)
	r.on(sound)
	r.until("the problem is shown", func() bool {
		s, _ := r.status()
		return len(s.Problems) == 1 && strings.Contains(s.Problems[0].Hint, "start the sound server")
	})
	sound.Restart()
	r.until("the source is known", func() bool { s, _ := r.status(); return r.detail().Source == soundtest.Mic && len(s.Problems) == 0 })
	ask(r, proto.MicStart{})
	bustest.Expect[proto.MicOpened](r.seen, nil)
}

// The sound server hangs while someone talks, and goes on.
func TestServerFrozen(t *testing.T) {
	r, sound := listen(t, nil)
	before := recorders(sound)
	turn := ask(r, proto.MicStart{}).Turn
	bustest.Expect[proto.MicOpened](r.seen, nil)
	r.until("sound is sent", func() bool { return len(r.of(turn)) > 4 })
	sound.Freeze()
	r.ended(turn, proto.UtteranceLost)
	var slowest time.Duration
	for range 20 {
		_, took := r.status()
		slowest = max(slowest, took)
	}
	t.Logf("status while it hangs: at most %v", slowest)
	if !r.app.Healthy() {
		t.Error("not healthy because of the sound server")
	}
	r.until("the problem is shown", func() bool { s, _ := r.status(); return len(s.Problems) > 0 })
	sound.Thaw()
	r.until("the problem is solved", func() bool { s, _ := r.status(); return len(s.Problems) == 0 && r.detail().Source == soundtest.Mic })
	r.until("nothing is left recording", func() bool { return recorders(sound) == before })
	ask(r, proto.MicStart{})
	r.until("it works", func() bool { return r.detail().Open })
	bustest.Expect[proto.MicOpened](r.seen, nil)
}
