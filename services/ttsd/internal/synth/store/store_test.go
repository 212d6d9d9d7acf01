// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.org/desktop-assistant/services/ttsd/internal/synth"
)

// A counter is an engine that says two parts and counts.
type counter struct {
	version string
	count   int
	err     error
}

func (c *counter) Name() string     { return "counter" }
func (c *counter) Version() string  { return c.version }
func (c *counter) Voices() []string { return nil }
func (c *counter) Timed() bool      { return false }
func (c *counter) Detail() any      { return nil }
func (c *counter) Close()           {}

func (c *counter) Synthesize(_ context.Context, s synth.Sentence, emit synth.Emit) error {
	c.count++
	emit(synth.Sound{Rate: 24000, Samples: []float32{0, 0.5, -1}, Words: []synth.Word{{At: 2, Text: 1}}})
	emit(synth.Sound{Rate: 24000, Samples: make([]float32, len(s.Text)), Words: []synth.Word{{At: 1, Text: 5}}})
	return c.err
}

func say(t *testing.T, e *Engine, s synth.Sentence) (all synth.Sound) {
	t.Helper()
	err := e.Synthesize(t.Context(), s, func(s synth.Sound) {
		for _, w := range s.Words {
			all.Words = append(all.Words, synth.Word{At: len(all.Samples) + w.At, Text: w.Text})
		}
		all.Rate = s.Rate
		all.Samples = append(all.Samples, s.Samples...)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func fixed(text string) synth.Sentence {
	return synth.Sentence{Text: text, Language: "en", Fixed: true}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func files(t *testing.T, dir string) (names []string, size int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, e.Name())
		size += info.Size()
	}
	return names, size
}

func TestPhraseIsMadeOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "speech")
	c := &counter{version: "1"}
	e := New(c, "voices", dir, 1<<20, quiet())
	first := say(t, e, fixed("hello"))
	again := say(t, New(c, "voices", dir, 1<<20, quiet()), fixed("hello"))
	if c.count != 1 || again.Rate != first.Rate || !slices.Equal(again.Words, first.Words) || len(again.Samples) != len(first.Samples) {
		t.Errorf("made %d times: %+v, then %+v", c.count, first, again)
	}
	for i, v := range again.Samples {
		if math.Abs(float64(v-first.Samples[i])) > 1e-4 {
			t.Errorf("sample %d was %v and is %v", i, first.Samples[i], v)
		}
	}
	// Everything that matters is another sound.
	italian, slow := fixed("hello"), New(c, "other voices", dir, 1<<20, quiet())
	italian.Language = "it"
	say(t, e, italian)
	say(t, e, fixed("hello."))
	say(t, slow, fixed("hello"))
	c.version = "2"
	say(t, e, fixed("hello"))
	if names, _ := files(t, dir); c.count != 5 || len(names) != 5 {
		t.Errorf("made %d times, %d files", c.count, len(names))
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", info.Mode(), err)
	}
}

func TestOthersAreNotKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := &counter{}
	e := New(c, "", dir, 1<<20, quiet())
	chosen := fixed("x")
	chosen.Voice = "a"
	for _, s := range []synth.Sentence{{Text: "an answer"}, chosen} {
		say(t, e, s)
	}
	say(t, New(c, "", dir, 0, quiet()), fixed("no room"))
	c.err = errors.New("broken")
	if err := e.Synthesize(t.Context(), fixed("half"), func(synth.Sound) {}); err == nil {
		t.Error("no error")
	}
	if names, _ := files(t, dir); len(names) > 0 {
		t.Errorf("kept %v", names)
	}
}

func TestRoomIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := &counter{}
	e := New(c, "", dir, 500, quiet())
	text := func(i int) string { return string(rune('a'+i)) + string(make([]byte, 50)) }
	old := time.Now().Add(-time.Hour)
	for i := range 10 {
		say(t, e, fixed(text(i)))
		if _, size := files(t, dir); size > 500 {
			t.Fatalf("%d bytes after %d phrases", size, i+1)
		}
		if i == 0 { // used, and again and again
			continue
		}
		before := c.count
		say(t, e, fixed(text(0)))
		if c.count != before {
			t.Fatalf("the phrase that is used is gone after %d others", i)
		}
		names, _ := files(t, dir)
		for _, n := range names {
			if n != e.name(fixed(text(0))) {
				if err := os.Chtimes(filepath.Join(dir, n), old, old.Add(time.Duration(i)*time.Second)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	left := filepath.Join(dir, part+"left")
	if err := os.WriteFile(left, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(left, old, old.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	say(t, e, fixed("another"))
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a crash left is there: %v", err)
	}
	say(t, e, fixed(string(make([]byte, 4000)))) // more than the limit
	if _, size := files(t, dir); size > 500 {
		t.Errorf("%d bytes", size)
	}
}

// A store that is broken is no reason to be silent.
func TestBrokenStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := &counter{}
	e := New(c, "", dir, 1<<20, quiet())
	say(t, e, fixed("hello"))
	path := filepath.Join(dir, e.name(fixed("hello")))
	for _, damage := range [][]byte{nil, []byte("dap1"), []byte("something else of some length"), make([]byte, 1<<10)} {
		if err := os.WriteFile(path, damage, 0o600); err != nil {
			t.Fatal(err)
		}
		before := c.count
		say(t, e, fixed("hello"))
		say(t, e, fixed("hello"))
		if c.count != before+1 {
			t.Errorf("made %d times", c.count-before)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	say(t, New(c, "", filepath.Join(file, "x"), 1<<20, quiet()), fixed("hello"))
}

func FuzzDecodeSound(f *testing.F) {
	f.Add(encode(synth.Sound{Rate: 24000, Samples: []float32{0, 1}, Words: []synth.Word{{At: 1, Text: 1}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := DecodeSound(b)
		if err == nil && (s.Rate == 0 || len(s.Samples) > len(b)) {
			t.Errorf("%+v", s)
		}
	})
}
