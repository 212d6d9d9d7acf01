// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"

	"example.org/desktop-assistant/proto"
)

// A sentence too short to be said alone is said with the next one, when that is
// there; each is told of by itself all the same.
func TestShortSentenceIsSaidWithTheNext(t *testing.T) {
	t.Parallel()
	for _, timed := range []bool{true, false} {
		e, _, parts := fakes()
		e.timed, e.gate = timed, make(chan struct{})
		d := start(t, nil, parts)
		d.say("t0", 0, "wait for the others to be queued")
		for i, text := range []string{"Yes.", "Of course I can.", "And so on and on."} {
			d.say("t0", i+1, text)
		}
		d.end("t0", 4)
		close(e.gate)
		for i, want := range []int64{700, 100, 400, 500} {
			if f := expect[proto.SpeechFinished](d, nil); f.Index != i || f.PlayedMS != want {
				t.Errorf("timed %v: finished is %+v, want sentence %d of %d ms", timed, f, i, want)
			}
		}
		said := e.sentences()
		if n := len(said); n != map[bool]int{true: 3, false: 4}[timed] || timed && said[1].Text != "Yes. Of course I can." {
			t.Errorf("timed %v: said %+v", timed, said)
		}
	}
}
