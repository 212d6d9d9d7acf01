// SPDX-License-Identifier: Apache-2.0

// Command chatserver is the chat fixture server for trying things by hand: start
// it, then ask the assistant for the time, the weather or the week.
package main

import (
	"os"

	"example.org/desktop-assistant/pkg/testkit/chattest"
)

func main() {
	os.Exit(chattest.Main(os.Args[1:], os.Stdout, os.Stderr,
		chattest.Rule{Match: "time", Call: "now", Say: "It is {result}."},
		chattest.Rule{Match: "che ore", Call: "now", Say: "Sono le {result}."},
		chattest.Rule{Match: "rain tomorrow", Call: "weather", Arguments: `{"place":"Rome","when":"tomorrow"}`, Say: "Here is the forecast. {result}."},
		chattest.Rule{Match: "weather", Call: "weather", Arguments: `{"when":"now"}`, Say: "Outside it is like this. {result}."},
		chattest.Rule{Match: "week", Call: "calendar", Arguments: `{"days":7}`, Say: "This is your week. {result}."},
		chattest.Rule{Match: "how far", Call: "search", Arguments: `{"query":"distance"}`, Say: "I found this. {result}."},
		chattest.Rule{Match: "hello", Say: "Hello. How can I help?"},
	))
}
