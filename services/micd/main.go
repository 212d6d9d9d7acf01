// SPDX-License-Identifier: Apache-2.0

// Command micd owns the microphone: it captures, opens and closes the gate and
// cuts utterances.
package main

import (
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/services/micd/internal/app"
)

func main() {
	daemon.Main(daemon.Info{Name: "micd", Summary: "captures the microphone and cuts utterances"}, app.New)
}
