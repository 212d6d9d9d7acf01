// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Number words in the compared form, without accents. A plain word adds its
// value; one marked with "*" multiplies what stands before it.
var numberWords = map[string]string{
	"en": `zero=0 one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12 thirteen=13
		fourteen=14 fifteen=15 sixteen=16 seventeen=17 eighteen=18 nineteen=19 twenty=20 thirty=30 forty=40 fifty=50
		sixty=60 seventy=70 eighty=80 ninety=90 hundred=*100 thousand=*1000 million=*1000000`,
	"it": `zero=0 uno=1 due=2 tre=3 quattro=4 cinque=5 sei=6 sette=7 otto=8 nove=9 dieci=10 undici=11 dodici=12 tredici=13
		quattordici=14 quindici=15 sedici=16 diciassette=17 diciotto=18 diciannove=19 venti=20 trenta=30 quaranta=40
		cinquanta=50 sessanta=60 settanta=70 ottanta=80 novanta=90 cento=*100 mille=*1000 mila=*1000 milione=*1000000 milioni=*1000000`,
	"de": `null=0 eins=1 zwei=2 zwo=2 drei=3 vier=4 funf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 elf=11 zwolf=12 dreizehn=13
		vierzehn=14 funfzehn=15 sechzehn=16 siebzehn=17 achtzehn=18 neunzehn=19 zwanzig=20 dreissig=30 vierzig=40
		funfzig=50 sechzig=60 siebzig=70 achtzig=80 neunzig=90 hundert=*100 tausend=*1000 million=*1000000 millionen=*1000000`,
	"fr": `zero=0 deux=2 trois=3 quatre=4 cinq=5 six=6 sept=7 huit=8 neuf=9 dix=10 onze=11 douze=12 treize=13 quatorze=14
		quinze=15 seize=16 vingt=20 vingts=20 trente=30 quarante=40 cinquante=50 soixante=60 septante=70 huitante=80 octante=80
		nonante=90 cent=*100 cents=*100 mille=*1000 million=*1000000 millions=*1000000`,
	"es": `cero=0 uno=1 dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10 once=11 doce=12 trece=13 catorce=14
		quince=15 dieciseis=16 diecisiete=17 dieciocho=18 diecinueve=19 veinte=20 veintiuno=21 veintiun=21 veintiuna=21
		veintidos=22 veintitres=23 veinticuatro=24 veinticinco=25 veintiseis=26 veintisiete=27 veintiocho=28 veintinueve=29
		treinta=30 cuarenta=40 cincuenta=50 sesenta=60 setenta=70 ochenta=80 noventa=90 cien=*100 ciento=*100 doscientos=200
		doscientas=200 trescientos=300 trescientas=300 cuatrocientos=400 cuatrocientas=400 quinientos=500 quinientas=500
		seiscientos=600 setecientos=700 ochocientos=800 novecientos=900 mil=*1000 millon=*1000000 millones=*1000000`,
	"pt": `zero=0 dois=2 duas=2 tres=3 quatro=4 cinco=5 seis=6 sete=7 oito=8 nove=9 dez=10 onze=11 doze=12 treze=13 catorze=14
		quatorze=14 quinze=15 dezesseis=16 dezasseis=16 dezessete=17 dezassete=17 dezoito=18 dezenove=19 dezanove=19 vinte=20
		trinta=30 quarenta=40 cinquenta=50 sessenta=60 setenta=70 oitenta=80 noventa=90 cem=*100 cento=*100 duzentos=200
		duzentas=200 trezentos=300 trezentas=300 quatrocentos=400 quinhentos=500 seiscentos=600 setecentos=700 oitocentos=800
		novecentos=900 mil=*1000 milhao=*1000000 milhoes=*1000000`,
}

// ones are articles that mean 1 in front of a unit, "a minute"; they count as a
// number only where a number is wanted, and inside a longer number.
var ones = map[string]map[string]bool{
	"en": set("a an"), "it": set("un una"), "de": set("ein eine einen einer einem"),
	"fr": set("un une"), "es": set("un una"), "pt": set("um uma"),
}

// links stand between the parts of one number.
var links = map[string]string{"en": "and", "it": "e", "de": "und", "fr": "et", "es": "y", "pt": "e"}

var minusWords = set("minus meno moins menos")

// A numeral is what a number word is worth.
type numeral struct {
	value    int
	multiply bool
}

// numerals are the number words by language.
var numerals = sync.OnceValue(func() map[string]map[string]numeral {
	all := map[string]map[string]numeral{}
	for lang, list := range numberWords {
		all[lang] = map[string]numeral{}
		for f := range strings.FieldsSeq(list) {
			word, digits, _ := strings.Cut(f, "=")
			n, _ := strconv.Atoi(strings.TrimPrefix(digits, "*"))
			all[lang][word] = numeral{n, strings.HasPrefix(digits, "*")}
		}
	}
	return all
})

// numeralOf returns the value of a number word, also of one that Italian or
// German writes together.
func numeralOf(word, lang string) (numeral, bool) {
	if n, ok := numerals()[lang][word]; ok {
		return n, true
	}
	if lang != "it" && lang != "de" || len(word) > 60 {
		return numeral{}, false
	}
	parts, ok := takeApart(word, lang)
	if !ok || len(parts) < 2 {
		return numeral{}, false
	}
	n := 0
	if lang == "de" {
		n, ok = sumGerman(parts)
	} else {
		n, ok = sumParts(parts, lang)
	}
	return numeral{value: n}, ok
}

// takeApart cuts a compound into number words, the longest first.
func takeApart(word, lang string) ([]numeral, bool) {
	var parts []numeral
	for word != "" {
		best, n := "", numeral{}
		for w, v := range numerals()[lang] {
			if strings.HasPrefix(word, w) && len(w) > len(best) {
				best, n = w, v
			}
			// ventuno and trentotto drop the vowel of the ten.
			if short := w[:len(w)-1]; lang == "it" && v.value >= 20 && v.value < 100 && len(short) > len(best) &&
				(strings.HasPrefix(word, short+"uno") || strings.HasPrefix(word, short+"un") && word == short+"un" || strings.HasPrefix(word, short+"otto")) {
				best, n = short, v
			}
		}
		if lang == "de" && best == "" && strings.HasPrefix(word, "ein") {
			best, n = "ein", numeral{value: 1}
		}
		if lang == "de" && best == "" && strings.HasPrefix(word, "und") {
			best, n = "und", numeral{value: -1}
		}
		if lang == "it" && word == "un" {
			best, n = "un", numeral{value: 1}
		}
		if best == "" {
			return nil, false
		}
		parts, word = append(parts, n), word[len(best):]
	}
	return parts, true
}

// sumGerman sets the parts of "fünfundzwanzig" in the order of other languages:
// the unit before "und" follows its ten.
func sumGerman(parts []numeral) (int, bool) {
	var out []numeral
	for i := 0; i < len(parts); i++ {
		if parts[i].value == -1 {
			if len(out) == 0 || i+1 == len(parts) || out[len(out)-1].multiply || parts[i+1].multiply {
				return 0, false
			}
			ten := parts[i+1]
			if ten.value < 20 { // hundertundeins
				continue
			}
			out = append(out[:len(out)-1], ten, out[len(out)-1])
			i++
			continue
		}
		out = append(out, parts[i])
	}
	return sumParts(out, "de")
}

// sumParts adds up the parts of one number; it reports false for parts that
// make more than one.
func sumParts(parts []numeral, lang string) (int, bool) {
	s := sum{lang: lang}
	for _, p := range parts {
		if !s.add(p) {
			return 0, false
		}
	}
	return s.total + s.current, s.parts > 0
}

// A sum is a number being heard, part by part.
type sum struct {
	lang           string
	total, current int
	parts          int
	last           numeral
	limit          int // of the multiplier before, so that they fall
}

// add takes the next part, or reports false when it begins another number.
func (s *sum) add(p numeral) bool {
	switch {
	case p.multiply && p.value == 100:
		if s.current > 9 || s.parts > 0 && s.current == 0 && s.last.value < 1000 {
			return false
		}
		s.current = max(1, s.current) * 100
	case p.multiply:
		if s.limit > 0 && p.value >= s.limit || s.parts > 0 && s.current == 0 {
			return false
		}
		s.total += max(1, s.current) * p.value
		s.current, s.limit = 0, p.value
	case s.lang == "fr" && p.value == 20 && s.current%100 == 4:
		s.current += 76 // quatre-vingts
	case !s.fits(p.value):
		return false
	default:
		s.current += p.value
	}
	s.parts++
	s.last = p
	return true
}

// fits reports whether a plain part may follow: units follow tens, tens follow
// hundreds.
func (s *sum) fits(v int) bool {
	switch {
	case s.parts == 0 || s.current == 0 && s.last.multiply:
		return true
	case v == 0:
		return false
	case s.current%100 == 0:
		return v < 100 && s.current > 0
	case s.lang == "fr" && s.current%100 == 10:
		return v > 6 && v < 10
	case s.lang == "fr" && (s.current%100 == 60 || s.current%100 == 80):
		return v < 20
	}
	return v < 10 && s.current%10 == 0 && s.current%100 >= 20
}

// joinNumbers replaces runs of number words by digits: "twenty five" by 25.
func joinNumbers(words []word, lang string) []word {
	if numerals()[lang] == nil {
		return words
	}
	out := words[:0]
	for i := 0; i < len(words); {
		n, value := takeNumber(words[i:], lang)
		if n == 0 {
			out = append(out, words[i])
			i++
			continue
		}
		w := words[i]
		w.text, w.end = strconv.Itoa(value), words[i+n-1].end
		out = append(out, w)
		i += n
	}
	return out
}

// takeNumber reads the number that words begin with and returns how many words
// it has, 0 for none.
func takeNumber(words []word, lang string) (n, value int) {
	s := sum{lang: lang}
	for i := 0; i < len(words) && i < 20; i++ {
		text := words[i].text
		if i > 0 && text == links[lang] {
			continue // counts if a part follows
		}
		p, ok := numeralOf(text, lang)
		if !ok && ones[lang][text] && (i > 0 && s.last.value >= 20 || i == 0 && multiplies(words, lang)) {
			p, ok = numeral{value: 1}, true
		}
		if !ok || i > n && !s.linked() || !s.add(p) {
			break
		}
		n, value = i+1, s.total+s.current
	}
	return n, value
}

// linked reports whether "and" may stand behind what was heard.
func (s *sum) linked() bool { return s.last.value >= 20 }

// multiplies reports whether a hundred or more follows the article: "a hundred".
func multiplies(words []word, lang string) bool {
	if len(words) < 2 {
		return false
	}
	p, ok := numeralOf(words[1].text, lang)
	return ok && p.multiply
}

// number reads the number that words begin with where one is wanted, and how
// many words it takes. kind is "integer" or "number".
func number(words []word, lang, kind string) (text string, n int) {
	sign := ""
	if len(words) > 1 && minusWords[words[0].text] {
		sign, n, words = "-", 1, words[1:]
	}
	if len(words) == 0 {
		return "", 0
	}
	w := words[0].text
	if ones[lang][w] {
		return sign + "1", n + 1
	}
	digits, ok := plainNumber(w, lang, kind)
	if !ok {
		return "", 0
	}
	return sign + digits, n + 1
}

// plainNumber reads digits with the grouping of a language, as a JSON number.
func plainNumber(w, lang, kind string) (string, bool) {
	decimal, group := ",", "."
	if lang == "en" {
		decimal, group = ".", ","
	}
	whole, part, cut := strings.Cut(w, decimal)
	if groups := strings.Split(whole, group); len(groups) > 1 {
		if len(groups[0]) > 3 || slices.ContainsFunc(groups[1:], func(g string) bool { return len(g) != 3 }) {
			if len(groups) != 2 || cut || kind == "integer" {
				return "", false
			}
			whole, part, cut = groups[0], groups[1], true
		} else {
			whole = strings.Join(groups, "")
		}
	}
	if whole == "" || strings.Trim(whole+part, "0123456789") != "" || cut && (kind == "integer" || part == "") || len(whole) > 15 {
		return "", false
	}
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if cut {
		return whole + "." + part, true
	}
	return whole, true
}

var (
	enOnes = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
	enTens = strings.Fields("- - twenty thirty forty fifty sixty seventy eighty ninety")
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
