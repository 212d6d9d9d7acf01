// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"example.org/desktop-assistant/pkg/config"
)

func (a *app) configCommand() *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Check and show the configuration"}
	c.AddCommand(
		&cobra.Command{Use: "check", Short: "Read the configuration and name every fault in it", Args: args(0, 0),
			RunE: func(*cobra.Command, []string) error {
				cfg, err := a.config()
				if err != nil {
					return err
				}
				for _, w := range cfg.Warnings {
					fmt.Fprintln(a.Err, "warning: "+w)
				}
				if cfg.File == "" {
					_, err = fmt.Fprintln(a.Out, "no configuration file: the defaults hold")
				} else {
					_, err = fmt.Fprintln(a.Out, cfg.File+": ok")
				}
				return err
			}},
		&cobra.Command{Use: "show", Short: "Print the configuration in force, defaults included, secrets hidden", Args: args(0, 0),
			RunE: func(*cobra.Command, []string) error {
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
			}},
		&cobra.Command{Use: "path", Short: "Print where the configuration file is looked for", Args: args(0, 0),
			RunE: func(*cobra.Command, []string) error {
				path := a.configPath
				if path == "" {
					path = config.Path()
				}
				_, err := fmt.Fprintln(a.Out, path)
				return err
			}})
	return c
}
