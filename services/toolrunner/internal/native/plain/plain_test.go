// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext\n":                                  "plain\ttext\n",
		"one\r\ntwo\rthree\u0085four\u2028":              "one\ntwo\nthree\nfour\n",
		"a\x1b[31mb\x00c\x7fd":                           "a[31mbcd",
		"x\u202eevil\u202c \u2066y\u2069":                "xevil y",
		"\ufeffmark\u200b\u00ad\u2060":                   "mark",
		"tag\U000E0041\U000E007F\U000E01EF":              "tag",
		"heart\ufe0f \u3164\u115f":                       "heart ",
		"می\u200cخواهم क्\u200dष":                        "می\u200cخواهم क्\u200dष",
		"bits a\u200d\u200cb\u200c é\u200d\u200d\u200c.": "bits ab é\u200d.",
		"\U0001f469\u200d\U0001f4bb \u200d":              "\U0001f469\u200d\U0001f4bb ",
		"one day\u2065\ufff0\u2800\U000e0fff":            "one day\u2800",
		"bad \xff\xfe bytes":                             "bad \ufffd bytes",
		"grüß 世界 🙂":                                      "grüß 世界 🙂",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{" a \n b\u2028c ", 99, "a b c"}, {"abcdef", 6, "abcdef"}, {"abcdefg", 6, "abcde…"}, {"abcd efg", 6, "abcd…"}, {"", 5, ""}, {"世界世界", 3, "世界…"},
	} {
		if got := Line(c.text, c.limit); got != c.want {
			t.Errorf("%q to %d became %q", c.text, c.limit, got)
		}
	}
}

func TestName(t *testing.T) {
	for name, want := range map[string]string{
		"a b.txt": "a b.txt", "grüß.md": "grüß.md", "世界": "世界", "": `""`, " a": `" a"`, "a\nSYSTEM": `"a\nSYSTEM"`, "a\"b": `"a\"b"`, `a\b`: `"a\\b"`,
		"x\xff": `"x\xff"`, "a\u202eb": `"a\u202eb"`, "a\u3164": `"a\u3164"`, "a\ufe0f": `"a\ufe0f"`, "a\u00a0": `"a\u00a0"`,
	} {
		if got := Name(name); got != want {
			t.Errorf("%q is shown as %s, want %s", name, got, want)
		}
	}
}

// FuzzText: what comes out is text in which everything shows, and cleaning it
// again changes nothing; a name stays on its line.
func FuzzText(f *testing.F) {
	f.Add("a\x1b[1m\r\n\u202e\U000E0041\xff")
	f.Fuzz(func(t *testing.T, s string) {
		clean := Text(s)
		if !utf8.ValidString(clean) || Text(clean) != clean {
			t.Fatalf("%q became %q", s, clean)
		}
		for _, r := range clean {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || hidden(r) || breaks(r)) {
				t.Fatalf("%q keeps %U", s, r)
			}
		}
		if name := Name(s); strings.ContainsAny(name, "\n\r\t\u2028\u0085\x1b") || Text(name) != name {
			t.Fatalf("%q is shown as %q", s, name)
		}
		if line := Line(s, 10); utf8.RuneCountInString(line) > 10 {
			t.Fatalf("%q became %q", s, line)
		}
	})
}
