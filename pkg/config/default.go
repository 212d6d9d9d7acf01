// SPDX-License-Identifier: Apache-2.0

package config

import "example.org/desktop-assistant/proto"

// systemText is the default of the key system: the first message to the model.
const systemText = "You are a voice assistant on a desktop computer. " +
	"Whatever you write is spoken aloud by a speech synthesiser. " +
	"Be brief: say what matters in a few short, plain sentences. " +
	"Do not use Markdown, lists, headings, tables, code blocks or emoji. " +
	"Answer in the language the user speaks."

// Default returns the configuration of an empty file. Each call returns fresh
// maps and slices.
func Default() Config {
	return Config{
		Card:          "Microphone",
		LLM:           "http://localhost:8181/v1",
		System:        systemText,
		ToolRounds:    3,
		SkillsEnabled: true,
		SkillsDir:     "~/.agents/skills",
		Intents:       IntentsFallback,
		Model: Model{
			HistoryMessages: 20,
			ConnectS:        5,
			FirstTokenS:     120,
			IdleS:           30,
			TotalS:          300,
		},
		Session: Session{Mode: ModeChat, IdleMinutes: 60},
		Mic: Mic{
			Gate:          []string{GatePushToTalk},
			LeaseS:        60,
			LimitS:        120,
			Patience:      PatienceNormal,
			WakeThreshold: 0.5,
		},
		STT:     STT{Engine: Auto, Speculate: Auto, DeadlineS: 30},
		Whisper: Whisper{Device: 0, Port: 8182},
		TTS: TTS{
			Engine:          Auto,
			Speed:           1,
			Volume:          1,
			Duck:            0.3,
			AnnounceAfterMS: 300,
			CacheMB:         64,
		},
		Voice: map[string]Voice{
			"it": {Lang: "it", Blend: map[string]float64{"if_sara": 0.8, "af_bella": 0.2}},
			"en": {Lang: "en-us", Blend: map[string]float64{"af_heart": 1}},
		},
		Tools: Tools{MaxParallel: 4},
		NativeTools: NativeTools{
			CallLimit:      3,
			Confirm:        proto.ConfirmNever,
			AllowedOrigins: []string{},
			Limits: Limits{
				RequestBytes:  16384,
				ResponseBytes: 65536,
				ReadBytes:     65536,
				ReadLines:     2000,
				QueryRunes:    200,
				SearchResults: 5,
			},
		},
		Bus:     Bus{Device: "local", Serve: []string{}, CLITCP: true},
		Privacy: Privacy{KeepEvents: true},
		Env:     map[string]string{},
	}
}
