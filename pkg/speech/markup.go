// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/desktop-assistant/pkg/speech/lexicon"
)

var (
	lineMark   = regexp.MustCompile(`(?m)^\s*(?:>\s*)*(?:#{1,6}\s+)?(?:[-*+•◦▪‣·]\s+)?(?:\[[ xX]\]\s+)?`)
	itemMark   = regexp.MustCompile(`^\(?(\d{1,3}|[a-zA-Z])\)\s+`)
	headingEnd = regexp.MustCompile(`\s+#+\s*$`)
	linkDef    = regexp.MustCompile(`(?m)^\s*\[[^\]^][^\]]*\]:\s+\S+.*$`)
	noteDef    = regexp.MustCompile(`(?m)^\s*\[\^[^\]]+\]:\s+`)
	marked     = regexp.MustCompile(`==([^=\s][^=]*)==`)
	image      = regexp.MustCompile(`!\[([^\]]*)\]\([^)]*\)`)
	link       = regexp.MustCompile(`\[([^\[\]]*)\](?:\([^)]*\)|\[[^\]]*\])`)
	noteMark   = regexp.MustCompile(`\[\^[^\]]+\]|([\pL.,;:!?…])\[\d{1,3}\]`)
	comment    = regexp.MustCompile(`(?s)<!--.*?-->`)
	autoLink   = regexp.MustCompile(`<((?:[a-z]+://|mailto:)[^\s>]+|[^\s@<>]+@[^\s@<>]+)>`)
	tag        = regexp.MustCompile(`</?[a-zA-Z][^<>]*>`)
	struck     = regexp.MustCompile(`~~[^~]+~~`)
	underline  = regexp.MustCompile(`^={3,}$`)
	escape     = regexp.MustCompile(`\\([!-/:-@\[-` + "`" + `{-~])`)
)

// stripMarkup resolves everything of Markdown and HTML but emphasis.
func stripMarkup(s string) string {
	s = stripMath(s)
	if strings.Contains(s, "<") {
		s = comment.ReplaceAllString(s, " ")
		s = autoLink.ReplaceAllString(s, "$1")
		s = tag.ReplaceAllString(s, " ")
	}
	s = linkDef.ReplaceAllString(s, "")
	s = noteDef.ReplaceAllString(s, "")
	s = marked.ReplaceAllString(s, "$1")
	s = lineMark.ReplaceAllString(s, "")
	s = itemMark.ReplaceAllString(s, "$1. ")
	s = headingEnd.ReplaceAllString(s, "")
	if strings.Contains(s, "[") {
		s = image.ReplaceAllString(s, "$1")
		s = link.ReplaceAllString(s, "$1")
		s = noteMark.ReplaceAllString(s, "$1")
	}
	s = struck.ReplaceAllString(s, " ")
	s = underline.ReplaceAllString(s, "")
	s = escape.ReplaceAllString(s, "$1")
	return html.UnescapeString(s)
}

// stripEmphasis drops stars, tildes and backticks wherever they stand, paired
// or not, but for a star between numbers, which is a sign. An underscore inside
// a word becomes a space: snake_case is two words.
func stripEmphasis(s string) string {
	var b strings.Builder
	for i, r := range s {
		before, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s[:i], " "))
		after, _ := utf8.DecodeRuneInString(strings.TrimLeft(s[i+utf8.RuneLen(r):], " "))
		numbers := unicode.IsDigit(before) && unicode.IsDigit(after)
		switch {
		case r == '*' && numbers:
			b.WriteRune('×')
		case r == '*', r == '`', r == '~' && !unicode.IsDigit(after):
		case r == '_':
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Code spans are taken out while marks are stripped, so that theirs survive.
var codeMark = regexp.MustCompile("``[^\n]+?``|`[^`\n]+`")

const placeholder = '\uE000'

func setAside(s string) (string, []string) {
	var spans []string
	s = strings.ReplaceAll(s, string(placeholder), " ")
	s = codeMark.ReplaceAllStringFunc(s, func(m string) string {
		spans = append(spans, strings.Trim(m, "` "))
		return string(placeholder)
	})
	return s, spans
}

func putBack(s string, spans []string) string {
	for _, span := range spans {
		span = strings.NewReplacer("_", " ", "`", " ", "*", " ").Replace(span)
		s = strings.Replace(s, string(placeholder), span, 1)
	}
	return s
}

var (
	webAddress = regexp.MustCompile(`(?i)\b(?:[a-z][a-z+]*)://(?:[^\s@/]+@)?(?:www\.)?([\pL\d.-]+)[^\s)>\]]*|\bwww\.([\pL\d.-]+)[^\s)>\]]*`)
	fileURL    = regexp.MustCompile(`(?i)\bfile://[^\s)>\]]*?([^\s/)>\]]*)(\s|$)`)
	telURL     = regexp.MustCompile(`\btel:(\+?\d)`)
	mail       = regexp.MustCompile(`(?i)\b(?:mailto:)?([\pL\d._%+-]+)@([\pL\d-]+(?:\.[\pL\d-]+)+)`)
	bareHost   = regexp.MustCompile(`(?i)\b(?:[\pL\d-]+\.)+(?:com|org|net|io|it|de|fr|es|pt|br|eu|uk|dev|gov|edu|info|app)\b(?:/[^\s)>\]]*)?`)
)

// sayAddresses says the host of a web address, dots as words, and a mail
// address whole.
func sayAddresses(s string, t *lexicon.Table) string {
	dot := " " + word(t, "say.dot", "dot") + " "
	dotted := func(s string) string { return strings.ReplaceAll(strings.Trim(s, ".-"), ".", dot) }
	if !strings.ContainsAny(s, ".@:") {
		return s
	}
	s = telURL.ReplaceAllString(fileURL.ReplaceAllString(s, "$1$2"), "$1")
	s = webAddress.ReplaceAllStringFunc(s, func(m string) string {
		g := webAddress.FindStringSubmatch(m)
		return dotted(g[1]+g[2]) + endMarks(m)
	})
	s = mail.ReplaceAllStringFunc(s, func(m string) string {
		g := mail.FindStringSubmatch(m)
		return dotted(strings.ReplaceAll(g[1], "_", " ")) + " " + word(t, "say.at", "at") + " " + dotted(g[2])
	})
	return bareHost.ReplaceAllStringFunc(s, func(m string) string {
		host, _, _ := strings.Cut(m, "/")
		return dotted(host) + endMarks(m)
	})
}

// endMarks returns the marks of the sentence that an address has swallowed.
func endMarks(s string) string {
	return s[len(strings.TrimRight(s, ".,;:!?…")):]
}

// word returns a word of the language, or other when it has none.
func word(t *lexicon.Table, key, other string) string {
	if w := t.Say(key); w != "" {
		return w
	}
	return other
}
