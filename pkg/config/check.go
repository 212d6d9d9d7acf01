// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"example.org/desktop-assistant/proto"
)

// finding is a fault of one key, before its place in the file is known.
type finding struct{ name, text, hint string }

// checker collects findings.
type checker []finding

// check finds every value that is out of range, of no known name or at odds
// with another.
func (c Config) check() []finding {
	var k checker
	k.web("llm", c.LLM, "http://localhost:8181/v1")
	k.within("tool_rounds", c.ToolRounds, 0, 100)
	k.path("skills_dir", c.SkillsDir)
	if c.SkillsDir == "" {
		k.add("skills_dir", "leave the key out, or switch skills off with skills_enabled = false", "skills_dir must not be empty")
	}
	k.oneOf("intents", c.Intents, IntentsFallback, IntentsFirst, IntentsOff)
	k.model(c.Model)
	k.oneOf("session.mode", c.Session.Mode, ModeChat, ModeOneShot)
	k.within("session.idle_minutes", c.Session.IdleMinutes, 1, 525600)
	k.within("session.keep_days", c.Session.KeepDays, 0, 36500)
	k.mic(c.Mic)
	k.stt(c.STT, c.Whisper)
	k.tts(c.TTS, c.Kokoro)
	k.voices(c.Voice)
	k.within("tools.max_parallel", c.Tools.MaxParallel, 1, 64)
	k.path("tools.dir", c.Tools.Dir)
	k.native(c.NativeTools)
	k.bus(c.Bus)
	k.telemetry(c.Telemetry)
	k.env(c.Env)
	return k
}

func (k *checker) model(m Model) {
	if m.Route != "" {
		k.oneOf("model.route", m.Route, RouteLocal, RouteExternal)
	}
	k.variable("model.api_key_env", m.APIKeyEnv)
	k.path("model.api_key_file", m.APIKeyFile)
	k.within("model.history_messages", m.HistoryMessages, 0, 1000)
	k.span("model.connect_s", m.ConnectS)
	k.span("model.first_token_s", m.FirstTokenS)
	k.span("model.idle_s", m.IdleS)
	k.span("model.total_s", m.TotalS)
}

func (k *checker) mic(m Mic) {
	for i, gate := range m.Gate {
		k.choice(elementName("mic.gate", i), "mic.gate must hold only", gate,
			GatePushToTalk, GateMuteSwitch, GateVoice, GateWakeword)
	}
	k.span("mic.lease_s", m.LeaseS)
	k.span("mic.limit_s", m.LimitS)
	k.oneOf("mic.patience", m.Patience, PatienceQuick, PatienceNormal, PatiencePatient)
	k.path("mic.vad_model", m.VADModel)
	k.path("mic.wake_model", m.WakeModel)
	k.between("mic.wake_threshold", m.WakeThreshold, 0, 1)
}

func (k *checker) stt(s STT, w Whisper) {
	k.oneOf("stt.engine", s.Engine, Auto, EngineWhisper, EngineOpenAI, EngineWyoming, EnginePocketsphinx)
	k.oneOf("stt.speculate", s.Speculate, Auto, On, Off)
	k.span("stt.deadline_s", s.DeadlineS)
	k.optionalWeb("stt.openai.url", s.OpenAI.URL, "http://localhost:8000/v1")
	k.variable("stt.openai.api_key_env", s.OpenAI.APIKeyEnv)
	k.optional("stt.wyoming.uri", s.Wyoming.URI, "tcp://example.org:10300", "tcp", "unix")
	k.needs("stt.engine", s.Engine, EngineOpenAI, "stt.openai.url", s.OpenAI.URL)
	k.needs("stt.engine", s.Engine, EngineWyoming, "stt.wyoming.uri", s.Wyoming.URI)
	k.optionalWeb("whisper.url", w.URL, "http://localhost:8182")
	k.path("whisper.model", w.Model)
	k.within("whisper.device", w.Device, 0, 255)
	k.within("whisper.port", w.Port, 1, 65535)
}

func (k *checker) tts(t TTS, kokoro Kokoro) {
	k.oneOf("tts.engine", t.Engine, Auto, EngineKokoro, EngineEspeak, EngineHTTP)
	k.between("tts.speed", t.Speed, 0.5, 2)
	k.between("tts.volume", t.Volume, 0, 1.5)
	k.between("tts.duck", t.Duck, 0, 1)
	k.within("tts.announce_after_ms", t.AnnounceAfterMS, 0, 60000)
	k.within("tts.cache_mb", t.CacheMB, 0, 4096)
	k.optionalWeb("tts.http.url", t.HTTP.URL, "http://localhost:8880/v1")
	k.needs("tts.engine", t.Engine, EngineHTTP, "tts.http.url", t.HTTP.URL)
	k.path("kokoro.model", kokoro.Model)
	k.path("kokoro.voices", kokoro.Voices)
	k.path("kokoro.runtime", kokoro.Runtime)
	k.within("kokoro.threads", kokoro.Threads, 0, 1024)
}

func (k *checker) voices(voices map[string]Voice) {
	for _, key := range sortedKeys(voices) {
		name, v := joinKey("voice", key), voices[key]
		// The name is handed to espeak-ng as an argument and as part of a path.
		if v.Lang == "" || v.Lang[0] == '-' || strings.ContainsFunc(v.Lang, func(r rune) bool { return !isBare(r) }) {
			k.add(name+".lang", "names are those of \"espeak-ng --voices\", like en-us",
				"%s.lang must be the name of a language", name)
		}
		sum, negative := 0.0, false
		for _, weight := range v.Blend {
			sum += weight
			negative = negative || weight < 0
		}
		if negative || !(sum > 0) || math.IsInf(sum, 1) {
			k.add(name+".blend", "blend = { af_heart = 1.0 }",
				"%s.blend must name voices with weights that are not negative and not all 0", name)
		}
	}
}

func (k *checker) native(n NativeTools) {
	const mib = 1 << 20
	const result = 128 << 10 // a message of the bus holds it, also when JSON makes six characters of each
	k.within("native_tools.call_limit", n.CallLimit, 1, 5)
	k.oneOf("native_tools.confirm", n.Confirm, proto.ConfirmNever, proto.ConfirmVoice)
	k.optionalWeb("native_tools.search_endpoint", n.SearchEndpoint, "https://search.example.org")
	k.within("native_tools.limits.request_bytes", n.Limits.RequestBytes, 1, mib)
	k.within("native_tools.limits.response_bytes", n.Limits.ResponseBytes, 1, result)
	k.within("native_tools.limits.read_bytes", n.Limits.ReadBytes, 1, result)
	k.within("native_tools.limits.read_lines", n.Limits.ReadLines, 1, mib)
	k.within("native_tools.limits.query_runes", n.Limits.QueryRunes, 1, 2000)
	k.within("native_tools.limits.search_results", n.Limits.SearchResults, 1, 50)
}

func (k *checker) bus(b Bus) {
	k.optional("bus.url", b.URL, "tls://example.org:4222", "unix", "nats", "tls", "ws", "wss")
	k.optional("bus.leaf", b.Leaf, "tls://example.org:7422", "nats-leaf", "nats", "tls", "ws", "wss")
	k.device("bus.device", "bus.device must be a name", b.Device)
	for i, dev := range b.Serve {
		k.device(elementName("bus.serve", i), "bus.serve must hold only names", dev)
	}
	k.within("bus.cli_port", b.CLIPort, 0, 65535)
	k.path("bus.creds", b.Creds)
	k.path("bus.ca", b.CA)
	if b.Listen != "" && !isHostPort(b.Listen) {
		k.add("bus.listen", `listen = "0.0.0.0:7422"`, "bus.listen must be an address with a port")
	}
	if b.Device != proto.DefaultDevice {
		return
	}
	for _, other := range []struct{ name, address string }{{"bus.leaf", b.Leaf}, {"bus.url", b.URL}} {
		// Two machines under one name would take each other's commands.
		if u, err := url.Parse(other.address); err == nil && u.Host != "" && !isLoopback(u.Hostname()) {
			k.add(other.name, `give this machine its own name: device = "kitchen" under [bus]`,
				"%s needs a bus.device other than %q", other.name, proto.DefaultDevice)
		}
	}
}

func (k *checker) telemetry(t Telemetry) {
	k.optionalWeb("telemetry.otlp", t.OTLP, "http://localhost:4318")
	host, _, _ := net.SplitHostPort(t.Metrics)
	if t.Metrics != "" && !(isHostPort(t.Metrics) && isLoopback(host)) {
		k.add("telemetry.metrics", `metrics = "127.0.0.1:9464"`, "telemetry.metrics must be a loopback address with a port")
	}
}

func (k *checker) env(env map[string]string) {
	for _, key := range sortedKeys(env) {
		name := joinKey("env", key)
		if key == "" || strings.ContainsAny(key, "=\x00") {
			k.add(name, "use letters, digits and _", "%s cannot be the name of an environment variable", name)
		}
		if strings.ContainsRune(env[key], 0) {
			k.add(name, "take the zero character out", "%s cannot be the value of an environment variable", name)
		}
	}
}

func (k *checker) add(name, hint, format string, args ...any) {
	if hint == "" {
		hint = "leave the key out to get the default"
	}
	*k = append(*k, finding{name: name, hint: hint, text: fmt.Sprintf(format, args...)})
}

func (k *checker) within(name string, value, lowest, highest int) {
	if value < lowest || value > highest {
		k.add(name, "", "%s must be from %d to %d, not %d", name, lowest, highest, value)
	}
}

// between also refuses what is not a number.
func (k *checker) between(name string, value, lowest, highest float64) {
	if !(value >= lowest && value <= highest) {
		k.add(name, "", "%s must be from %s to %s, not %s", name, decimal(lowest), decimal(highest), decimal(value))
	}
}

// span wants a time to wait: more than nothing, at most a day.
func (k *checker) span(name string, s Seconds) {
	const day = 86400
	if !(s > 0 && s <= day) {
		k.add(name, "", "%s must be more than 0 and at most %d seconds, not %s", name, day, decimal(float64(s)))
	}
}

func (k *checker) oneOf(name, value string, allowed ...string) {
	k.choice(name, name+" must be", value, allowed...)
}

func (k *checker) choice(name, sentence, value string, allowed ...string) {
	if slices.Contains(allowed, value) {
		return
	}
	hint := ""
	if best := Nearest(value, allowed); best != "" {
		hint = fmt.Sprintf("did you mean %q?", best)
	}
	k.add(name, hint, "%s %s, not %q", sentence, alternatives(allowed, "%q"), value)
}

// alternatives lists words, each printed with format, as "a, b or c".
func alternatives(words []string, format string) string {
	printed := make([]string, len(words))
	for i, w := range words {
		printed[i] = fmt.Sprintf(format, w)
	}
	last := len(printed) - 1
	return strings.Join(printed[:last], ", ") + " or " + printed[last]
}

// needs reports a choice that cannot work without another key.
func (k *checker) needs(name, value, choice, other, given string) {
	if value == choice && given == "" {
		table, key := cutLast(other)
		k.add(name, fmt.Sprintf("write %s = \"…\" below a line [%s]", key, table), "%s = %q needs %s", name, value, other)
	}
}

// cutLast splits a full name into its table and its last part.
func cutLast(name string) (table, key string) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", name
	}
	return name[:i], name[i+1:]
}

// path refuses a relative path, which every daemon would read from another place.
func (k *checker) path(name, value string) {
	if value != "" && value != "~" && !strings.HasPrefix(value, "~/") && !filepath.IsAbs(value) {
		_, key := cutLast(name)
		k.add(name, fmt.Sprintf("write the whole path, like %s = %q", key, "~/"+filepath.Base(value)), "%s must begin with / or ~/", name)
	}
}

// variable does not print the value: it may be a key put in the wrong place.
func (k *checker) variable(name, value string) {
	for i, r := range value {
		if r == '-' || !isBare(r) || i == 0 && r >= '0' && r <= '9' {
			k.add(name, "put the key into a variable or a file and its name here", "%s must be the name of an environment variable", name)
			return
		}
	}
}

func (k *checker) device(name, sentence, value string) {
	if !proto.ValidToken(value) {
		k.add(name, "such as \"kitchen\" or \"desk-2\"", "%s of 1 to 64 letters, digits, _ or -", sentence)
	}
}

func (k *checker) web(name, value, example string) {
	k.address(name, value, example, "http", "https")
}

func (k *checker) optionalWeb(name, value, example string) {
	k.optional(name, value, example, "http", "https")
}

func (k *checker) optional(name, value, example string, schemes ...string) {
	if value != "" {
		k.address(name, value, example, schemes...)
	}
}

// address wants an address with one of the schemes. It is not printed, since a
// password may be in it.
func (k *checker) address(name, value, example string, schemes ...string) {
	u, err := url.Parse(value)
	ok := err == nil && slices.Contains(schemes, u.Scheme) && validPort(u)
	if ok && u.Scheme == "unix" {
		ok = u.Host == "" && filepath.IsAbs(u.Path)
	} else if ok {
		ok = u.Hostname() != ""
	}
	if !ok {
		_, key := cutLast(name)
		k.add(name, fmt.Sprintf("%s = %q", key, example), "%s must be an address that begins with %s", name, alternatives(schemes, "%s://"))
	}
}

func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return true
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && port > 0
}

// isHostPort reports whether s is host:port; the host may be empty for every
// address of this machine.
func isHostPort(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// isLoopback reports whether host can only be this machine, without asking a
// name server: localhost and names below it (RFC 6761), 127.0.0.0/8 and ::1.
func isLoopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
