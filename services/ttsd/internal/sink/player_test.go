// SPDX-License-Identifier: Apache-2.0

package sink_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/sink"
	"example.org/desktop-assistant/services/ttsd/internal/sink/sinktest"
	"example.org/desktop-assistant/services/ttsd/internal/synth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const rate = 1000 // one sample a millisecond

// A room is a player, its speaker, and what it told, in virtual time.
type room struct {
	t       *testing.T
	speaker *sinktest.Speaker
	player  *sink.Player
	began   time.Time

	mu      sync.Mutex
	told    []string
	begun   int
	extents []sink.Extent
}

// in runs f in a bubble with a player.
func in(t *testing.T, volume float64, f func(r *room)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &room{t: t, speaker: sinktest.New(), began: time.Now()}
		r.player = sink.NewPlayer(r.speaker, r, volume, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.player.Run(ctx) }()
		f(r)
		cancel()
		<-done
	})
}

// Begins counts.
func (r *room) Begins() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun++
}

func (r *room) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, fmt.Sprintf(format, args...))
}

// take gives what was told since the last call.
func (r *room) take() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	told := r.told
	r.told = nil
	return told
}

func (r *room) Started(key int64, at time.Time) {
	r.note("started %d at %d", key, at.Sub(r.began).Milliseconds())
}
func (r *room) Finished(key int64, played time.Duration) {
	r.note("finished %d %d", key, played.Milliseconds())
}
func (r *room) Failed(e sink.Extent, err error) {
	r.note("failed %d %s", e.Key, proto.AsError("", err).Code)
}
func (r *room) Cut(e sink.Extent)      { r.extent("cut", e) }
func (r *room) Held(e sink.Extent)     { r.extent("held", e) }
func (r *room) Released(e sink.Extent) { r.extent("released", e) }

func (r *room) extent(what string, e sink.Extent) {
	r.note("%s %d", what, e.Key)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.extents = append(r.extents, e)
}

func (r *room) want(told ...string) {
	r.t.Helper()
	if got := r.take(); !slices.Equal(got, told) {
		r.t.Errorf("told %q, want %q", got, told)
	}
}

// loud is sound at full scale, so that what is faded and what is missing shows.
func loud(d time.Duration) []float32 {
	out := make([]float32, d.Milliseconds()*rate/1000)
	for i := range out {
		out[i] = 1
	}
	return out
}

func whole(key int64, d time.Duration) *sink.Clip {
	c := sink.NewClip(key)
	c.Append(synth.Sound{Rate: rate, Samples: loud(d)})
	c.End(nil)
	return c
}

// levels is how many samples were heard at full level and how many in all that
// were not silent.
func levels(samples []float32) (full, sounding int) {
	for _, v := range samples {
		if v >= 1 {
			full++
		}
		if v != 0 {
			sounding++
		}
	}
	return full, sounding
}

func TestClipsFollowEachOther(t *testing.T) {
	in(t, 1, func(r *room) {
		r.player.Play(whole(1, time.Second))
		r.player.Play(whole(2, 500*time.Millisecond))
		time.Sleep(3 * time.Second)
		r.want("started 1 at 0", "finished 1 1000", "started 2 at 1220", "finished 2 500")
		all := r.speaker.Heard()
		full, sounding := levels(all)
		if len(all) != 1720 || full < 1500-2*2*8 || sounding < 1500-2 || all[0] > 0.2 || all[999] > 0.2 {
			t.Errorf("heard %d samples, %d full, %d sounding, ends %v and %v", len(all), full, sounding, all[0], all[999])
		}
		if r.player.Played() != 1500 {
			t.Errorf("played %d ms in all", r.player.Played())
		}
		// The stream is kept for what comes later.
		r.player.Play(whole(3, 100*time.Millisecond))
		time.Sleep(time.Second)
		r.want("started 3 at 3000", "finished 3 100")
		if streams, open := r.speaker.Streams(); streams != 1 || open != 1 {
			t.Errorf("%d streams, %d open", streams, open)
		}
	})
}

// A clip is heard while it grows; where it comes late there is silence, with soft
// edges, and nothing is lost.
func TestGrowingClip(t *testing.T) {
	in(t, 1, func(r *room) {
		c := sink.NewClip(1)
		r.player.Play(c)
		time.Sleep(100 * time.Millisecond)
		c.Append(synth.Sound{Rate: rate, Samples: loud(300 * time.Millisecond)})
		time.Sleep(time.Millisecond)
		r.want()
		time.Sleep(50 * time.Millisecond)
		r.want("started 1 at 100")
		time.Sleep(3 * time.Second)
		c.Append(synth.Sound{Rate: rate, Samples: loud(200 * time.Millisecond)})
		c.End(nil)
		time.Sleep(time.Second)
		r.want("finished 1 500")
		all := r.speaker.Heard()
		if full, sounding := levels(all); len(all) != 500 || full < 500-4*8 || sounding < 500-3 {
			t.Errorf("heard %d samples, %d full, %d sounding", len(all), full, sounding)
		}
		for i := 1; i < len(all); i++ {
			if step := math.Abs(float64(all[i] - all[i-1])); step > 0.2 {
				t.Errorf("the sound jumps by %v at %d", step, i)
			}
		}
	})
}

func TestVolume(t *testing.T) {
	in(t, 0.5, func(r *room) {
		r.player.Play(whole(1, 100*time.Millisecond))
		time.Sleep(time.Second)
		if top := slices.Max(r.speaker.Heard()); top != 0.5 {
			t.Errorf("the loudest sample is %v", top)
		}
	})
}

func TestStopCutsAtOnce(t *testing.T) {
	in(t, 1, func(r *room) {
		r.player.Stop()
		r.want("cut 0")
		r.player.Play(whole(1, time.Second))
		r.player.Play(whole(2, time.Second))
		time.Sleep(1500 * time.Millisecond)
		r.take()
		r.player.Stop()
		r.want("cut 2")
		if e := r.extents[1]; e.Played != 280*time.Millisecond || e.Total != time.Second || !e.Whole {
			t.Errorf("cut at %+v", e)
		}
		r.player.Play(whole(3, 100*time.Millisecond))
		time.Sleep(time.Second)
		r.want("started 3 at 1500", "finished 3 100")
		if n := len(r.speaker.Heard()); n != 1600 {
			t.Errorf("heard %d ms, want 1600: something was heard after the stop", n)
		}
	})
}

func TestHoldIsExact(t *testing.T) {
	in(t, 1, func(r *room) {
		r.player.Play(whole(1, time.Second))
		time.Sleep(400 * time.Millisecond)
		r.player.Hold()
		r.player.Play(whole(2, time.Second))
		time.Sleep(10 * time.Second)
		r.want("started 1 at 0", "held 1")
		if n := len(r.speaker.Heard()); n != 400 || r.extents[0].Played != 400*time.Millisecond {
			t.Errorf("heard %d ms, told %v", n, r.extents[0].Played)
		}
		r.player.Release()
		time.Sleep(5 * time.Second)
		r.want("released 1", "finished 1 1000", "started 2 at 11220", "finished 2 1000")
		if n := len(r.speaker.Heard()); n != 2220 {
			t.Errorf("heard %d ms, want 2220", n)
		}
		// Held while nothing plays, the next does not begin; a stop ends the hold.
		r.player.Hold()
		r.player.Play(whole(3, time.Second))
		time.Sleep(time.Second)
		r.want("held 0")
		r.player.Stop()
		r.want("cut 3")
		r.player.Play(whole(4, 100*time.Millisecond))
		time.Sleep(time.Second)
		r.want("started 4 at 16400", "finished 4 100")
	})
}

func TestLostSpeakerGoesOnWhereItWasHeard(t *testing.T) {
	in(t, 1, func(r *room) {
		r.player.Play(whole(1, time.Second))
		r.player.Play(whole(2, time.Second))
		time.Sleep(490 * time.Millisecond)
		r.speaker.Take()
		time.Sleep(3 * time.Second)
		r.speaker.Give()
		time.Sleep(5 * time.Second)
		// The position is known from 10 ms before, and the next look for a speaker
		// comes up to 60 ms after its return.
		if told := r.take(); len(told) != 4 || told[0] != "started 1 at 0" || told[1] != "finished 1 1000" || told[3] != "finished 2 1000" {
			t.Errorf("told %q", told)
		}
		if n := len(r.speaker.Heard()); n < 2220 || n > 2240 {
			t.Errorf("heard %d ms, want 2220 and up to a poll more", n)
		}
	})
}

func TestSpeakerThatStaysAway(t *testing.T) {
	in(t, 1, func(r *room) {
		r.player.Play(whole(1, time.Second))
		r.player.Play(whole(2, time.Second))
		time.Sleep(490 * time.Millisecond)
		r.speaker.Take()
		time.Sleep(sink.LostLimit - time.Millisecond)
		r.want("started 1 at 0")
		time.Sleep(211 * time.Millisecond)
		r.want("failed 1 unavailable")
		r.speaker.Give()
		r.player.Play(whole(3, 100*time.Millisecond))
		time.Sleep(time.Second)
		r.want("started 3 at 5700", "finished 3 100")
	})
}

func TestOtherRateGetsAStreamOfItsOwn(t *testing.T) {
	in(t, 1, func(r *room) {
		c := sink.NewClip(2)
		c.Append(synth.Sound{Rate: 2 * rate, Samples: loud(time.Second)})
		c.End(nil)
		r.player.Play(whole(1, time.Second))
		r.player.Play(c)
		r.player.Play(whole(3, time.Second))
		time.Sleep(10 * time.Second)
		r.want("started 1 at 0", "finished 1 1000", "started 2 at 1001", "finished 2 500", "started 3 at 1502", "finished 3 1000")
		if streams, open := r.speaker.Streams(); streams != 3 || open != 1 {
			t.Errorf("%d streams, %d open", streams, open)
		}
	})
}

func TestClipsWithoutSoundAndClipsThatFail(t *testing.T) {
	in(t, 1, func(r *room) {
		silent := sink.NewClip(2)
		silent.End(nil)
		broken := sink.NewClip(3)
		broken.Append(synth.Sound{Rate: rate, Samples: loud(500 * time.Millisecond)})
		broken.End(errors.New("broken"))
		r.player.Play(whole(1, 200*time.Millisecond))
		r.player.Play(silent)
		r.player.Play(broken)
		r.player.Play(whole(4, time.Second))
		time.Sleep(5 * time.Second)
		if told := r.take(); len(told) != 6 || told[5] != "failed 3 internal" {
			t.Errorf("told %q, want two finished and one failed after its sound", told)
		}
		if n := len(r.speaker.Heard()); n < 700 || n > 1200 {
			t.Errorf("heard %d ms", n)
		}
		empty := sink.NewClip(5)
		r.player.Play(empty)
		empty.End(errors.New("nothing"))
		r.want("failed 5 internal")
	})
}

// A loudspeaker that sleeps gets silence first, and that is not counted as heard.
func TestSleepingSpeaker(t *testing.T) {
	t.Parallel()
	in(t, 1, func(r *room) {
		r.speaker.Sleep(200 * time.Millisecond)
		for key := range int64(2) {
			c := sink.NewClip(key + 1)
			c.Append(synth.Sound{Rate: rate, Samples: loud(300 * time.Millisecond)})
			c.End(nil)
			r.player.Play(c)
			time.Sleep(3 * time.Second)
		}
		heard := r.speaker.Heard()
		if i := slices.IndexFunc(heard, func(v float32) bool { return v != 0 }); i < 199 || i > 201 || len(heard) != 800 {
			t.Errorf("the first sound of %d samples is at %d, want 200 of 800", len(heard), i)
		}
		if r.begun != 2 {
			t.Errorf("begun %d times, want twice", r.begun)
		}
		if got := r.player.Played(); got != 600 {
			t.Errorf("%d ms were played, want 600", got)
		}
	})
}

// What was heard is told by the words that the engine gave.
func TestWordsAreTold(t *testing.T) {
	t.Parallel()
	in(t, 1, func(r *room) {
		c := sink.NewClip(1)
		for range 2 { // At counts within each part
			c.Append(synth.Sound{Rate: rate, Samples: loud(500 * time.Millisecond), Words: []synth.Word{{At: 100, Text: 3}, {At: 400, Text: 7}}})
		}
		c.Append(synth.Sound{Rate: rate, Samples: loud(500 * time.Millisecond), Words: []synth.Word{{At: 400, Text: 20}}})
		c.End(nil)
		r.player.Play(c)
		time.Sleep(700 * time.Millisecond)
		r.player.Stop()
		time.Sleep(100 * time.Millisecond)
		r.mu.Lock()
		defer r.mu.Unlock()
		e := r.extents[len(r.extents)-1]
		if !e.Timed || e.Said != 3 { // the word told last
			t.Errorf("extent is %+v", e)
		}
	})
}
