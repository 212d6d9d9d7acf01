// SPDX-License-Identifier: Apache-2.0

package numeral

import "testing"

func TestRoman(t *testing.T) {
	for n := 1; n < 90; n++ {
		if got := Roman(romanText(n)); got != n {
			t.Errorf("%s is %d, want %d", romanText(n), got, n)
		}
	}
	for _, s := range []string{"", "IIII", "VX", "IC", "XXXX", "LL"} {
		if got := Roman(s); got != 0 {
			t.Errorf("%q is %d, want none", s, got)
		}
	}
}

func TestWords(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{EnglishOrdinal(1), "1st"},
		{EnglishOrdinal(12), "12th"},
		{EnglishOrdinal(22), "22nd"},
		{EnglishOrdinal(113), "113th"},
		{EnglishYear(19, 84), "nineteen eighty-four"},
		{EnglishYear(19, 8), "nineteen oh eight"},
		{EnglishYear(19, 0), "nineteen hundred"},
		{EnglishDecade(90), "nineties"},
		{EnglishDecade(10), "tens"},
		{EnglishDecade(0), "hundreds"},
		{GermanYear(1984), "neunzehnhundertvierundachtzig"},
		{GermanYear(1901), "neunzehnhunderteins"},
		{GermanYear(1700), "siebzehnhundert"},
		{GermanYear(1121), "elfhunderteinundzwanzig"},
		{GermanYear(1817), "achtzehnhundertsiebzehn"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
