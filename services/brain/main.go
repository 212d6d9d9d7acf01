// SPDX-License-Identifier: Apache-2.0

// Command brain answers: it turns a question into an answer, with the chat
// server, the tools and the voice, and keeps the conversations.
package main

import (
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/services/brain/internal/app"
)

func main() {
	daemon.Main(daemon.Info{
		Name:    "brain",
		Summary: "answers questions: the turn, the chat server, local intents, conversations",
	}, app.New)
}
