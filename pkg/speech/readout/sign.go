// SPDX-License-Identifier: Apache-2.0

package readout

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	simple = regexp.MustCompile(`\b([1-9])/([2-8])\b`)
	glyph  = regexp.MustCompile(`(?:\b(\d+) ?)?([½¼¾⅓⅔⅛])`)
	outOf  = regexp.MustCompile(`\b(\d{1,3})/(\d{1,3})\b`)
	feet   = regexp.MustCompile(`\b(\d)['′](\d{1,2})["″”]?`)
	about  = regexp.MustCompile(`(^|[ (])[~≈] ?([\d€$£])`)
	timesX = regexp.MustCompile(`(\d) ?[x×*] ?(\d)`)
	times1 = regexp.MustCompile(`(\d)[x×]([ ,.;:!?)]|$)`)
	below  = regexp.MustCompile(`(^|[ (:;,=<>±])[-−–](\d)`)
	hash   = regexp.MustCompile(`(^|[ (])#(\d)`)
	power  = regexp.MustCompile(`([\pL\d)])\^\{?(-?\d+|\pL)\}?`)
	raised = regexp.MustCompile(`([\pL\d)])([²³])`)
	arrow  = regexp.MustCompile(` ?[←-⇿⟵-⟿➔-➾] ?`)
	bar    = regexp.MustCompile(`([\pL\d)])/([\pL\d(])`)
	path   = regexp.MustCompile(`(^|[ (])(?:~|\.{1,2})?/(\pL)`)
)

// fractions reads ½ and 1/2, and "4 out of 5" for other pairs.
func (r *reader) fractions(s string) string {
	s = each(feet, s, func(h hit) string {
		if r.Lang != "en" {
			return ""
		}
		return h.group(1) + " foot " + h.group(2)
	})
	if !strings.ContainsAny(s, "/½¼¾⅓⅔⅛") {
		return s
	}
	glyphs := map[string]string{"1/2": "½", "1/4": "¼", "3/4": "¾", "1/3": "⅓", "2/3": "⅔", "1/8": "⅛"}
	s = each(simple, s, func(h hit) string {
		if h.next() == '/' || h.prev() == '/' {
			return ""
		}
		return glyphs[h.whole()]
	})
	s = each(glyph, s, func(h hit) string {
		said := r.fraction(h)
		if isWord(h.next()) || unicode.IsDigit(h.next()) {
			said += " "
		}
		return said
	})
	return each(outOf, s, func(h hit) string {
		if h.prev() == '/' || h.next() == '/' || h.prev() == '.' || h.whole() == "24/7" || h.whole() == "7/7" {
			return ""
		}
		return r.fill("say.outof", "a", h.group(1), "b", h.group(2))
	})
}

func (r *reader) fraction(h hit) string {
	whole, part := h.group(1), h.group(2)
	switch {
	case part == "½" && whole != "":
		if r.Lang == "de" {
			if whole == "1" {
				return "eineinhalb"
			}
			return whole + " " + r.Say("say.andhalf")
		}
		return whole + " " + r.Say("say.andhalf")
	case part == "½":
		after := h.wordAfter()
		if r.Lang == "en" && after != "" && after != "of" || r.Lang != "en" && strings.HasSuffix(after, "a") || r.Lang == "fr" && hasSuffix(after, r.Say("say.she")) || r.Lang == "de" && after != "" {
			return r.Say("say.half.a")
		}
		return r.Say("say.half")
	case whole != "":
		return whole + " " + r.Say("say.and") + " " + r.Say("say."+part)
	}
	return r.Say("say." + part)
}

// signs says what the phonemiser drops or names.
func (r *reader) signs(s string) string {
	if strings.ContainsAny(s, "²³^") {
		s = each(power, s, func(h hit) string {
			switch h.group(2) {
			case "2":
				return h.group(1) + " " + r.Say("say.squared")
			case "3":
				return h.group(1) + " " + r.Say("say.cubed")
			}
			return h.group(1) + " " + r.Say("say.power") + " " + h.group(2)
		})
		s = each(raised, s, func(h hit) string {
			return h.group(1) + " " + map[string]string{"²": r.Say("say.squared"), "³": r.Say("say.cubed")}[h.group(2)]
		})
	}
	if !strings.ContainsAny(s, "~≈#-−–x×*+=<>≤≥≠±√÷·&§©®™‰|/←→↑↓⇒⇨➔➜⟶") {
		return s
	}
	s = about.ReplaceAllString(s, "${1}"+r.Say("say.about")+" $2")
	s = hash.ReplaceAllString(s, "${1}"+r.Say("say.number")+" $2")
	s = below.ReplaceAllString(s, "${1} "+r.Say("say.minus")+" $2")
	for range 2 { // 2x3x4: matches may not overlap
		s = timesX.ReplaceAllString(s, "$1 "+r.Say("say.times")+" $2")
	}
	s = times1.ReplaceAllString(s, "$1 "+r.Say("say.times")+"$2")
	s = r.operators(s)
	s = path.ReplaceAllString(s, "$1$2")
	for range 2 {
		s = bar.ReplaceAllString(s, "$1 $2")
	}
	return arrow.ReplaceAllString(s, ", ")
}

// operators names the signs that stand for a word wherever they are.
func (r *reader) operators(s string) string {
	if !strings.ContainsAny(s, "+=<>≤≥≠≈±√×÷·&§©®™‰|−") {
		return s
	}
	words := map[rune]string{
		'=': "say.equals", '<': "say.less", '>': "say.more", '≤': "say.most", '≥': "say.least", '≠': "say.unequal",
		'≈': "say.about", '±': "say.plusminus", '√': "say.root", '×': "say.times", '÷': "say.divided", '&': "say.and", '§': "say.section", '−': "say.minus",
	}
	var b strings.Builder
	for i, c := range s {
		key := words[c]
		if key == "" && !strings.ContainsRune("+©®™", c) {
			b.WriteRune(c)
			continue
		}
		next, _ := utf8.DecodeRuneInString(strings.TrimLeft(s[i+utf8.RuneLen(c):], " "))
		next = none(next)
		before := strings.TrimRight(s[:i], " ")
		operand := before != "" && (unicode.IsDigit(next) || unicode.IsLetter(next) || strings.ContainsRune("(√-", next))
		switch {
		case c == '©', c == '®', c == '™':
			b.WriteByte(' ')
		case c == '+' && unicode.IsDigit(next) && (before == "" || strings.HasSuffix(s[:i], " ") || unicode.IsDigit(rune(before[len(before)-1]))),
			c == '+' && r.sum && operand && strings.HasSuffix(s[:i], " "):
			b.WriteString(" " + r.Say("say.plus") + " ")
		case c == '&' && !strings.HasSuffix(s[:i], " "):
			b.WriteRune(c) // AT&T
		case strings.ContainsRune("<>", c) && !operand, c == '=' && !operand:
			b.WriteByte(' ')
		case key != "":
			b.WriteString(" " + r.Say(key) + " ")
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
