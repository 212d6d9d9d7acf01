// SPDX-License-Identifier: Apache-2.0

// Command toolrunner owns the tools: it reads, describes, runs and cancels
// them, on the bus or, with call and check, without one.
package main

import "example.org/desktop-assistant/services/toolrunner/internal/app"

func main() { app.Main() }
