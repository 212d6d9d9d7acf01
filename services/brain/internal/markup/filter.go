// SPDX-License-Identifier: Apache-2.0

package markup

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxCapture bounds what is kept of captured markup, maxHold what is held back
// while it may become a call, maxMind what is kept of the end of the thinking.
const (
	maxCapture = 256 << 10
	maxHold    = 16 << 10
	maxMind    = 16 << 10
)

type mode int

const (
	modeText    mode = iota
	modeOpened       // hold everything until thinking ends
	modeThink        // drop until an end of thinking
	modeChannel      // drop until the next harmony token
	modeHeader       // collect up to <|message|>
	modeRole         // drop up to <|end_header_id|>
	modeTurn         // drop up to the end of the line
	modeBare         // text began with the bare word analysis
	modeTool         // capture to the end
)

// A Filter takes a text in pieces and gives back what may be spoken. What it
// gives back in sum does not depend on where the pieces are cut. White space
// before the first word is dropped.
type Filter struct {
	offer    Offer
	mode     mode
	rune     string          // the beginning of a rune that a piece ended in
	buf      string          // not yet decided
	held     strings.Builder // what stood before buf, in modeOpened and modeBare
	started  bool            // some text was handed out
	bare     bool            // the bare words of harmony were seen
	opened   bool
	thought  bool
	captured strings.Builder
	mind     string // the end of the thinking, see Mind
}

// NewFilter starts a filter. With opened the text is held back until an end of
// thinking shows, for templates that open the thinking block in the prompt; when
// none shows the text comes out at Close.
func NewFilter(offer Offer, opened bool) *Filter {
	f := &Filter{offer: offer}
	if opened {
		f.mode = modeOpened
	}
	return f
}

// Write takes the next piece and returns the text that is certain.
func (f *Filter) Write(piece string) string {
	piece = f.rune + piece
	whole := wholeRunes(piece)
	f.buf, f.rune = f.buf+piece[:whole], piece[whole:]
	return f.drain(false)
}

// wholeRunes returns the length of s without the rune that its end cuts.
func wholeRunes(s string) int {
	for back := 1; back < utf8.UTFMax && back <= len(s); back++ {
		if at := len(s) - back; utf8.RuneStart(s[at]) {
			if !utf8.FullRuneInString(s[at:]) {
				return at
			}
			break
		}
	}
	return len(s)
}

// Close returns the text that was held back. A half marker is text; a half call
// is captured.
func (f *Filter) Close() string {
	f.buf, f.rune = f.buf+f.rune, ""
	out := f.drain(true)
	f.buf = ""
	return out
}

// Captured returns the tool markup that was cut out, with its marker.
func (f *Filter) Captured() string {
	s := f.captured.String()
	if t, n := match(s, true); t == tool && strings.TrimSpace(s[n:]) == "" {
		return "" // a marker with nothing in it
	}
	return s
}

// Settle tells that the thinking comes apart from the text: nothing is held back
// for it.
func (f *Filter) Settle() {
	if f.mode == modeOpened && f.buf == "" && f.held.Len() == 0 {
		f.mode = modeText
	}
}

// Mind returns the end of the thinking that was cut out of the text.
func (f *Filter) Mind() string { return f.mind }

// Thought tells that thinking was cut out.
func (f *Filter) Thought() bool { return f.thought }

// Opened tells that an end of thinking came without its beginning.
func (f *Filter) Opened() bool { return f.opened }

// drain applies steps until one needs more bytes.
func (f *Filter) drain(final bool) string {
	var out strings.Builder
	for {
		before := len(f.buf)
		m := f.mode
		text := f.step(final)
		if !f.started {
			text = strings.TrimLeftFunc(text, unicode.IsSpace)
		}
		if text != "" {
			f.started = true
			out.WriteString(text)
		}
		if len(f.buf) == before && f.mode == m {
			return out.String()
		}
	}
}

func (f *Filter) step(final bool) string {
	switch f.mode {
	case modeOpened:
		return f.holdOpened(final)
	case modeThink:
		f.skip(final, func(a action) bool { return a == endThink })
	case modeChannel:
		f.skip(final, func(a action) bool { return a == drop || a == header })
	case modeHeader:
		f.readHeader()
	case modeRole:
		f.skipTo("<|end_header_id|>")
	case modeTurn:
		f.skipTo("\n")
	case modeBare:
		return f.holdBare(final)
	case modeTool:
		f.capture(f.buf)
		f.buf = ""
	case modeText:
		return f.text(final)
	}
	return ""
}

// text hands out plain text up to the next byte that may begin a marker.
func (f *Filter) text(final bool) string {
	if !f.started && !f.bare {
		f.buf = strings.TrimLeftFunc(f.buf, unicode.IsSpace)
		switch {
		case strings.HasPrefix(f.buf, bareAnalysis):
			f.mode = modeBare
			return ""
		case strings.HasPrefix(bareAnalysis, f.buf) && !final:
			return ""
		}
	}
	if !f.started {
		switch act, n := f.opening(final); act {
		case undecided:
			return ""
		case drop, tool:
			f.begin(act, n)
			return ""
		}
	}
	i := strings.IndexAny(f.buf, starts)
	if i < 0 {
		return f.take(len(f.buf))
	}
	if i > 0 {
		return f.take(i)
	}
	act, n := match(f.buf, final)
	if act == none {
		act, n = f.leaked(final)
	}
	switch act {
	case none:
		_, size := utf8.DecodeRuneInString(f.buf)
		return f.take(size)
	case undecided:
		return ""
	}
	f.begin(act, n)
	return ""
}

func (f *Filter) begin(act action, n int) {
	switch act {
	case think:
		f.mode, f.thought = modeThink, true
	case endThink:
		f.opened, f.thought = true, true
	case tool:
		f.mode = modeTool
		return // the marker is captured with what follows
	case header:
		f.mode = modeHeader
		return // the header is read as a whole
	case role:
		f.mode = modeRole
	case turn:
		f.mode = modeTurn
	}
	f.buf = f.buf[n:]
}

func (f *Filter) take(n int) string {
	s := f.buf[:n]
	f.buf = f.buf[n:]
	return s
}

// skip drops bytes up to and with a marker for which until holds.
func (f *Filter) skip(final bool, until func(action) bool) {
	for f.buf != "" {
		i := strings.IndexAny(f.buf, starts)
		if i < 0 {
			f.think(len(f.buf))
			return
		}
		f.think(i)
		act, n := match(f.buf, final)
		switch {
		case act == undecided:
			return
		case until(act):
			if act != header { // the header is read as a whole
				f.buf = f.buf[n:]
			}
			f.mode = modeText
			return
		}
		_, size := utf8.DecodeRuneInString(f.buf)
		f.think(size)
	}
}

// think drops n bytes of thinking.
func (f *Filter) think(n int) {
	f.mind += f.buf[:n]
	f.buf = f.buf[n:]
	if len(f.mind) > 2*maxMind {
		f.mind = f.mind[len(f.mind)-maxMind:]
	}
}

// skipTo drops bytes up to and with end.
func (f *Filter) skipTo(end string) {
	if _, rest, found := strings.Cut(f.buf, end); found {
		f.buf, f.mode = rest, modeText
		return
	}
	f.buf = f.buf[max(0, len(f.buf)-len(end)+1):]
}

// maxHeader is more than any header; a token that begins one without its end is
// dropped alone.
const maxHeader = 256

// readHeader reads the header of a message and decides what the message is. Of
// harmony, "<|start|>assistant<|channel|>NAME to=TOOL<|message|>", only the final
// channel is spoken, and a message to a tool is a call. Functionary names the
// recipient, "<|recipient|>all<|content|>", and Kimi the part of the answer,
// "<|open|>response<|sep|>". Everything else is thinking.
func (f *Filter) readHeader() {
	name, _, _ := strings.Cut(f.buf, ">")
	end := headerEnds[strings.Trim(strings.ToLower(name), "<|｜")]
	head, rest, found := strings.Cut(f.buf, end)
	if !found || len(head) > maxHeader {
		if len(f.buf) > maxHeader+len(end) {
			f.buf, f.mode = f.buf[strings.IndexByte(f.buf, '>')+1:], modeText
		}
		return
	}
	_, words, _ := strings.Cut(head, ">")
	words = strings.TrimSpace(words)
	switch end {
	case "<|content|>":
		f.enter(rest, words != "" && words != "all" && words != "user", false)
	case "<|sep|>":
		f.enter(rest, strings.HasPrefix(head, "<|open|>") && (strings.HasPrefix(words, "tool") || strings.HasPrefix(words, "call")),
			strings.HasPrefix(words, "think") && strings.HasPrefix(head, "<|open|>"))
	default:
		channel := words
		i := strings.LastIndex(head, "<|channel|>")
		if i >= 0 {
			channel = strings.TrimSpace(head[i+len("<|channel|>"):])
		}
		f.enter(rest, strings.Contains(head, "to="), i >= 0 && !strings.HasPrefix(channel, "final"))
	}
}

// headerEnds are the tokens that end a header, by the name of its first token.
var headerEnds = map[string]string{
	"start": "<|message|>", "channel": "<|message|>", "recipient": "<|content|>", "open": "<|sep|>", "close": "<|sep|>",
}

// enter begins the message that follows a header. A call is captured with its
// header, which names the tool.
func (f *Filter) enter(rest string, call, thinking bool) {
	switch {
	case call:
		f.mode = modeTool
		return
	case thinking:
		f.mode, f.thought = modeChannel, true
	default:
		f.mode = modeText
	}
	f.buf = rest
}

// hold puts n bytes apart, so that they are not looked at again. unhold puts what
// is held before the buffer.
func (f *Filter) hold(n int) {
	f.held.WriteString(f.buf[:n])
	f.buf = f.buf[n:]
}

func (f *Filter) unhold() {
	f.buf = f.held.String() + f.buf
	f.held.Reset()
}

// holdOpened holds the text back until thinking ends.
func (f *Filter) holdOpened(final bool) string {
	decided := len(f.buf)
	for i := 0; i < len(f.buf); i++ {
		if !strings.ContainsRune(starts, rune(f.buf[i])) && f.buf[i] < utf8.RuneSelf {
			continue
		}
		switch act, n := match(f.buf[i:], final); act {
		case endThink:
			f.opened, f.thought, f.mode = true, true, modeText
			f.buf = f.buf[i+n:]
			f.held.Reset()
			return ""
		case think:
			f.mode = modeText
			f.unhold()
			return ""
		case undecided:
			decided = min(decided, i)
		}
	}
	f.hold(decided)
	if final {
		f.mode = modeText
		f.unhold()
	}
	return ""
}

// The words that a server leaves when it strips harmony's tokens and not its
// channel names: "analysisThe user asks.assistantfinalIt is noon."
const (
	bareAnalysis = "analysis"
	bareFinal    = "assistantfinal"
	bareTool     = "assistantcommentary to="
)

// holdBare holds back a text that begins with "analysis" until its final part
// shows. Without one it was an ordinary text if a word ended there.
func (f *Filter) holdBare(final bool) string {
	f.bare = true
	at := strings.Index(f.buf, bareFinal)
	call := strings.Index(f.buf, bareTool)
	switch {
	case call >= 0 && (at < 0 || call < at):
		f.buf, f.mode, f.thought = f.buf[call:], modeTool, true
		f.held.Reset()
	case at >= 0:
		f.buf, f.mode, f.thought = f.buf[at+len(bareFinal):], modeText, true
		f.held.Reset()
	case !final:
		f.hold(max(0, len(f.buf)-len(bareTool)+1))
	default:
		f.unhold()
		next, _ := utf8.DecodeRuneInString(f.buf[len(bareAnalysis):])
		f.mode = modeText
		if unicode.IsLetter(next) {
			f.buf, f.thought = "", true
		}
	}
	return ""
}

func (f *Filter) capture(s string) {
	if room := maxCapture - f.captured.Len(); len(s) > room {
		s = s[:room]
	}
	f.captured.WriteString(s)
}
