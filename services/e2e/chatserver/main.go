// SPDX-License-Identifier: Apache-2.0

// Command chatserver is the chat fixture server for trying things by hand: start
// it, then ask the assistant for the time, the weather or the week.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"example.org/desktop-assistant/pkg/testkit/chattest"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8181", "address to listen on, as in llm = \"http://ADDR/v1\"")
	flag.Parse()
	server := &http.Server{Addr: *addr, ReadHeaderTimeout: 5 * time.Second, Handler: chattest.Handler(
		chattest.Rule{Match: "time", Call: "now", Say: "It is {result}."},
		chattest.Rule{Match: "che ore", Call: "now", Say: "Sono le {result}."},
		chattest.Rule{Match: "rain tomorrow", Call: "weather", Arguments: `{"place":"Rome","when":"tomorrow"}`, Say: "Here is the forecast. {result}."},
		chattest.Rule{Match: "weather", Call: "weather", Arguments: `{"when":"now"}`, Say: "Outside it is like this. {result}."},
		chattest.Rule{Match: "week", Call: "calendar", Arguments: `{"days":7}`, Say: "This is your week. {result}."},
		chattest.Rule{Match: "how far", Call: "search", Arguments: `{"query":"distance"}`, Say: "I found this. {result}."},
		chattest.Rule{Match: "hello", Say: "Hello. How can I help?"},
	)}
	fmt.Printf("chat fixture on http://%s/v1\n", *addr)
	if err := server.ListenAndServe(); err != nil {
		fmt.Fprintln(os.Stderr, "chatserver:", err)
		os.Exit(1)
	}
}
