// SPDX-License-Identifier: Apache-2.0

package pulse_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/pulse"
	"example.org/desktop-assistant/pkg/testkit/soundtest"
)

const (
	rate = 24000
	// limit bounds a failure; nothing here takes long.
	limit = 20 * time.Second
	// slack is how exact a length in a recording is.
	slack = 20 * time.Millisecond
)

func dial(t *testing.T, r *soundtest.Rig) *pulse.Conn {
	t.Helper()
	c, err := pulse.Dial(t.Context(), options(r))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func options(r *soundtest.Rig) pulse.Options {
	return pulse.Options{Name: "pulse test", ID: "org.example.test", Version: "1", Server: r.Server()}
}

func playback(t *testing.T, c *pulse.Conn) *pulse.Playback {
	t.Helper()
	p, err := c.Playback(t.Context(), pulse.PlaybackOptions{Rate: rate, Media: "test", Role: "assistant"})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Uncork(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

func capture(t *testing.T, c *pulse.Conn, source string) *pulse.Capture {
	t.Helper()
	s, err := c.Capture(t.Context(), pulse.CaptureOptions{Source: source, Media: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tone is a sine of 440 Hz at half of full scale.
func tone(d time.Duration) []float32 {
	out := make([]float32, int(d*rate/time.Second))
	for i := range out {
		out[i] = float32(0.5 * math.Sin(2*math.Pi*440*float64(i)/rate))
	}
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lasts checks how much of a recording is audible. Silence of a writer that came
// late on a busy machine does not count, so what it measures is what was lost.
func lasts(t *testing.T, recorded []int16, want time.Duration) {
	t.Helper()
	n := 0
	for _, part := range soundtest.Parts(recorded, 5*time.Millisecond) {
		n += part.End - part.Start
	}
	if got := soundtest.Duration(n); (got - want).Abs() > slack {
		t.Errorf("recorded %v of sound, want %v", got, want)
	}
}

func TestCaptureHearsTheMicrophone(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	c := dial(t, r)
	began := time.Now()
	s := capture(t, c, "")
	<-s.Frames()
	t.Logf("first fragment after %v", time.Since(began))
	if d := s.Source(); d.Name != soundtest.Mic || d.Description != "Microphone" || d.Monitor || d.Mute {
		t.Errorf("source is %+v", d)
	}
	var heard []int16
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		var gaps, next int64
		for f := range s.Frames() {
			if next > 0 {
				gaps += f.Pos - next
			}
			next = f.Pos + int64(len(f.Samples))
			heard = append(heard, f.Samples...)
		}
		if gaps != s.Dropped() {
			t.Errorf("frames leave gaps of %d samples, %d dropped", gaps, s.Dropped())
		}
	}()
	r.Say(soundtest.Slt, "open the browser")
	s.Close()
	<-collected
	g := soundtest.OneOf("open the browser", "what time is it", "turn up the volume")
	if got := soundtest.Recognize(t, heard, g); got != "open the browser" {
		t.Errorf("heard %q, %d samples dropped", got, s.Dropped())
	}
	if !errors.Is(s.Err(), pulse.ErrClosed) {
		t.Errorf("stream says %v, want ErrClosed", s.Err())
	}
	if out := r.Pactl("list", "short", "source-outputs"); strings.Count(out, "\n") > 0 {
		t.Errorf("more than the microphone's own stream is left:\n%s", out)
	}
}

func TestPlaybackIsHeardWhole(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	c := dial(t, r)
	rec := r.Record()
	p := playback(t, c)
	must(t, p.Write(t.Context(), tone(time.Second)))
	must(t, p.Drain(t.Context()))
	played, err := p.Played(t.Context())
	must(t, err)
	if played != rate || p.Written() != rate {
		t.Errorf("played %d of %d, want %d", played, p.Written(), rate)
	}
	lasts(t, rec.Stop(), time.Second)
}

// Less than the server wants before it starts is heard all the same, again and
// again on one stream.
func TestShortChunksAreHeard(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	c := dial(t, r)
	rec := r.Record()
	p := playback(t, c)
	const times = 3
	for range times {
		at := rec.Len()
		must(t, p.Write(t.Context(), tone(30*time.Millisecond)))
		must(t, p.Drain(t.Context()))
		must(t, p.Cork(t.Context()))
		at = rec.WaitSound(at, limit)
		rec.WaitSilence(at, 100*time.Millisecond, limit)
		must(t, p.Uncork(t.Context()))
	}
	all := rec.Stop()
	parts := soundtest.Parts(all, 50*time.Millisecond)
	if len(parts) != times {
		t.Fatalf("recorded parts %v, want %d", parts, times)
	}
	for _, part := range parts {
		lasts(t, all[part.Start:part.End], 30*time.Millisecond)
	}
}

func TestStopSilencesAndTheNextSoundIsWhole(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	c := dial(t, r)
	rec := r.Record()
	p := playback(t, c)
	written := make(chan error, 1)
	go func() { written <- p.Write(t.Context(), tone(10*time.Second)) }()
	start := rec.WaitSound(0, limit)
	wait(t, rec, start+soundtest.Samples(time.Second))
	asked := rec.Len()
	played, err := p.Stop(t.Context())
	must(t, err)
	end := rec.WaitSilence(start, 300*time.Millisecond, limit)
	if err := <-written; !errors.Is(err, pulse.ErrStopped) {
		t.Errorf("write says %v, want ErrStopped", err)
	}
	// How soon is for the log: a busy machine may take its time. That it stopped,
	// and that the position is not ahead of the recording, is not a matter of time.
	heard, said := soundtest.Duration(end-start), time.Duration(played)*time.Second/rate
	t.Logf("recording silent %v after stop, position %v before its end", soundtest.Duration(end-asked), heard-said)
	if soundtest.Loud(rec.Samples(start)) >= soundtest.Samples(9*time.Second) || said > heard+slack || said <= 0 {
		t.Errorf("position %v after %v were recorded", said, heard)
	}
	if p.Written() != played {
		t.Errorf("time line is at %d after stop, want %d", p.Written(), played)
	}
	must(t, p.Uncork(t.Context()))
	must(t, p.Write(t.Context(), tone(time.Second)))
	must(t, p.Drain(t.Context()))
	if got, err := p.Played(t.Context()); err != nil || got != played+rate {
		t.Errorf("played %d, %v after the next second, want %d", got, err, played+rate)
	}
	lasts(t, rec.Stop()[end:], time.Second)
}

// wait blocks until the recording has reached a position.
func wait(t *testing.T, rec *soundtest.Recording, pos int) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for rec.Len() < pos {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("test ended")
		}
	}
}

func TestPauseIsSilentAndLosesNothing(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	c := dial(t, r)
	rec := r.Record()
	p := playback(t, c)
	must(t, p.Write(t.Context(), tone(time.Second)))
	first := rec.WaitSound(0, limit)
	const pause = 3 * time.Second
	end := rec.WaitSilence(first, pause, limit)
	if played, err := p.Played(t.Context()); err != nil || played != rate {
		t.Errorf("played %d, %v in the pause, want %d", played, err, rate)
	}
	must(t, p.Write(t.Context(), tone(time.Second)))
	must(t, p.Drain(t.Context()))
	all := rec.Stop()
	lasts(t, all[:end], time.Second)
	lasts(t, all[end:], time.Second)
	// The resampler rings for a moment before and after the tone.
	if peak := soundtest.Peak(all[end+160 : end+soundtest.Samples(pause)-160]); peak != 0 {
		t.Errorf("peak %d in the pause, want exact silence", peak)
	}
	if p.Underruns() == 0 {
		t.Error("no underrun counted")
	}
}

func TestRoomIsWhatWriteTakesAtOnce(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	p := playback(t, dial(t, r))
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for sent := 0; sent < rate; {
		room, changed := p.Room()
		if room == 0 {
			select {
			case <-changed:
			case <-deadline.C:
				t.Fatalf("no room after %d samples", sent)
			}
			continue
		}
		must(t, p.Write(t.Context(), make([]float32, room)))
		sent += room
	}
	p.Close()
	room, _ := p.Room()
	if room != 0 {
		t.Errorf("room for %d samples on a closed stream", room)
	}
}

func TestTwoSoundsAtOnce(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	c := dial(t, r)
	a, b := playback(t, c), playback(t, c)
	must(t, a.Write(t.Context(), tone(500*time.Millisecond)))
	must(t, b.Write(t.Context(), tone(500*time.Millisecond)))
	must(t, b.Drain(t.Context()))
	must(t, a.Drain(t.Context()))
	b.Close()
	if err := a.Write(t.Context(), tone(10*time.Millisecond)); err != nil {
		t.Error(err)
	}
	a.Close()
	if err := a.Write(t.Context(), tone(10*time.Millisecond)); !errors.Is(err, pulse.ErrClosed) {
		t.Errorf("write after Close says %v, want ErrClosed", err)
	}
}

func TestPlaybackFollowsTheDefaultSink(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	c := dial(t, r)
	p := playback(t, c)
	if p.Sink() != soundtest.Speaker {
		t.Errorf("sink is %q", p.Sink())
	}
	changes, err := c.Subscribe(t.Context())
	must(t, err)
	r.Pactl("load-module", "module-null-sink", "sink_name=other", "norewinds=1")
	r.Pactl("set-default-sink", "other")
	until(t, changes, func() bool { return p.Sink() == "other" })
	rec := r.RecordSource("other.monitor")
	must(t, p.Write(t.Context(), tone(200*time.Millisecond)))
	must(t, p.Drain(t.Context()))
	rec.WaitSound(0, limit)
	if info, err := c.Info(t.Context()); err != nil || info.DefaultSink != "other" || info.DefaultSource != soundtest.Mic || info.Name == "" {
		t.Errorf("info is %+v, %v", info, err)
	}
}

// until waits for a condition, looking again at each change.
func until(t *testing.T, changes <-chan pulse.Change, cond func() bool) {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for !cond() {
		select {
		case _, ok := <-changes:
			if !ok {
				t.Fatal("connection lost while waiting for a change")
			}
		case <-deadline.C:
			t.Fatal("change did not come")
		}
	}
}

func TestMuteIsSeen(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	c := dial(t, r)
	changes, err := c.Subscribe(t.Context())
	must(t, err)
	muted := func(want bool) func() bool {
		return func() bool {
			d, err := c.Source(t.Context(), soundtest.Mic)
			must(t, err)
			return d.Mute == want
		}
	}
	for _, want := range []bool{true, false} {
		r.Pactl("set-source-mute", soundtest.Mic, map[bool]string{true: "1", false: "0"}[want])
		until(t, changes, muted(want))
	}
}

func TestUnpluggedSourceEndsTheCapture(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	c := dial(t, r)
	s := capture(t, c, soundtest.Mic)
	<-s.Frames()
	changes, err := c.Subscribe(t.Context())
	must(t, err)
	r.Pactl("unload-module", "module-remap-source")
	<-s.Done()
	if !errors.Is(s.Err(), pulse.ErrKilled) {
		t.Errorf("stream says %v, want ErrKilled", s.Err())
	}
	if out := r.Pactl("list", "short", "source-outputs"); out != "" {
		t.Errorf("something still records:\n%s", out)
	}
	if _, err := c.Capture(t.Context(), pulse.CaptureOptions{Source: soundtest.Mic}); !errors.Is(err, pulse.ErrNoDevice) {
		t.Errorf("opening the missing source says %v, want ErrNoDevice", err)
	}
	// What is left are monitors of loudspeakers.
	if _, err := c.Capture(t.Context(), pulse.CaptureOptions{}); !errors.Is(err, pulse.ErrNoDevice) {
		t.Errorf("opening the default source says %v, want ErrNoDevice", err)
	}
	if out := r.Pactl("list", "short", "source-outputs"); out != "" {
		t.Errorf("a refused source still records:\n%s", out)
	}
	r.Pactl("load-module", "module-remap-source", "source_name="+soundtest.Mic, "master="+soundtest.Feed+".monitor")
	until(t, changes, func() bool {
		_, err := c.Source(t.Context(), soundtest.Mic)
		if !errors.Is(err, pulse.ErrNoDevice) {
			must(t, err)
		}
		return err == nil
	})
	again := capture(t, c, soundtest.Mic)
	<-again.Frames()
	again.Close()
	again.Close()
}

func TestRedialAfterACrash(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	live, gone := make(chan *pulse.Capture), make(chan error)
	ended := make(chan error, 1)
	go func() {
		ended <- pulse.Redial(ctx, options(r), nil, func(ctx context.Context, c *pulse.Conn) error {
			s, err := c.Capture(ctx, pulse.CaptureOptions{})
			if err != nil {
				return err
			}
			live <- s
			<-ctx.Done()
			gone <- s.Err()
			return ctx.Err()
		})
	}()
	s := <-live
	<-s.Frames()
	r.Kill()
	if err := <-gone; !errors.Is(err, pulse.ErrLost) {
		t.Errorf("stream says %v, want ErrLost", err)
	}
	r.Restart()
	back := time.Now()
	again := <-live
	<-again.Frames()
	t.Logf("sound again %v after the server was back", time.Since(back))
	cancel()
	<-gone
	must(t, <-ended)
}

func TestFrozenServerIsNoticed(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	c := dial(t, r)
	s := capture(t, c, "")
	p := playback(t, c)
	<-s.Frames()
	r.Freeze()
	<-s.Done()
	if !errors.Is(s.Err(), pulse.ErrStalled) {
		t.Errorf("stream says %v, want ErrStalled", s.Err())
	}
	if err := p.Cork(t.Context()); !errors.Is(err, pulse.ErrLost) {
		t.Errorf("request says %v, want ErrLost", err)
	}
	<-p.Done()
	r.Thaw()
	again := dial(t, r)
	if _, err := again.Info(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAbsentServerHasAHint(t *testing.T) {
	t.Parallel()
	_, err := pulse.Dial(t.Context(), pulse.Options{Name: "test", Server: "unix:" + t.TempDir() + "/none tcp:127.0.0.1:1"})
	var server *pulse.ServerError
	if !errors.Is(err, pulse.ErrNoServer) || !errors.As(err, &server) {
		t.Fatalf("error is %v, want a *ServerError", err)
	}
	if len(server.Tried) != 2 || !strings.Contains(server.Hint(), "systemctl --user start") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error is %q after %v, hint %q", err, server.Tried, server.Hint())
	}
	_, err = pulse.Dial(t.Context(), pulse.Options{Name: "test", Server: "{elsewhere}unix:/x"})
	if !errors.Is(err, pulse.ErrNoServer) {
		t.Errorf("error is %v, want ErrNoServer", err)
	}
}
