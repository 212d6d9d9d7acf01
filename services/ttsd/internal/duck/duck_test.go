// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"example.org/desktop-assistant/pkg/pulse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	full = pulse.FullVolume
	low  = full / 4
	self = 7
)

// A desk is a mixer with some streams; the first is our own.
type desk struct {
	mu      sync.Mutex
	streams []pulse.Stream
	module  bool
	broken  error
	sets    int
}

func newDesk(programs ...string) *desk {
	d := &desk{streams: []pulse.Stream{{Index: 1, Client: self, Sink: 5, Program: "us", Adjustable: true, Volumes: []uint32{full}}}}
	for i, p := range programs {
		d.streams = append(d.streams, pulse.Stream{Index: uint32(10 + i), Client: 8, Sink: 5, Program: p, Media: "song", Adjustable: true, Volumes: []uint32{full, full / 2}})
	}
	return d
}

func (d *desk) Client() uint32 { return self }

func (d *desk) Loaded(context.Context, string, string) (bool, error) { return d.module, nil }

func (d *desk) Streams(context.Context) ([]pulse.Stream, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.streams), d.broken
}

func (d *desk) SetVolumes(_ context.Context, index uint32, volumes []uint32) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sets++
	for i, s := range d.streams {
		if s.Index == index {
			d.streams[i].Volumes = volumes
			return d.broken
		}
	}
	return pulse.ErrNoDevice
}

// change edits the streams as a person or a program does.
func (d *desk) change(f func(list []pulse.Stream) []pulse.Stream) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.streams = f(d.streams)
}

// volumes are the first channel's, in quarters, of all streams but our own.
func (d *desk) volumes() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []string
	for _, s := range d.streams[1:] {
		list = append(list, fmt.Sprint(4*s.Volumes[0]/full))
	}
	return strings.Join(list, " ")
}

// with runs f in a bubble with a ducker to a quarter.
func with(t *testing.T, m Mixer, file string, f func(d *Ducker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := New(0.25, file, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { d.Run(ctx) })
		d.Server(m)
		synctest.Wait()
		f(d)
		cancel()
		all.Wait()
	})
}

func TestOthersAreLowered(t *testing.T) {
	t.Parallel()
	m := newDesk("music", "call", "loopback", "silent", "elsewhere")
	m.streams[3].Adjustable = false
	m.streams[4].Corked = true
	m.streams[5].Sink = 6
	file := filepath.Join(t.TempDir(), "state", "lowered.json")
	with(t, m, file, func(d *Ducker) {
		step := func(do func(), want string) {
			t.Helper()
			do()
			synctest.Wait()
			if got := m.volumes(); got != want {
				t.Errorf("volumes are %s, want %s", got, want)
			}
		}
		step(func() {}, "4 4 4 4 4")
		step(d.Down, "1 1 4 4 4")
		if m.streams[0].Volumes[0] != full || m.streams[1].Volumes[1] != full/8 {
			t.Errorf("streams are %+v", m.streams)
		}
		step(d.Down, "1 1 4 4 4") // not twice
		step(func() { d.Server(m) }, "1 1 4 4 4")
		// One begins to play, one was silent.
		m.change(func(l []pulse.Stream) []pulse.Stream {
			l[4].Corked = false
			return append(l, pulse.Stream{Index: 20, Client: 9, Sink: 5, Program: "video", Adjustable: true, Volumes: []uint32{full}})
		})
		step(func() { d.Server(m) }, "1 1 4 1 4 1")
		// A person sets a volume: it stays.
		m.change(func(l []pulse.Stream) []pulse.Stream { l[1].Volumes = []uint32{full / 2, full / 2}; return l })
		step(func() { d.Server(m) }, "2 1 4 1 4 1")
		step(d.Up, "2 4 4 4 4 4")
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the note is still there: %v", err)
		}
		n := m.sets
		step(d.Up, "2 4 4 4 4 4")
		step(func() { d.Server(m) }, "2 4 4 4 4 4")
		if m.sets != n {
			t.Error("it sets volumes that are right")
		}
		step(d.Down, "0 1 4 1 4 1")
	})
	if got := m.volumes(); got != "2 4 4 4 4 4" { // at the end
		t.Errorf("volumes are %s at the end", got)
	}
}

// A ttsd that crashed leaves a note; whoever is low by its doing comes up, also with
// another number, or later.
func TestAfterACrash(t *testing.T) {
	t.Parallel()
	crashed := func(t *testing.T, m *desk) (file string) {
		file = filepath.Join(t.TempDir(), "lowered.json")
		synctest.Test(t, func(t *testing.T) {
			d := New(0.25, file, slog.New(slog.DiscardHandler))
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			all.Go(func() { d.Run(ctx) })
			d.Server(m)
			d.Down()
			synctest.Wait()
			m.change(func(l []pulse.Stream) []pulse.Stream { return l[:1:1] }) // it can restore nothing any more
			cancel()
			all.Wait()
		})
		return file
	}
	for name, c := range map[string]struct {
		after []pulse.Stream
		want  string
	}{
		"the same stream":        {[]pulse.Stream{{Index: 10, Program: "music", Media: "song", Adjustable: true, Volumes: []uint32{low, full / 8}}}, "4"},
		"the program's next":     {[]pulse.Stream{{Index: 99, Program: "music", Media: "song", Adjustable: true, Volumes: []uint32{low, full / 8}}}, "4"},
		"set by a person since":  {[]pulse.Stream{{Index: 10, Program: "music", Media: "song", Adjustable: true, Volumes: []uint32{full / 2, full / 2}}}, "2"},
		"another program as low": {[]pulse.Stream{{Index: 99, Program: "video", Media: "song", Adjustable: true, Volumes: []uint32{low, full / 8}}}, "1"},
		"another of the number":  {[]pulse.Stream{{Index: 10, Program: "video", Media: "song", Adjustable: true, Volumes: []uint32{low, full / 8}}}, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			before := newDesk("music")
			file := crashed(t, before)
			m := newDesk()
			m.streams = append(m.streams, c.after...)
			with(t, m, file, func(*Ducker) {
				if got := m.volumes(); got != c.want {
					t.Errorf("volume is %s, want %s", got, c.want)
				}
			})
		})
	}
	t.Run("it comes later", func(t *testing.T) {
		file := crashed(t, newDesk("music"))
		m := newDesk()
		with(t, m, file, func(d *Ducker) {
			m.change(func(l []pulse.Stream) []pulse.Stream {
				return append(l, pulse.Stream{Index: 30, Program: "music", Media: "song", Adjustable: true, Volumes: []uint32{low, full / 8}})
			})
			d.Server(m)
			synctest.Wait()
			if got := m.volumes(); got != "4" {
				t.Errorf("volume is %s", got)
			}
		})
	})
	t.Run("never", func(t *testing.T) {
		file := crashed(t, newDesk("music"))
		with(t, newDesk(), file, func(d *Ducker) {
			time.Sleep(keepTime + time.Hour)
			d.Server(newDesk())
			synctest.Wait()
			if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the note is kept for ever: %v", err)
			}
		})
	})
}

func TestServerIsAnother(t *testing.T) {
	t.Parallel()
	before, after := newDesk("music"), newDesk("music")
	with(t, before, filepath.Join(t.TempDir(), "l.json"), func(d *Ducker) {
		d.Down()
		synctest.Wait()
		d.Server(nil)
		synctest.Wait()
		d.Server(after) // with the same numbers and full volumes
		synctest.Wait()
		if got := after.volumes(); got != "1" {
			t.Errorf("volume is %s", got)
		}
		d.Up()
		synctest.Wait()
		if got := after.volumes(); got != "4" {
			t.Errorf("volume is %s", got)
		}
	})
}

func TestNothingToDo(t *testing.T) {
	t.Parallel()
	m := newDesk("music")
	m.module = true
	with(t, m, filepath.Join(t.TempDir(), "l.json"), func(d *Ducker) { // the server does it
		d.Down()
		synctest.Wait()
		if got := m.volumes(); got != "4" {
			t.Errorf("volume is %s", got)
		}
	})
	m = newDesk("music")
	with(t, m, "/proc/nowhere/l.json", func(d *Ducker) { // without a note it is not touched
		d.Down()
		synctest.Wait()
		if got := m.volumes(); got != "4" {
			t.Errorf("volume is %s", got)
		}
		d.Up()
	})
	m = newDesk("music")
	m.broken = errors.New("broken")
	with(t, m, filepath.Join(t.TempDir(), "l.json"), func(d *Ducker) { d.Down(); d.Server(nil); d.Up() })
}

func TestOddNotes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", "[]", `[{"Index": 10}]`, `[{"Index":10,"Program":"music","Was":[4000000000,1],"Set":[16384,8192]}]`, `[{"Was":[1],"Set":[1,2]}]`} {
		file := filepath.Join(t.TempDir(), "l.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m := newDesk("music")
		m.streams[1].Volumes = []uint32{low, full / 8}
		with(t, m, file, func(d *Ducker) {
			if got := m.volumes(); got != "1" {
				t.Errorf("%s: volume is %s", text, got)
			}
		})
	}
}

func FuzzDecodeEntries(f *testing.F) {
	f.Add([]byte(`[{"Index":10,"Program":"a","Was":[1],"Set":[1]}]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, _ := decodeEntries(b)
		for _, e := range list {
			if len(e.Was) == 0 || len(e.Was) != len(e.Set) {
				t.Errorf("%+v", e)
			}
		}
	})
}
