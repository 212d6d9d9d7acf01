// SPDX-License-Identifier: Apache-2.0

// Package config reads the one configuration file of all daemons.
//
// The file is TOML, every key is optional and the defaults are in code. What
// the file says wrongly is never passed over: an unknown key, a wrong type or
// a value out of range is an [*Error] with its line and column, and all of
// them are reported together.
package config

import "time"

// Config is the effective configuration: the defaults with the file laid over
// them. It is a plain value; who receives one may keep and change it, but the
// maps and slices in it are shared between copies.
type Config struct {
	Card          string            `toml:"card"`           // sound card of the mute switch, as ALSA names it; counts only when written, see MicGates
	LLM           string            `toml:"llm"`            // base address of the chat server, up to and with /v1
	System        string            `toml:"system"`         // first message to the model
	ToolRounds    int               `toml:"tool_rounds"`    // rounds of tool calls before an answer is forced, 0 to 100
	SkillsEnabled bool              `toml:"skills_enabled"` // whether skills are offered at all
	SkillsDir     string            `toml:"skills_dir"`     // folder of the skills, may begin with ~/; see Config.SkillsPath
	Intents       string            `toml:"intents"`        // one of the Intents constants
	Model         Model             `toml:"model"`
	Session       Session           `toml:"session"`
	Mic           Mic               `toml:"mic"`
	STT           STT               `toml:"stt"`
	Whisper       Whisper           `toml:"whisper"`
	TTS           TTS               `toml:"tts"`
	Kokoro        Kokoro            `toml:"kokoro"`
	Voice         map[string]Voice  `toml:"voice"` // by language key, which are the configured languages
	Tools         Tools             `toml:"tools"`
	NativeTools   NativeTools       `toml:"native_tools"`
	Bus           Bus               `toml:"bus"`
	Privacy       Privacy           `toml:"privacy"`
	Telemetry     Telemetry         `toml:"telemetry"`
	Env           map[string]string `toml:"env"` // added to the environment of every tool

	// File is the path the configuration was read from, empty when there was
	// no file. Warnings are sentences for the log and for status, each naming
	// file and line: what was accepted, but not as it was written.
	File     string   `toml:"-"`
	Warnings []string `toml:"-"`

	cardGate bool // card was written and [mic] gate was not
}

// Model is the chat server and how long to wait for it.
type Model struct {
	Name            string  `toml:"name"`             // empty: what the server offers
	Route           string  `toml:"route"`            // RouteLocal, RouteExternal or empty; see Config.Route
	APIKeyEnv       string  `toml:"api_key_env"`      // name of the environment variable with the key
	APIKeyFile      string  `toml:"api_key_file"`     // file with the key, may begin with ~/
	HistoryMessages int     `toml:"history_messages"` // messages of history sent, 0 to 1000
	ConnectS        Seconds `toml:"connect_s"`        // until the connection stands
	FirstTokenS     Seconds `toml:"first_token_s"`    // from the request to the first token
	IdleS           Seconds `toml:"idle_s"`           // between two tokens
	TotalS          Seconds `toml:"total_s"`          // for the whole answer
	Speculate       bool    `toml:"speculate"`        // start on the likely text before the end of speech is certain
	Thinking        bool    `toml:"thinking"`         // let the model think before it answers
}

// Session is how long a conversation goes on and how long it is kept.
type Session struct {
	Mode        string `toml:"mode"`         // ModeChat or ModeOneShot
	IdleMinutes int    `toml:"idle_minutes"` // silence after which a new session begins
	KeepDays    int    `toml:"keep_days"`    // 0 keeps all
}

// Mic is the microphone and what opens it.
type Mic struct {
	Source        string   `toml:"source"`         // PulseAudio source, empty: the default one
	Gate          []string `toml:"gate"`           // Gate constants; see Config.MicGates
	Warm          bool     `toml:"warm"`           // keep the stream open for pre-roll
	LeaseS        Seconds  `toml:"lease_s"`        // a start without stop ends after this
	LimitS        Seconds  `toml:"limit_s"`        // longest utterance
	Patience      string   `toml:"patience"`       // one of the Patience constants
	EchoCancel    bool     `toml:"echo_cancel"`    // load the echo canceller of the sound server
	VADModel      string   `toml:"vad_model"`      // file, may begin with ~/
	WakeModel     string   `toml:"wake_model"`     // file, may begin with ~/
	WakeThreshold float64  `toml:"wake_threshold"` // 0 to 1
}

// STT is speech to text.
type STT struct {
	Engine    string  `toml:"engine"`     // auto, whisper, openai, wyoming or pocketsphinx
	Speculate string  `toml:"speculate"`  // auto, on or off
	DeadlineS Seconds `toml:"deadline_s"` // for one utterance
	OpenAI    OpenAI  `toml:"openai"`
	Wyoming   Wyoming `toml:"wyoming"`
}

// OpenAI is a transcription server with the address scheme of that name.
type OpenAI struct {
	URL       string `toml:"url"`         // base address, up to and with /v1
	Model     string `toml:"model"`       // model name sent, may be empty
	APIKeyEnv string `toml:"api_key_env"` // name of the environment variable with the key
}

// Wyoming is a speech recogniser that speaks the Wyoming protocol.
type Wyoming struct {
	URI string `toml:"uri"` // tcp://host:port or unix:///path
}

// Whisper is the whisper-server that is used or started.
type Whisper struct {
	URL    string `toml:"url"`    // of a running server; empty: one is looked for or started at Port
	Model  string `toml:"model"`  // file; empty: looked for, see Config.FindModel
	Device int    `toml:"device"` // number of the graphics device
	Port   int    `toml:"port"`   // loopback port of the server, 1 to 65535
}

// TTS is text to speech and its playback.
type TTS struct {
	Engine          string     `toml:"engine"`            // auto, kokoro, espeak or http
	Sink            string     `toml:"sink"`              // PulseAudio sink, empty: the default one
	Speed           float64    `toml:"speed"`             // 0.5 to 2
	Volume          float64    `toml:"volume"`            // 0 to 1.5
	Duck            float64    `toml:"duck"`              // other streams are lowered to this, 0 to 1; 1 leaves them
	AnnounceAfterMS int        `toml:"announce_after_ms"` // milliseconds, 0 = at once
	CacheMB         int        `toml:"cache_mb"`          // the assistant's own phrases kept on disk, 0 = none
	HTTP            SpeechHTTP `toml:"http"`
}

// SpeechHTTP is a speech server with OpenAI's address scheme.
type SpeechHTTP struct {
	URL   string `toml:"url"`   // base address, up to and with /v1
	Model string `toml:"model"` // model name sent, may be empty
	Voice string `toml:"voice"` // voice name sent; empty: by language
}

// Kokoro is the synthesiser model run by ttsd itself.
type Kokoro struct {
	Model   string `toml:"model"`   // file; empty: looked for, see Config.FindModel
	Voices  string `toml:"voices"`  // file, or a folder of raw ones; empty: looked for, see Config.FindModel
	Runtime string `toml:"runtime"` // the onnxruntime library; empty: looked for
	Threads int    `toml:"threads"` // 0 = physical cores
}

// Voice is how one language is spoken.
type Voice struct {
	Lang  string             `toml:"lang"`  // as espeak-ng names it, like en-us
	Blend map[string]float64 `toml:"blend"` // weights by voice name; the sum is 1 after Load
}

// Tools is how tools are found and run.
type Tools struct {
	MaxParallel int    `toml:"max_parallel"` // tool calls at the same time, 1 to 64
	Dir         string `toml:"dir"`          // empty: tools in the configuration folder; see Config.ToolsDir
}

// NativeTools switches the built-in tools, all of them off by default.
type NativeTools struct {
	ListDirectory  bool     `toml:"list_directory"`
	ReadFile       bool     `toml:"read_file"`
	WebSearch      bool     `toml:"web_search"`
	HTTPRequest    bool     `toml:"http_request"`
	FetchText      bool     `toml:"fetch_text"`
	FetchJSON      bool     `toml:"fetch_json"`
	External       bool     `toml:"external"`        // offer list_directory and read_file on an external route too
	CallLimit      int      `toml:"call_limit"`      // calls of them in one turn, 1 to 5
	Confirm        string   `toml:"confirm"`         // whether http_request asks before it sends a body: as the key of a tool's file
	Workspace      string   `toml:"workspace"`       // absolute folder of the file tools
	AllowedOrigins []string `toml:"allowed_origins"` // like https://example.org
	BuiltinOrigins bool     `toml:"builtin_origins"` // allow the list in code as well
	SearchEndpoint string   `toml:"search_endpoint"` // of a SearXNG server
	Limits         Limits   `toml:"limits"`
}

// BuiltinTools lists the built-in tools by name. Each is the key of its switch
// below [native_tools].
func BuiltinTools() []string {
	return []string{"fetch_json", "fetch_text", "http_request", "list_directory", "read_file", "web_search"}
}

// Limits bound each built-in tool call. Arguments may lower one, never raise it.
type Limits struct {
	RequestBytes  int `toml:"request_bytes"`
	ResponseBytes int `toml:"response_bytes"`
	ReadBytes     int `toml:"read_bytes"`
	ReadLines     int `toml:"read_lines"`
	QueryRunes    int `toml:"query_runes"`
	SearchResults int `toml:"search_results"`
}

// Bus is where the bus is and who may use it.
type Bus struct {
	URL     string   `toml:"url"`      // empty: the socket in the runtime folder
	Device  string   `toml:"device"`   // this machine's name in subjects
	Serve   []string `toml:"serve"`    // devices served; empty: Device only
	CLITCP  bool     `toml:"cli_tcp"`  // open the loopback port for natscli
	CLIPort int      `toml:"cli_port"` // 0 = a free one
	Creds   string   `toml:"creds"`    // NATS credentials file
	CA      string   `toml:"ca"`       // certificate file that signs the remote server
	Leaf    string   `toml:"leaf"`     // address of a hub that busd joins
	Listen  string   `toml:"listen"`   // host:port where busd accepts leaf nodes
}

// Privacy is what is remembered.
type Privacy struct {
	KeepEvents bool `toml:"keep_events"` // in memory only, for one hour
	KeepAudio  bool `toml:"keep_audio"`
}

// Telemetry is off when its addresses are empty.
type Telemetry struct {
	OTLP    string `toml:"otlp"`    // address traces are sent to
	Metrics string `toml:"metrics"` // host:port where Prometheus may read
}

// Seconds is a span of time in seconds, possibly with a fraction.
type Seconds float64

// Duration converts s, rounded to the nanosecond.
func (s Seconds) Duration() time.Duration {
	return time.Duration(float64(s) * float64(time.Second))
}

// When local intents answer.
const (
	IntentsFallback = "fallback" // when no chat server can be reached
	IntentsFirst    = "first"    // before the model is asked
	IntentsOff      = "off"
)

// Where the chat server stands.
const (
	RouteLocal    = "local"
	RouteExternal = "external"
)

// Whether a session is kept.
const (
	ModeChat    = "chat"
	ModeOneShot = "one-shot"
)

// What opens the microphone.
const (
	GatePushToTalk = "push-to-talk"
	GateMuteSwitch = "mute-switch"
	GateVoice      = "voice"
	GateWakeword   = "wakeword"
)

// How long a pause ends an utterance.
const (
	PatienceQuick   = "quick"
	PatienceNormal  = "normal"
	PatiencePatient = "patient"
)

// Engines, and the settings with "auto" besides on and off.
const (
	Auto = "auto"
	On   = "on"
	Off  = "off"

	EngineWhisper      = "whisper"      // [stt]
	EngineOpenAI       = "openai"       // [stt]
	EngineWyoming      = "wyoming"      // [stt]
	EnginePocketsphinx = "pocketsphinx" // [stt]
	EngineKokoro       = "kokoro"       // [tts]
	EngineEspeak       = "espeak"       // [tts]
	EngineHTTP         = "http"         // [tts]
)
