// SPDX-License-Identifier: Apache-2.0

package readout

import (
	"regexp"
	"strings"
	"unicode"
)

const (
	coinSigns = `R\$|US\$|[€$£¥₹₽₺₩₿]|EUR|USD|GBP|JPY|CHF|BRL`
	amount    = `\d+(?:[.,' ]\d{3})*(?:[.,]\d+)?`
	scales    = `(?: ?(k|K|M|m|B|b|T|bn|mn|mln|mld|Mln|Mld|Md|Mds|Mio\.?|Mrd\.?|Tsd\.?|mill\.|mi|bi|mila|mil|mille|thousand|milion[ei]|miliard[oi]|millions?|billions?|trillions?|milliards?|Millionen|Million|Milliarden?|millon(?:es)?|millón|billon(?:es)?|milhão|milhões|bilhão|bilhões)\b\.?)?`
)

var (
	coinFirst  = regexp.MustCompile(`([-−–])?(` + coinSigns + `) ?([-−–])?(` + amount + `)(?: ?([-–]) ?(` + amount + `))?` + scales)
	coinLast   = regexp.MustCompile(`(` + amount + `)` + scales + ` ?(` + coinSigns + `|¢)`)
	moneyWord  = regexp.MustCompile(`EUR|USD|GBP|JPY|CHF|BRL|M[lr]d|M[ir]o|Mds|Tsd|ml[nd]|bn|mill`)
	coinAlone  = regexp.MustCompile(`(^|[ '’/(])([€£¥])`)
	kilo       = regexp.MustCompile(`\b(\d+(?:\.\d+)?)([kM])\b`)
	shortScale = regexp.MustCompile(`(\d) ?(mln|mld|Mln|Mld|Mds|Md|Mio\.?|Mrd\.?|Tsd\.?|bn|mill\.)(?:\b|$)`)
	perWord    = regexp.MustCompile(`^/(\pL+²?)`)
)

// money puts the currency behind its amount and names its hundredth part.
func (r *reader) money(s string) string {
	if !strings.ContainsAny(s, "€$£¥₹₽₺₩₿¢") && !moneyWord.MatchString(s) {
		return s
	}
	s = each(coinFirst, s, func(h hit) string {
		if unicode.IsLetter(h.prev()) {
			return ""
		}
		said := r.sum2(h.group(4), h.group(7), h.group(2), perWord.MatchString(h.after()))
		if said == "" {
			return ""
		}
		if h.group(6) != "" {
			said = r.fill("say.fromto", "a", h.group(4), "b", r.sum2(h.group(6), h.group(7), h.group(2), false))
		}
		if h.group(1) != "" && (unicode.IsSpace(h.prev()) || h.prev() == '(') || h.group(3) != "" {
			said = r.Say("say.minus") + " " + said
		} else if h.group(1) != "" {
			said = " " + said
		}
		return said + r.stop(h)
	})
	s = each(coinLast, s, func(h hit) string {
		if unicode.IsLetter(h.next()) || h.prev() == '.' || h.prev() == ',' {
			return ""
		}
		return r.sum2(h.group(1), h.group(2), h.group(3), perWord.MatchString(h.after()))
	})
	s = each(coinAlone, s, func(h hit) string {
		if names := r.Coin(h.group(2)); names != nil && !isWord(h.next()) && !unicode.IsDigit(h.next()) {
			return h.group(1) + names[1]
		}
		return ""
	})
	return s
}

// scales writes out "3 mln", and in English "10k steps".
func (r *reader) scales(s string) string {
	if r.Lang == "en" {
		s = each(kilo, s, func(h hit) string {
			if !unicode.IsLower(firstOf(h.wordAfter())) || h.next() != ' ' {
				return ""
			}
			return h.group(1) + " " + r.scale(h.group(2))
		})
	}
	return each(shortScale, s, func(h hit) string {
		if said := r.scale(h.group(2)); said != "" && said != h.group(2) {
			return h.group(1) + " " + said + r.stop(h)
		}
		return ""
	})
}

// stop returns the stop of the sentence that a match has swallowed with the dot
// of an abbreviation.
func (r *reader) stop(h hit) string {
	if strings.HasSuffix(h.whole(), ".") && strings.Trim(h.after(), " )\"”»\u00a0") == "" {
		return "."
	}
	return ""
}

// sum2 says an amount of money, scale being "million", "k" or empty. With whole
// the hundredth part stays a decimal, as before "per kilo".
func (r *reader) sum2(n, scale, sign string, whole bool) string {
	names := r.Coin(sign)
	if names == nil {
		return ""
	}
	n = r.decimal(strings.ReplaceAll(n, " ", ""))
	if said := r.scale(scale); said != "" {
		return n + " " + said + " " + r.ofCoin(said, names[1])
	}
	mark := r.Say("say.decimal")
	units, part, _ := strings.Cut(n, mark)
	tail := ""
	if scale != "" {
		tail = " " + scale
	}
	switch {
	case part == "" || strings.Trim(part, "0") == "":
		return r.amount(units, names[0], names[1]) + tail
	case whole || len(part) != 2 || len(names) < 4 || names[2] == "":
		return n + " " + names[1] + tail
	case units == "0":
		return plain(part) + " " + number(names[2:], part == "01") + tail
	}
	return r.fill("say.coin", "n", units, "coin", number(names, units == "1"),
		"c", plain(part), "cent", number(names[2:], part == "01")) + tail
}

func number(names []string, one bool) string {
	if one {
		return names[0]
	}
	return names[1]
}

// scale writes out "k" or "mln", and leaves "million"; "" for anything else.
func (r *reader) scale(word string) string {
	word = strings.TrimSpace(word)
	if word == "" {
		return ""
	}
	for _, w := range []string{word, strings.TrimSuffix(word, ".")} {
		if r.In("say.scale", w) {
			return w
		}
	}
	for f := range strings.FieldsSeq(r.Say("say.scale")) {
		if short, long, ok := strings.Cut(f, "="); ok && (short == word || short == strings.TrimSuffix(word, ".")) {
			return long
		}
	}
	return ""
}

// ofCoin is "di euro" behind "milioni"; thousands take no "di".
func (r *reader) ofCoin(scale, coin string) string {
	of := r.Say("say.coinof")
	if of == "" || scale == "mila" || scale == "mil" || scale == "mille" {
		return coin
	}
	if r.Lang == "fr" && strings.ContainsRune("aeiouhé", []rune(coin)[0]) {
		return "d'" + coin
	}
	return of + " " + coin
}
