// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/batch"
	"example.org/desktop-assistant/services/brain/internal/catalog"
	"example.org/desktop-assistant/services/brain/internal/phrase"
	"example.org/desktop-assistant/services/brain/internal/skill"
	"example.org/desktop-assistant/services/brain/internal/voice"
)

// skillTool is the tool by which the model loads a skill. It runs here.
const skillTool = "load_skill"

// maxNamed is how many skills the answer to an unknown name lists.
const maxNamed = 50

// skillText is a loaded skill with its text.
type skillText struct{ name, text string }

// withSkills adds the tool that loads skills, when there are some.
func (r *run) withSkills(offer catalog.Offer) catalog.Offer {
	if len(r.shelf.Skills) == 0 {
		return offer
	}
	parameters, err := json.Marshal(map[string]any{
		"type": "object", "required": []string{"name"},
		"properties": map[string]any{"name": map[string]any{
			"type": "string", "description": "Name of the skill", "enum": r.shelf.Names(),
		}},
	})
	if err != nil { // strings always encode
		return offer
	}
	return offer.With(proto.ToolSpec{
		Name: skillTool, Parameters: parameters, External: true,
		Description: "Load the instructions of a skill, then follow them. Do so when what the user wants is what a skill is for. The skills:\n" + r.shelf.Directory(),
	})
}

// isSkill says whether a call loads a skill.
func (r *run) isSkill(c *batch.Call) bool {
	return r.local == nil && len(r.shelf.Skills) > 0 && c.Name == skillTool
}

// startSkill runs such a call.
func (r *run) startSkill(c *batch.Call) {
	c.Begin(time.Now(), func() {})
	r.publish(c.Called())
	var given struct{ Name string }
	_ = json.Unmarshal(c.Arguments, &given) // another type names no skill
	shelf := r.shelf
	r.spawn(func() {
		found, known := shelf.Find(strings.TrimPrefix(strings.TrimSpace(given.Name), "/"))
		text, err := "", skill.ErrUnknown
		if known {
			text, err = r.env.Skills.Text(shelf, found.Name)
		}
		r.post(func(ctx context.Context, r *run) {
			if c.Done() {
				return
			}
			res := proto.ToolResult{Call: c.BusID, OK: err == nil, TookMS: time.Since(c.Start).Milliseconds()}
			switch {
			case errors.Is(err, skill.ErrUnknown):
				res.Kind, res.Result = proto.KindInvalidArguments, r.noSkill(given.Name)
			case err != nil:
				res.Kind, res.Result = proto.KindFailed, "error: "+err.Error()
			default:
				res.Result = r.skillLoaded(found.Name, text)
			}
			r.endCall(c, res)
			r.publish(c.Finished())
			r.next(ctx)
		})
	})
}

// noSkill tells the model that it asked for what there is not.
func (r *run) noSkill(name string) string {
	names := r.shelf.Names()
	list := strings.Join(names[:min(len(names), maxNamed)], ", ")
	return "error: no skill named " + name + "; the skills are: " + list
}

// skillLoaded keeps a skill that the model asked for, and gives what the model
// is told: its text, unless it has that.
func (r *run) skillLoaded(name, text string) string {
	r.keepSkill(name, proto.ByModel)
	if r.given[name] {
		return "[skill: " + name + "]\n(It is loaded already, its text is above.)"
	}
	r.given[name] = true
	return skill.Section(name, text)
}

// keepSkill loads a skill into the conversation; again it changes nothing.
func (r *run) keepSkill(name, by string) {
	if r.env.Book.LoadSkill(r.Session, name) {
		r.publish(proto.SkillLoaded{Name: name, By: by})
	}
}

// loaded reads the texts of the skills of this conversation. It runs beside the
// turn. One that is there no more gives nothing.
func (r *run) loaded(shelf skill.Shelf) []skillText {
	var list []skillText
	for _, name := range r.env.Book.Skills(r.Session) {
		text, err := r.env.Skills.Text(shelf, name)
		switch {
		case err == nil:
			list = append(list, skillText{name, text})
		case !errors.Is(err, skill.ErrUnknown):
			r.log.Warn("a loaded skill cannot be read", "error", err)
		}
	}
	return list
}

// give notes what the model gets of the loaded skills, and makes it.
func (r *run) give(loaded []skillText) (sections []string) {
	r.given = map[string]bool{}
	for _, s := range loaded {
		r.given[s.name] = true
		sections = append(sections, skill.Section(s.name, s.text))
	}
	return sections
}

// skillsOnly answers a message that does nothing but load skills.
func (r *run) skillsOnly(ctx context.Context, names []string) {
	text, lang := phrase.Say(phrase.SkillLoaded, r.language, "names", strings.Join(names, ", "))
	r.say(ctx, voice.Line{Text: text, Spoken: text, Language: lang, Answer: true})
	r.complete(ctx)
}
