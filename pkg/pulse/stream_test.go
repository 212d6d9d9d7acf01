// SPDX-License-Identifier: Apache-2.0

package pulse_test

import (
	"errors"
	"slices"
	"testing"

	"example.org/desktop-assistant/pkg/pulse"
	"example.org/desktop-assistant/pkg/testkit/soundtest"
)

func TestStreamsAndTheirVolumes(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	mine, other := dial(t, r), dial(t, r)
	p := playback(t, other)
	if mine.Client() == other.Client() {
		t.Fatalf("both are client %d", mine.Client())
	}
	find := func() (pulse.Stream, bool) {
		list, err := mine.Streams(t.Context())
		must(t, err)
		i := slices.IndexFunc(list, func(s pulse.Stream) bool { return s.Client == other.Client() })
		if i < 0 {
			return pulse.Stream{}, false
		}
		return list[i], true
	}
	s, ok := find()
	if !ok || s.Program != "pulse test" || s.Media != "test" || s.Role != "assistant" || s.Corked || !s.Adjustable || !slices.Equal(s.Volumes, []uint32{pulse.FullVolume}) {
		t.Fatalf("stream is %+v", s)
	}
	must(t, mine.SetVolumes(t.Context(), s.Index, []uint32{pulse.FullVolume / 2}))
	if s, _ = find(); !slices.Equal(s.Volumes, []uint32{pulse.FullVolume / 2}) {
		t.Errorf("volumes are %v", s.Volumes)
	}
	// What belongs to the server is not to be touched.
	r.Pactl("load-module", "module-loopback", "source="+soundtest.Mic)
	list, err := mine.Streams(t.Context())
	must(t, err)
	if n := len(slices.DeleteFunc(list, func(s pulse.Stream) bool { return s.Adjustable })); n != 1 {
		t.Errorf("%d streams are not adjustable, want the loopback's", n)
	}
	p.Close()
	if err := mine.SetVolumes(t.Context(), s.Index, s.Volumes); !errors.Is(err, pulse.ErrNoDevice) {
		t.Errorf("a stream that is gone gives %v", err)
	}
}

func TestLoadedModules(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	c := dial(t, r)
	loaded := func() bool {
		yes, err := c.Loaded(t.Context(), "module-role-ducking", "assistant")
		must(t, err)
		return yes
	}
	r.Pactl("load-module", "module-role-ducking", "trigger_roles=phone")
	if loaded() {
		t.Error("a module for others counts")
	}
	r.Pactl("unload-module", "module-role-ducking")
	r.Pactl("load-module", "module-role-ducking", "trigger_roles=phone,assistant", "volume=30%")
	if !loaded() {
		t.Error("the module is not seen")
	}
}

func TestSuspendedSinkIsSeen(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	c := dial(t, r)
	for _, want := range []bool{true, false} {
		word := map[bool]string{true: "1", false: "0"}[want]
		r.Pactl("suspend-sink", soundtest.Speaker, word)
		d, err := c.Sink(t.Context(), "")
		must(t, err)
		if d.Suspended != want {
			t.Errorf("suspended is %v, want %v", d.Suspended, want)
		}
	}
}
