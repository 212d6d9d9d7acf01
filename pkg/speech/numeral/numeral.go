// SPDX-License-Identifier: Apache-2.0

// Package numeral reads Roman numerals, and writes the numbers that a
// phonemiser reads wrongly in words: English ordinals, hours and years, and
// German years.
package numeral

import (
	"fmt"
	"strings"
)

// Roman is the value, 1 to 89, of a numeral that is written as it should be,
// else 0.
func Roman(s string) int {
	values := map[rune]int{'I': 1, 'V': 5, 'X': 10, 'L': 50}
	sum, last := 0, 0
	for i := len(s) - 1; i >= 0; i-- {
		v := values[rune(s[i])]
		if v < last {
			sum -= v
		} else {
			sum += v
		}
		last = max(last, v)
	}
	if romanText(sum) != s {
		return 0
	}
	return sum
}

func romanText(n int) string {
	if n < 1 || n > 89 {
		return ""
	}
	tens := []string{"", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX"}
	ones := []string{"", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"}
	return tens[n/10] + ones[n%10]
}

// EnglishOrdinal is a number with its ordinal ending: "22nd".
func EnglishOrdinal(n int) string {
	ending := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			ending = "st"
		case 2:
			ending = "nd"
		case 3:
			ending = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, ending)
}

var (
	englishOnes = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
	englishTens = strings.Fields("- - twenty thirty forty fifty sixty seventy eighty ninety")
	germanOnes  = strings.Fields("null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn")
	germanTens  = strings.Fields("- - zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig")
)

// English writes 0 to 99 in words: "eighty-four".
func English(n int) string {
	switch {
	case n < 20:
		return englishOnes[n]
	case n%10 == 0:
		return englishTens[n/10]
	}
	return englishTens[n/10] + "-" + englishOnes[n%10]
}

// EnglishDecade is the plural of a round number, 0 to 90: "nineties", and
// "hundreds" for 0.
func EnglishDecade(n int) string {
	switch n {
	case 0:
		return "hundreds"
	case 10:
		return "tens"
	}
	return strings.TrimSuffix(English(n), "y") + "ies"
}

// EnglishYear reads a year in pairs: 19, 84 is "nineteen eighty-four".
func EnglishYear(century, year int) string {
	switch {
	case year == 0:
		return English(century) + " hundred"
	case year < 10:
		return English(century) + " oh " + English(year)
	}
	return English(century) + " " + English(year)
}

// GermanYear reads a year from 1100 to 1999 as hundreds:
// "neunzehnhundertvierundachtzig".
func GermanYear(y int) string {
	return german(y/100) + "hundert" + germanRest(y%100)
}

func germanRest(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "eins"
	}
	return german(n)
}

// german writes 1 to 99 as the first part of a longer number: "einundzwanzig".
func german(n int) string {
	switch {
	case n < 20:
		return germanOnes[n]
	case n%10 == 0:
		return germanTens[n/10]
	}
	return germanOnes[n%10] + "und" + germanTens[n/10]
}
