// SPDX-License-Identifier: Apache-2.0

// Package usage says what is wrong with a command line, and what to type instead.
package usage

import (
	"strings"

	"github.com/spf13/cobra"

	"example.org/desktop-assistant/proto"
)

// Error is a wrong command line.
type Error struct{ cause *proto.Error }

// New makes one of its cause.
func New(cause *proto.Error) Error { return Error{cause} }

func (e Error) Error() string { return e.cause.Error() }
func (e Error) Unwrap() error { return e.cause }

// Verb names a command in its errors: "tool run", "" for the program itself.
func Verb(c *cobra.Command) string {
	_, rest, _ := strings.Cut(c.CommandPath(), " ")
	return rest
}

// Flags makes an unknown or wrong flag an [Error], for SetFlagErrorFunc.
func Flags(c *cobra.Command, err error) error {
	return New(proto.Errorf(proto.CodeInvalid, Verb(c), "%v", err).WithHint("%s --help", c.CommandPath()))
}

// Args checks the number of arguments of a verb; a negative most is no limit.
func Args(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, given []string) error {
		if len(given) >= least && (most < 0 || len(given) <= most) {
			return nil
		}
		return New(proto.Errorf(proto.CodeInvalid, Verb(c), "wrong number of arguments: %d", len(given)).WithHint("usage: %s", c.UseLine()))
	}
}

// Strict makes an unknown verb below c an [Error]: of a group, cobra would print
// the help and succeed.
func Strict(c *cobra.Command) {
	if c.HasSubCommands() && c.Run == nil && c.RunE == nil {
		c.Args = cobra.ArbitraryArgs
		c.SuggestionsMinimumDistance = 2
		c.RunE = func(c *cobra.Command, given []string) error {
			if len(given) == 0 {
				return c.Help()
			}
			hint := c.CommandPath() + " --help"
			if near := c.SuggestionsFor(given[0]); len(near) > 0 {
				hint = "did you mean: " + c.CommandPath() + " " + near[0]
			}
			return New(proto.Errorf(proto.CodeInvalid, Verb(c), "unknown verb %q", given[0]).WithHint("%s", hint))
		}
	}
	for _, sub := range c.Commands() {
		Strict(sub)
	}
}
