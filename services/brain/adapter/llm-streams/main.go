// SPDX-License-Identifier: Apache-2.0

// Command llm-streams lets the recorded chat-completion cases be run against the
// client of brain, see package adapter for the protocol.
package main

import (
	"fmt"
	"log/slog"
	"os"

	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/services/brain/internal/adapter"
)

func main() {
	ctx, stop := daemon.Interruptible()
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if err := adapter.Serve(ctx, os.Stdin, os.Stdout, log); err != nil {
		fmt.Fprintln(os.Stderr, "llm-streams:", err)
		os.Exit(1)
	}
}
