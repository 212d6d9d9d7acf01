// SPDX-License-Identifier: Apache-2.0

// Command busd hosts the bus: the message server behind a private Unix socket
// that every other daemon talks through, and a loopback port for natscli.
package main

import (
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/services/busd/internal/app"
)

func main() {
	daemon.Main(daemon.Info{Name: "busd", Summary: "the bus that all parts of the assistant talk through"}, app.New)
}
