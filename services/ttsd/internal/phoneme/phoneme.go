// SPDX-License-Identifier: Apache-2.0

// Package phoneme turns text into the symbols that Kokoro was trained on.
//
// espeak-ng, behind a [Reader], gives the phonemes of what stands between two
// punctuation marks; the marks are kept and put back. Its phonemes are rewritten
// as Kokoro's makers do in their package misaki, in one way for English and in
// another for the rest: with the wrong one every voice has an accent.
package phoneme

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Reader gives the phonemes of a text without punctuation, as IPA with ^ between
// the letters of one sound. voice is one of espeak-ng. One call at a time.
type Reader interface {
	Read(ctx context.Context, voice, text string) (string, error)
}

// A Language is one that can be spoken. Get it from [Lookup].
type Language struct {
	// Name is what Kokoro's makers call it, and so does espeak-ng.
	Name    string
	rewrite func(string) string
}

var languages = []Language{
	{"en-us", american}, {"en-gb", british}, {"es", others}, {"fr-fr", others},
	{"hi", others}, {"it", others}, {"pt-br", others},
}

// aliases are other names of the same.
var aliases = map[string]string{
	"en": "en-us", "en-uk": "en-gb", "en-gb-x-rp": "en-gb", "en-us-nyc": "en-us",
	"es-es": "es", "es-419": "es", "fr": "fr-fr", "it-it": "it", "pt": "pt-br", "hi-in": "hi",
}

// Languages lists the names that Lookup knows, sorted.
func Languages() []string {
	var list []string
	for _, l := range languages {
		list = append(list, l.Name)
	}
	return list
}

// Lookup finds a language by its tag. The error says which there are.
func Lookup(tag string) (Language, error) {
	tag = strings.ToLower(strings.ReplaceAll(tag, "_", "-"))
	name := tag
	if other, ok := aliases[tag]; ok {
		name = other
	}
	i := slices.IndexFunc(languages, func(l Language) bool { return l.Name == name })
	if i >= 0 {
		return languages[i], nil
	}
	known := strings.Join(Languages(), ", ")
	switch plain, _, _ := strings.Cut(tag, "-"); plain {
	case "ja", "zh", "cmn", "yue":
		return Language{}, fmt.Errorf("language %q: espeak-ng cannot read it aloud for Kokoro, which has voices for it all the same; known are %s", tag, known)
	}
	return Language{}, fmt.Errorf("language %q: Kokoro does not speak it; known are %s", tag, known)
}

// A Symbol is one phoneme, mark of stress or of punctuation, or a space.
type Symbol struct {
	Rune rune
	// End is how much of the text, in bytes, was said when this symbol is over. It
	// grows at the ends of words.
	End int
}

// A Line is the symbols of a text.
type Line []Symbol

// String gives the symbols without what they stand for.
func (l Line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteRune(s.Rune)
	}
	return b.String()
}

// Read gives the symbols of a text on one line. A text with nothing to say has
// none. The error is the reader's.
func Read(ctx context.Context, r Reader, language Language, text string) (Line, error) {
	var line Line
	for _, p := range split(clean(text)) {
		if p.mark {
			line = append(line, Symbol{p.glyphs[0].r, p.glyphs[len(p.glyphs)-1].end})
			continue
		}
		words := fields(p.glyphs)
		if p.before && len(line) > 0 {
			line = append(line, Symbol{' ', line[len(line)-1].End})
		}
		if len(words) > 0 {
			said, err := r.Read(ctx, language.Name, p.text())
			if err != nil {
				return nil, err
			}
			from := 0
			if len(line) > 0 {
				from = line[len(line)-1].End
			}
			line = append(line, align(language.rewrite(unflag(said)), words, from)...)
		}
		if p.after && len(line) > 0 && line[len(line)-1].Rune != ' ' {
			line = append(line, Symbol{' ', line[len(line)-1].End})
		}
	}
	for len(line) > 0 && line[len(line)-1].Rune == ' ' {
		line = line[:len(line)-1]
	}
	if !slices.ContainsFunc(line, func(s Symbol) bool { return unicode.IsLetter(s.Rune) }) {
		return nil, nil
	}
	return line, nil
}

// unflag takes out the flags with which espeak-ng marks a change of language, such
// as (en) and, tied, (^e^n). Text in parentheses never comes here.
func unflag(said string) string {
	for {
		before, rest, ok := strings.Cut(said, "(")
		if !ok {
			return said
		}
		_, after, _ := strings.Cut(rest, ")")
		said = before + after
	}
}

// align says for each phoneme how far the text was said, from where it was before
// the first word. espeak-ng may say several words as one, and one as several: then
// it goes by their length.
func align(phonemes string, words []word, from int) Line {
	spoken := strings.Fields(phonemes)
	length, total := 0, 0 // of the phonemes and of the letters
	for _, s := range spoken {
		length += utf8.RuneCountInString(s)
	}
	for _, w := range words {
		total += w.length
	}
	var line Line
	said, done, letters := 0, 0, 0
	for i, s := range spoken {
		if i > 0 {
			line = append(line, Symbol{' ', from})
		}
		for _, r := range s {
			line = append(line, Symbol{r, from})
			said++
		}
		switch {
		case len(spoken) == len(words):
			done++
		case i == len(spoken)-1:
			done = len(words)
		default: // a word was said when more than half of it was
			for ; done < len(words) && (2*letters+words[done].length)*length <= 2*said*total; done++ {
				letters += words[done].length
			}
		}
		if done > 0 {
			from = words[done-1].end
		}
		line[len(line)-1].End = from
	}
	return line
}
