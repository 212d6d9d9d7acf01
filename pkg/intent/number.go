// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"strconv"
	"strings"
	"sync"
)

var (
	enOnes = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
	enTens = strings.Fields("- - twenty thirty forty fifty sixty seventy eighty ninety")
	itOnes = strings.Fields("zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici diciassette diciotto diciannove")
	itTens = strings.Fields("- - venti trenta quaranta cinquanta sessanta settanta ottanta novanta")
)

// spellEnglish writes 0 to 9999 in words.
func spellEnglish(n int) string {
	switch {
	case n < 20:
		return enOnes[n]
	case n < 100:
		return strings.TrimSpace(enTens[n/10] + " " + rest(n%10))
	case n < 1000:
		return strings.TrimSpace(enOnes[n/100] + " hundred " + rest(n%100))
	}
	return strings.TrimSpace(spellEnglish(n/1000) + " thousand " + rest(n%1000))
}

func rest(n int) string {
	if n == 0 {
		return ""
	}
	return spellEnglish(n)
}

// spellItalian writes 0 to 99 as one word without accents.
func spellItalian(n int) string {
	if n < 20 {
		return itOnes[n]
	}
	tens := itTens[n/10]
	switch n % 10 {
	case 0:
		return tens
	case 1, 8:
		return tens[:len(tens)-1] + itOnes[n%10]
	}
	return tens + itOnes[n%10]
}

// italianNumbers maps number words to digits.
var italianNumbers = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for n := range 100 {
		m[spellItalian(n)] = strconv.Itoa(n)
	}
	return m
})

// englishNumbers maps the number words below twenty and the tens to digits.
var englishNumbers = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for n := range 100 {
		if n < 20 || n%10 == 0 {
			m[spellEnglish(n)] = strconv.Itoa(n)
		}
	}
	return m
})

// joinNumbers replaces number words by digits, also "twenty five" by 25.
func joinNumbers(words []word, lang string) []word {
	switch lang {
	case "it":
		for i, w := range words {
			if d, ok := italianNumbers()[w.text]; ok {
				words[i].text = d
			}
		}
		return words
	case "en":
		return joinEnglish(words)
	}
	return words
}

func joinEnglish(words []word) []word {
	out := words[:0]
	tens := false
	for _, w := range words {
		d, ok := englishNumbers()[w.text]
		if !ok {
			out, tens = append(out, w), false
			continue
		}
		if last := len(out) - 1; tens && len(d) == 1 && d != "0" {
			out[last].text = out[last].text[:1] + d
			out[last].end, tens = w.end, false
			continue
		}
		w.text = d
		out, tens = append(out, w), len(d) == 2 && d[0] >= '2'
	}
	return out
}
