// SPDX-License-Identifier: Apache-2.0

package grammar

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"example.org/desktop-assistant/proto"
)

func TestOf(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"place":{"type":"string"},"when":{"type":"string","enum":["now","tomorrow"]},"odd":7}}`)
	tools := []proto.ToolSpec{
		{Name: "now", Sentences: map[string][]string{"en": {"what time is it [now]", "give me 5 (minutes|hours)"}, "it": {"che ore sono"}}},
		{Name: "weather", Parameters: schema, Sentences: map[string][]string{"en-GB": {"weather {when}", "weather in {place}", "rain [in {place}]", "show {odd}"}}},
		{Name: "broken", Sentences: map[string][]string{"en": {"say (this", "über alles £"}}},
		{Name: "silent", Parameters: json.RawMessage(`not JSON`)},
	}
	g, faults := Of(tools)
	if g.Sentences != 4 {
		t.Errorf("%d sentences", g.Sentences)
	}
	for _, want := range []string{"what time is it now", "give me five hours", "weather tomorrow", "rain"} {
		if !strings.Contains(g.JSGF, want) {
			t.Errorf("%q is not in %s", want, g.JSGF)
		}
	}
	if strings.Contains(g.JSGF, "ore") || strings.Contains(g.JSGF, "weather in") || !slices.Contains(g.Words, "tomorrow") {
		t.Errorf("grammar %s, words %v", g.JSGF, g.Words)
	}
	if len(faults) != 2 || !strings.Contains(faults[0].Error(), `tool "broken"`) {
		t.Errorf("faults: %v", faults)
	}
}

// A yes and a no are heard where a tool asks for them, and nowhere else.
func TestAnswers(t *testing.T) {
	now := proto.ToolSpec{Name: "now", Sentences: map[string][]string{"en": {"what time is it"}}}
	for _, c := range []struct {
		spec  proto.ToolSpec
		heard bool
	}{
		{proto.ToolSpec{Name: "lamp", Confirm: proto.ConfirmVoice}, true},
		{proto.ToolSpec{Name: "http_request", Native: true}, true},
		{proto.ToolSpec{Name: "lamp", Confirm: proto.ConfirmNever}, false},
	} {
		g, faults := Of([]proto.ToolSpec{now, c.spec})
		if slices.Contains(g.Words, "yes") != c.heard || slices.Contains(g.Words, "no") != c.heard || g.Sentences != 1 || faults != nil {
			t.Errorf("%+v: words %v, %d sentences, %v", c.spec, g.Words, g.Sentences, faults)
		}
	}
}

func TestNothing(t *testing.T) {
	for _, tools := range [][]proto.ToolSpec{nil, {{Name: "now"}}, {{Name: "say", Parameters: json.RawMessage(`{"properties":{"x":{}}}`),
		Sentences: map[string][]string{"en": {"say {x}"}}}}} {
		if g, faults := Of(tools); g.JSGF != "" || g.Words != nil || g.Sentences != 0 || faults != nil {
			t.Errorf("%v gives %+v, %v", tools, g, faults)
		}
	}
}
