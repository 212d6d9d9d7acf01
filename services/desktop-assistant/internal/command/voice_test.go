// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"testing"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
)

func TestVoiceList(t *testing.T) {
	r := newRig(t)
	m := r.serve("ttsd", bus.Command(func(context.Context, proto.SpeechVoices) (proto.Voices, error) {
		return proto.Voices{Engine: "kokoro", Voices: []string{"af_bella", "if_sara"}, Blends: map[string]string{"it": "if_sara 1", "en": "af_bella 1"}}, nil
	}))
	run(t, "voice", "list").want(t, 0, "en is spoken with af_bella 1\nit is spoken with if_sara 1\n2 voices of kokoro: af_bella if_sara\n")
	run(t, "voice", "list", "--json").want(t, 0, `"voices":["af_bella","if_sara"]`, `"blends":{"en":"af_bella 1","it":"if_sara 1"}`)
	m.stop()
	run(t, "voice", "list").want(t, ExitUnavailable, "!speech.voices")
}

func TestVoiceTry(t *testing.T) {
	r := newRig(t)
	m := r.newMouth()
	j := started(t, "voice", "try", "if_sara 0.8, af_bella 0.2", "ciao", "a tutti")
	c := receive(t, "say", m.said)
	if c.Voice != "if_sara 0.8, af_bella 0.2" || c.Text != "ciao a tutti" || c.Spoken != "ciao a tutti" || c.Language != "" || !c.Behind || c.Owner == "" {
		t.Errorf("%+v", c)
	}
	r.publish(m.Conn, c.Turn, proto.SpeechFinished{Turn: c.Turn, Heard: c.Text})
	j.wait().want(t, 0)

	j = started(t, "voice", "try", "--lang", "es", "nobody", "hola")
	if c = receive(t, "say", m.said); c.Language != "es" {
		t.Errorf("%+v", c)
	}
	r.publish(m.Conn, c.Turn, proto.SpeechStopped{Turn: c.Turn, Reason: proto.StopFailed, Error: proto.Errorf(proto.CodeInvalid, "read voices", `there is no voice "nobody"`).WithHint("voice list")})
	j.wait().want(t, ExitInvalid, `!there is no voice "nobody"`, "!hint: voice list")

	run(t, "voice", "try", "if_sara", "**").want(t, ExitUsage, "!there is nothing to say")
	run(t, "voice", "try", "if_sara").want(t, ExitUsage, "!wrong number of arguments")
}
