// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// oneOrMore reads a JSON string or list of strings.
type oneOrMore []string

func (o *oneOrMore) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*o = oneOrMore{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(o))
}

// A handed case of any kind, as its README tells.
type handed struct {
	Name, Lang, Level, Text string
	Chunks                  []string
	Sentences               []any
	Earliest                []*int
	Accept                  [][]any
	NotContains             []string `json:"not_contains"`
	NotWords                []string `json:"not_words"`
	Spoken                  oneOrMore
	Contains                []oneOrMore
	Ends                    oneOrMore
	Prior                   string
	Configured              []string
	Langs                   oneOrMore `json:"-"`
	Limits                  *struct {
		Max    int `json:"max_chars"`
		Clause bool
		Whole  []string
	}
}

// eachHanded runs check over the handed cases of a kind. All of level must and
// nine in ten of level should have to pass.
func eachHanded(t *testing.T, kind string, check func(c handed) string) {
	files, err := filepath.Glob(filepath.Join("testdata", "handed", kind, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	should, failed := 0, 0
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var raw []json.RawMessage
		if err := json.Unmarshal(data, &raw); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		for _, r := range raw {
			c := decodeHanded(t, kind, r)
			fault := check(c)
			switch c.Level {
			case "hard":
				continue
			case "should":
				should++
				if fault != "" {
					failed++
					t.Logf("%s: %s%s: %s", filepath.Base(f), c.Name, c.Text, fault)
				}
			default:
				if fault != "" {
					t.Errorf("%s: %s%s: %s", filepath.Base(f), c.Name, c.Text, fault)
				}
			}
		}
	}
	if 10*failed > should {
		t.Errorf("%d of %d should cases fail", failed, should)
	}
}

func decodeHanded(t *testing.T, kind string, raw json.RawMessage) handed {
	t.Helper()
	var c handed
	if kind == "language" {
		var l struct{ Lang oneOrMore }
		if err := json.Unmarshal(raw, &l); err != nil {
			t.Fatal(err)
		}
		c.Langs = l.Lang
		var m map[string]json.RawMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		delete(m, "lang")
		raw, _ = json.Marshal(m)
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return c
}

func TestHandedLanguage(t *testing.T) {
	eachHanded(t, "language", func(c handed) string {
		if got := Language(c.Text, c.Prior, c.Configured); !slices.Contains(c.Langs, got) {
			return "got " + got
		}
		return ""
	})
}

func TestHandedSpoken(t *testing.T) {
	eachHanded(t, "spoken", func(c handed) string {
		got := Spoken(c.Text, c.Lang)
		words, low := saidWords(got), strings.ToLower(got)
		for _, b := range c.NotContains {
			if strings.Contains(low, strings.ToLower(b)) {
				return fmt.Sprintf("%q in %q", b, got)
			}
		}
		for _, b := range c.NotWords {
			if strings.Contains(words, saidWords(b)) {
				return fmt.Sprintf("words %q in %q", b, got)
			}
		}
		for _, need := range c.Contains {
			if !slices.ContainsFunc(need, func(n string) bool { return strings.Contains(words, saidWords(n)) }) {
				return fmt.Sprintf("none of %q in %q", need, got)
			}
		}
		if c.Ends != nil && !slices.ContainsFunc(c.Ends, func(e string) bool { return strings.HasSuffix(got, e) }) {
			return fmt.Sprintf("%q does not end in %q", got, c.Ends)
		}
		if c.Spoken != nil && !slices.ContainsFunc(c.Spoken, func(w string) bool { return saidWords(w) == words && (w != "" || got == "") }) {
			return fmt.Sprintf("got %q, want %q", got, c.Spoken)
		}
		return ""
	})
}

func TestHandedSentences(t *testing.T) {
	eachHanded(t, "sentences", func(c handed) string {
		whole := strings.Join(c.Chunks, "")
		for _, n := range []int{0, 1 << 20, 1, 3} {
			chunks := c.Chunks
			if n > 0 {
				chunks = pieces(whole, n)
			}
			var got []string
			var after []int
			s := NewSplitter(c.Lang)
			for i, chunk := range chunks {
				for _, x := range s.Push(chunk) {
					got, after = append(got, x), append(after, i)
				}
			}
			for _, x := range s.Flush() {
				got, after = append(got, x), append(after, len(chunks))
			}
			if fault := sentenceFault(c, got); fault != "" {
				return fault
			}
			if fault := lateFault(c, got, after); n == 0 && fault != "" {
				return fault
			}
		}
		return ""
	})
}

func sentenceFault(c handed, got []string) string {
	for _, b := range c.NotContains {
		for _, x := range got {
			if !isBlockText(x) && strings.Contains(x, b) {
				return fmt.Sprintf("%q in %q", b, x)
			}
		}
	}
	if c.Limits != nil {
		return limitFault(c, got)
	}
	have := bareSentences(toAny(got))
	if slices.Equal(have, bareSentences(c.Sentences)) {
		return ""
	}
	for _, a := range c.Accept {
		if slices.Equal(have, bareSentences(a)) {
			return ""
		}
	}
	return fmt.Sprintf("got %q", got)
}

func limitFault(c handed, got []string) string {
	if bare(got...) != bare(strings.Join(c.Chunks, "")) {
		return "text lost"
	}
	for _, x := range got {
		if n := len([]rune(x)); n > c.Limits.Max {
			return fmt.Sprintf("piece of %d characters", n)
		}
	}
	for _, w := range c.Limits.Whole {
		n := 0
		for _, x := range got {
			n += strings.Count(x, w)
		}
		if n != strings.Count(strings.Join(c.Chunks, ""), w) {
			return fmt.Sprintf("%q was cut", w)
		}
	}
	return ""
}

// lateFault checks when the sentences that the case times came out.
func lateFault(c handed, got []string, after []int) string {
	if c.Earliest == nil || !slices.Equal(bareSentences(toAny(got)), bareSentences(c.Sentences)) {
		return ""
	}
	var when []int
	for i, x := range got {
		if len(bareSentences([]any{x})) > 0 {
			when = append(when, after[i])
		}
	}
	k := 0
	for i, want := range c.Sentences {
		if len(bareSentences([]any{want})) == 0 {
			continue
		}
		if due := c.Earliest[i]; due != nil && when[k] > *due {
			return fmt.Sprintf("%q out after piece %d, certain after %d", want, when[k], *due)
		}
		k++
	}
	return ""
}

func toAny(list []string) []any {
	var out []any
	for _, s := range list {
		out = append(out, s)
	}
	return out
}

func isBlockText(s string) bool {
	s = strings.TrimSpace(s)
	return strings.HasPrefix(s, "```") || strings.HasPrefix(s, "~~~") || strings.HasPrefix(s, "|")
}

var (
	leadMark  = regexp.MustCompile(`^(?:> ?)*(?:#{1,6} )?(?:[-*+•◦▪] )?(?:\[[ xX]\] )?(?:\(?\d{1,3}[.)] |[a-zA-Z]\) )?`)
	linkText  = regexp.MustCompile(`!?\[([^\]]*)\]\([^)\s]*\)`)
	closing   = regexp.MustCompile(` +([!?;:.,…)\]»])`)
	openingIn = regexp.MustCompile(`([(\[«]) +`)
	outerLine = regexp.MustCompile(`(^|[^\pL\pN_])_+|_+([^\pL\pN_]|$)`)
)

// bareSentences is what is left of sentences whatever is done about Markdown
// marks, emoji and white space; blocks are left out.
func bareSentences(list []any) []string {
	var out []string
	for _, x := range list {
		s, ok := x.(string)
		if !ok || isBlockText(s) {
			continue
		}
		s = strings.Map(func(r rune) rune {
			if isEmoji(r) || r == '\u200b' || r == '\ufeff' {
				return -1
			}
			return r
		}, norm.NFC.String(s))
		s = linkText.ReplaceAllString(strings.Join(strings.Fields(s), " "), "$1")
		s = strings.NewReplacer("`", "", "~~", "").Replace(leadMark.ReplaceAllString(s, ""))
		s = leadMark.ReplaceAllString(strings.TrimSpace(strings.ReplaceAll(s, "*", "")), "")
		s = outerLine.ReplaceAllString(strings.TrimRight(s, "# "), "$1$2")
		s = openingIn.ReplaceAllString(closing.ReplaceAllString(s, "$1"), "$1")
		if s = strings.TrimSpace(s); strings.IndexFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0 {
			out = append(out, s)
		}
	}
	return out
}
