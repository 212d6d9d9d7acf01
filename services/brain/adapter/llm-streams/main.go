// SPDX-License-Identifier: Apache-2.0

// Command llm-streams lets the recorded chat-completion cases be run against the
// client of brain, see package adapter for the protocol.
package main

import (
	"os"

	"example.org/desktop-assistant/services/brain/internal/adapter"
)

func main() { os.Exit(adapter.Main(os.Stdin, os.Stdout, os.Stderr)) }
