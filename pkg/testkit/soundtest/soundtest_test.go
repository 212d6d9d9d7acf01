// SPDX-License-Identifier: Apache-2.0

package soundtest

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var questions = OneOf(
	"what is on my calendar tomorrow",
	"turn down the volume please",
	"search the web for pizza",
)

func TestMicrophoneHearsWhatIsSaid(t *testing.T) {
	t.Parallel()
	r := Start(t)
	mic := r.RecordSource(Mic)
	speaker := r.Record()
	r.Say(Slt, "what is on my calendar tomorrow")
	if got, want := Recognize(t, mic.Stop(), questions), "what is on my calendar tomorrow"; got != want {
		t.Errorf("heard %q, want %q", got, want)
	}
	if p := Peak(speaker.Stop()); p != 0 {
		t.Errorf("the speaker played something, peak %d, want exact silence", p)
	}
}

func TestSpeakerIsRecorded(t *testing.T) {
	t.Parallel()
	r := Start(t)
	rec := r.Record()
	said := Synthesize(t, Kal16, "search the web for pizza")
	wait := r.StartPlay(Speaker, said)
	at := rec.WaitSound(0, patience)
	wait()
	end := rec.WaitSilence(at, Gap+100*time.Millisecond, patience)
	heard := rec.Stop()
	if got, want := Recognize(t, heard, questions), "search the web for pizza"; got != want {
		t.Errorf("heard %q, want %q", got, want)
	}
	parts := Parts(heard, Gap)
	if len(parts) != 1 || parts[0].Start != at || parts[0].End != end {
		t.Errorf("parts are %v, want one from %d to %d", parts, at, end)
	}
	if d := Duration(len(Trim(heard)) - len(Trim(said))).Abs(); d > 50*time.Millisecond {
		t.Errorf("the recording is %v longer or shorter than what was played", d)
	}
	if rec.At(end).Before(rec.At(at)) {
		t.Error("the end was recorded before the beginning")
	}
}

func TestServerComesBackAfterACrash(t *testing.T) {
	t.Parallel()
	r := Start(t)
	before := r.Server()
	r.Kill()
	r.Restart()
	if r.Server() != before {
		t.Errorf("address changed from %q to %q", before, r.Server())
	}
	if out := r.Pactl("info"); !strings.Contains(out, "Default Source: "+Mic) || !strings.Contains(out, "Default Sink: "+Speaker) {
		t.Errorf("defaults are not mic and speaker:\n%s", out)
	}
}

func TestGrammarTakesWordsOfItsOwn(t *testing.T) {
	t.Parallel()
	g := OneOf("search the web for slackware", "tell me a joke")
	g.Words = map[string]string{"slackware": "S L AE K W EH R"}
	for _, voice := range []string{Slt, Awb, Rms, "espeak:en-us"} {
		said := Synthesize(t, voice, "search the web for slackware")
		if got, want := Recognize(t, said, g), "search the web for slackware"; got != want {
			t.Errorf("%s: heard %q (freely %q), want %q", voice, got, Spell(t, said), want)
		}
	}
}

func TestWAVRoundTrip(t *testing.T) {
	t.Parallel()
	want := []int16{0, 1, -1, 32767, -32768, 300}
	path := filepath.Join(t.TempDir(), "a.wav")
	WriteWAV(t, path, want)
	got := ReadWAV(t, path)
	if len(got) != len(want) {
		t.Fatalf("read %d samples, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("sample %d is %d, want %d", i, got[i], want[i])
		}
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	loud := make([]int16, Samples(100*time.Millisecond))
	for i := range loud {
		loud[i] = -32768
	}
	s := append(Pad(loud, time.Second, 100*time.Millisecond), Pad(loud, 0, time.Second)...)
	s = append(s, Pad(loud, 0, time.Second)...)
	want := []Part{{16000, 16000 + 4800}, {16000 + 4800 + 16000, 16000 + 4800 + 16000 + 1600}}
	got := Parts(s, Gap)
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("parts are %v, want %v", got, want)
	}
	if n := len(Trim(s)); n != want[1].End-want[0].Start {
		t.Errorf("trimmed to %d samples", n)
	}
	if n := Loud(s); n != 3*len(loud) {
		t.Errorf("%d samples are loud, want %d", n, 3*len(loud))
	}
	if Peak(s) != 32768 || Peak(nil) != 0 || Trim(make([]int16, 10)) != nil {
		t.Error("peak or trim of the edges is wrong")
	}
}
