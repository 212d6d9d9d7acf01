// SPDX-License-Identifier: Apache-2.0

// Command ttsd is the voice: it takes sentences, synthesises them and plays
// them, and reports what was really heard.
package main

import (
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/services/ttsd/internal/app"
)

func main() {
	daemon.Main(daemon.Info{Name: "ttsd", Summary: "the voice: speaks sentences and reports what was heard"}, app.New)
}
