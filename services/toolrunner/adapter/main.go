// SPDX-License-Identifier: Apache-2.0

// Command adapter runs the shell-tools case set against toolrunner's own code:
// JSON lines on standard input, one answer a line on standard output.
package main

import (
	"os"

	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/services/toolrunner/internal/adapter"
	"example.org/desktop-assistant/services/toolrunner/internal/sandbox"
)

func main() {
	sandbox.Enter()
	ctx, stop := daemon.Interruptible()
	code := adapter.Main(ctx, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
