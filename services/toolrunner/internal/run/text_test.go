// SPDX-License-Identifier: Apache-2.0

package run

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestHead(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{" \n\t ", ""},
		{"  one\n\n  two \n", "one\n\n  two"},
		{"one\r\ntwo\r\n", "one\r\ntwo"},
		{"ok \xff\xfe end", "ok \ufffd end"},
		{"broken \xc3", "broken \ufffd"},
		{"a\x00b\x07c\x7fd\u0080e", "abcde"},
		{"a\u0085b\u2028c\u2029d", "a\nb\nc\nd"},
		{"\x1b[31mred\x1b[0m \x1b[1;2Hx", "red x"},
		{"\x1b]0;title\x07a\x1b]8;;http://example.org\x1b\\b", "ab"},
		{"\x1bPdevice\x1b\\a\x1b(Bb\x1b7c", "abc"},
		{"\x1b]unfinished\nnext", "next"},
		{"\x1b\nx", "x"},
		{"a\x1b[3\u00e9b", "aéb"},
		{"left\u202eright\u2066x\u2069 \U000e0041tag", "leftrightx tag"},
		{"👩‍👩‍👧 é\u00a0", "👩‍👩‍👧 é"},
		{strings.Repeat("\u00e8", 30), strings.Repeat("\u00e8", 20)},
		{strings.Repeat("\xff", 5000) + "x", "\ufffdx"},
		{"a" + strings.Repeat(" ", 50), "a"},
		{"a" + strings.Repeat(" ", 50) + "b", "a" + strings.Repeat(" ", 19)},
		{strings.Repeat("\n", 5000) + "text", "text"},
	} {
		whole, pieces := newHead(20), newHead(20)
		_, _ = whole.Write([]byte(c.in))
		for _, b := range []byte(c.in) {
			_, _ = pieces.Write([]byte{b})
		}
		if got := whole.text(); got != c.want {
			t.Errorf("%.40q: got %q, want %q", c.in, got, c.want)
		}
		if got := pieces.text(); got != c.want {
			t.Errorf("%.40q in pieces: got %q, want %q", c.in, got, c.want)
		}
	}
}

func TestLastLine(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"oops", "oops"},
		{"warming up\noops\n", "oops"},
		{"oops\n\n \t\n", "oops"},
		{"first\r\noops\r\n", "oops"},
		{" 10%\r 50%\r100%", "100%"},
		{"\x1b[31moops\x1b[0m\n", "oops"},
		{"bad \xff byte\n", "bad \ufffd byte"},
		{strings.Repeat("e", 1000) + "\noops", "oops"},
		{"oops\n" + strings.Repeat("e", 1000), strings.Repeat("e", 20)},
	} {
		l := newLastLine(20)
		_, _ = l.Write([]byte(c.in))
		if got := l.text(); got != c.want {
			t.Errorf("%.40q: got %q, want %q", c.in, got, c.want)
		}
	}
}

func FuzzHead(f *testing.F) {
	f.Add([]byte(" a\x1b[31mred\x1b]0;t\x07 \xff\xe2\x82"), uint8(3), uint8(5))
	f.Add([]byte("\u2028\xf0\x9f\x98\x80\U000e0041"), uint8(1), uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, cut, limit uint8) {
		whole, pieces, size := newHead(int(limit)+1), newHead(int(limit)+1), int(cut)+1
		last := newLastLine(int(limit) + 1)
		_, _ = whole.Write(data)
		_, _ = last.Write(data)
		for rest := data; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			_, _ = pieces.Write(rest[:min(size, len(rest))])
		}
		a, b, line := whole.text(), pieces.text(), last.text()
		if a != b {
			t.Fatalf("whole %q, in pieces %q", a, b)
		}
		for _, s := range []string{a, line} {
			if !utf8.ValidString(s) || utf8.RuneCountInString(s) > int(limit)+1 || strings.ContainsRune(s, esc) {
				t.Fatalf("text %q", s)
			}
		}
		if strings.ContainsAny(line, "\r\n") {
			t.Fatalf("line %q", line)
		}
		if len(whole.kept) > utf8.UTFMax*(int(limit)+1) {
			t.Fatalf("kept %d bytes", len(whole.kept))
		}
	})
}
