// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/speech"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/usage"
)

func (a *app) voiceCommand() *cobra.Command {
	c := &cobra.Command{Use: "voice", Short: "List voices, and try mixtures of them"}
	c.AddCommand(
		a.jsonFlag(&cobra.Command{Use: "list", Short: "Print the voices of the speech engine in use", Args: usage.Args(0, 0),
			RunE: func(c *cobra.Command, _ []string) error { return a.listVoices(c.Context()) }}),
		a.tryCommand())
	return c
}

func (a *app) listVoices(ctx context.Context) error {
	conn, _, err := a.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	v, err := bus.Request(ctx, conn, proto.SpeechVoices{})
	switch {
	case err != nil:
		return err
	case a.json:
		return a.printJSON(v)
	}
	for _, language := range slices.Sorted(maps.Keys(v.Blends)) {
		if _, err := fmt.Fprintf(a.Out, "%s is spoken with %s\n", language, v.Blends[language]); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(a.Out, "%d voices of %s: %s\n", len(v.Voices), v.Engine, strings.Join(v.Voices, " "))
	return err
}

func (a *app) tryCommand() *cobra.Command {
	var language string
	c := &cobra.Command{
		Use: "try BLEND TEXT", Short: "Speak a text with another mixture of voices", Args: usage.Args(2, -1),
		Long: `Speak a text with another mixture of voices, and wait until it was heard.

A BLEND is a voice, or some with their shares: "if_sara 0.8, af_bella 0.2". The
language is that of the voice with the largest share. What sounds right is then
written into the configuration, as blend below [voice.LANGUAGE].`,
		Example: `  desktop-assistant voice try "if_sara 0.8, af_bella 0.2" "Ciao, come stai?"`,
		RunE: func(c *cobra.Command, words []string) error {
			conn, cfg, err := a.dial(c.Context())
			if err != nil {
				return err
			}
			defer conn.Close()
			text := strings.Join(words[1:], " ")
			spoken := speech.Spoken(text, language)
			if language == "" {
				spoken = speech.Spoken(text, speech.Language(text, "", cfg.Languages()))
			}
			return a.say(c.Context(), conn, "voice try", proto.SpeechSay{Text: text, Spoken: spoken, Language: language, Voice: words[0]})
		},
	}
	c.Flags().StringVar(&language, "lang", "", "language `code` of the text (default: that of the voice)")
	return c
}
