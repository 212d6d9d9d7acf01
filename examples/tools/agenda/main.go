// SPDX-License-Identifier: Apache-2.0

// Command agenda lists the events of calendar files, one line each:
//
//	agenda [START [DAYS]]
package main

import (
	"os"

	"example.org/desktop-assistant/examples/tools/agenda/internal/agenda"
)

func main() { os.Exit(agenda.Main(os.Args[1:], os.Stdout, os.Stderr)) }
