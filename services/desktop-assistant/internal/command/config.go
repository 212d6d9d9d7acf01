// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/usage"
)

func (a *app) configCommand() *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Check and show the configuration"}
	c.AddCommand(
		a.jsonFlag(&cobra.Command{Use: "check", Short: "Read the configuration and name every fault in it", Args: usage.Args(0, 0),
			RunE: func(*cobra.Command, []string) error { return a.configCheck() }}),
		&cobra.Command{Use: "show", Short: "Print the configuration in force, defaults included, secrets hidden", Args: usage.Args(0, 0),
			RunE: func(*cobra.Command, []string) error { return a.configShow() }},
		a.jsonFlag(&cobra.Command{Use: "path", Short: "Print where the configuration file is looked for", Args: usage.Args(0, 0),
			RunE: func(*cobra.Command, []string) error { return a.configFile() }}))
	return c
}

// checked is what config check finds, for --json.
type checked struct {
	File     string   `json:"file"` // empty: there is none or it cannot be used
	Faults   []fault  `json:"faults"`
	Warnings []string `json:"warnings"`
}

type fault struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Text   string `json:"text"`
	Hint   string `json:"hint"`
}

func (a *app) configCheck() error {
	cfg, err := a.config()
	if a.json {
		c := checked{File: cfg.File, Faults: []fault{}, Warnings: append([]string{}, cfg.Warnings...)}
		for _, f := range config.Faults(err) {
			c.Faults = append(c.Faults, fault{f.File, f.Line, f.Col, f.Text, f.Hint})
		}
		if err := a.printJSON(c); err != nil {
			return err
		}
		if len(c.Faults) > 0 {
			return quietError{ExitConfig}
		}
	}
	if err != nil || a.json {
		return err
	}
	for _, w := range cfg.Warnings {
		if _, err := fmt.Fprintln(a.Err, "warning: "+w); err != nil {
			return err
		}
	}
	said := cfg.File + ": ok"
	if cfg.File == "" {
		said = "no configuration file: the defaults hold"
	}
	_, err = fmt.Fprintln(a.Out, said)
	return err
}

func (a *app) configShow() error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	text, err := cfg.Show()
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(a.Out, text)
	return err
}

func (a *app) configFile() error {
	path := a.configPath
	if path == "" {
		path = config.Path()
	}
	if path == "" {
		return proto.Errorf(proto.CodeFailed, "config path", "there is no home folder").WithHint("set HOME, or name the file with --config")
	}
	if a.json {
		return a.printJSON(map[string]string{"path": path})
	}
	_, err := fmt.Fprintln(a.Out, path)
	return err
}
