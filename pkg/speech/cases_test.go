// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// A line of a case file: what stands before the first ": ", and the text.
type line struct{ head, text string }

// readCases returns the lines of testdata/FOLDER/*.txt by file.
func readCases(t *testing.T, folder string) map[string][]line {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %q: %v", folder, err)
	}
	all := map[string][]line{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for s := range strings.Lines(string(data)) {
			s = strings.TrimSuffix(s, "\n")
			if s == "" || strings.HasPrefix(s, "# ") {
				continue
			}
			head, text, ok := strings.Cut(s, ": ")
			if !ok {
				t.Fatalf("%s: line without a head: %q", f, s)
			}
			text = unescape.Replace(text)
			all[filepath.Base(f)] = append(all[filepath.Base(f)], line{head, text})
		}
	}
	return all
}

var unescape = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\u200b`, "\u200b", `\u00a0`, "\u00a0", `\\`, `\`)

// tally counts passes and failures of a file, those of "?" lines apart: nine in
// ten of these are enough.
type tally struct{ ok, bad, maybeOK, maybeBad int }

func (c *tally) add(t *testing.T, maybe bool, fault string) {
	t.Helper()
	switch {
	case fault == "" && maybe:
		c.maybeOK++
	case fault == "":
		c.ok++
	case maybe:
		c.maybeBad++
		t.Log("maybe:", fault)
	default:
		c.bad++
		t.Error(fault)
	}
}

func (c *tally) report(t *testing.T, name string) {
	t.Logf("%s: %d of %d, and %d of %d where good ones differ", name, c.ok, c.ok+c.bad, c.maybeOK, c.maybeOK+c.maybeBad)
}

// A sentence case is its text with a broken bar at each end of a sentence.
func sentenceCase(text string) (whole string, want []string, late []bool) {
	for _, s := range strings.Split(strings.ReplaceAll(text, "¦¦", "¦\x00"), "¦") {
		late = append(late, strings.HasPrefix(s, "\x00"))
		s = strings.TrimPrefix(s, "\x00")
		if s = strings.Join(strings.Fields(s), " "); s != "" {
			want = append(want, s)
		}
	}
	whole = strings.NewReplacer(" ¦¦ ", " ", " ¦ ", " ", "¦¦", "", "¦", "").Replace(text)
	return whole, want, late
}

func folded(sentences []string) []string {
	var out []string
	for _, s := range sentences {
		out = append(out, strings.Join(strings.Fields(s), " "))
	}
	return out
}

func TestSentenceCases(t *testing.T) {
	for name, lines := range readCases(t, "sentences") {
		var c tally
		for _, l := range lines {
			lang, maybe := strings.CutSuffix(l.head, "?")
			text, want, late := sentenceCase(l.text)
			fault := ""
			for _, n := range []int{1, 2, 3, 7, 1 << 20} {
				if got := folded(split(lang, pieces(text, n)...)); !slices.Equal(got, want) {
					fault = l.text + "\n\tgot " + strings.Join(got, " ¦ ")
					break
				}
			}
			if fault == "" {
				fault = checkPromptness(lang, text, want, late)
			}
			c.add(t, maybe, fault)
		}
		c.report(t, name)
	}
}

var firstLetter = regexp.MustCompile(`^[\s>]*(?:#{1,6}\s+)?(?:[-*+•–]\s+(?:\[[ x]\]\s+)?)?(?:\(?(?:\d{1,3}|[a-z])[.)]\s+)?[^\pL\pN]*[\pL\pN]`)

// checkPromptness wants each sentence out with the first letter of the next, or
// with its whole first word where late says so.
func checkPromptness(lang, text string, want []string, late []bool) string {
	s := NewSplitter(lang)
	fed, emitted := 0, 0
	pos := 0
	for i := 0; i+1 < len(want); i++ {
		if strings.HasPrefix(want[i+1], "```") || strings.HasPrefix(want[i+1], "~~~") || strings.HasPrefix(want[i+1], "|") ||
			strings.Trim(want[i+1], "-*_ ") == "" {
			return ""
		}
		pos = skipText(text, pos, want[i])
		m := firstLetter.FindString(text[pos:])
		if m == "" {
			return ""
		}
		due := pos + len(m)
		if late[i+1] {
			for due < len(text) && !unicode.IsSpace(rune(text[due])) {
				due++
			}
			due++
		}
		due = min(due, len(text))
		emitted += len(s.Push(text[fed:due]))
		fed = due
		if emitted <= i && due < len(text) {
			return text + "\n\tlate: " + want[i]
		}
	}
	return ""
}

// skipText returns where folded text ends in whole, from pos on.
func skipText(whole string, pos int, text string) int {
	n := len(bare(text))
	for i, r := range whole[pos:] {
		if n <= 0 {
			return pos + i
		}
		if !unicode.IsSpace(r) {
			n -= len(string(r))
		}
	}
	return len(whole)
}

var spokenWord = regexp.MustCompile(`\d+(?:[.,:'’]\d+)*|[^\W\d_]+|[\pL\pM]+(?:'[\pL\pM]+)*'?|[−%€$£¥°ºª+=/@&#*_~^|<>\\§±×÷→≈≥≤²³½]`)

// saidWords is what two equal readings have in common.
func saidWords(s string) string {
	s = strings.ReplaceAll(strings.ToLower(s), "’", "'")
	return " " + strings.Join(spokenWord.FindAllString(s, -1), " ") + " "
}

func spokenFault(got, wants string) string {
	words, low := saidWords(got), strings.ToLower(got)
	for clause := range strings.SplitSeq(wants, ";") {
		clause = strings.TrimSpace(clause)
		banned := strings.Split(clause, " !")
		for _, b := range banned[1:] {
			if strings.Contains(low, strings.ToLower(b)) {
				return "says " + b
			}
		}
		clause = banned[0]
		if b, ok := strings.CutPrefix(clause, "!"); ok {
			if strings.Contains(low, strings.ToLower(b)) {
				return "says " + b
			}
			continue
		}
		clause, end, ends := strings.Cut(clause, "$?")
		if ends && !strings.HasSuffix(got, "?"+end) {
			return "lost its question mark"
		}
		if clause == "" {
			continue
		}
		if want, ok := strings.CutPrefix(clause, "="); ok {
			if strings.TrimSpace(want) == "" && got != "" || words != saidWords(strings.TrimSuffix(want, " $!")) {
				return "want exactly " + want
			}
			continue
		}
		if !slices.ContainsFunc(strings.Split(clause, " / "), func(w string) bool { return strings.Contains(words, saidWords(w)) }) {
			return "want " + clause
		}
	}
	return ""
}

func TestSpokenCases(t *testing.T) {
	for name, lines := range readCases(t, "spoken") {
		var c tally
		for _, l := range lines {
			lang, maybe := strings.CutSuffix(l.head, "?")
			text, wants, ok := strings.Cut(l.text+" ", " => ")
			if !ok {
				t.Fatalf("%s: no \"=>\" in %q", name, l.text)
			}
			got := Spoken(text, lang)
			fault := spokenFault(got, wants)
			if fault != "" {
				fault = lang + ": " + text + "\n\tgot " + got + "\n\t" + fault
			}
			c.add(t, maybe, fault)
		}
		c.report(t, name)
	}
}

func TestLanguageCases(t *testing.T) {
	for name, lines := range readCases(t, "language") {
		var c tally
		for _, l := range lines {
			maybe := strings.Contains(l.head, "?")
			head := strings.Replace(l.head, "?", "", 1)
			f := strings.Fields(head)
			got := Language(l.text, strings.Trim(f[1], "-"), strings.Split(f[2], ","))
			fault := ""
			if got != f[0] {
				fault = l.head + ": " + l.text + "\n\tgot " + got
			}
			c.add(t, maybe, fault)
		}
		c.report(t, name)
	}
}
