// SPDX-License-Identifier: Apache-2.0

// Command testreport runs the tests of the modules it is given, with the race
// detector, and fails on a failure and on a skip whose reason nobody wrote
// down. Its last line counts them.
package main

import (
	"os"

	"example.org/desktop-assistant/services/archtest/testreport/report"
)

func main() { os.Exit(report.Main(os.Args[1:], os.Stdout)) }
