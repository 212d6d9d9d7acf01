// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/testkit/soundtest"
	"example.org/desktop-assistant/proto"
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

func TestSentencesAreHeardInOrder(t *testing.T) {
	t.Parallel()
	r := soundtest.Start(t)
	d := start(t, nil, on(r, ""))
	rec := r.Record()
	d.say("t1", 0, first)
	d.say("t1", 1, second)
	started := expect[proto.SpeechStarted](d, nil)
	if started.Turn != "t1" || started.Index != 0 {
		t.Errorf("started is %+v", started)
	}
	t.Logf("first sample %d ms after speech.say", started.DelayMS)
	d.say("t1", 2, third)
	d.end("t1", 3)
	for i, text := range []string{first, second, third} {
		f := expect[proto.SpeechFinished](d, nil)
		if f.Index != i || f.Heard != text || f.PlayedMS < 700 || f.PlayedMS > 4000 {
			t.Errorf("finished is %+v, want sentence %d", f, i)
		}
	}
	all := rec.Stop()
	parts := soundtest.Parts(all, 150*time.Millisecond)
	if len(parts) != 3 {
		t.Fatalf("recorded parts %v, want 3", parts)
	}
	for i, want := range []string{first, second, third} {
		if got := soundtest.Recognize(t, all[parts[i].Start:parts[i].End], sentences); got != want {
			t.Errorf("sentence %d is heard as %q, want %q", i, got, want)
		}
	}
}
