// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/soundtest"
	"example.org/desktop-assistant/proto"
)

// TestConfirmAloud: a tool that has to ask does so aloud, and what is said next
// into the microphone decides.
func TestConfirmAloud(t *testing.T) {
	t.Parallel()
	rig := soundtest.Start(t)
	h := newHome(t, "", rig.Env()...)
	lamp := filepath.Join(h.dir, "lamp is off")
	h.write(t, "config/desktop-assistant/tools/lamp.toml", `
description = "Switches the lamp off"
command = ["touch", "`+lamp+`"]
confirm = "voice"
sentences.en = ["switch off the lamp"]
`)
	s := start(t, h)
	s.well("micd")
	s.well("sttd")
	s.well("ttsd")
	const question = "Shall I run lamp? Please say yes or no."
	for _, c := range []struct{ said, heard string }{
		{"no thanks", question + " All right, I won't do it."},
		{"yes please", question + " Done."},
	} {
		s.talk(rig, soundtest.Slt, "switch off the lamp")
		_, asked := bustest.Expect[proto.TurnQuestion](s.watch, nil)
		bustest.Expect(s.watch, func(seen bustest.Seen, _ proto.SpeechFinished) bool { return seen.Turn == asked.Turn })
		if _, err := os.Stat(lamp); err == nil {
			t.Fatal("it ran before it was allowed")
		}
		s.talk(rig, soundtest.Slt, c.said)
		ended, _ := s.turnEnded(asked.Turn)
		if ended.End != proto.EndSpoken || ended.Heard != c.heard {
			t.Errorf("after %q it ended %+v: %v", c.said, ended, s.events(asked.Turn))
		}
		if _, err := os.Stat(lamp); (err == nil) != strings.HasPrefix(c.said, "yes") {
			t.Errorf("after %q: %v", c.said, err)
		}
	}
	s.closedSet()
}
