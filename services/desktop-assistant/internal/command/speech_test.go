// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
)

// mouth is a fake ttsd that hands over what it is told.
type mouth struct {
	*fake
	said    chan proto.SpeechSay
	ended   chan proto.SpeechEnd
	stopped chan proto.SpeechStop
}

func (r *rig) newMouth() *mouth {
	r.t.Helper()
	m := &mouth{said: make(chan proto.SpeechSay, 16), ended: make(chan proto.SpeechEnd, 16), stopped: make(chan proto.SpeechStop, 16)}
	m.fake = r.serve("ttsd",
		bus.Command(func(_ context.Context, c proto.SpeechSay) (proto.Done, error) { m.said <- c; return proto.Done{}, nil }),
		bus.Command(func(_ context.Context, c proto.SpeechEnd) (proto.Done, error) { m.ended <- c; return proto.Done{}, nil }),
		bus.Command(func(_ context.Context, c proto.SpeechStop) (proto.TurnsStopped, error) {
			m.stopped <- c
			return proto.TurnsStopped{}, nil
		}))
	return m
}

// say waits until the text was heard.
func TestSay(t *testing.T) {
	r := newRig(t)
	m := r.newMouth()
	j := started(t, "say", "it", "costs 3 euros")
	c, e := receive(t, "say", m.said), receive(t, "end", m.ended)
	if c.Text != "it costs 3 euros" || c.Spoken == "" || c.Language != "en" || !c.Behind || c.Index != 0 || c.Turn == "" || e.Turn != c.Turn || e.Count != 1 {
		t.Errorf("%+v, %+v", c, e)
	}
	// ttsd can see that who asked still lives.
	service, instance, ok := proto.SplitAsker(c.Owner)
	if !ok || !m.Alive(t.Context(), service, instance) {
		t.Errorf("owner %q does not answer", c.Owner)
	}
	r.publish(m.Conn, "other", proto.SpeechFinished{Turn: "other"})
	r.publish(m.Conn, c.Turn, proto.SpeechStarted{Turn: c.Turn})
	select {
	case code := <-j.code:
		t.Fatalf("ended with %d before it was heard", code)
	default:
	}
	r.publish(m.Conn, c.Turn, proto.SpeechFinished{Turn: c.Turn, Heard: c.Text})
	j.wait().want(t, 0)
}

func TestSayLanguage(t *testing.T) {
	r := newRig(t)
	m := r.newMouth()
	j := started(t, "say", "--lang", "it", "ciao")
	c := receive(t, "say", m.said)
	r.publish(m.Conn, c.Turn, proto.SpeechFinished{Turn: c.Turn})
	j.wait().want(t, 0)
	if c.Language != "it" {
		t.Errorf("language %q", c.Language)
	}
}

func TestSayFails(t *testing.T) {
	r := newRig(t)
	m := r.newMouth()
	j := started(t, "say", "x")
	c := receive(t, "say", m.said)
	r.publish(m.Conn, c.Turn, proto.SpeechStopped{Turn: c.Turn, Reason: proto.StopFailed,
		Error: proto.Errorf(proto.CodeUnavailable, "play", "the sink is gone").WithHint("plug it in")})
	j.wait().want(t, ExitUnavailable, "!play: the sink is gone", "!hint: plug it in")

	j = started(t, "say", "x")
	c = receive(t, "say", m.said)
	r.publish(m.Conn, c.Turn, proto.SpeechStopped{Turn: c.Turn, Reason: proto.StopAsked})
	j.wait().want(t, ExitFailed, "!say: stopped before its end (stopped)")

	run(t, "say", "**").want(t, ExitUsage, "!there is nothing to say")

	for range 2 { // of the first two
		receive(t, "end", m.ended)
	}
	j = started(t, "say", "x")
	receive(t, "say", m.said)
	receive(t, "end", m.ended)
	m.stop()
	j.wait().want(t, ExitUnavailable, "!ttsd is gone")
	run(t, "say", "x").want(t, ExitUnavailable, "!say: the bus runs, but of ttsd: nobody answers")
}

// A text that fails before its end was told is over then: why is what counts.
func TestSayFailsAtOnce(t *testing.T) {
	r := newRig(t)
	var m *fake
	said := make(chan proto.SpeechSay, 1)
	m = r.serve("ttsd",
		bus.Command(func(_ context.Context, c proto.SpeechSay) (proto.Done, error) { said <- c; return proto.Done{}, nil }),
		bus.Command(func(_ context.Context, c proto.SpeechEnd) (proto.Done, error) {
			r.publish(m.Conn, c.Turn, proto.SpeechStopped{Turn: c.Turn, Reason: proto.StopFailed, Error: proto.Errorf(proto.CodeInvalid, "read voices", `there is no voice "nobody"`)})
			return proto.Done{}, proto.Errorf(proto.CodeCancelled, c.Verb(), "the speech is over")
		}))
	j := started(t, "voice", "try", "nobody", "hello")
	receive(t, "say", said)
	j.wait().want(t, ExitInvalid, `!there is no voice "nobody"`)
}

func TestSayRefused(t *testing.T) {
	r := newRig(t)
	r.serve("ttsd", bus.Command(func(context.Context, proto.SpeechSay) (proto.Done, error) {
		return proto.Done{}, proto.Errorf(proto.CodeUnavailable, "speech.say", "there is no engine").WithHint("apt install espeak-ng")
	}))
	run(t, "say", "x").want(t, ExitUnavailable, "!speech.say: there is no engine", "!hint: apt install espeak-ng")
}

// Ctrl-C silences what was begun.
func TestSayInterrupted(t *testing.T) {
	r := newRig(t)
	m := r.newMouth()
	j := started(t, "say", "x")
	c := receive(t, "say", m.said)
	receive(t, "end", m.ended)
	j.interrupt()
	if s := receive(t, "stop", m.stopped); s.Turn != c.Turn {
		t.Errorf("stopped %+v", s)
	}
	r.publish(m.Conn, c.Turn, proto.SpeechStopped{Turn: c.Turn, Reason: proto.StopAsked})
	j.wait().want(t, ExitInterrupted)
}

// stop reaches both who speaks and who thinks; one of them may be missing.
func TestStop(t *testing.T) {
	broken := proto.Errorf(proto.CodeInternal, "stop", "it goes on")
	for name, c := range map[string]struct {
		brain, voice bool // there
		fault        error
		code         int
		words        []string
	}{
		"both":        {brain: true, voice: true},
		"no voice":    {brain: true},
		"no brain":    {voice: true},
		"neither":     {code: ExitUnavailable, words: []string{"!nobody answers", "!desktop-assistant status"}},
		"voice fails": {brain: true, voice: true, fault: broken, code: ExitFailed, words: []string{"!stop: it goes on"}},
		"voice alone": {voice: true, fault: broken, code: ExitFailed, words: []string{"!stop: it goes on"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			stopped, interrupted := make(chan proto.SpeechStop, 1), make(chan proto.TurnInterrupt, 1)
			if c.voice {
				r.serve("ttsd", bus.Command(func(_ context.Context, s proto.SpeechStop) (proto.TurnsStopped, error) {
					stopped <- s
					return proto.TurnsStopped{}, c.fault
				}))
			}
			if c.brain {
				r.serve("brain", bus.Command(func(_ context.Context, i proto.TurnInterrupt) (proto.TurnsStopped, error) {
					interrupted <- i
					return proto.TurnsStopped{}, nil
				}))
			}
			run(t, "stop").want(t, c.code, c.words...)
			if c.voice && receive(t, "speech.stop", stopped).Turn != "" {
				t.Error("not everything was silenced")
			}
			if c.brain && receive(t, "turn.interrupt", interrupted).Turn != "" {
				t.Error("not every turn was cancelled")
			}
		})
	}
}

func TestMicrophone(t *testing.T) {
	r := newRig(t)
	seen := make(chan string, 1)
	note := func(what string, s proto.MicState) (proto.MicState, error) { seen <- what; return s, nil }
	var leases []float64
	mic := r.serve("micd",
		bus.Command(func(_ context.Context, c proto.MicStart) (proto.MicState, error) {
			leases = append(leases, c.Lease)
			return note("start", proto.MicState{Open: true, Talk: true, Turn: "t1"})
		}),
		bus.Command(func(_ context.Context, c proto.MicToggle) (proto.MicState, error) {
			leases = append(leases, c.Lease)
			return note("toggle", proto.MicState{Talk: true})
		}),
		bus.Command(func(context.Context, proto.MicStop) (proto.MicState, error) { return note("stop", proto.MicState{}) }),
		bus.Command(func(context.Context, proto.MicCancel) (proto.MicState, error) {
			return note("cancel", proto.MicState{})
		}),
		bus.Command(func(context.Context, proto.MicMute) (proto.MicState, error) {
			return note("mute", proto.MicState{Muted: true})
		}),
		bus.Command(func(context.Context, proto.MicUnmute) (proto.MicState, error) {
			return note("unmute", proto.MicState{})
		}))
	for _, c := range []struct{ line, verb, out string }{
		{"listen start", "start", "listening\n"},
		{"listen start --lease 2.5", "start", "listening\n"},
		{"listen toggle --lease 7", "toggle", "listening\n"},
		{"listen stop", "stop", "not listening\n"},
		{"listen cancel", "cancel", "not listening\n"},
		{"mute", "mute", "muted\n"},
		{"mute on", "mute", "muted\n"},
		{"mute off", "unmute", "not listening\n"},
		{"listen start --json", "start", `{"open":true,"talk":true,"muted":false,"turn":"t1"}` + "\n"},
		{"mute --json", "mute", `{"open":false,"talk":false,"muted":true}` + "\n"},
	} {
		got := run(t, strings.Fields(c.line)...)
		if verb := receive(t, c.line, seen); verb != c.verb || got.code != 0 || got.out != c.out || got.err != "" {
			t.Errorf("%s: asked for %s, got %+v", c.line, verb, got)
		}
	}
	if len(leases) != 4 || leases[0] != 0 || leases[1] != 2.5 || leases[2] != 7 {
		t.Errorf("leases %v", leases)
	}
	mic.stop()
	run(t, "listen", "toggle").want(t, ExitUnavailable, "!mic.toggle: nobody answers", "!hint: see what runs: desktop-assistant status")
}

func TestListenRefused(t *testing.T) {
	r := newRig(t)
	r.serve("micd", bus.Command(func(context.Context, proto.MicStart) (proto.MicState, error) {
		return proto.MicState{}, proto.Errorf(proto.CodeDenied, "mic.start", "the microphone is muted").WithHint("desktop-assistant mute off")
	}))
	run(t, "listen", "start").want(t, ExitDenied, "!mic.start: the microphone is muted", "!hint: desktop-assistant mute off")
}
