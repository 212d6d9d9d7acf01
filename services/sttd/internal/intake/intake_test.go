// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"slices"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/proto"
)

const limit = 16 * time.Millisecond // 256 samples

var key = Key{"local", "s1"}

// data is a data message whose samples count on from value.
func data(seq, pos uint64, value, n int) proto.Audio {
	samples := make([]int16, n)
	for i := range samples {
		samples[i] = int16(value + i)
	}
	return proto.Audio{Op: proto.AudioData, Seq: seq, Pos: pos, PCM: audio.EncodePCM(samples)}
}

func op(o proto.AudioOp, seq, pos uint64) proto.Audio {
	return proto.Audio{Op: o, Seq: seq, Pos: pos, Turn: "t1", Reason: proto.UtteranceReleased}
}

// count gives from, from+1, ... to-1.
func count(from, to int) []int16 {
	var s []int16
	for i := from; i < to; i++ {
		s = append(s, int16(i))
	}
	return s
}

func silence(n int) []int16 { return make([]int16, n) }

func TestTake(t *testing.T) {
	begin := op(proto.AudioBegin, 0, 0)
	for name, c := range map[string]struct {
		messages  []proto.Audio
		pcm       []int16
		lost, cut int
		ignored   uint64
	}{
		"in order":                {[]proto.Audio{begin, data(1, 0, 1, 10), data(2, 10, 11, 5), op(proto.AudioEnd, 3, 15)}, count(1, 16), 0, 0, 0},
		"nothing said":            {[]proto.Audio{begin, op(proto.AudioEnd, 1, 0)}, nil, 0, 0, 0},
		"a gap":                   {[]proto.Audio{begin, data(1, 0, 1, 10), data(3, 20, 21, 5), op(proto.AudioEnd, 4, 25)}, slices.Concat(count(1, 11), silence(10), count(21, 26)), 10, 0, 0},
		"the tail lost":           {[]proto.Audio{begin, data(1, 0, 1, 10), op(proto.AudioEnd, 3, 20)}, slices.Concat(count(1, 11), silence(10)), 10, 0, 0},
		"all lost":                {[]proto.Audio{begin, op(proto.AudioEnd, 3, 20)}, silence(20), 20, 0, 0},
		"repeated":                {[]proto.Audio{begin, data(1, 0, 1, 10), data(1, 0, 1, 10), op(proto.AudioEnd, 2, 10)}, count(1, 11), 0, 0, 1},
		"overlapping":             {[]proto.Audio{begin, data(1, 0, 1, 10), data(2, 5, 6, 10), data(3, 0, 1, 3), op(proto.AudioEnd, 4, 15)}, count(1, 16), 0, 0, 0},
		"begun twice":             {[]proto.Audio{begin, data(1, 0, 1, 10), begin, op(proto.AudioEnd, 2, 10)}, count(1, 11), 0, 0, 1},
		"paused":                  {[]proto.Audio{begin, data(1, 0, 1, 10), op(proto.AudioPause, 2, 10), op(proto.AudioResume, 3, 10), data(4, 10, 11, 5), op(proto.AudioEnd, 5, 15)}, count(1, 16), 0, 0, 0},
		"over the limit":          {[]proto.Audio{begin, data(1, 0, 1, 250), data(2, 250, 251, 10), data(3, 260, 261, 10), op(proto.AudioEnd, 4, 270)}, count(1, 257), 0, 14, 0},
		"a gap over the limit":    {[]proto.Audio{begin, data(1, 0, 1, 10), data(2, 255, 256, 10), op(proto.AudioEnd, 3, 265)}, slices.Concat(count(1, 11), silence(245), count(256, 257)), 245, 9, 0},
		"a position from nowhere": {[]proto.Audio{begin, data(1, 0, 1, 10), data(2, 1<<63, 11, 5), data(3, 10, 11, 5), op(proto.AudioEnd, 4, 1<<64-1)}, count(1, 16), 0, 5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(limit)
			var r Recording
			var last Outcome
			for i, m := range c.messages {
				last, r = d.Take(time.Time{}, key, m)
				if i == 0 && last != Begun {
					t.Fatalf("begin gives %v", last)
				}
			}
			if last != Complete || r.Key != key || r.Turn != "t1" || r.Reason != proto.UtteranceReleased {
				t.Fatalf("outcome %v, %+v", last, r)
			}
			if !slices.Equal(r.PCM, c.pcm) || r.Lost != c.lost || r.Cut != c.cut || d.Ignored() != c.ignored || d.Open() != 0 {
				t.Errorf("%d samples (want %d), lost %d, cut %d, ignored %d, open %d", len(r.PCM), len(c.pcm), r.Lost, r.Cut, d.Ignored(), d.Open())
			}
		})
	}
}

func TestOutcomes(t *testing.T) {
	d := New(limit)
	take := func(k Key, m proto.Audio, want Outcome) Recording {
		t.Helper()
		got, r := d.Take(time.Time{}, k, m)
		if got != want {
			t.Errorf("%s on %v: outcome %v, want %v", m.Op, k, got, want)
		}
		return r
	}
	for _, o := range []proto.AudioOp{proto.AudioEnd, proto.AudioAbort, proto.AudioPause, proto.AudioResume} {
		take(key, op(o, 9, 90), Ignored) // we came late
	}
	take(key, data(9, 90, 1, 10), Ignored)
	take(key, proto.Audio{Op: proto.AudioBegin, Turn: "no token"}, Ignored)
	take(key, proto.Audio{Op: proto.AudioBegin}, Ignored)
	take(key, op(proto.AudioBegin, 0, 0), Begun)
	take(Key{"other", "s1"}, op(proto.AudioBegin, 0, 0), Begun)
	take(key, data(1, 0, 1, 10), Nothing)
	if r := take(key, op(proto.AudioAbort, 2, 10), Aborted); r.Turn != "t1" || len(r.PCM) != 10 {
		t.Errorf("aborted: %+v", r)
	}
	take(key, op(proto.AudioEnd, 3, 10), Ignored)
	for i := d.Open(); i < maxStreams; i++ {
		take(Key{"local", string(rune('a' + i))}, op(proto.AudioBegin, 0, 0), Begun)
	}
	if r := take(key, op(proto.AudioBegin, 0, 0), Refused); r.Turn != "t1" || r.Key != key {
		t.Errorf("refused: %+v", r)
	}
	take(key, data(1, 0, 1, 10), Ignored)
	if n := len(d.All()); n != maxStreams || d.Open() != 0 {
		t.Errorf("all: %d, then open %d", n, d.Open())
	}
}

func TestStale(t *testing.T) {
	d := New(limit)
	at := func(ms int) time.Time { return time.Unix(0, 0).Add(time.Duration(ms) * time.Millisecond) }
	d.Take(at(0), key, op(proto.AudioBegin, 0, 0))
	d.Take(at(5), key, data(1, 0, 1, 10))
	if list := d.Stale(at(14), 10*time.Millisecond); len(list) != 0 {
		t.Errorf("stale after 9 ms: %v", list)
	}
	d.Take(at(14), key, op(proto.AudioPause, 2, 10))
	if list := d.Stale(at(29), 10*time.Millisecond); len(list) != 0 {
		t.Errorf("stale while paused: %v", list)
	}
	if list := d.Stale(at(30), 10*time.Millisecond); len(list) != 1 || list[0].Turn != "t1" || d.Open() != 0 {
		t.Errorf("paused for longer than a recording: %v, open %d", list, d.Open())
	}
	d.Take(at(40), key, op(proto.AudioBegin, 0, 0))
	d.Take(at(40), key, op(proto.AudioPause, 1, 0))
	d.Take(at(41), key, op(proto.AudioResume, 2, 0))
	if list := d.Stale(at(51), 10*time.Millisecond); len(list) != 1 {
		t.Errorf("resumed, then silent: %v", list)
	}
	d.Take(at(60), key, op(proto.AudioBegin, 0, 0))
	if d.OfTurn("t2") || !d.OfTurn("t1") || d.Open() != 0 {
		t.Error("the streams of a turn are not forgotten")
	}
}

// FuzzTake: whatever comes, memory stays bounded and nothing panics.
func FuzzTake(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 1, 0, 4, 2, 0})
	f.Add([]byte{0, 0, 0, 1, 255, 255, 1, 0, 0, 2, 1, 1, 3, 0, 0, 5, 9, 9})
	ops := []proto.AudioOp{proto.AudioBegin, proto.AudioData, proto.AudioPause, proto.AudioResume, proto.AudioEnd, proto.AudioAbort}
	f.Fuzz(func(t *testing.T, script []byte) {
		d := New(limit)
		for ; len(script) >= 3; script = script[3:] {
			pos := uint64(script[2]) << (script[1] % 64)
			m := proto.Audio{Op: ops[int(script[0])%len(ops)], Seq: uint64(script[1]), Pos: pos, Turn: "t", PCM: make([]byte, 2*int(script[1]))}
			_, r := d.Take(time.Time{}, Key{"local", string(rune('a' + script[0]/16))}, m)
			if len(r.PCM) > d.limit || r.Lost > d.limit || r.Lost < 0 || r.Cut < 0 || d.Open() > maxStreams {
				t.Fatalf("%d samples, lost %d, cut %d, %d open", len(r.PCM), r.Lost, r.Cut, d.Open())
			}
		}
	})
}
