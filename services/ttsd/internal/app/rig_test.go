// SPDX-License-Identifier: Apache-2.0

package app

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/testkit/soundtest"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/synth/kokoro/kokorotest"
)

// limit bounds a failure.
const limit = 20 * time.Second

// Sentences that the test's ear can tell apart in the voice of espeak-ng.
const (
	first  = "turn down the volume please"
	second = "search the web for pizza"
	third  = "what is on my calendar tomorrow"
)

var sentences = soundtest.OneOf(first, second, third)

// orders are all ways to say some of them: what is said one behind the other, with
// pauses wherever a busy machine makes them.
func orders(list ...string) (all []string) {
	for i, s := range list {
		rest := slices.Delete(slices.Clone(list), i, i+1)
		all = append(all, s)
		for _, tail := range orders(rest...) {
			all = append(all, s+" "+tail)
		}
	}
	return all
}

// alike says whether as much sound is in two recordings of the same: it differs by
// how the samples fall, and by the soft edges of a pause that is none of the text.
func alike(a, b []int16) bool {
	n, m := soundtest.Loud(a), soundtest.Loud(b)
	return min(n, m) > 0 && float64(max(n, m)) < 1.05*float64(min(n, m))
}

func TestSentencesAreHeardInOrder(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	d := start(t, nil, on(r, ""))
	// On a busy machine the sound server may have to wait in the middle of a word,
	// which it counts: then nothing is recognised, and it is said once more.
	for try := range 5 {
		before := d.detail().Underruns
		got, want := d.threeSentences(r, fmt.Sprint("t", try))
		waited := d.detail().Underruns - before
		if got == want {
			return
		}
		if t.Logf("heard %q with %d underruns, want %q", got, waited, want); waited == 0 {
			break
		}
	}
	t.Error("what was heard is something else")
}

// threeSentences says three, the last late, and gives what was recognised.
func (d *desk) threeSentences(r *soundtest.Rig, turn string) (got, want string) {
	t := d.t
	rec := r.Record()
	d.say(turn, 0, first)
	d.say(turn, 1, second)
	started := expect[proto.SpeechStarted](d, nil)
	if started.Turn != turn || started.Index != 0 {
		t.Errorf("started is %+v", started)
	}
	t.Logf("first sample %d ms after speech.say", started.DelayMS)
	d.say(turn, 2, third)
	d.end(turn, 3)
	for i, text := range []string{first, second, third} {
		f := expect[proto.SpeechFinished](d, nil)
		if f.Index != i || f.Heard != text || f.PlayedMS < 700 || f.PlayedMS > 4000 {
			t.Errorf("finished is %+v, want sentence %d", f, i)
		}
	}
	got = soundtest.Recognize(t, rec.Stop(), soundtest.OneOf(orders(first, second, third)...))
	return got, strings.Join([]string{first, second, third}, " ")
}

// finished waits until a sentence was heard.
func (d *desk) finished(turn string, index int) {
	d.t.Helper()
	expect(d, func(f proto.SpeechFinished) bool { return f.Turn == turn && f.Index == index })
}

// story is long enough to do something to it while it is told.
const story = "this is a long story that goes on and on without any stop so that there is time enough to hear it, " +
	"to hold it, to cut it off and to take away the sound server under it before it comes to its end"

// stops is how often TestStopIsSilent stops with each engine.
var stops = flag.Int("stops", 8, "stops of TestStopIsSilent with each engine")

// How soon it is silent after speech.stop is for the log; that it is silent, and
// what was heard, is not a matter of time.
func TestStopIsSilent(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, env *daemon.Env){
		"espeak": func(*testing.T, *daemon.Env) {},
		"kokoro": func(t *testing.T, env *daemon.Env) {
			humming(t, &env.Config)
			v := kokorotest.Timed()
			v.Junk = true // it sounds from the first to the last symbol
			env.Config.Kokoro.Model = v.Write(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := soundtest.Start(t)
			d := start(t, func(env *daemon.Env) { change(t, env) }, on(r, ""))
			until(t, func() bool { return d.detail().Engine == name })
			d.stopOften(r)
		})
	}
}

// stopOften stops a story at many places and measures.
func (d *desk) stopOften(r *soundtest.Rig) {
	t := d.t
	rec := r.Record()
	var silent, answered, position, first []time.Duration
	for i := range *stops {
		turn := fmt.Sprint("t", i)
		from := rec.Len()
		asked := time.Now()
		d.say(turn, 0, story)
		begin := rec.WaitSound(from, limit)
		first = append(first, rec.At(begin).Sub(asked))
		expect(d, func(s proto.SpeechStarted) bool { return s.Turn == turn })
		rec.WaitSound(rec.Len()+soundtest.Samples(time.Duration(i)*7*time.Millisecond), limit)
		asked = time.Now()
		_, err := bus.Request(t.Context(), d.user, proto.SpeechStop{Turn: turn})
		must(t, err)
		answered = append(answered, time.Since(asked))
		end := rec.WaitSilence(begin, 300*time.Millisecond, limit)
		silent = append(silent, max(0, rec.At(end).Sub(asked)))
		s := expect(d, func(s proto.SpeechStopped) bool { return s.Turn == turn })
		heard := soundtest.Duration(end - begin)
		position = append(position, (heard - time.Duration(s.PlayedMS)*time.Millisecond).Abs())
		if !strings.HasPrefix(story, s.Heard) || s.Heard == story {
			t.Errorf("stop %d: %v were recorded, told %+v", i, heard, s)
		}
	}
	rec.Stop()
	t.Logf("say to recorded sound: %s", spread(first))
	t.Logf("stop to recorded silence: %s", spread(silent))
	t.Logf("stop to its answer: %s", spread(answered))
	t.Logf("told position against recording: %s", spread(position))
	if left := d.detail().Queue.Turns; left != 0 {
		t.Errorf("%d turns are left", left)
	}
}

func spread(list []time.Duration) string {
	slices.Sort(list)
	at := func(share float64) time.Duration {
		return list[int(share*float64(len(list)-1))].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %v, p95 %v, most %v", at(0.5), at(0.95), at(1))
}

// Someone speaks: it is held at once, and goes on with nothing lost. A steady sound
// shows it better than a voice, which is silent inside words too.
func TestHeldSpeechGoesOn(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	_, _, parts := fakes()
	d := start(t, nil, func(a *App) {
		parts(a)
		on(r, "")(a)
	})
	rec := r.Record()
	d.say("t1", 0, long)
	d.end("t1", 1)
	begin := rec.WaitSound(0, limit)
	rec.WaitSound(begin+soundtest.Samples(500*time.Millisecond), limit)
	must(t, d.user.Publish(proto.UtteranceStarted{Turn: "t2", Stream: "s", Trigger: proto.TriggerKey}, bus.Meta{Turn: "t2"}))
	p := expect[proto.SpeechPaused](d, nil)
	pause := rec.WaitSilence(rec.Len(), time.Second, limit)
	heard, told := soundtest.Duration(soundtest.Loud(rec.Samples(0)[:pause])), time.Duration(p.PlayedMS)*time.Millisecond
	t.Logf("the pause came %v after the position told", heard-told)
	if told <= 0 || told > heard+60*time.Millisecond {
		t.Errorf("paused at %v after %v were recorded", told, heard)
	}
	_, err := bus.Request(t.Context(), d.user, proto.SpeechResume{})
	must(t, err)
	expect[proto.SpeechResumed](d, nil)
	d.finished("t1", 0)
	sum := soundtest.Loud(rec.Stop())
	want := time.Duration(len(strings.Fields(long))) * 100 * time.Millisecond
	if diff := soundtest.Duration(sum) - want; diff.Abs() > 20*time.Millisecond {
		t.Errorf("with a pause it lasts %v longer than without", diff)
	}
}

// A sentence that comes 3 s late: silence that is silence, and both whole.
func TestGapBetweenSentences(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	d := start(t, nil, on(r, ""))
	rec := r.Record()
	d.say("t0", 0, first)
	d.end("t0", 1)
	d.finished("t0", 0)
	alone := rec.Stop()

	rec = r.Record()
	d.say("t1", 0, first)
	d.finished("t1", 0)
	const gap = 3 * time.Second
	quiet := rec.WaitSilence(rec.Len(), gap, limit)
	d.say("t1", 1, first)
	d.end("t1", 2)
	d.finished("t1", 1)
	all := rec.Stop()
	for i, part := range [][]int16{all[:quiet], all[quiet:]} {
		if !alike(part, alone) {
			t.Errorf("sentence %d has %d audible samples, %d alone", i, soundtest.Loud(part), soundtest.Loud(alone))
		}
	}
	// A resampler rings for a moment before and after a sound.
	if peak := soundtest.Peak(all[quiet+320 : quiet+soundtest.Samples(gap)-320]); peak != 0 {
		t.Errorf("peak %d in the gap, want exact silence", peak)
	}
}

// What is said goes on where it was; a steady sound shows where that is.
func TestSoundServerCrashesWhileSpeaking(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	_, _, parts := fakes()
	d := start(t, nil, func(a *App) {
		parts(a)
		on(r, "")(a)
	})
	rec := r.Record()
	d.say("t1", 0, long)
	d.end("t1", 1)
	begin := rec.WaitSound(0, limit)
	rec.WaitSound(begin+soundtest.Samples(time.Second), limit)
	r.Kill()
	before := soundtest.Loud(rec.Samples(0))
	d.problem(func(l []proto.Problem) bool { return len(l) == 1 && l[0].Hint != "" })
	r.Restart()
	back := time.Now()
	rec = r.Record()
	at := rec.WaitSound(0, limit)
	t.Logf("sound again %v after the server was back", rec.At(at).Sub(back))
	d.problem(func(l []proto.Problem) bool { return len(l) == 0 })
	f := expect[proto.SpeechFinished](d, nil)
	rest := soundtest.Loud(rec.Stop())
	whole := soundtest.Samples(time.Duration(f.PlayedMS) * time.Millisecond)
	// What was played while the recorder came up is missing, and the last moment
	// before the crash may be said twice, but not all of it.
	t.Logf("%v before and %v after, of %v", soundtest.Duration(before), soundtest.Duration(rest), soundtest.Duration(whole))
	if rest > whole-before/2 {
		t.Error("it began again")
	}
	for _, s := range d.seen.All() {
		if _, bad := s.Event.(proto.SpeechStopped); bad {
			t.Errorf("the speech was stopped: %s", s.Data)
		}
	}
}

func TestSoundServerStaysAway(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	d := start(t, nil, on(r, ""))
	d.say("t1", 0, story)
	expect[proto.SpeechStarted](d, nil)
	r.Kill()
	s := expect[proto.SpeechStopped](d, nil)
	if s.Reason != proto.StopFailed || s.Index != 0 || s.Heard == story || s.Error == nil || s.Error.Code != proto.CodeUnavailable || s.Error.Hint == "" {
		t.Errorf("stopped is %+v, %+v", s, s.Error)
	}
	code(t, d.trySay(proto.SpeechSay{Turn: "t2", Spoken: "one"}), proto.CodeUnavailable)
	r.Restart()
	d.problem(func(l []proto.Problem) bool { return len(l) == 0 })
	d.say("t2", 0, second)
	d.finished("t2", 0)
}

// A server that hangs keeps nobody waiting, and what was stopped meanwhile is not
// heard afterwards.
func TestSoundServerHangs(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	d := start(t, nil, on(r, ""))
	rec := r.Record()
	d.say("t1", 0, story)
	expect[proto.SpeechStarted](d, nil)
	r.Freeze()
	stopped, err := bus.Request(t.Context(), d.user, proto.SpeechStop{})
	must(t, err)
	d.say("t2", 0, second)
	_, err = bus.Request(t.Context(), d.user, proto.StatusOf{Daemon: "ttsd"})
	must(t, err)
	at := rec.Len()
	r.Thaw()
	d.finished("t2", 0)
	if got := soundtest.Recognize(t, soundtest.Trim(rec.Stop()[at+soundtest.Samples(300*time.Millisecond):]), sentences); got != second || !slices.Equal(stopped.Turns, []string{"t1"}) {
		t.Errorf("stopped %v, heard %q, want %q", stopped.Turns, got, second)
	}
}

func TestLoudspeakerGoesAndComes(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	r.Pactl("load-module", "module-null-sink", "sink_name=other", "norewinds=1")
	d := start(t, nil, on(r, ""))
	// It follows the default one while it speaks.
	rec := r.RecordSource("other.monitor")
	d.say("t1", 0, story)
	expect[proto.SpeechStarted](d, nil)
	r.Pactl("set-default-sink", "other")
	rec.WaitSound(0, limit)
	until(t, func() bool { return d.app.Detail().(Detail).Sink == "other" })
	_, err := bus.Request(t.Context(), d.user, proto.SpeechStop{})
	must(t, err)
	rec.Stop()
	r.Pactl("unload-module", "module-null-sink") // all of them
	d.problem(func(l []proto.Problem) bool { return len(l) == 1 && strings.Contains(l[0].What, "no loudspeaker") })
	r.Pactl("load-module", "module-null-sink", "sink_name=new", "norewinds=1")
	d.problem(func(l []proto.Problem) bool { return len(l) == 0 })
	rec = r.RecordSource("new.monitor")
	d.say("t2", 0, second)
	d.finished("t2", 0)
	if got := soundtest.Recognize(t, rec.Stop(), sentences); got != second {
		t.Errorf("heard %q, want %q", got, second)
	}
}

func TestNamedLoudspeaker(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	d := start(t, nil, on(r, "headset"))
	list := d.problem(func(l []proto.Problem) bool { return len(l) > 0 })
	if !strings.Contains(list[0].What, `"headset"`) || list[0].Hint == "" {
		t.Errorf("problems are %v", list)
	}
	d.say("t1", 0, "one") // on the default one
	d.finished("t1", 0)
	r.Pactl("load-module", "module-null-sink", "sink_name=headset", "norewinds=1")
	d.problem(func(l []proto.Problem) bool { return len(l) == 0 })
	rec := r.RecordSource("headset.monitor")
	d.say("t2", 0, second)
	rec.WaitSound(0, limit)
	d.finished("t2", 0)
}

func TestSpeedAndVolume(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	rec := r.Record()
	length, peak := map[float64]int{}, map[float64]int{}
	for _, factor := range []float64{1, 0.5} {
		d := start(t, func(env *daemon.Env) { env.Config.TTS.Speed, env.Config.TTS.Volume = factor, factor }, on(r, ""))
		from := rec.Len()
		d.say("t1", 0, first)
		d.finished("t1", 0)
		rec.WaitSilence(rec.Len(), time.Second, limit)
		sound := rec.Samples(from)
		length[factor], peak[factor] = soundtest.Loud(sound), soundtest.Peak(sound)
		d.stop()
	}
	if slow := float64(length[0.5]) / float64(length[1]); slow < 1.6 || slow > 2.4 {
		t.Errorf("at half the speed it lasts %.2f times as long", slow)
	}
	if soft := float64(peak[0.5]) / float64(peak[1]); soft < 0.4 || soft > 0.6 {
		t.Errorf("at half the volume the peak is %.2f times as high", soft)
	}
}
