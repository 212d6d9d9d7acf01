// SPDX-License-Identifier: Apache-2.0

package markup

import (
	"regexp"
	"strings"
)

// These forms have no marker of their own. They are looked for at the beginning
// of a text only, where nothing was spoken yet, and name an offered tool.

var toolNumber = regexp.MustCompile(`^:\d+`)

// opening decides whether the text begins with a call without a marker:
// name{...}, name on a line before an object, call:name{...}, name:0 before
// Kimi's argument token, >>>name, functools[...] or name(key=value). ">>>all" is
// the header of plain text.
func (f *Filter) opening(final bool) (action, int) {
	s := f.buf
	for _, prefix := range []string{"functools", ">>>", "call:"} {
		if s != "" && strings.HasPrefix(prefix, s) {
			return unless(final)
		}
	}
	if rest, ok := strings.CutPrefix(s, "functools"); ok {
		switch {
		case rest == "":
			return unless(final)
		case rest[0] == '[':
			return tool, 0
		}
		return none, 0
	}
	s, chevrons := strings.CutPrefix(s, ">>>")
	if !chevrons {
		s = strings.TrimPrefix(s, "call:")
	}
	return f.openingName(s, chevrons, final)
}

// openingName looks at the name that s begins with, and at what follows it.
func (f *Filter) openingName(s string, chevrons, final bool) (action, int) {
	n := 0
	for n < len(s) && (nameRune(s[n:]) == 1 || s[n] == '.' || s[n] == '-') {
		n++
	}
	name, rest := s[:n], s[n:]
	if rest == "" && (f.begins(name) || chevrons && strings.HasPrefix("all", name)) {
		return unless(final)
	}
	if chevrons && name == "all" && rest != "" && rest[0] == '\n' {
		return drop, len(f.buf) - len(rest)
	}
	if _, offered := f.offer[Resolve(name, f.offer)]; !offered || name == "" {
		return none, 0
	}
	if strings.HasPrefix(rest, "(") {
		return f.openingCode(rest, final)
	}
	if chevrons && rest[0] == '\n' {
		return tool, 0
	}
	rest = strings.TrimLeft(strings.TrimPrefix(rest, toolNumber.FindString(rest)), " \t\r\n")
	switch {
	case strings.HasPrefix(rest, "{"), strings.HasPrefix(rest, "<|tool"), strings.HasPrefix(rest, "[ARGS]"):
		return tool, 0
	case rest == "", strings.HasPrefix("<|tool", rest), strings.HasPrefix("[ARGS]", rest), toolNumberBegins(rest):
		return unless(final)
	}
	return none, 0
}

// openingCode looks at the parentheses behind a name: a call of Python's form that
// is the whole text or line is one.
func (f *Filter) openingCode(rest string, final bool) (action, int) {
	end := callEnd(rest)
	switch {
	case end == 0 && len(f.buf) < maxHold:
		return unless(final)
	case end == 0:
		return none, 0
	}
	behind := strings.TrimLeft(rest[end:], " \t\r")
	if behind == "" && !final {
		return undecided, 0
	}
	whole := f.buf[:len(f.buf)-len(rest)+end]
	if _, n := pythonCalls(whole, f.offer); n != len(whole) || behind != "" && !strings.ContainsRune("\n<;,", rune(behind[0])) {
		return none, 0
	}
	return tool, 0
}

// leakedList decides whether the buffer begins with [name(key=value), ...].
func (f *Filter) leakedList(final bool) (action, int) {
	rest, ok := strings.CutPrefix(f.buf, "[")
	if !ok {
		return none, 0
	}
	rest = strings.TrimLeft(rest, " \t\r\n")
	n := 0
	for n < len(rest) && (nameRune(rest[n:]) == 1 || rest[n] == '.' || rest[n] == '-') {
		n++
	}
	name := rest[:n]
	_, offered := f.offer[Resolve(name, f.offer)]
	switch {
	case n == len(rest) && f.begins(name):
		return unless(final)
	case n == len(rest) || !offered || rest[n] != '(':
		return none, 0
	}
	end := callEnd(f.buf)
	switch {
	case end == 0 && len(f.buf) < maxHold:
		return unless(final)
	case end == 0:
		return none, 0
	}
	whole := f.buf[:end]
	if _, n := pythonCalls(whole, f.offer); n == 0 || strings.Trim(whole[n:], " \t\r\n]") != "" {
		return none, 0
	}
	return tool, 0
}

// callEnd returns the length of the brackets that s begins with, with what is
// inside, by brackets outside quotes; 0 when they do not close within maxHold.
func callEnd(s string) int {
	depth, quote := 0, byte(0)
	for i := 0; i < min(len(s), maxHold); i++ {
		switch c := s[i]; {
		case quote != 0 && c == '\\':
			i++
		case c == quote:
			quote = 0
		case quote != 0:
		case c == '"' || c == '\'':
			quote = c
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// begins tells that s may become the name of an offered tool, with the prefixes
// that models put before one.
func (f *Filter) begins(s string) bool {
	if i := strings.LastIndexByte(s, '.'); i >= 0 {
		s = s[i+1:]
	} else if s != "" && (strings.HasPrefix("functions", s) || strings.HasPrefix("default_api", s)) {
		return len(f.offer) > 0
	}
	for name := range f.offer {
		if strings.HasPrefix(name, s) {
			return true
		}
	}
	return false
}

// unless waits for more, or gives up when nothing follows.
func unless(final bool) (action, int) {
	if final {
		return none, 0
	}
	return undecided, 0
}

func toolNumberBegins(s string) bool {
	return s != "" && strings.Trim(s[1:], "0123456789") == "" && s[0] == ':'
}
