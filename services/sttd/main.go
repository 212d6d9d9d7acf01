// SPDX-License-Identifier: Apache-2.0

// Command sttd turns utterances into text, or says why there is none.
package main

import (
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/services/sttd/internal/app"
)

func main() {
	daemon.Main(daemon.Info{Name: "sttd", Summary: "turns utterances into text"}, app.New)
}
