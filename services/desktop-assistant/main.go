// SPDX-License-Identifier: Apache-2.0

// Command desktop-assistant is the command line of the assistant.
package main

import (
	"os"

	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/services/desktop-assistant/internal/command"
)

func main() {
	ctx, stop := daemon.Interruptible()
	code := command.Main(ctx, os.Args[1:], command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}
