// SPDX-License-Identifier: Apache-2.0

// Command adapter runs the shell-tools case set against toolrunner's own code:
// JSON lines on standard input, one answer a line on standard output.
package main

import (
	"log/slog"
	"os"

	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/services/toolrunner/internal/adapter"
	"example.org/desktop-assistant/services/toolrunner/internal/run"
)

func main() {
	ctx, stop := daemon.Interruptible()
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := adapter.Serve(ctx, run.Config{Log: log}, os.Stdin, os.Stdout); err != nil {
		log.Error("serve requests", "error", err)
		os.Exit(1)
	}
}
