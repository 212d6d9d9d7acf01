// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/model"
	"example.org/desktop-assistant/services/brain/internal/skill"
)

// shelf gives the world skills: name, text, name, text. It returns their folder.
func (w *world) shelf(pairs ...string) string {
	w.t.Helper()
	dir := w.t.TempDir()
	for i := 0; i < len(pairs); i += 2 {
		sub := filepath.Join(dir, pairs[i])
		if err := os.Mkdir(sub, 0o755); err != nil {
			w.t.Fatal(err)
		}
		content := "---\nname: " + pairs[i] + "\ndescription: Knows " + pairs[i] + ". Use it.\n---\n" + pairs[i+1]
		if err := os.WriteFile(filepath.Join(sub, "SKILL.md"), []byte(content), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	w.env.Skills = skill.New(dir, slog.New(slog.NewTextHandler(w.t.Output(), nil)))
	return dir
}

// again makes the turn's world ready for a second turn in the same conversation.
func (w *world) again(id string, scripts ...script) {
	w.cancel()
	<-w.turn.Done()
	synctest.Wait()
	w.check()
	w.spec.ID = id
	w.mu.Lock()
	w.events, w.endings, w.ends = nil, nil, nil
	w.mu.Unlock()
	w.mouth.reset()
	w.mouth.said, w.mouth.ends = nil, nil
	w.model.asked, w.model.scripts = nil, scripts
}

// messages of the n-th request.
func (w *world) messages(n int) []model.Message { return w.model.requests()[n].Messages }

func toolNames(req model.Request) (names []string) {
	for _, t := range req.Tools {
		names = append(names, t.Name)
	}
	return names
}

// promise: a load_skill round returns the text and emits skill.loaded; it is in
// the tool result of this turn, and in the prompt from the next turn on.
func TestModelLoadsASkill(t *testing.T) {
	in(t, func(w *world) {
		w.shelf("poet", "Rhyme.", "smith", "Iron.")
		w.model.scripts = []script{calls("", `load_skill {"name":"Poet"}`), says("Roses are red.")}
		w.ask("write a verse")
		first := w.model.requests()[0]
		if tool := first.Tools; len(tool) != 1 || tool[0].Name != "load_skill" || !strings.HasSuffix(tool[0].Description, "\npoet: Knows poet.\nsmith: Knows smith.") ||
			!strings.Contains(string(tool[0].Parameters), `"enum":["poet","smith"]`) {
			t.Errorf("tools %s %s", tool[0].Description, tool[0].Parameters)
		}
		if m := first.Messages; len(m) != 2 || m[0].Content != "Be brief." {
			t.Errorf("messages %+v", m)
		}
		second := w.messages(1)
		if m := second[len(second)-1]; m.Role != model.RoleTool || m.Content != "[skill: poet]\nRhyme." || second[0].Content != "Be brief." {
			t.Errorf("messages %+v", second)
		}
		w.want("called(load_skill) skill.loaded finished(load_skill [skill: poet]\nRhyme.) say0(Roses are red.) spoken")
		if got := w.all(); !slices.Contains(got, proto.Event(proto.SkillLoaded{Name: "poet", By: "model"})) {
			t.Errorf("events %+v", got)
		}
		if len(w.tools.order) > 0 {
			t.Errorf("toolrunner was asked: %v", w.tools.order)
		}

		w.again("t2", calls("", `load_skill {"name":"poet"}`), says("Violets."))
		w.ask("more")
		if m := w.messages(0)[0]; m.Content != "Be brief.\n\n[skill: poet]\nRhyme." {
			t.Errorf("system %q", m.Content)
		}
		if s := w.story(); strings.Contains(s, "skill.loaded") || !strings.Contains(s, "already") || strings.Contains(s, "Rhyme") {
			t.Errorf("loaded twice: %s", s)
		}
	})
}

// promise: an unknown tool or skill gives a tool message and no event.
func TestUnknownSkill(t *testing.T) {
	in(t, func(w *world) {
		w.shelf("poet", "Rhyme.")
		w.model.scripts = []script{calls("", `load_skill {"name":"../poet"}`, `load_skill {"name":["poet"]}`, "load_skill", `unload_skill {"name":"poet"}`), says("No.")}
		w.ask("write a verse")
		if s := w.story(); strings.Contains(s, "skill.loaded") || strings.Contains(s, "Rhyme") {
			t.Errorf("story %s", s)
		}
		m := w.messages(1)
		results := m[len(m)-4:]
		for i, part := range []string{"no skill named ../poet; the skills are: poet", "no skill named ; the", "no skill named ; the", "unload_skill"} {
			if results[i].Role != model.RoleTool || !strings.HasPrefix(results[i].Content, "error: ") || !strings.Contains(results[i].Content, part) {
				t.Errorf("result %+v", results[i])
			}
		}
		if list := w.book.Skills(w.spec.Session); len(list) > 0 {
			t.Errorf("loaded %q", list)
		}
	})
}

// promise: load_skill round after round until tool_rounds still ends in a spoken
// answer with no tools offered.
func TestSkillsRoundAfterRound(t *testing.T) {
	in(t, func(w *world) {
		w.shelf("a", "A.", "b", "B.")
		again := calls("", `load_skill {"name":"a"}`, `load_skill {"name":"b"}`)
		w.model.scripts = []script{again, again, again, says("Enough.")}
		end := w.ask("load them")
		reqs := w.model.requests()
		if end.End != proto.EndSpoken || len(reqs) != 4 || len(reqs[2].Tools) != 1 || len(reqs[3].Tools) != 0 {
			t.Errorf("%s after %d requests", end.End, len(reqs))
		}
		if n := strings.Count(w.story(), "skill.loaded"); n != 2 {
			t.Errorf("%d loaded: %s", n, w.story())
		}
		if list := w.book.Skills(w.spec.Session); !slices.Equal(list, []string{"a", "b"}) {
			t.Errorf("loaded %q", list)
		}
	})
}

// load_skill stands beside the tools on both routes, and in the place of a tool of
// that name.
func TestSkillsBesideTools(t *testing.T) {
	for route, want := range map[string][]string{"local": {"now", "search", "load_skill"}, "external": {"search", "load_skill"}} {
		in(t, func(w *world) {
			w.shelf("poet", "Rhyme.")
			w.env.Settings.Route = route
			w.tools.specs = []proto.ToolSpec{now, search, {Name: "load_skill", External: true}}
			w.model.scripts = []script{calls("", `load_skill {"name":"poet"}`, "search"), says("Done.")}
			w.ask("look")
			for i := range 2 {
				if got := toolNames(w.model.requests()[i]); !slices.Equal(got, want) {
					t.Errorf("%s: round %d offers %v", route, i, got)
				}
			}
			if !slices.Equal(w.tools.order, []string{"start search", "end search"}) {
				t.Errorf("ran %v", w.tools.order)
			}
		})
	}
}

func TestUserLoadsASkill(t *testing.T) {
	for name, c := range map[string]struct {
		origin      proto.Origin
		text, asked string
		loads       []string
	}{
		"call":           {proto.OriginText, "/fire-poet write a verse", "write a verse", []string{"fire-poet"}},
		"mention":        {proto.OriginText, "ask the Smith about iron", "ask the Smith about iron", []string{"smith"}},
		"order":          {proto.OriginText, "smith and /fire-poet go", "smith and go", []string{"smith", "fire-poet"}},
		"typed words":    {proto.OriginText, "the fire poet", "the fire poet", nil},
		"spoken":         {proto.OriginVoice, "The fire poet, please.", "The fire poet, please.", []string{"fire-poet"}},
		"part of a word": {proto.OriginVoice, "the goldsmith", "the goldsmith", nil},
		"part of a path": {proto.OriginText, "what is /smith/x", "what is /smith/x", nil},
		"no such skill":  {proto.OriginText, "/poem about iron", "/poem about iron", nil},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.shelf("fire-poet", "Rhyme.", "smith", "Iron.")
				w.spec.Origin, w.spec.Trigger = c.origin, proto.TriggerKey
				w.model.scripts = []script{says("Yes.")}
				w.ask(c.text)
				events := w.all()
				at := slices.IndexFunc(events, func(e proto.Event) bool { _, ok := e.(proto.TurnAsked); return ok })
				if at != 1+len(c.loads) || events[at].(proto.TurnAsked).Text != c.asked {
					t.Fatalf("events %+v", events)
				}
				system := "Be brief."
				for i, n := range c.loads {
					if events[1+i] != proto.Event(proto.SkillLoaded{Name: n, By: "user"}) {
						t.Errorf("event %+v", events[1+i])
					}
					system += "\n\n[skill: " + n + "]\n" + map[string]string{"fire-poet": "Rhyme.", "smith": "Iron."}[n]
				}
				if m := w.messages(0); m[0].Content != system || m[1].Content != c.asked {
					t.Errorf("messages %+v", m)
				}
				if h := w.book.History(w.spec.Session, 2); len(h) != 1 || h[0].Question != c.asked {
					t.Errorf("history %+v", h)
				}
			})
		})
	}
}

// promise: a message that is only /name loads and is acknowledged, without asking
// the model.
func TestOnlyACall(t *testing.T) {
	for text, want := range map[string]string{
		"/poet":          "skill.loaded say0(I have loaded poet.) spoken",
		" /poet /smith.": "skill.loaded skill.loaded say0(I have loaded poet, smith.) spoken",
	} {
		in(t, func(w *world) {
			w.shelf("poet", "Rhyme.", "smith", "Iron.")
			w.model.scripts = []script{says("Never.")}
			end := w.ask(text)
			w.want(want)
			if len(w.model.requests()) > 0 || len(w.book.History(w.spec.Session, 20)) > 0 || end.Error != nil {
				t.Errorf("asked %d, %+v", len(w.model.requests()), end)
			}
			w.again("t2")
			w.spec.Speak = false
			w.ask("/poet")
			w.want("say0(I have loaded poet.) silent")
		})
	}
}

// promise: a skill deleted or renamed since contributes nothing.
func TestDeletedSkill(t *testing.T) {
	in(t, func(w *world) {
		dir := w.shelf("poet", "Rhyme.", "smith", "Iron.")
		w.model.scripts = []script{says("Yes.")}
		w.ask("/poet /smith hello")
		if err := os.RemoveAll(filepath.Join(dir, "poet")); err != nil {
			t.Fatal(err)
		}
		w.again("t2", calls("", `load_skill {"name":"poet"}`), says("No."))
		w.ask("/poet again")
		if m := w.messages(0); m[0].Content != "Be brief.\n\n[skill: smith]\nIron." || m[len(m)-1].Content != "/poet again" {
			t.Errorf("messages %+v", m)
		}
		if s := w.story(); strings.Contains(s, "skill.loaded") || !strings.Contains(s, "no skill named poet") {
			t.Errorf("story %s", s)
		}
	})
}

// slowSkills takes its time to read a text.
type slowSkills struct{ Skills }

func (s slowSkills) Text(shelf skill.Shelf, name string) (string, error) {
	<-time.After(time.Second)
	return s.Skills.Text(shelf, name)
}

// A skill that is being read when the turn is stopped is told to have ended, and
// the end of toolrunner does not end it.
func TestSkillIsInterrupted(t *testing.T) {
	in(t, func(w *world) {
		w.shelf("poet", "Rhyme.")
		w.env.Skills = slowSkills{w.env.Skills}
		w.model.scripts = []script{calls("", `load_skill {"name":"poet"}`), says("Yes.")}
		w.start().Ask("write", "")
		<-time.After(500 * time.Millisecond)
		w.turn.Lost("toolrunner")
		synctest.Wait()
		w.want("called(load_skill)")
		w.turn.Interrupt(proto.EndCancelled)
		w.end()
		w.want("called(load_skill) finished(load_skill error: cancelled) cancelled")
		if list := w.book.Skills(w.spec.Session); len(list) > 0 {
			t.Errorf("loaded %q", list)
		}
	})
}

// slowShelf takes its time to list.
type slowShelf struct{ Skills }

func (s slowShelf) Shelf() skill.Shelf {
	<-time.After(time.Second)
	return s.Skills.Shelf()
}

// A turn that is stopped before its question is read leaves no exchange behind.
func TestInterruptedBeforeItIsRead(t *testing.T) {
	in(t, func(w *world) {
		w.shelf("poet", "Rhyme.")
		w.env.Skills = slowShelf{w.env.Skills}
		turn := w.start()
		turn.Ask("/poet write", "")
		turn.Interrupt(proto.EndCancelled)
		w.end()
		w.want("cancelled")
		if h := w.book.History(w.spec.Session, 20); len(h) > 0 {
			t.Errorf("history %+v", h)
		}
	})
}
