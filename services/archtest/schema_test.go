// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"example.org/desktop-assistant/proto"
)

var update = flag.Bool("update", false, "write the JSON Schemas anew")

// TestSchemas: every event has a JSON Schema made from its Go struct, checked
// in, and its golden example is valid under it.
func TestSchemas(t *testing.T) {
	golden := filepath.Join(root(t), "proto/testdata/wire")
	seen := 0
	for _, typ := range proto.EventTypes() {
		t.Run(typ, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join(golden, typ+".json"))
			if err != nil {
				t.Fatal(err)
			}
			env, ev, err := proto.DecodeEvent(b)
			if err != nil {
				t.Fatal(err)
			}
			schema := schemaOf(t, reflect.TypeOf(ev))
			schema.Title = typ
			compareSchema(t, filepath.Join(root(t), "proto/schema", typ+".json"), schema)
			resolved, err := schema.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			var data any
			if err := json.Unmarshal(env.Data, &data); err != nil {
				t.Fatal(err)
			}
			if err := resolved.Validate(data); err != nil {
				t.Errorf("the golden example is not valid: %v", err)
			}
		})
		seen++
	}
	files, err := filepath.Glob(filepath.Join(root(t), "proto/schema/*.json"))
	if err != nil || len(files) != seen+2*len(commandTypes) {
		t.Errorf("%d schemas for %d events and %d commands: remove or add", len(files), seen, len(commandTypes))
	}
}

// commandTypes are the request and reply of every command.
var commandTypes = map[string][2]reflect.Type{
	"mic.start":      pair[proto.MicStart, proto.MicState](),
	"mic.stop":       pair[proto.MicStop, proto.MicState](),
	"mic.cancel":     pair[proto.MicCancel, proto.MicState](),
	"mic.toggle":     pair[proto.MicToggle, proto.MicState](),
	"mic.mute":       pair[proto.MicMute, proto.MicState](),
	"mic.unmute":     pair[proto.MicUnmute, proto.MicState](),
	"turn.ask":       pair[proto.TurnAsk, proto.TurnTicket](),
	"turn.interrupt": pair[proto.TurnInterrupt, proto.TurnsStopped](),
	"turn.answer":    pair[proto.TurnAnswer, proto.Done](),
	"session.new":    pair[proto.SessionNew, proto.SessionInfo](),
	"session.list":   pair[proto.SessionList, proto.Sessions](),
	"session.resume": pair[proto.SessionResume, proto.SessionInfo](),
	"skill.load":     pair[proto.SkillLoad, proto.Skills](),
	"skill.unload":   pair[proto.SkillUnload, proto.Skills](),
	"skill.list":     pair[proto.SkillList, proto.Skills](),
	"skill.show":     pair[proto.SkillShow, proto.SkillText](),
	"skill.match":    pair[proto.SkillMatch, proto.SkillMatched](),
	"tool.list":      pair[proto.ToolList, proto.Tools](),
	"speech.say":     pair[proto.SpeechSay, proto.Done](),
	"speech.end":     pair[proto.SpeechEnd, proto.Done](),
	"speech.stop":    pair[proto.SpeechStop, proto.TurnsStopped](),
	"speech.pause":   pair[proto.SpeechPause, proto.Done](),
	"speech.resume":  pair[proto.SpeechResume, proto.Done](),
	"speech.voices":  pair[proto.SpeechVoices, proto.Voices](),
	"daemon.status":  pair[proto.StatusOf, proto.Status](),
	"daemon.reload":  pair[proto.ReloadOf, proto.Done](),
}

func pair[C proto.Command[R], R any]() [2]reflect.Type {
	return [2]reflect.Type{reflect.TypeFor[C](), reflect.TypeFor[R]()}
}

func TestCommandSchemas(t *testing.T) {
	for verb, types := range commandTypes {
		for i, tail := range []string{"request", "reply"} {
			schema := schemaOf(t, types[i])
			schema.Title = verb + " " + tail
			compareSchema(t, filepath.Join(root(t), "proto/schema", verb+"."+tail+".json"), schema)
		}
	}
	readme, err := os.ReadFile(filepath.Join(root(t), "proto/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(readme), "<!-- commands -->")
	if n := strings.Count(list, "**`"); n != len(commandTypes) {
		t.Errorf("proto/README.md lists %d commands, here are %d", n, len(commandTypes))
	}
}

func schemaOf(t *testing.T, typ reflect.Type) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.ForType(typ, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
	}})
	if err != nil {
		t.Fatal(err)
	}
	open(s)
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	return s
}

// open allows unknown fields everywhere: receivers ignore them.
func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.AdditionalProperties = nilIfFalse(s)
	for _, p := range s.Properties {
		open(p)
	}
	open(s.Items)
}

func nilIfFalse(s *jsonschema.Schema) *jsonschema.Schema {
	if a := s.AdditionalProperties; a != nil && a.Not != nil {
		return nil
	}
	open(s.AdditionalProperties)
	return s.AdditionalProperties
}

func compareSchema(t *testing.T, path string, s *jsonschema.Schema) {
	t.Helper()
	got, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the struct says (%v): go test ./archtest -run Schema -update", path, err)
	}
}
