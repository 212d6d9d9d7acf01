// SPDX-License-Identifier: Apache-2.0

package speech

import "strings"

// Plain takes out of a text what cannot be seen and acts on whoever shows it:
// control characters (a terminal obeys them), overrides of the writing
// direction, and the tag characters that hide text. Newlines and tabs stay, and
// the line separators of Unicode become newlines. A text that comes in pieces
// may be given piece by piece.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\u0085', r == '\u2028', r == '\u2029':
			return '\n'
		case r < ' ', r >= 0x7f && r <= 0x9f:
			return -1
		case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
			return -1
		case r >= 0xe0000 && r <= 0xe007f:
			return -1
		}
		return r
	}, text)
}
