// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/skill"
)

// skills opens the configured folder, or one without skills and says why.
func skills(cfg config.Config, log *slog.Logger) (folder *skill.Folder, off string) {
	if !cfg.SkillsEnabled {
		return skill.New("", log), "skills_enabled is false"
	}
	dir, err := cfg.SkillsPath()
	if err != nil {
		return skill.New("", log), err.Error()
	}
	return skill.New(dir, log), ""
}

func (a *App) skillEndpoints(dev string) []bus.Endpoint {
	return []bus.Endpoint{
		bus.Command(func(context.Context, proto.SkillList) (proto.Skills, error) { return a.listSkills(dev), nil }),
		bus.Command(func(_ context.Context, cmd proto.SkillLoad) (proto.Skills, error) {
			return a.loadSkill(dev, cmd.Name)
		}),
		bus.Command(func(_ context.Context, cmd proto.SkillUnload) (proto.Skills, error) {
			return a.unloadSkill(dev, cmd.Name)
		}),
		bus.Command(func(_ context.Context, cmd proto.SkillShow) (proto.SkillText, error) {
			found, text, err := a.readSkill("skill.show", cmd.Name)
			return proto.SkillText{Name: found.Name, Text: text}, err
		}),
		bus.Command(func(_ context.Context, cmd proto.SkillMatch) (proto.SkillMatched, error) {
			names, text := a.skills.Shelf().Match(cmd.Text, cmd.Spoken)
			return proto.SkillMatched{Load: append([]string{}, names...), Text: text}, nil
		}),
	}
}

// listSkills tells of the skills there are, and of those loaded in the device's
// conversation.
func (a *App) listSkills(dev string) proto.Skills {
	shelf := a.skills.Shelf()
	list := proto.Skills{
		Known: shelf.Names(), Loaded: append([]string{}, a.sessions.Skills(a.sessions.Going(dev))...),
		About: map[string]string{}, Dir: a.skills.Dir(), Off: a.skillOff, Warnings: shelf.Warnings,
	}
	for _, s := range shelf.Skills {
		list.About[s.Name] = s.Description
	}
	switch {
	case list.Off != "":
	case errors.Is(shelf.Err, fs.ErrNotExist):
		list.Off = "there is no folder " + list.Dir
	case shelf.Err != nil:
		list.Off = "read skills: " + shelf.Err.Error()
	}
	return list
}

func (a *App) loadSkill(dev, name string) (proto.Skills, error) {
	found, _, err := a.readSkill("skill.load", name)
	if err != nil {
		return proto.Skills{}, err
	}
	id := a.sessions.Current(dev)
	if a.sessions.LoadSkill(id, found.Name) {
		a.tell(proto.SkillLoaded{Name: found.Name, By: proto.ByUser}, dev, id)
	}
	return a.listSkills(dev), nil
}

// unloadSkill takes the name as it was loaded, in any case: the skill itself may
// be gone.
func (a *App) unloadSkill(dev, name string) (proto.Skills, error) {
	id := a.sessions.Going(dev)
	for _, loaded := range a.sessions.Skills(id) {
		if skill.Same(loaded, name) && a.sessions.UnloadSkill(id, loaded) {
			a.tell(proto.SkillUnloaded{Name: loaded, By: proto.ByUser}, dev, id)
			return a.listSkills(dev), nil
		}
	}
	return proto.Skills{}, proto.Errorf(proto.CodeNotFound, "skill.unload", "no skill %q is loaded", name).
		WithHint("see which are: desktop-assistant skill list")
}

func (a *App) readSkill(op, name string) (found skill.Skill, text string, err error) {
	shelf := a.skills.Shelf()
	found, known := shelf.Find(name)
	if known {
		text, err = a.skills.Text(shelf, found.Name)
	}
	switch {
	case !known || errors.Is(err, skill.ErrUnknown):
		return found, "", proto.Errorf(proto.CodeNotFound, op, "no skill %q", name).
			WithHint("see which there are, and where they belong: desktop-assistant skill list")
	case err != nil:
		return found, "", proto.Errorf(proto.CodeFailed, op, "%v", err)
	}
	return found, text, nil
}

// tell publishes an event of a conversation.
func (a *App) tell(ev proto.Event, dev, session string) {
	if err := a.env.Bus.Publish(ev, bus.Meta{Device: dev, Session: session}); err != nil {
		a.env.Log.Error("publish event", "type", ev.EventType(), "error", err)
	}
}
