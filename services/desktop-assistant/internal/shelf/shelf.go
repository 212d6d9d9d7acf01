// SPDX-License-Identifier: Apache-2.0

// Package shelf is the verbs of the command line for skills.
package shelf

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/speech"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/console"
	"example.org/desktop-assistant/services/desktop-assistant/internal/usage"
)

// limit bounds a request that is answered at once.
const limit = 3 * time.Second

// Dial connects to the running assistant.
type Dial func(ctx context.Context) (*bus.Conn, error)

// verbs is what each of them needs.
type verbs struct {
	dial Dial
	out  io.Writer
	json bool
}

// Command makes the group of verbs, which print to out.
func Command(dial Dial, out io.Writer) *cobra.Command {
	v := &verbs{dial: dial, out: out}
	c := &cobra.Command{
		Use: "skill", Short: "List, load and unload skills",
		Long: `List, load and unload skills.

A skill is a folder with a SKILL.md below skills_dir of the configuration. One that
is loaded stays for the conversation. In a question, /NAME loads it too, and so
does its name as a word.`,
	}
	list := &cobra.Command{Use: "list", Short: "List the skills, and which are loaded", Args: usage.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return ask(c.Context(), v, proto.SkillList{}, v.list) }}
	show := &cobra.Command{Use: "show NAME", Short: "Print what the model gets of a skill", Args: usage.Args(1, 1), ValidArgsFunction: v.names,
		RunE: func(c *cobra.Command, given []string) error {
			return ask(c.Context(), v, proto.SkillShow{Name: given[0]}, v.show)
		}}
	load := &cobra.Command{Use: "load NAME", Short: "Load a skill into the conversation", Args: usage.Args(1, 1), ValidArgsFunction: v.names,
		RunE: func(c *cobra.Command, given []string) error {
			return ask(c.Context(), v, proto.SkillLoad{Name: given[0]}, v.loaded)
		}}
	unload := &cobra.Command{Use: "unload NAME", Short: "Let go of a loaded skill", Args: usage.Args(1, 1), ValidArgsFunction: v.names,
		RunE: func(c *cobra.Command, given []string) error {
			return ask(c.Context(), v, proto.SkillUnload{Name: given[0]}, v.loaded)
		}}
	spoken := false
	match := &cobra.Command{Use: "match TEXT", Short: "Say which skills a question would load, and load none", Args: usage.Args(1, -1),
		RunE: func(c *cobra.Command, given []string) error {
			return ask(c.Context(), v, proto.SkillMatch{Text: strings.Join(given, " "), Spoken: spoken}, v.matched)
		}}
	match.Flags().BoolVar(&spoken, "spoken", false, "take TEXT as spoken: hyphens and spaces are the same")
	for _, verb := range []*cobra.Command{list, show, load, unload, match} {
		verb.Flags().BoolVar(&v.json, "json", false, "print JSON")
		c.AddCommand(verb)
	}
	return c
}

// ask sends a command and shows its reply.
func ask[C proto.Command[R], R any](ctx context.Context, v *verbs, cmd C, show func(*console.Console, R)) error {
	reply, err := request(ctx, v, cmd)
	if err != nil {
		return err
	}
	if v.json {
		enc := json.NewEncoder(v.out)
		enc.SetEscapeHTML(false)
		return enc.Encode(reply)
	}
	show(console.New(v.out), reply)
	return nil
}

func request[C proto.Command[R], R any](ctx context.Context, v *verbs, cmd C) (reply R, err error) {
	conn, err := v.dial(ctx)
	if err != nil {
		return reply, err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return bus.Request[C, R](ctx, conn, cmd)
}

func (v *verbs) list(c *console.Console, s proto.Skills) {
	for _, name := range s.Known {
		line := name
		if slices.Contains(s.Loaded, name) {
			line += " (loaded)"
		}
		if about := s.About[name]; about != "" {
			line += ": " + about
		}
		c.Println("%s", line)
	}
	for _, name := range s.Loaded {
		if !slices.Contains(s.Known, name) {
			c.Println("%s (loaded, but not there any more)", name)
		}
	}
	switch {
	case s.Off != "":
		c.Println("No skills: %s.", s.Off)
	case len(s.Known) == 0:
		c.Println("No skills in %s: each is a folder with a SKILL.md.", s.Dir)
	}
	for _, w := range s.Warnings {
		c.Problem(w, "")
	}
}

func (v *verbs) show(c *console.Console, s proto.SkillText) {
	for line := range strings.Lines(s.Text) {
		c.Println("%s", strings.TrimSuffix(line, "\n"))
	}
}

func (v *verbs) loaded(c *console.Console, s proto.Skills) {
	if len(s.Loaded) == 0 {
		c.Println("No skill is loaded.")
		return
	}
	c.Println("Loaded: %s", strings.Join(s.Loaded, ", "))
}

func (v *verbs) matched(c *console.Console, m proto.SkillMatched) {
	if len(m.Load) == 0 {
		c.Println("Loads no skill.")
	} else {
		c.Println("Loads: %s", strings.Join(m.Load, ", "))
	}
	if m.Text == "" {
		c.Println("Asks nothing.")
		return
	}
	c.Println("Asks: %s", m.Text)
}

// names completes the name of a skill.
func (v *verbs) names(c *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s, err := request(c.Context(), v, proto.SkillList{})
	if err != nil { // it has no place on a line that is being typed
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list := s.Known
	if c.Name() == "unload" {
		list = s.Loaded
	}
	var names []string
	for _, name := range list {
		names = append(names, speech.Plain(name+"\t"+s.About[name]))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
