// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/chattest"
	"example.org/desktop-assistant/pkg/testkit/daemontest"
	"example.org/desktop-assistant/proto"
)

// die ends brain as a kill -9 does: nothing it does at its end gets out, and its
// files stay as they are. Then the next one starts in the same folder.
func (r *rig) die(beforeTheNext func()) {
	r.t.Helper()
	file := filepath.Join(r.env.Dir, "brain.turns")
	kept, err := os.ReadFile(file)
	if err != nil {
		r.t.Fatal(err)
	}
	r.env.Bus.Close()
	r.stop()
	if err := os.WriteFile(file, kept, 0o600); err != nil {
		r.t.Fatal(err)
	}
	beforeTheNext()
	next := daemontest.Env(r.t, r.bus, "brain")
	next.Config, next.Dir = r.env.Config, r.env.Dir
	r.env = next
	r.start()
}

// promise: no turn ends in silence, whatever is killed and whether or not the bus
// keeps what happened.
func TestBrainIsKilledInATurn(t *testing.T) {
	for name, c := range map[string]struct {
		bus     func(testing.TB) *bustest.Bus
		busDies bool
	}{
		"nothing is kept":          {bustest.New, false},
		"events are kept":          {bustest.NewKeeping, false},
		"the bus is killed too":    {bustest.New, true},
		"and what it kept is gone": {bustest.NewKeeping, true},
	} {
		t.Run(name, func(t *testing.T) {
			forever := make(chan struct{})
			defer close(forever)
			chat := chattest.New(t)
			chat.Script(chattest.Exchange{Pieces: chattest.Join(chattest.Role(), chattest.Text("One.", " Two"), chattest.Hold(forever))}, chattest.Say("Well."))
			r := newRig(t, c.bus(t), chat.URL)
			speech := r.ttsd(true)
			r.start()
			id := r.ask("count").Turn
			r.until("it speaks", speech.has("One."))
			r.die(func() {
				if c.busDies {
					r.bus.Down()
					r.bus.Up()
					r.until("the bus is back", func() bool { return r.user.Connected() && speech.conn.Connected() })
				}
			})
			if e := r.ended(id); e.End != proto.EndFailed || e.Error == nil || e.Error.Hint == "" {
				t.Errorf("ended %+v", e)
			}
			r.until("it says so", speech.has("Sorry, I was restarted. Please ask again."))
			speech.mu.Lock()
			speech.hold = false
			speech.mu.Unlock()
			r.ended(r.ask("and now?").Turn)
			if got := r.story(id); strings.Count(got, "turn.ended") != 1 || strings.Count(got, "turn.started") != 1 {
				t.Errorf("story %s", got)
			}
			r.until("nothing is left", func() bool { _, err := os.Stat(filepath.Join(r.env.Dir, "brain.turns")); return os.IsNotExist(err) })
		})
	}
}

// A brain that is killed when a turn was told to have ended, before its file says
// so, leaves that turn as it ended: told once, and nothing said.
func TestBrainIsKilledAfterATurn(t *testing.T) {
	chat := chattest.New(t)
	chat.Script(chattest.Say("One."), chattest.Say("Two."))
	r := newRig(t, bustest.New(t), chat.URL)
	speech := r.ttsd(false)
	r.start()
	id := r.ask("count").Turn
	r.ended(id)
	file := filepath.Join(r.env.Dir, "brain.turns")
	gone := func() bool { _, err := os.Stat(file); return os.IsNotExist(err) }
	r.until("the file is gone", gone)
	kept := `[{"id":"` + id + `","device":"local","origin":"text","started":"` + time.Now().Format(time.RFC3339) + `","ending":"spoken"}]`
	if err := os.WriteFile(file, []byte(kept), 0o600); err != nil {
		t.Fatal(err)
	}
	r.die(func() {})
	r.until("the file is gone", gone)
	r.ended(r.ask("go on").Turn)
	if got := r.story(id); strings.Count(got, "turn.ended") != 1 || strings.Count(got, "turn.started") != 1 {
		t.Errorf("story %s", got)
	}
	if got := speech.lines(); len(got) != 2 {
		t.Errorf("said %q", got)
	}
}
