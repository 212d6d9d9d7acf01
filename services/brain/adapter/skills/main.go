// SPDX-License-Identifier: Apache-2.0

// Command skills lets folders of skills and messages be run against brain's
// reading of them, see package skillcase for the protocol.
package main

import (
	"os"

	"example.org/desktop-assistant/services/brain/internal/skillcase"
)

func main() { os.Exit(skillcase.Main(os.Stdin, os.Stdout, os.Stderr)) }
