// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/chattest"
	"example.org/desktop-assistant/proto"
)

func writeSkill(t *testing.T, dir, sub, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, sub, "SKILL.md"), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func detail(r *rig) (d Detail, problems []proto.Problem) {
	r.t.Helper()
	status, err := bus.Request(r.t.Context(), r.user, proto.StatusOf{Daemon: "brain"})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := json.Unmarshal(status.Detail, &d); err != nil {
		r.t.Fatal(err)
	}
	return d, status.Problems
}

// promise: a skill is loaded by the user and by the model, kept for the
// conversation, shown, and let go of.
func TestSkills(t *testing.T) {
	chat := chattest.New(t)
	chat.Script(chattest.Say("One."), chattest.CallTool("c1", "load_skill", `{"name":"smith"}`), chattest.Say("Two."), chattest.Say("Three."))
	r := newRig(t, bustest.New(t), chat.URL)
	dir := t.TempDir()
	r.env.Config.SkillsDir = dir
	writeSkill(t, dir, "poet", "---\ndescription: Writes verse. Often.\n---\nRhyme.")
	r.ttsd(false)
	r.toolrunner(closed())
	r.start()

	r.ended(r.ask("/poet hello").Turn)
	if m := chat.Requests()[0].Messages; !strings.HasSuffix(m[0].Content, "\n\n[skill: poet]\nRhyme.") || m[1].Content != "hello" {
		t.Errorf("messages %+v", m)
	}
	writeSkill(t, dir, "smith", "---\ndescription: Forges.\n---\nIron.") // while brain runs
	second := r.ask("make me a sword").Turn
	r.ended(second)
	if s := r.story(second); !strings.Contains(s, "tool.called skill.loaded tool.finished") {
		t.Errorf("story %s", s)
	}
	list, err := bus.Request(t.Context(), r.user, proto.SkillList{})
	if err != nil || !slices.Equal(list.Known, []string{"poet", "smith"}) || !slices.Equal(list.Loaded, []string{"poet", "smith"}) ||
		list.About["poet"] != "Writes verse." || list.Dir != dir || list.Off != "" {
		t.Errorf("%+v, %v", list, err)
	}
	list, err = bus.Request(t.Context(), r.user, proto.SkillUnload{Name: "Poet"})
	if err != nil || !slices.Equal(list.Loaded, []string{"smith"}) {
		t.Errorf("%+v, %v", list, err)
	}
	bustest.Expect(r.seen, func(s bustest.Seen, e proto.SkillUnloaded) bool {
		return e == proto.SkillUnloaded{Name: "poet", By: "user"} && s.Session != "" && s.Turn == ""
	})
	r.ended(r.ask("and a shield").Turn)
	if system := chat.Requests()[3].Messages[0].Content; strings.Contains(system, "poet") || !strings.HasSuffix(system, "[skill: smith]\nIron.") {
		t.Errorf("system %q", system)
	}
	writeSkill(t, dir, "bad", "no header")
	if d, problems := detail(r); d.Skills != "2 in "+dir || len(d.BadSkills) != 1 || !strings.Contains(d.BadSkills[0], "bad/SKILL.md: skipped") || len(problems) > 0 {
		t.Errorf("%+v, %v", d, problems)
	}
}

func TestSkillCommands(t *testing.T) {
	r := newRig(t, bustest.New(t), unreachable)
	dir := t.TempDir()
	r.env.Config.SkillsDir = dir
	writeSkill(t, dir, "fire-fly", "---\ndescription: A.\n---\nGlow.")
	r.start()
	if list, err := bus.Request(t.Context(), r.user, proto.SkillLoad{Name: "FIRE-fly"}); err != nil || !slices.Equal(list.Loaded, []string{"fire-fly"}) {
		t.Errorf("%+v, %v", list, err)
	}
	bustest.Expect(r.seen, func(s bustest.Seen, e proto.SkillLoaded) bool {
		return e == proto.SkillLoaded{Name: "fire-fly", By: "user"} && s.Session != ""
	})
	if text, err := bus.Request(t.Context(), r.user, proto.SkillShow{Name: "fire-fly"}); err != nil || text != (proto.SkillText{Name: "fire-fly", Text: "Glow."}) {
		t.Errorf("%+v, %v", text, err)
	}
	for _, c := range []struct {
		ask  proto.SkillMatch
		load []string
		text string
	}{
		{proto.SkillMatch{Text: "/fire-fly go"}, []string{"fire-fly"}, "go"},
		{proto.SkillMatch{Text: "fire fly"}, []string{}, "fire fly"},
		{proto.SkillMatch{Text: "fire fly", Spoken: true}, []string{"fire-fly"}, "fire fly"},
	} {
		if got, err := bus.Request(t.Context(), r.user, c.ask); err != nil || !slices.Equal(got.Load, c.load) || got.Text != c.text {
			t.Errorf("%+v: %+v, %v", c.ask, got, err)
		}
	}
	unknown := &proto.Error{Code: proto.CodeNotFound}
	_, loaded := bus.Request(t.Context(), r.user, proto.SkillLoad{Name: "../fire-fly"})
	_, shown := bus.Request(t.Context(), r.user, proto.SkillShow{Name: "nope"})
	_, left := bus.Request(t.Context(), r.user, proto.SkillUnload{Name: "nope"})
	for _, err := range []error{loaded, shown, left} {
		var e *proto.Error
		if !errors.Is(err, unknown) || !errors.As(err, &e) || !strings.Contains(e.Hint, "desktop-assistant skill list") {
			t.Errorf("%v", err)
		}
	}
}

// promise: without a folder, or switched off, there are no skills: the status
// tells why, and it is no problem.
func TestSkillsOff(t *testing.T) {
	for name, c := range map[string]struct {
		enabled bool
		dir     string
		why     string
	}{
		"no folder":    {true, "/nowhere/skills", "there is no folder /nowhere/skills"},
		"switched off": {false, "/nowhere/skills", "skills_enabled is false"},
		"a file":       {true, "/dev/null", "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			chat := chattest.New(t)
			chat.Script(chattest.Say("Yes."))
			r := newRig(t, bustest.New(t), chat.URL)
			r.env.Config.SkillsEnabled, r.env.Config.SkillsDir = c.enabled, c.dir
			r.ttsd(false)
			r.start()
			r.ended(r.ask("/poet hello").Turn)
			if q := chat.Requests()[0]; len(q.Tools) > 0 || q.Messages[1].Content != "/poet hello" {
				t.Errorf("asked %+v", q)
			}
			d, problems := detail(r)
			if !strings.HasPrefix(d.Skills, "off: ") || !strings.Contains(d.Skills, c.why) || slices.ContainsFunc(problems, func(p proto.Problem) bool { return strings.Contains(p.What, "skill") }) {
				t.Errorf("%q, %v", d.Skills, problems)
			}
		})
	}
}
