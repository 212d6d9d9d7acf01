// SPDX-License-Identifier: Apache-2.0

// Command native-tools runs the native-tools case set against the built-in
// tools' own code: JSON lines on standard input, one answer a line on standard
// output.
package main

import (
	"os"

	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/services/toolrunner/internal/native/adapter"
)

func main() {
	ctx, stop := daemon.Interruptible()
	code := adapter.Stdio(ctx)
	stop()
	os.Exit(code)
}
