// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/testkit/soundtest"
	"example.org/desktop-assistant/pkg/testkit/waittest"
	"example.org/desktop-assistant/pkg/testkit/whispertest"
	"example.org/desktop-assistant/proto"
)

// TestSpeech is the whole of sttd with the engines it is built with: a command
// is heard by pocketsphinx, other speech is refused by it.
func TestSpeech(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	b := start(t, func(env *daemon.Env) { env.Config.Whisper.Port = port })
	runner := b.bus.Connect("toolrunner")
	tools := proto.Tools{Revision: 1, Tools: []proto.ToolSpec{{Name: "now", Sentences: map[string][]string{
		"en": {"what time is it [now]", "tell me the date", "open the browser"}, "it": {"che ore sono"},
	}}}}
	service, err := runner.Serve(t.Context(), "tools", bus.Command(func(context.Context, proto.ToolList) (proto.Tools, error) { return tools, nil }))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = service.Stop() }()
	waittest.Until(b, "pocketsphinx is ready", func() bool { _, d := b.status(); return d.Engine == "pocketsphinx" })
	if s, d := b.status(); len(s.Problems) != 0 || d.Sentences != 3 || !strings.Contains(d.WhyNot["whisper"], strconv.Itoa(port)) {
		t.Errorf("status %+v, %+v", s, d)
	}
	for _, text := range []string{"what time is it", "tell me the date"} {
		turn := bus.NewID()
		b.say(turn, soundtest.Synthesize(t, soundtest.Slt, text))
		if ev := b.final(turn); ev.Text != text || ev.Engine != "pocketsphinx" || ev.Language != "en" {
			t.Errorf("said %q, heard %+v", text, ev)
		} else {
			t.Logf("%q took %d ms", text, ev.TookMS)
		}
	}
	b.say("fox", soundtest.Synthesize(t, soundtest.Slt, "the quick brown fox jumps over the lazy dog"))
	if ev := b.rejected("fox"); ev.Reason != proto.RejectOutOfGrammar || ev.Engine != "pocketsphinx" {
		t.Errorf("%+v", ev)
	}
}

// TestWhisper talks to a whisper-server that hears with a real recogniser.
func TestWhisper(t *testing.T) {
	const text = "the meeting is tomorrow at nine"
	ear := soundtest.OneOf(text, "open the browser", "what is the weather in rome")
	server := whispertest.New(t, whispertest.Hearing(func(wav []byte) string {
		samples, _, err := audio.DecodeWAV(wav)
		if err != nil {
			t.Error(err)
		}
		return soundtest.Recognize(t, samples, ear)
	}))
	b := start(t, func(env *daemon.Env) { env.Config.Whisper.URL = server.URL })
	b.say("t1", soundtest.Synthesize(t, soundtest.Slt, text))
	if ev := b.final("t1"); ev.Text != text || ev.Engine != "whisper" {
		t.Errorf("%+v", ev)
	}
	if _, d := b.status(); d.Engine != "whisper" {
		t.Errorf("%+v", d)
	}
	server.Push(whispertest.Answer{Text: "[BLANK_AUDIO]"})
	b.say("t2", voice(time.Second))
	if ev := b.rejected("t2"); ev.Reason != proto.RejectNoise || ev.Engine != "whisper" {
		t.Errorf("%+v", ev)
	}
}
