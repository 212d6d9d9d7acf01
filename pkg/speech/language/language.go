// SPDX-License-Identifier: Apache-2.0

// Package language tells which of a few configured languages a sentence is in,
// from lists of frequent words and a letter model made of the same lists.
package language

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"example.org/desktop-assistant/pkg/speech/lexicon"
)

// Weights of the evidence, in logarithms of odds. A word that k of the
// configured languages share counts 1/k of its weight.
const (
	wordWeight   = 3.8 // a function word
	commonWeight = 3.5 // another frequent word
	alsoWeight   = 1.0 // a word that is more frequent in another language
	formWeight   = 2.5 // another form of a listed word
	letterWeight = 1.0 // a word with a letter of few languages
	priorWeight  = 2.3 // the prior: odds of ten to one
	coverWeight  = 1.5 // one language alone lists all words
	headWeight   = 2.0 // words of one language alone in front of a name or title
	titleShare   = 0.2 // of the weight of words that do not belong to that language
	nameShare    = 0.5 // of the weight of a word with a capital inside the text
	accentWeight = 2.0 // a letter that a language does not write
	shapeWeight  = 0.35
	shapeLimit   = 2.1 // of the letter model in text of one or two words, below the prior
)

// Identify returns which of the configured languages a sentence is in.
//
// Text that says little (numbers, names, addresses, "Ok.") keeps prior, or is
// taken for the first configured language when prior is empty or not
// configured; a clear sentence wins over the prior. The answer is an element of
// configured as it stands there, or prior when configured is empty. Tags such
// as "en-us" are compared by their first part.
func Identify(sentence, prior string, configured []string) string {
	if len(configured) == 0 {
		return prior
	}
	at := slices.IndexFunc(configured, func(c string) bool { return lexicon.Primary(c) == lexicon.Primary(prior) })
	held := max(at, 0)
	text := bareText(sentence)
	if i, ok := byScript(text, at, configured); ok {
		return configured[i]
	}
	words := cutWords(unquoted(text))
	if len(words) == 0 || len(configured) == 1 || len(words) == 1 && at >= 0 && lists(configured[at], words[0].text) ||
		at >= 0 && isName(words, configured) {
		return configured[held]
	}
	scores := score(words, configured)
	if strings.ContainsAny(text, "¿¡") {
		for i, c := range configured {
			if lexicon.Primary(c) == "es" {
				scores[i] += commonWeight // no other language opens its questions
			}
		}
	}
	if at >= 0 {
		scores[at] += priorWeight
	}
	best := held
	for i := range scores {
		if scores[i] > scores[best]+1e-9 {
			best = i
		}
	}
	return configured[best]
}

var notLanguage = regexp.MustCompile("```[^`]*```|`[^`]*`|\\]\\([^)\\s]*\\)|\\S+@\\S+|[a-z]+://\\S+|www\\.\\S+|</?[a-z]+/?>|(?:^|\\s)[~.]?/\\S+|\\pL*\\d[\\pL\\d]*")

// bareText drops code, targets of links and addresses. The text of a link is
// like a title, in quotation marks.
func bareText(s string) string {
	return notLanguage.ReplaceAllString(linkText.ReplaceAllString(s, ` "$1" `), " ")
}

var linkText = regexp.MustCompile(`\[([^\]]*)\]\([^)\s]*\)`)

var quoted = regexp.MustCompile(`"[^"]+"|“[^”]+”|„[^“]+“|«[^»]+»|(?:^|\s)['‘][^'’]+['’](?:[\s.,!?]|$)`)

// unquoted drops what stands between quotation marks, since a title says
// nothing about the sentence around it, unless there is nothing around it.
func unquoted(s string) string {
	rest := quoted.ReplaceAllString(s, " ")
	if len(cutWords(rest)) == 0 {
		return s
	}
	return rest
}

// lists reports whether a language has w in its lists.
func lists(lang, w string) bool {
	t := lexicon.For(lang)
	return t.Words[w] || t.Common[w] || t.Also[w]
}

// isListed reports whether any of the configured languages lists w.
func isListed(w word, configured []string) bool {
	return slices.ContainsFunc(configured, func(c string) bool { return lists(c, w.text) })
}

// particles are the small words of names of persons and places.
var particles = wordSet("da de di del della dei van von der la le el los las san santo santa são saint new rio al des du dos das don")

var articles = wordSet("il lo i gli l' un uno una the a an das den dem ein eine une o os um uma")

// isName reports whether words are a name of at least two words and nothing
// else: capitals that no language lists, and particles.
func isName(words []word, configured []string) bool {
	capitals := 0
	for _, w := range words {
		switch {
		case particles[w.text]:
		case w.capital && !isListed(w, configured):
			capitals++
		default:
			return false
		}
	}
	return capitals > 0 && len(words) > 1
}

// byScript decides between Latin and CJK text, and between ja and zh.
func byScript(text string, prior int, configured []string) (int, bool) {
	kana, han, latin := 0, 0, 0
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana++
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.IsLetter(r):
			latin++
		}
	}
	if kana+han == 0 || latin > 0 && latinSentence(text, configured, kana+han, latin) {
		return 0, false
	}
	index := func(lang string) int {
		return slices.IndexFunc(configured, func(c string) bool { return lexicon.Primary(c) == lang })
	}
	ja, zh := index("ja"), index("zh")
	switch chinese := strings.ContainsAny(text, onlyChinese) || hasAny(text, chineseWords); {
	case ja < 0 && zh < 0:
		return max(prior, 0), true
	case zh < 0, kana > 0 && ja >= 0:
		return ja, true
	case ja >= 0 && !chinese && strings.ContainsAny(text, onlyJapanese):
		return ja, true
	case han < 4 && !chinese && prior >= 0 && prior == ja:
		return ja, true
	}
	return zh, true
}

// Characters that one of the two writes otherwise or not at all: for Chinese
// short forms and particles, for Japanese the short forms of its own.
const (
	onlyChinese  = "吗呢吧你们这哪么见谢东车马鱼鸟说话问间门开关电脑热让请谁觉现观听读买卖红绿银铁钱钟头发对时过还进远运动书长张难欢乐爱妈爸她它很啊呀哦嗯嘛啦您咱为个几岁气样习经给虽应该办阳阴飞页题饭馆鸡无嗎們這麼說妳"
	onlyJapanese = "円気売読駅図広歩変戦実検験権観込働勧歓帰処拝仏両桜沢浜渋県圧囲々関発楽薬黒伝価仮続経済継絵総緑縄壊剤雑満団栄営労単塩竜滝鉄銭徳黙歳毎辺転軽騒"
)

var chineseWords = strings.Fields("是的 不是 不要 可以 好的 没有 知道 什么 怎么 今天 明天 昨天 天气")

func hasAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// latinSentence tells a sentence that quotes a CJK word from a CJK sentence with
// a Latin name in it: by known words, else by the number of letters.
func latinSentence(text string, configured []string, wide, latin int) bool {
	known := 0
	for _, w := range cutWords(text) {
		if isListed(w, configured) {
			known++
		}
	}
	return known > 1 || known == 1 && (3*wide <= latin || wide == 2 && latin > 3)
}

// neutral words are used in every language and say nothing about the text.
var neutral = wordSet(`ok okay stop wow super bravo taxi hotel pizza bar film radio internet computer video audio
	email mail online offline wifi app usb hdmi tv timer smartphone meeting software hardware browser link download upload
	login password streaming feedback manager marketing team weekend playlist update standby bluetooth router server cloud
	podcast laptop tablet desktop display mouse monitor scanner smart blog chat web google spotify youtube netflix iphone
	android windows linux python alexa siri jazz rock pop rap techno quiz party sport tennis golf yoga jeans spaghetti
	carbonara lasagna mozzarella espresso cappuccino tiramisu risotto prosciutto sushi kebab hamburger sandwich sauna`)

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// A word is in lower case; a name is capitalised inside the text.
type word struct {
	text    string
	capital bool
	name    bool
}

// compound words with a hyphen count as one where a language lists them.
var compound = regexp.MustCompile(`\pL+(?:-\pL+)+`)

func cutWords(text string) []word {
	allCaps := strings.ToUpper(text) == text
	var out []word
	text = strings.ReplaceAll(text, "’", "'")
	text = compound.ReplaceAllStringFunc(text, func(m string) string {
		if slices.ContainsFunc(lexicon.Languages(), func(l string) bool { return lists(l, strings.ToLower(m)) }) {
			return strings.ReplaceAll(m, "-", "\u2011")
		}
		return m
	})
	fields := strings.FieldsFunc(text, func(r rune) bool {
		return r != '\'' && r != '\u2011' && !unicode.IsLetter(r) && !unicode.IsMark(r)
	})
	shouted := allCaps && (len(fields) > 3 || isShouted(fields))
	for i, w := range fields {
		if whole := accented(strings.ToLower(w)); whole != "" {
			first, n := utf8.DecodeRuneInString(whole)
			if capital, _ := utf8.DecodeRuneInString(w); unicode.IsUpper(capital) {
				first = unicode.ToUpper(first)
			}
			w = string(first) + whole[n:]
		}
		w = strings.Trim(w, "'")
		low := strings.ToLower(w)
		capital := w != low
		acronym := len(w) > 1 && w == strings.ToUpper(w) && (!allCaps || !shouted)
		if w == "" || neutral[low] || acronym || len(w) == 1 && !strings.Contains("aeioy", low) {
			continue
		}
		low = strings.ReplaceAll(low, "\u2011", "-")
		out = append(out, word{low, capital && !allCaps, capital && i > 0 && !allCaps && low != "i" && !strings.HasPrefix(low, "i'")})
	}
	return out
}

// isShouted reports whether a few words in capitals are words and not acronyms:
// two that some language lists, or a long one.
func isShouted(fields []string) bool {
	known := 0
	for _, w := range fields {
		low := strings.ToLower(w)
		if slices.ContainsFunc(lexicon.Languages(), func(l string) bool { return lists(l, low) }) {
			known++
			if utf8.RuneCountInString(w) > 4 {
				known++
			}
		}
	}
	return known > 1
}

// score returns the evidence for each configured language.
func score(words []word, configured []string) []float64 {
	listed, shape := make([]float64, len(configured)), make([]float64, len(configured))
	models, shaped := shapes(), 0
	known := slices.ContainsFunc(words, func(w word) bool { return isListed(w, configured) })
	if i := coversAll(words, configured); i >= 0 {
		listed[i] += coverWeight
	}
	frame, from := head(words, configured)
	if frame >= 0 {
		listed[frame] += headWeight
	}
	if len(words) > 1 && words[1].name && (articles[words[0].text] || particles[words[0].text]) {
		words[0].name = true // La Scala
	}
	for i, w := range words {
		if i >= from && frame >= 0 && !lists(configured[frame], w.text) {
			quote := make([]float64, len(configured))
			addListed(quote, w, false, configured)
			for j := range quote {
				listed[j] += titleShare * quote[j]
			}
			continue
		}
		if i == 0 && known && w.capital && !isListed(w, configured) {
			continue // a name, as far as anybody knows
		}
		if !w.name {
			accents(listed, w.text, configured)
		}
		if addListed(listed, w, i == 0, configured) || w.name || utf8.RuneCountInString(w.text) == 1 {
			continue
		}
		shaped++
		addShape(shape, w.text, configured, models)
	}
	if shaped == 0 {
		return listed
	}
	top := slices.Max(shape)
	for i := range shape {
		d := shapeWeight * (shape[i] - top)
		if shaped < 3 {
			d = max(d, -shapeLimit)
		}
		listed[i] += d
	}
	return listed
}

// coversAll returns the only language that lists every one of at least two
// words, or -1.
func coversAll(words []word, configured []string) int {
	found := -1
	for i, c := range configured {
		if len(words) > 1 && !slices.ContainsFunc(words, func(w word) bool { return !lists(c, w.text) }) {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// head returns the language of the words in front of the first capital inside
// the text, where a name or title may begin, and the place of that capital; -1
// when these words are of several languages or of none. An article alone, which
// may open a title, is not enough.
func head(words []word, configured []string) (frame, from int) {
	frame = -1
	for i, w := range words {
		if w.name {
			return frame, i
		}
		if articles[w.text] || particles[w.text] && (i == 0 || i == 1 && !isListed(words[0], configured)) {
			continue
		}
		for j, c := range configured {
			if lists(c, w.text) && only(j, w.text, configured) {
				if frame >= 0 && frame != j {
					return -1, len(words)
				}
				frame = j
			}
		}
	}
	return -1, len(words)
}

// only reports whether no other configured language than the one at j lists w.
func only(j int, w string, configured []string) bool {
	for k, c := range configured {
		if k != j && lists(c, w) {
			return false
		}
	}
	return true
}

// accents takes from the languages that do not write an accented letter of w.
// It says nothing when no configured language writes it.
func accents(scores []float64, w string, configured []string) {
	foreign := make([]bool, len(configured))
	all := true
	for i, c := range configured {
		foreign[i] = !lists(c, w) && strings.ContainsFunc(w, func(r rune) bool {
			return r >= 0x80 && unicode.IsLetter(r) && !strings.ContainsRune(lexicon.For(c).Letters, r)
		})
		all = all && foreign[i]
	}
	for i := range scores {
		if foreign[i] && !all {
			scores[i] -= accentWeight
		}
	}
}

// addShape adds what the letters of w say. The letters tell nothing between two
// languages that list the word, and nothing for one that does not.
func addShape(scores []float64, w string, configured []string, models map[string]shapeModel) {
	odds, sum, listing, least := make([]float64, len(configured)), 0.0, 0, math.Inf(1)
	for i, c := range configured {
		odds[i] = models[lexicon.Primary(c)].logOdds(w)
		if lists(c, w) {
			least = min(least, odds[i])
			sum += odds[i]
			listing++
		}
	}
	for i, c := range configured {
		if lists(c, w) {
			odds[i] = sum / float64(listing)
		} else {
			odds[i] = min(odds[i], least)
		}
		scores[i] += odds[i]
	}
}

// addListed adds what the word lists say about w, also about the parts of an
// elision: "dell'acqua", "j'ai", "what's". It reports whether one language alone
// lists a part.
func addListed(scores []float64, w word, first bool, configured []string) bool {
	parts := []string{w.text}
	if a, b, ok := strings.Cut(w.text, "'"); ok {
		parts = append(parts, a+"'", b)
	}
	own := false
	for n, p := range parts {
		has := make([]float64, len(configured))
		share := 0.0
		for i, c := range configured {
			has[i] = weigh(c, p, n == 1)
			if n == 0 && first && lexicon.For(c).In("seldom", p) {
				has[i] = 0 // Spanish begins no sentence with "O"
			}
			if w.name && lexicon.Primary(c) != "de" {
				has[i] *= nameShare
			}
			share += min(1, has[i]/commonWeight)
		}
		if share == 0 && n == 0 {
			for i, c := range configured {
				if related(c, p) {
					has[i] = formWeight
					share += formWeight / commonWeight
				}
			}
		}
		if share == 0 && n == 0 {
			for i, c := range configured {
				if letters := lexicon.For(c).Letters; letters != "" && strings.ContainsAny(p, letters) {
					has[i] = letterWeight
					share += letterWeight / commonWeight
				}
			}
		}
		own = own || share == 1
		for i := range has {
			scores[i] += has[i] / max(1, share)
		}
	}
	return own
}

// weigh is what it says for a language that a text has the word w; elided is
// the first part of one with an apostrophe.
func weigh(lang, w string, elided bool) float64 {
	t := lexicon.For(lang)
	stem := strings.TrimSuffix(w, "'")
	switch {
	case t.Words[w], elided && stem != "" && t.Words[stem] && elides(lang, stem):
		return wordWeight
	case t.Common[w]:
		return commonWeight
	case t.Also[w]:
		return alsoWeight
	}
	return 0
}

// elides reports whether a language writes stem with an apostrophe and no space.
func elides(lang, stem string) bool {
	lang = lexicon.Primary(lang)
	return lang == "fr" && (len(stem) == 1 || stem == "qu") || lang == "it" && strings.HasSuffix(stem, "l") || lang == "it" && stem == "un"
}

// A shapeModel holds how often letters follow each other in the listed words
// of a language.
type shapeModel struct {
	tri map[[3]rune]float64
	bi  map[[2]rune]float64
}

// shapes builds the letter models once, from the word lists alone.
var shapes = sync.OnceValue(func() map[string]shapeModel {
	all := map[string]shapeModel{}
	for _, lang := range lexicon.Languages() {
		t := lexicon.For(lang)
		m := shapeModel{map[[3]rune]float64{}, map[[2]rune]float64{}}
		for _, set := range []map[string]bool{t.Words, t.Common} {
			for w := range set {
				m.add(w)
			}
		}
		all[lang] = m
	}
	return all
})

func (m shapeModel) add(w string) {
	eachTrigram(w, func(t [3]rune) {
		m.tri[t]++
		m.bi[[2]rune{t[0], t[1]}]++
	})
}

// logOdds is the logarithm of the likelihood of w, smoothed.
func (m shapeModel) logOdds(w string) float64 {
	sum := 0.0
	eachTrigram(w, func(t [3]rune) {
		sum += math.Log((m.tri[t] + 0.3) / (m.bi[[2]rune{t[0], t[1]}] + 9))
	})
	return sum
}

func eachTrigram(w string, f func([3]rune)) {
	a, b := ' ', ' '
	for _, r := range w + " " {
		f([3]rune{a, b, r})
		a, b = b, r
	}
}
