// SPDX-License-Identifier: Apache-2.0

package soundtest

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// modelDir is where pocketsphinx-en-us puts its model.
const modelDir = "/usr/share/pocketsphinx/model/en-us"

// A Grammar is what the recogniser may hear.
type Grammar struct {
	// JSGF is a grammar in the Java Speech Grammar Format with a public rule.
	JSGF string
	// Words gives the phones, in the CMU set, of words that the stock dictionary
	// lacks: "slackware" is "S L AE K W EH R".
	Words map[string]string
}

// OneOf is the grammar of a few sentences, in lower-case words. They should differ
// in several words: near synonyms (today and sunday, ten and two) are confused.
func OneOf(sentences ...string) Grammar {
	return Grammar{JSGF: "#JSGF V1.0;\ngrammar sentences;\npublic <sentence> = " + strings.Join(sentences, " | ") + ";\n"}
}

// Recognize gives the sentence of a grammar that fits the sound best, in lower
// case, or "" for none. A grammar nearly always answers: that nothing was said is
// to be asserted with Peak, never with this.
func Recognize(tb testing.TB, samples []int16, g Grammar) string {
	tb.Helper()
	dir := tb.TempDir()
	dict := filepath.Join(dir, "words.dict")
	stock, err := os.ReadFile(filepath.Join(modelDir, "cmudict-en-us.dict"))
	if err != nil {
		tb.Fatalf("read dictionary: %v; type: apt install pocketsphinx-en-us", err)
	}
	for _, w := range slices.Sorted(maps.Keys(g.Words)) {
		stock = append(stock, w+" "+g.Words[w]+"\n"...)
	}
	write(tb, dict, stock)
	grammar := filepath.Join(dir, "grammar.gram")
	write(tb, grammar, []byte(g.JSGF))
	return hear(tb, dir, samples, "-dict", dict, "-jsgf", grammar)
}

// Spell is what the stock language model makes of the sound. It is wrong in 12 to
// 31 of 100 words and more: it is for the message of a test that fails, not for a
// condition.
func Spell(tb testing.TB, samples []int16) string {
	tb.Helper()
	return hear(tb, tb.TempDir(), samples, "-dict", filepath.Join(modelDir, "cmudict-en-us.dict"), "-lm", filepath.Join(modelDir, "en-us.lm.bin"))
}

var (
	// score ends a line of the recogniser: " (name -1234)".
	score = regexp.MustCompile(` *\([^()]* -?[0-9]+\)$`)
	// variant marks the pronunciation that was heard: "the(2)".
	variant = regexp.MustCompile(`\([0-9]+\)`)
)

// hear runs the recogniser on one utterance. Batch mode takes the sound as a
// whole; the continuous recogniser would split it at pauses.
func hear(tb testing.TB, dir string, samples []int16, model ...string) string {
	tb.Helper()
	const name = "in"
	raw := filepath.Join(dir, "raw.wav")
	WriteWAV(tb, raw, Pad(Trim(samples), 200*time.Millisecond, lead))
	run(tb, nil, nil, "sox", "-q", raw, filepath.Join(dir, name+".wav"), "norm", "-3")
	list, hyp, log := filepath.Join(dir, "list"), filepath.Join(dir, "hyp"), filepath.Join(dir, "log")
	write(tb, list, []byte(name+"\n"))
	run(tb, nil, nil, "pocketsphinx_batch", append([]string{
		"-hmm", filepath.Join(modelDir, "en-us"), "-adcin", "yes", "-adchdr", "44", "-ctl", list,
		"-cepdir", dir, "-cepext", ".wav", "-hyp", hyp, "-logfn", log,
	}, model...)...)
	if b, err := os.ReadFile(log); err == nil && strings.Contains(string(b), "missing in the dictionary") {
		tb.Fatalf("recognize: a word of the grammar is not in the dictionary, give it in Words: %s", matching(string(b), "missing in the dictionary"))
	}
	b, err := os.ReadFile(hyp)
	if err != nil {
		tb.Fatalf("read what was recognised: %v", err)
	}
	return strings.TrimSpace(variant.ReplaceAllString(score.ReplaceAllString(strings.TrimSpace(string(b)), ""), ""))
}

// matching gives the lines of text that contain what.
func matching(text, what string) string {
	var out []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, what) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return strings.Join(out, "; ")
}

func write(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatalf("write recogniser input: %v", err)
	}
}
