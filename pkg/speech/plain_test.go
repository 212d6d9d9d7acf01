// SPDX-License-Identifier: Apache-2.0

package speech

import "testing"

func TestPlain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Plain text, naïve 日本 😀\n\tnext": "Plain text, naïve 日本 😀\n\tnext",
		"\x1b[31mred\x1b]0;title\x07":    "[31mred]0;title",
		"a\x00b\rc\x7fd\u009be":          "abcde",
		"one\u2028two\u0085three":        "one\ntwo\nthree",
		"\u202eabc\u2066d\U000e0041e":    "abcde",
		"":                               "",
	} {
		if got := Plain(text); got != want {
			t.Errorf("Plain(%q) = %q, want %q", text, got, want)
		}
	}
}
