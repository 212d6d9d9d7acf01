// SPDX-License-Identifier: Apache-2.0

// Command spoken-text lets recorded answers be run against pkg/speech, see
// package spokentext for the protocol. Its argument is their kind.
package main

import (
	"os"

	"example.org/desktop-assistant/services/brain/internal/spokentext"
)

func main() { os.Exit(spokentext.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
