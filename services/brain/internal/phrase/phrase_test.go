// SPDX-License-Identifier: Apache-2.0

package phrase

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.org/desktop-assistant/services/brain/internal/model"
)

var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

// keys reads the constants from the source, so that none is forgotten.
func keys(t *testing.T) []Key {
	file, err := parser.ParseFile(token.NewFileSet(), "phrase.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var list []Key
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			if id, ok := v.Type.(*ast.Ident); ok && id.Name == "Key" {
				list = append(list, Key(strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`)))
			}
		}
		return true
	})
	return list
}

func TestTableIsComplete(t *testing.T) {
	list := keys(t)
	if len(list) != len(table) {
		t.Errorf("%d keys, %d in the table", len(list), len(table))
	}
	for _, key := range list {
		if len(table[key]) != len(Languages()) {
			t.Errorf("%s has %d languages", key, len(table[key]))
		}
		want := placeholder.FindAllString(table[key]["en"], -1)
		for _, lang := range Languages() {
			text := table[key][lang]
			if text == "" || !strings.HasSuffix(text, ".") || len([]rune(text)) > 120 {
				t.Errorf("%s in %s: %q", key, lang, text)
			}
			if got := placeholder.FindAllString(text, -1); !slices.Equal(got, want) {
				t.Errorf("%s in %s names %v, in en %v", key, lang, got, want)
			}
		}
	}
}

func TestEveryFailureHasWords(t *testing.T) {
	for _, kind := range model.Kinds() {
		for _, begun := range []bool{false, true} {
			if key := Failure(&model.Error{Kind: kind}, begun); table[key] == nil {
				t.Errorf("%s, begun %v: no words", kind, begun)
			}
		}
	}
}

func TestSay(t *testing.T) {
	for _, c := range []struct{ lang, text, language string }{
		{"it", "Un momento.", "it"}, {"de-AT", "Einen Moment.", "de-AT"},
		{"ja", "One moment.", "en"}, {"", "One moment.", "en"},
	} {
		if text, language := Say(OneMoment, c.lang); text != c.text || language != c.language {
			t.Errorf("Say(%q) = %q, %q", c.lang, text, language)
		}
	}
	if text, _ := Say(ToolFailed, "en", "reason", "no network"); text != "Sorry, that did not work: no network." {
		t.Error(text)
	}
}
