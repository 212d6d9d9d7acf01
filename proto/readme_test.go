// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

type anyCommand struct {
	request, reply any
	verb           string
}

func command[C Command[R], R any](c C, r R) anyCommand { return anyCommand{c, r, c.Verb()} }

// commands holds a sample of every command and its reply.
var commands = []anyCommand{
	command(MicStart{Lease: 60}, MicState{Open: true, Talk: true, Turn: "t1", Source: "alsa_input.usb"}),
	command(MicStop{}, MicState{}),
	command(MicCancel{}, MicState{}),
	command(MicToggle{Lease: 60}, MicState{Open: true, Talk: true, Turn: "t1"}),
	command(MicMute{}, MicState{Muted: true}),
	command(MicUnmute{}, MicState{}),
	command(TurnAsk{Text: "what time is it", Speak: true}, TurnTicket{Turn: "t1", Session: "s1"}),
	command(TurnInterrupt{Turn: "t1"}, TurnsStopped{Turns: []string{"t1"}}),
	command(TurnAnswer{Call: "c1", Yes: true}, Done{}),
	command(SessionNew{}, SessionInfo{ID: "s2", Current: true}),
	command(SessionList{}, Sessions{Sessions: []SessionInfo{{ID: "s1", Title: "what time is it", Messages: 2, Current: true}}}),
	command(SessionResume{ID: "s1"}, SessionInfo{ID: "s1", Title: "what time is it", Messages: 2, Current: true}),
	command(SkillLoad{Name: "poet"}, Skills{Known: []string{"poet"}, Loaded: []string{"poet"}}),
	command(SkillUnload{Name: "poet"}, Skills{Known: []string{"poet"}, Loaded: []string{}}),
	command(SkillList{}, Skills{Known: []string{"poet"}, Loaded: []string{}, About: map[string]string{"poet": "Writes short verse."}, Dir: "/home/you/.agents/skills"}),
	command(SkillShow{Name: "poet"}, SkillText{Name: "poet", Text: "Answer in two lines that rhyme."}),
	command(SkillMatch{Text: "/poet greet the spring"}, SkillMatched{Load: []string{"poet"}, Text: "greet the spring"}),
	command(ToolList{}, Tools{Revision: 1, Dir: "/home/you/.config/desktop-assistant/tools", Tools: []ToolSpec{{
		Name: "now", Description: "The date and time", Parameters: json.RawMessage(`{"type":"object","properties":{}}`),
		Sentences: map[string][]string{"en": {"what time is it"}}, TimeoutMS: 10000, Confirm: "never", Parallel: true}},
		CallLimit: 3, Off: []ToolOff{{Name: "read_file", Why: "it is not switched on"}},
		Origins: []ToolOrigin{{Origin: "https://example.org", Used: true}}}),
	command(SpeechSay{Turn: "t1", Text: "It is **9:41**.", Spoken: "It is 9:41.", Language: "en", Owner: "brain/x"}, Done{}),
	command(SpeechEnd{Turn: "t1", Count: 1}, Done{}),
	command(SpeechStop{Turn: "t1"}, TurnsStopped{Turns: []string{"t1"}}),
	command(SpeechPause{}, Done{}),
	command(SpeechResume{}, Done{}),
	command(SpeechVoices{}, Voices{Engine: "kokoro", Voices: []string{"af_heart", "if_sara"}, Blends: map[string]string{"en": "af_heart 1"}}),
	command(StatusOf{Daemon: "ttsd"}, Status{Service: "ttsd", Version: "0.1.0", Instance: "i1", PID: 4242, UptimeMS: 60000, Problems: []Problem{}}),
	command(ReloadOf{Daemon: "brain"}, Done{}),
}

// TestReadme: the lists in README.md are what the code says.
func TestReadme(t *testing.T) {
	replace(t, "events", eventList(t))
	replace(t, "commands", commandList(t))
}

func eventList(t *testing.T) string {
	docs := declared(t, "EventType")
	var b strings.Builder
	for _, ev := range samples {
		data, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		doc := docs[reflect.TypeOf(ev).Name()]
		kind := ""
		if ev.Live() {
			kind = " (live)"
		}
		fmt.Fprintf(&b, "**`%s`**%s: %s\n\n```json\n%s\n```\n\n", ev.EventType(), kind, sentence(doc), data)
	}
	return b.String()
}

func commandList(t *testing.T) string {
	docs := declared(t, "Verb")
	listed := map[string]bool{}
	var b strings.Builder
	for _, c := range commands {
		name := reflect.TypeOf(c.request).Name()
		listed[name] = true
		request, err := json.Marshal(c.request)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := json.Marshal(c.reply)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "**`%s`**: %s\n\n```json\n%s\n%s\n```\n\n", c.verb, sentence(docs[name]), request, reply)
	}
	for name := range docs {
		if !listed[name] {
			t.Errorf("command %s has no sample", name)
		}
	}
	return b.String()
}

// sentence makes a doc comment one line that does not begin with the Go name.
func sentence(doc string) string {
	doc = strings.ReplaceAll(strings.ReplaceAll(strings.Join(strings.Fields(doc), " "), "[", "`"), "]", "`")
	_, rest, ok := strings.Cut(doc, " ")
	if !ok {
		return doc
	}
	return strings.TrimPrefix(rest, "is ")
}

// replace compares the part of README.md between two marks with want.
func replace(t *testing.T, mark, want string) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	open, end := "<!-- "+mark+" -->\n", "<!-- end of "+mark+" -->\n"
	head, rest, ok := strings.Cut(string(text), open)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("README.md has no marks for the %s", mark)
	}
	if *update {
		if err := os.WriteFile("README.md", []byte(head+open+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != want {
		t.Errorf("the %s in README.md are not what the code says: go test -update", mark)
	}
}
