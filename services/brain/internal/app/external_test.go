// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/chattest"
	"example.org/desktop-assistant/proto"
)

// promise: an external chat server is not offered the tools that do not say so,
// and the status says which and why; local intents still use them.
func TestExternalRoute(t *testing.T) {
	chat := chattest.New(t)
	chat.Script(chattest.Say("I", " can't", " tell."))
	r := newRig(t, bustest.New(t), chat.URL)
	r.env.Config.Model.Route = "external"
	r.ttsd(false)
	r.toolrunner(closed())
	r.start()
	if e := r.ended(r.ask("what is the time?").Turn); e.End != proto.EndSpoken || e.Heard != "I can't tell." {
		t.Errorf("end %+v", e)
	}
	if offered := chat.Requests()[0].Tools; len(offered) != 0 {
		t.Errorf("offered %q", offered)
	}
	status, err := bus.Request(t.Context(), r.user, proto.StatusOf{Daemon: "brain"})
	if err != nil {
		t.Fatal(err)
	}
	var d Detail
	if err := json.Unmarshal(status.Detail, &d); err != nil {
		t.Fatal(err)
	}
	if d.Route != "external" || d.Tools != 1 || len(d.Withheld) != 1 || !strings.Contains(d.Withheld["now"], "external = true") {
		t.Errorf("detail %+v", d)
	}
}
