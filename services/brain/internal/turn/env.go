// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"log/slog"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/catalog"
	"example.org/desktop-assistant/services/brain/internal/model"
	"example.org/desktop-assistant/services/brain/internal/session"
	"example.org/desktop-assistant/services/brain/internal/skill"
)

// Env is the world of a turn, shared by all turns.
type Env struct {
	Log       *slog.Logger
	Bus       Publisher
	Model     Model
	Tools     Tools
	Mouth     Mouth
	Book      Book
	Skills    Skills
	Asker     string   // this process, for calls and sentences
	Languages []string // configured, the default first; never empty
	Settings  Settings

	// Ending is told how a turn ends before that is published, and Ended after it.
	// They do not wait for the turn, but the turn for them.
	Ending, Ended func(Result)
	// Notice says something apart from any turn, once it can be said: for words
	// that cannot be spoken under the turn's own id any more. It does not block.
	Notice func(dev, text, language string)
	// Phrase picks one of a tool's phrases.
	Phrase func(phrases []string) string
}

// Settings are what the configuration says about turns.
type Settings struct {
	System          string // first message to the model
	Rounds          int    // of tool calls before an answer is forced
	Intents         string // fallback, first or off
	Route           string // local or external
	HistoryMessages int
	STTDeadline     time.Duration
	ListenLimit     time.Duration // from the start of an utterance to its end
	AnnounceAfter   time.Duration
	LoadingLimit    time.Duration // for a chat server that loads its model
}

// Publisher is the part of the bus on which a turn tells of itself.
type Publisher interface {
	Publish(ev proto.Event, m bus.Meta) error
}

// Model asks the chat server, as [model.Client] does: emit is called from
// Chat's goroutine, errors are *[model.Error].
type Model interface {
	Chat(ctx context.Context, req model.Request, emit func(text string)) (model.Reply, error)
}

// Tools lists, runs and cancels tools. Call waits for the result; its error is
// a *[proto.Error], unavailable when nobody runs the tool.
type Tools interface {
	// Known gives the last list without asking.
	Known() (offer catalog.Offer, known bool)
	Offer(ctx context.Context) catalog.Offer
	Call(ctx context.Context, name string, call proto.ToolCall, arguments []byte) (proto.ToolResult, error)
	Cancel(call string) error
}

// Mouth is ttsd. Each call is one request, bounded in time; errors are
// *[proto.Error].
type Mouth interface {
	Say(ctx context.Context, dev string, s proto.SpeechSay) error
	End(ctx context.Context, dev string, e proto.SpeechEnd) error
	// Stop silences a turn, if it is being said.
	Stop(ctx context.Context, dev, turn string) error
}

// Book is the conversations.
type Book interface {
	History(id string, messages int) []session.Exchange
	Record(id string, e session.Exchange)
	// Trim forgets all but the last exchanges.
	Trim(id string, keep int)
	// Skills are the names of those loaded, in load order. LoadSkill adds one and
	// reports whether it is new.
	Skills(id string) []string
	LoadSkill(id, name string) bool
}

// Skills is the user's skills, as [skill.Folder] is. Both read files.
type Skills interface {
	Shelf() skill.Shelf
	Text(s skill.Shelf, name string) (string, error)
}
