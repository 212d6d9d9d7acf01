// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
)

func TestSkill(t *testing.T) {
	r := newRig(t)
	list := proto.Skills{
		Known: []string{"poet", "smith"}, Loaded: []string{"smith", "gone"}, Dir: "/skills",
		About: map[string]string{"poet": "Writes \x1b[1mverse."}, Warnings: []string{"/skills/bad/SKILL.md: skipped: why"},
	}
	var asked []proto.SkillMatch
	r.serve("brain",
		bus.Command(func(context.Context, proto.SkillList) (proto.Skills, error) { return list, nil }),
		bus.Command(func(_ context.Context, c proto.SkillLoad) (proto.Skills, error) {
			if c.Name == "nope" {
				return proto.Skills{}, proto.Errorf(proto.CodeNotFound, "skill.load", "no skill %q", c.Name).WithHint("look")
			}
			return proto.Skills{Loaded: []string{"smith", c.Name}}, nil
		}),
		bus.Command(func(context.Context, proto.SkillUnload) (proto.Skills, error) { return proto.Skills{}, nil }),
		bus.Command(func(_ context.Context, c proto.SkillShow) (proto.SkillText, error) {
			return proto.SkillText{Name: c.Name, Text: "Rhyme.\n\nAlways."}, nil
		}),
		bus.Command(func(_ context.Context, c proto.SkillMatch) (proto.SkillMatched, error) {
			asked = append(asked, c)
			if c.Text == "/poet" {
				return proto.SkillMatched{Load: []string{"poet"}}, nil
			}
			return proto.SkillMatched{Load: []string{}, Text: c.Text}, nil
		}))
	for line, want := range map[string]string{
		"skill list":                "poet: Writes [1mverse.\nsmith (loaded)\ngone (loaded, but not there any more)\n! /skills/bad/SKILL.md: skipped: why\n",
		"skill load poet":           "Loaded: smith, poet\n",
		"skill unload smith":        "No skill is loaded.\n",
		"skill show poet":           "Rhyme.\n\nAlways.\n",
		"skill match /poet":         "Loads: poet\nAsks nothing.\n",
		"skill match --json /poet":  `{"load":["poet"],"text":""}` + "\n",
		"skill match --spoken a b":  "Loads no skill.\nAsks: a b\n",
		"__complete skill unload ":  "smith\ngone\n:4\n",
		"__complete skill show po":  "poet\tWrites [1mverse.\nsmith\n:4\n",
		"__complete skill show a b": ":4\n",
	} {
		if res := run(t, strings.Split(line, " ")...); res.code != 0 || res.out != want {
			t.Errorf("%s: %+v", line, res)
		}
	}
	for _, c := range asked {
		if c.Spoken != (c.Text == "a b") {
			t.Errorf("asked %+v", c)
		}
	}
	run(t, "skill", "load", "nope").want(t, ExitInvalid, "!no skill", "!hint: look")
	run(t, "skill", "lode", "poet").want(t, ExitUsage, "!did you mean: desktop-assistant skill load")
	run(t, "skill", "show").want(t, ExitUsage, "!usage: desktop-assistant skill show NAME")
	for off, want := range map[string]string{"there is no folder /x": "No skills: there is no folder /x.\n", "": "No skills in /x: each is a folder with a SKILL.md.\n"} {
		list = proto.Skills{Dir: "/x", Off: off}
		if res := run(t, "skill", "list"); res.out != want {
			t.Errorf("%+v", res)
		}
	}
}
