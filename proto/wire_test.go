// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files and the lists in README.md anew")

func ms(n int64) *int64 { return &n }

// samples holds one value of every event, every field filled in.
var samples = []Event{
	MicOpened{Source: "alsa_input.usb", Rate: Rate},
	MicClosed{Source: "alsa_input.usb", Reason: "idle"},
	MicLost{Source: "alsa_input.usb", Reason: "the sound server is gone"},
	MicMuted{Muted: true},
	MicLevel{RMS: -32.5, Peak: -12.25},
	UtteranceStarted{Turn: "t1", Stream: "t1", Trigger: TriggerKey},
	UtteranceEnded{Samples: 24000, AgeMS: 12, Reason: UtteranceReleased},
	STTPartial{Text: "what time"},
	STTFinal{Text: "what time is it", Language: "en", Confidence: 0.93, Engine: "whisper", AudioMS: 1500, TookMS: 240},
	STTRejected{Reason: RejectSilence, Engine: "pocketsphinx", AudioMS: 700, TookMS: 3},
	STTFailed{Error: Error{Code: CodeUnavailable, Op: "transcribe", Text: "no engine", Hint: "desktop-assistant status"}, Engine: "whisper"},
	TurnStarted{Origin: OriginVoice, Stream: "t1", Route: "local"},
	TurnAsked{Text: "what time is it", Language: "en"},
	TurnDelta{Text: "It is"},
	TurnSentence{Index: 0, Text: "It is **9:41**.", Spoken: "It is 9:41.", Language: "en"},
	TurnAnnounced{Index: 0, Text: "Let me look that up.", Language: "en"},
	TurnQuestion{Index: 1, Call: "c1", Text: "Shall I run send? Please say yes or no.", Language: "en"},
	TurnEnded{End: EndFailed, Error: &Error{Code: CodeUnavailable, Op: "ask the model", Text: "connection refused"}, Heard: "I cannot reach the chat server.",
		Marks: Marks{STTFinal: ms(310), FirstToken: ms(420), FirstSentence: ms(530), FirstSample: ms(640), Tools: []ToolMark{{Name: "now", Start: 430, End: 450}},
			Model: []ModelMark{{Prompt: 900, Cached: 850, Completion: 40, PromptMS: 60, CompletionMS: 700}}, Total: 2100}},
	ToolCalled{Call: "c1", Name: "weather", Arguments: json.RawMessage(`{"place":"Rome"}`)},
	ToolFinished{ToolResult: ToolResult{Call: "c1", OK: false, Kind: KindTimeout, Result: "error: timed out", TookMS: 10000}, Name: "weather"},
	ToolChanged{Revision: 3},
	SkillLoaded{Name: "poet", By: "user"},
	SkillUnloaded{Name: "poet", By: "user"},
	SpeechStarted{Turn: "t1", Index: 0, DelayMS: 41},
	SpeechPaused{Turn: "t1", Index: 1, PlayedMS: 800},
	SpeechResumed{Turn: "t1", Index: 1},
	SpeechFinished{Turn: "t1", Index: 0, PlayedMS: 1450, Heard: "It is 9:41."},
	SpeechStopped{Turn: "t1", Index: 1, PlayedMS: 300, Heard: "And it", Reason: StopFailed, Error: &Error{Code: CodeFailed, Op: "speak", Text: "espeak-ng ended"}},
	ServiceState{Service: "ttsd", Problems: []Problem{{What: "no sound server answers", Hint: "start one: systemctl --user start pipewire-pulse"}}},
	BusStopping{},
}

// envelope is the fixed one of the golden files.
func envelope(ev Event) Envelope {
	env := Envelope{ID: "e1", TS: Time{time.Date(2026, 11, 30, 9, 41, 0, 250e6, time.UTC)}, Src: "brain", Dev: DefaultDevice, Seq: 7}
	switch strings.SplitN(ev.EventType(), ".", 2)[0] {
	case "bus", "service", "mic":
	default:
		env.Turn = "t1"
	}
	if strings.HasPrefix(ev.EventType(), "turn.") {
		env.Session = "s1"
	}
	return env
}

// declared finds the types of this package with a method of the given name.
func declared(t *testing.T, method string) map[string]string {
	t.Helper()
	found := map[string]string{}
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	docs := map[string]string{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if ts, ok := s.(*ast.TypeSpec); ok {
						docs[ts.Name.Name] = d.Doc.Text()
					}
				}
			case *ast.FuncDecl:
				if d.Recv != nil && d.Name.Name == method {
					if id, ok := d.Recv.List[0].Type.(*ast.Ident); ok {
						found[id.Name] = ""
					}
				}
			}
		}
	}
	for name := range found {
		found[name] = docs[name]
	}
	return found
}

// TestWire: every event type has a sample whose bytes never change unseen, and
// which comes back as it went.
func TestWire(t *testing.T) {
	sampled := map[string]bool{}
	for _, ev := range samples {
		sampled[reflect.TypeOf(ev).Name()] = true
		t.Run(ev.EventType(), func(t *testing.T) {
			got, err := EncodeEvent(envelope(ev), ev)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, ev.EventType()+".json", got)
			env, back, err := DecodeEvent(got)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(back, ev) {
				t.Errorf("came back as %#v", back)
			}
			if env.V != Version || env.Type != ev.EventType() || env.TS != envelope(ev).TS {
				t.Errorf("envelope came back as %#v", env)
			}
		})
	}
	for name := range declared(t, "EventType") {
		if name != "Unknown" && !sampled[name] {
			t.Errorf("event %s has no sample", name)
		}
	}
	if len(samples) != len(EventTypes()) {
		t.Errorf("%d samples, but DecodeEvent knows %d types", len(samples), len(EventTypes()))
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "wire", name)
	if *update {
		if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s is missing: go test -update, and look at the difference", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(append(got, '\n'), want) {
		t.Errorf("the wire changed:\n got %s\nwant %s", got, want)
	}
}

// TestGrowth: unknown fields and types are no errors.
func TestGrowth(t *testing.T) {
	b := []byte(`{"v":1,"type":"mic.muted","id":"x","ts":"2026-11-30T09:41:00.000Z","src":"micd","dev":"local","seq":1,"new":[1],"data":{"muted":true,"newer":{}}}`)
	_, ev, err := DecodeEvent(b)
	if err != nil || ev != (MicMuted{Muted: true}) {
		t.Errorf("a newer mic.muted came as %#v, %v", ev, err)
	}
	b = []byte(`{"v":1,"type":"mic.flew","id":"x","ts":"2026-11-30T09:41:00.000Z","src":"micd","dev":"local","seq":1,"data":7}`)
	_, ev, err = DecodeEvent(b)
	if u, ok := ev.(Unknown); err != nil || !ok || u.Type != "mic.flew" || string(u.Data) != "7" {
		t.Errorf("an unknown type came as %#v, %v", ev, err)
	}
}

func TestDecodeEventRefuses(t *testing.T) {
	for _, bad := range []string{"", "null", "[]", `"x"`, `{"v":1}`, `{"v":2,"type":"mic.muted"}`, `{"v":1,"type":"mic"}`,
		`{"v":1,"type":"mic.muted","ts":"yesterday"}`, `{"v":1,"type":"mic.muted","ts":"2026-11-30T09:41:00Z","data":{"muted":"yes"}}`} {
		if _, ev, err := DecodeEvent([]byte(bad)); !errors.Is(err, &Error{Code: CodeInvalid}) {
			t.Errorf("%s came as %#v, %v", bad, ev, err)
		}
	}
}

func TestErrorsSurvive(t *testing.T) {
	for _, code := range Codes() {
		e := Errorf(code, "ask", "it is %s", "so").WithHint("type this")
		back := DecodeError(EncodeError(e))
		if !reflect.DeepEqual(back, e) {
			t.Errorf("%#v came back as %#v", e, back)
		}
		if !errors.Is(fmt.Errorf("wrapped: %w", back), &Error{Code: code}) {
			t.Errorf("%v is not its own code", back)
		}
		header, _ := EncodeError(e)
		if foreign := DecodeError(header, []byte("not ours")); foreign.Code != code || foreign.Text != "ask: it is so" {
			t.Errorf("without a body %s came as %#v", code, foreign)
		}
	}
	if len(Codes()) != len(codeNumbers) {
		t.Error("a code has no number, or a number no code")
	}
	if e := DecodeError(nil, []byte("{}")); e != nil {
		t.Errorf("a good reply came as error %v", e)
	}
}

func TestAudio(t *testing.T) {
	for _, a := range []Audio{
		{Op: AudioBegin, Turn: "t1"},
		{Op: AudioData, Seq: 1, Pos: 320, Turn: "t1", PCM: []byte{1, 2, 3, 4}},
		{Op: AudioEnd, Seq: 2, Pos: 640, Turn: "t1", Reason: UtteranceReleased},
		{Op: AudioAbort, Seq: 3, Pos: 640, Reason: UtteranceLost},
	} {
		back, err := DecodeAudio(EncodeAudio(a))
		if err != nil || !reflect.DeepEqual(back, a) {
			t.Errorf("%+v came back as %+v, %v", a, back, err)
		}
	}
	h, _ := EncodeAudio(Audio{Op: AudioData})
	if _, err := DecodeAudio(h, []byte{1}); !errors.Is(err, &Error{Code: CodeInvalid}) {
		t.Errorf("half a sample came through: %v", err)
	}
	h[headerOp] = []string{"sing"}
	if _, err := DecodeAudio(h, nil); !errors.Is(err, &Error{Code: CodeInvalid}) {
		t.Errorf("an unknown operation came through: %v", err)
	}
}

func TestToolCall(t *testing.T) {
	c := ToolCall{Call: "c1", Turn: "t1", Session: "s1", Device: "desk", Timeout: 1500 * time.Millisecond, Route: "external", Limit: 3, Asker: "brain/x", Confirmed: true}
	back, err := DecodeToolCall(EncodeToolCall(c))
	if err != nil || back != c {
		t.Errorf("%+v came back as %+v, %v", c, back, err)
	}
	if back, err := DecodeToolCall(nil); err != nil || back != (ToolCall{}) {
		t.Errorf("a plain call came as %+v, %v", back, err)
	}
	for key, value := range map[string]string{HeaderCall: "a.b", HeaderTimeout: "soon", HeaderLimit: "-1", HeaderRoute: "moon",
		HeaderTurn: "a b", HeaderSession: strings.Repeat("s", 65), HeaderDevice: "*", HeaderAsker: ">/x", HeaderConfirmed: "maybe"} {
		if _, err := DecodeToolCall(map[string][]string{key: {value}}); !errors.Is(err, &Error{Code: CodeInvalid}) {
			t.Errorf("%s: %s came through: %v", key, value, err)
		}
	}
}

func TestSplitAsker(t *testing.T) {
	if service, instance, ok := SplitAsker("brain/x"); service != "brain" || instance != "x" || !ok {
		t.Errorf("%q, %q, %v", service, instance, ok)
	}
	for _, asker := range []string{"", "brain", "/", "/x", "brain/", "brain/x/y", "brain/*", "a b/x"} {
		if _, _, ok := SplitAsker(asker); ok {
			t.Errorf("%q is one", asker)
		}
	}
}

func TestSubjects(t *testing.T) {
	for got, want := range map[string]string{
		AudioIn("desk", "t1"):               "da.audio.desk.in.t1",
		EventSubject("desk", "stt.final"):   "da.evt.desk.stt.final",
		LiveSubject("desk", "turn.delta"):   "da.live.desk.turn.delta",
		EventsOf(Any):                       "da.evt.*.>",
		LiveOf("desk"):                      "da.live.desk.>",
		CommandSubject("desk", "mic.start"): "da.cmd.desk.mic.start",
		ToolRun("now"):                      "da.tool.run.now",
		ToolCancel("c1"):                    "da.tool.cancel.c1",
		CommandSubject("l", StatusOf{Daemon: "micd"}.Verb()): "da.cmd.l.micd.status",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if dev, stream, ok := StreamOfAudio(AudioIn("desk", "t1")); dev != "desk" || stream != "t1" || !ok {
		t.Errorf("audio of %q, stream %q, %v", dev, stream, ok)
	}
	if area, ok := AreaOfEvent(EventSubject("desk", "stt.final")); area != "stt" || !ok {
		t.Errorf("area %q, %v", area, ok)
	}
	if call, ok := CallOfCancel(ToolCancel("c1")); call != "c1" || !ok {
		t.Errorf("call %q, %v", call, ok)
	}
	for _, other := range []string{"", "da.evt.desk", "da.audio.desk", ToolRun("now"), LiveSubject("desk", "turn.delta")} {
		_, _, audio := StreamOfAudio(other)
		_, event := AreaOfEvent(other)
		if _, cancel := CallOfCancel(other); audio || event || cancel {
			t.Errorf("%q counts as audio %v, event %v, cancel %v", other, audio, event, cancel)
		}
	}
	for _, bad := range []string{"", "a.b", "*", ">", "a b", "é", strings.Repeat("a", 65)} {
		if ValidToken(bad) {
			t.Errorf("%q counts as a token", bad)
		}
	}
	if !ValidToken("Desk_1-b") {
		t.Error("Desk_1-b does not count as a token")
	}
}
