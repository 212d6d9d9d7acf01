// SPDX-License-Identifier: Apache-2.0

package recognize

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds of [Judge]. Fast speech has about 20 characters a second; an invented
// text is usually a whole sentence on a moment of sound.
const (
	maxCharsPerSecond = 30
	briefSpeech       = 1500 * time.Millisecond
	minRepeats        = 3
	maxRepeated       = 4                      // words of the phrase that repeats
	perRepeat         = 120 * time.Millisecond // speech that one repeated command takes at least
)

// phantoms are what speech models write under next to no speech: the credits
// and greetings of the videos they learned from, as words (see [words]). Short
// answers that people really give ("yes", "no", "thanks", "thank you") are not
// here on purpose.
var phantoms = []string{
	"you",
	"thank you for watching", "thanks for watching", "thank you so much for watching",
	"please subscribe", "please subscribe to my channel", "like and subscribe", "see you next time",
	"see you in the next video", "subtitles by the amara org community",
	"sottotitoli creati dalla comunità amara org", "sottotitoli e revisione a cura di qtss",
	"grazie per la visione", "grazie per aver guardato il video",
	"untertitel der amara org community", "untertitel im auftrag des zdf für funk", "vielen dank fürs zuschauen",
	"sous titres réalisés par la communauté d amara org", "merci d avoir regardé cette vidéo",
	"subtítulos realizados por la comunidad de amara org", "gracias por ver el video",
	"legendas pela comunidade amara org", "obrigado por assistir",
	"продолжение следует", "ご視聴ありがとうございました", "시청해주셔서 감사합니다",
}

// repeatable are commands that people do say three times in a row.
var repeatable = []string{"stop", "no", "yes", "basta", "sì", "si", "nein", "ja", "halt", "non", "oui", "alto"}

// Judge looks at the text of an engine that may invent, such as whisper, and
// gives a [Rejection] when it cannot have been said: notes about sounds instead
// of words, one phrase over and over, more letters than a mouth can say, or a
// known phantom. speech is what [Screen] found, length the whole utterance.
func Judge(text string, speech, length time.Duration) error {
	said := words(withoutNotes(text))
	if len(said) == 0 {
		return Reject(Noise, "%q has no words", text)
	}
	if unit, times := repeated(said); times >= minRepeats {
		plausible := slices.Contains(repeatable, unit) && speech >= time.Duration(times)*perRepeat
		if !plausible {
			return Reject(Invented, "%q %d times", unit, times)
		}
	}
	if chars := utf8.RuneCountInString(strings.Join(said, " ")); float64(chars) > maxCharsPerSecond*length.Seconds() {
		return Reject(Invented, "%d characters in %d ms", chars, length.Milliseconds())
	}
	if speech < briefSpeech && slices.Contains(phantoms, strings.Join(said, " ")) {
		return Reject(Invented, "%q on %d ms of speech", text, speech.Milliseconds())
	}
	return nil
}

// words gives the lower-case runs of letters and digits.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// closing names the end of each kind of note: [BLANK_AUDIO], (music), *sighs*,
// ♪ la la ♪.
var closing = map[rune]rune{'[': ']', '(': ')', '*': '*', '♪': '♪', '（': '）', '【': '】'}

// withoutNotes removes notes; one that is never closed is kept as text.
func withoutNotes(text string) string {
	var out strings.Builder
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		rest := text[size:]
		if end, opens := closing[r]; opens {
			if at := strings.IndexRune(rest, end); at >= 0 {
				text = rest[at+utf8.RuneLen(end):]
				out.WriteByte(' ')
				continue
			}
		}
		out.WriteString(text[:size])
		text = rest
	}
	return out.String()
}

// repeated gives the shortest phrase of at most maxRepeated words that makes up
// the whole text when said over and over, and how often; times is 1 for others.
func repeated(said []string) (unit string, times int) {
	for n := 1; n <= maxRepeated && n*minRepeats <= len(said); n++ {
		same := len(said)%n == 0
		for i := n; same && i < len(said); i++ {
			same = said[i] == said[i-n]
		}
		if same {
			return strings.Join(said[:n], " "), len(said) / n
		}
	}
	return "", 1
}
